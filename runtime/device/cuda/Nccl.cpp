#include "device/cuda/Nccl.h"

#include "kernels/cuda/Context.h"
#include "kernels/cuda/Launchers.h"

#include <nccl.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <exception>
#include <list>
#include <mutex>
#include <thread>

using namespace zrt;

namespace {

/// Bytes of a rank's part that NCCL moves at full speed.
constexpr size_t kPayload = 16;

[[noreturn]] void fail(ncclResult_t status, const char *call) {
  std::string text = std::string(call) + ": " + ncclGetErrorString(status);
  if (const char *more = ncclGetLastError(nullptr); more && *more)
    text += std::string(" (") + more + ")";
  throw CommunicationError(text);
}

int versionCode() {
  int version = 0;
  ncclGetVersion(&version);
  return version;
}

void check(ncclResult_t status, const char *call) {
  // With communicators that do not block, this is an answer and no error.
  if (status != ncclSuccess && status != ncclInProgress)
    fail(status, call);
}

ncclDataType_t typeOf(DataType type) {
  switch (type) {
  case DataType::F32:
    return ncclFloat32;
  case DataType::F16:
    return ncclFloat16;
  case DataType::BF16:
    return ncclBfloat16;
  case DataType::F64:
    return ncclFloat64;
  case DataType::I1:
  case DataType::I8:
    return ncclInt8;
  case DataType::I32:
    return ncclInt32;
  case DataType::I64:
    return ncclInt64;
  case DataType::U16:
    break;
  }
  throw std::invalid_argument(std::string("NCCL has no elements of ") +
                              nameOf(type));
}

/// How many times a mean halves before the sum: enough that no partial sum of
/// fp16 overflows.
int halvings(int ranks) {
  int count = 0;
  while ((1 << count) < ranks)
    ++count;
  return count;
}

/// One NCCL communicator, and its way of halving.
struct Channel {
  ncclComm_t comm = nullptr;
  ncclRedOp_t halve = ncclSum;
};

/// Collectives of several communicators may run at once only in an order that
/// NCCL keeps, from 2.26 on: that of the host's calls, which is one for all
/// ranks. NCCL reads the variable when it starts, so it is set before.
bool ordersCommunicators() {
  static std::once_flag once;
  std::call_once(once, [] {
    ::setenv("NCCL_LAUNCH_ORDER_IMPLICIT", "1", /*overwrite=*/0);
  });
  return versionCode() >= NCCL_VERSION(2, 26, 0);
}

class Nccl final : public CollectiveQueue, private Memory {
public:
  Nccl(const Program &program, Device &device, Communicator &host,
       const NcclOptions &options)
      : device(device), host(host), options(options) {
    const bool ordered = ordersCommunicators();
    try {
      for (const auto &[name, region] : program.regions())
        for (const Command &command : region->commands)
          if (command.opcode != Opcode::Kernel &&
              command.opcode != Opcode::Wait) {
            const auto stream = static_cast<size_t>(command.stream);
            channelOf[stream] = ordered ? stream : 0;
            connect(channels[channelOf[stream]]);
          }
    } catch (...) {
      abort();
      throw;
    }
  }

  /// After a failure peers may wait for ever: then nothing is finished.
  ~Nccl() override {
    if (std::uncaught_exceptions())
      abort();
    for (Channel &channel : channels)
      if (channel.comm)
        disconnect(channel);
  }

  int rank() const override { return host.rank(); }
  int ranks() const override { return host.ranks(); }
  bool isCapturable() const override { return true; }

  void admit(Collective kind, Reduction reduction,
             const std::vector<Transfer> &parts) const override {
    if (reduction == Reduction::Max)
      throw std::invalid_argument("a maximum: NCCL is used for sums only");
    for (const Transfer &part : parts) {
      typeOf(part.type);
      if (reduction == Reduction::Mean && part.type != DataType::F16)
        throw std::invalid_argument(std::string("a mean of ") +
                                    nameOf(part.type) + ": wanted f16");
      const bool slices =
          kind == Collective::AllGather || kind == Collective::ReduceScatter;
      const size_t bytes = part.count * sizeOf(part.type);
      const bool aligned = (reinterpret_cast<uintptr_t>(part.send) |
                            reinterpret_cast<uintptr_t>(part.receive)) %
                               kPayload ==
                           0;
      if (slices && (bytes % kPayload || !aligned))
        throw std::invalid_argument(
            "a rank's part has " + std::to_string(bytes) + " bytes" +
            (aligned ? "" : ", not aligned") + "; NCCL wants multiples of " +
            std::to_string(kPayload) + ": compile with a larger alignment");
    }
  }

  void enqueue(Stream stream, Device::Queue queue, Collective kind,
               Reduction reduction,
               const std::vector<Transfer> &parts) override {
    Channel &channel = channels[channelOf[static_cast<size_t>(stream)]];
    if (!channel.comm)
      throw CommunicationError("NCCL was ended after an error");
    const auto on = reinterpret_cast<cudaStream_t>(queue);
    check(ncclGroupStart(), "ncclGroupStart");
    for (const Transfer &part : parts)
      add(channel, on, kind, reduction, part);
    check(ncclGroupEnd(), "ncclGroupEnd");
    settle(channel);
    if (reduction == Reduction::Mean)
      for (const Transfer &part : parts)
        finishMean(kind, part, on);
  }

  void check() override {
    for (Channel &channel : channels) {
      if (!channel.comm)
        continue;
      ncclResult_t state = ncclSuccess;
      ncclCommGetAsyncError(channel.comm, &state);
      if (state != ncclSuccess && state != ncclInProgress)
        fail(state, "a collective");
    }
  }

  void abort() override {
    for (Channel &channel : channels)
      if (channel.comm) {
        ncclCommAbort(channel.comm);
        channel.comm = nullptr;
      }
  }

  Memory *memory() override {
    return options.registers ? static_cast<Memory *>(this) : nullptr;
  }

  std::string describe() const override {
    const size_t known =
        std::count_if(blocks.begin(), blocks.end(), [](const Block &block) {
          return std::any_of(block.entries.begin(), block.entries.end(),
                             [](const Entry &entry) { return entry.window; });
        });
    return "NCCL " + ncclVersion() + ", " +
           (blocks.empty() ? "no" : std::to_string(blocks.size())) +
           " arenas registered" +
           (known ? ", " + std::to_string(known) + " of them as windows" : "");
  }

private:
  /// What one channel knows of a block of memory.
  struct Entry {
    Channel *channel = nullptr;
    void *handle = nullptr;
    void *window = nullptr; ///< null: the library makes none here
  };
  struct Block {
    void *address = nullptr;
    std::list<Entry> entries; ///< NCCL may write into them later
  };

  void *allocate(uint64_t bytes, const char *what) override {
    void *address = nullptr;
    const ncclResult_t status = ncclMemAlloc(&address, bytes);
    if (status != ncclSuccess)
      throw std::runtime_error(std::string(what) + ": NCCL cannot have " +
                               std::to_string(bytes) +
                               " bytes of the device's memory (" +
                               std::to_string(device.bytesInUse()) +
                               " are in use): " + ncclGetErrorString(status) +
                               "; --unregistered uses the device's own memory");
    cuda::check(cudaMemset(address, 0, bytes), "cudaMemset");
    cuda::check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    blocks.emplace_back();
    blocks.back().address = address;
    try {
      for (Channel &channel : channels)
        if (channel.comm)
          enroll(channel, blocks.back(), bytes);
    } catch (const std::exception &error) {
      release(address);
      throw CommunicationError(std::string(what) + ": " + error.what() +
                               "; --unregistered does without");
    }
    return address;
  }

  /// As a buffer, which is this rank's matter, and as a window, which all ranks
  /// make at once: begin and size are the same on each.
  void enroll(Channel &channel, Block &block, uint64_t bytes) {
    block.entries.emplace_back();
    Entry &entry = block.entries.back();
    entry.channel = &channel;
    check(ncclCommRegister(channel.comm, block.address, bytes, &entry.handle),
          "ncclCommRegister");
    settle(channel);
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 27, 0)
    if (!options.windows || versionCode() < NCCL_VERSION(2, 27, 0))
      return;
    check(
        ncclCommWindowRegister(channel.comm, block.address, bytes,
                               reinterpret_cast<ncclWindow_t *>(&entry.window),
                               NCCL_WIN_COLL_SYMMETRIC),
        "ncclCommWindowRegister");
    settle(channel);
#endif
  }

  /// Nobody asks an aborted communicator.
  void release(void *address) override {
    const auto block =
        std::find_if(blocks.begin(), blocks.end(), [&](const Block &each) {
          return each.address == address;
        });
    if (block == blocks.end())
      return;
    for (Entry &entry : block->entries) {
      if (!entry.channel->comm)
        continue;
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 27, 0)
      if (entry.window)
        ncclCommWindowDeregister(entry.channel->comm,
                                 static_cast<ncclWindow_t>(entry.window));
#endif
      if (entry.handle)
        ncclCommDeregister(entry.channel->comm, entry.handle);
    }
    ncclMemFree(address);
    blocks.erase(block);
  }

  void write(void *to, const void *from, size_t bytes) override {
    device.write(to, from, bytes);
  }
  void read(void *to, const void *from, size_t bytes) override {
    device.read(to, from, bytes);
  }

  using Clock = std::chrono::steady_clock;

  static void check(ncclResult_t status, const char *call) {
    ::check(status, call);
  }

  void connect(Channel &channel) {
    if (channel.comm)
      return;
    ncclUniqueId id = {};
    if (rank() == 0)
      check(ncclGetUniqueId(&id), "ncclGetUniqueId");
    host.run(Collective::Broadcast, Reduction::Sum,
             {{&id, &id, sizeof(id), DataType::I8, 0}});
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    check(ncclCommInitRankConfig(&channel.comm, ranks(), id, rank(), &config),
          "ncclCommInitRankConfig");
    settle(channel);
    const int times = halvings(ranks());
    if (times == 0)
      return;
    // A power of two times an fp16 is exact, but for subnormals.
    const uint16_t factor = uint16_t((15 - times) << 10);
    check(ncclRedOpCreatePreMulSum(&channel.halve,
                                   const_cast<uint16_t *>(&factor), ncclFloat16,
                                   ncclScalarHostImmediate, channel.comm),
          "ncclRedOpCreatePreMulSum");
  }

  void disconnect(Channel &channel) noexcept {
    try {
      check(ncclCommFinalize(channel.comm), "ncclCommFinalize");
      settle(channel);
      ncclCommDestroy(channel.comm);
    } catch (const std::exception &) {
      ncclCommAbort(channel.comm);
    }
  }

  /// Waits until NCCL has taken what it was given.
  void settle(Channel &channel) {
    const auto begin = Clock::now();
    ncclResult_t state = ncclInProgress;
    while (true) {
      ::check(ncclCommGetAsyncError(channel.comm, &state),
              "ncclCommGetAsyncError");
      if (state != ncclInProgress)
        break;
      if (options.timeoutSeconds > 0 &&
          std::chrono::duration<double>(Clock::now() - begin).count() >
              options.timeoutSeconds)
        throw CommunicationError(
            "NCCL made no progress for " +
            std::to_string(int64_t(options.timeoutSeconds)) +
            " seconds: did every rank start the same program?");
      std::this_thread::yield();
    }
    if (state != ncclSuccess)
      fail(state, "NCCL");
  }

  static void add(const Channel &channel, cudaStream_t on, Collective kind,
                  Reduction reduction, const Transfer &part) {
    const ncclDataType_t type = typeOf(part.type);
    const ncclRedOp_t sum =
        reduction == Reduction::Mean ? channel.halve : ncclSum;
    switch (kind) {
    case Collective::AllReduce:
      return check(ncclAllReduce(part.send, part.receive, part.count, type, sum,
                                 channel.comm, on),
                   "ncclAllReduce");
    case Collective::ReduceScatter:
      return check(ncclReduceScatter(part.send, part.receive, part.count, type,
                                     sum, channel.comm, on),
                   "ncclReduceScatter");
    case Collective::AllGather:
      return check(ncclAllGather(part.send, part.receive, part.count, type,
                                 channel.comm, on),
                   "ncclAllGather");
    case Collective::Broadcast:
      return check(ncclBroadcast(part.send, part.receive, part.count, type,
                                 part.root, channel.comm, on),
                   "ncclBroadcast");
    case Collective::Reduce:
      return check(ncclReduce(part.send, part.receive, part.count, type, sum,
                              part.root, channel.comm, on),
                   "ncclReduce");
    }
  }

  /// What 2^-halvings left of 1 / ranks: one more rounding, and none where the
  /// ranks are a power of two.
  void finishMean(Collective kind, const Transfer &part,
                  cudaStream_t on) const {
    const int power = 1 << halvings(ranks());
    if (power == ranks() || (kind == Collective::Reduce && part.root != rank()))
      return;
    cuda::scaleHalf(part.receive, float(power) / float(ranks()),
                    int64_t(part.count), on);
  }

  Device &device;
  Communicator &host;
  NcclOptions options;
  std::array<Channel, kStreamCount> channels;
  std::array<size_t, kStreamCount> channelOf = {}; ///< by stream
  std::list<Block> blocks;
};

} // namespace

std::unique_ptr<CollectiveQueue> zrt::makeNccl(const Program &program,
                                               Device &device,
                                               Communicator &host,
                                               const NcclOptions &options) {
  return std::make_unique<Nccl>(program, device, host, options);
}

std::string zrt::ncclVersion() {
  const int version = versionCode();
  return std::to_string(version / 10000) + "." +
         std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

bool zrt::ncclSharesDevices() {
  const char *value = std::getenv("NCCL_MULTI_RANK_GPU_ENABLE");
  return versionCode() >= NCCL_VERSION(2, 30, 0) && value &&
         std::string(value) == "1";
}
