#include "device/cuda/Nccl.h"

#include "device/cuda/NcclMemory.h"
#include "kernels/cuda/Context.h"
#include "kernels/cuda/Launchers.h"
#include "program/NcclParts.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

using namespace zrt;
using namespace zrt::nccl;

namespace {

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

/// A communicator a stream that the program uses.
struct Channels {
  std::array<Channel, kCountOf<Stream>> all;
  std::array<size_t, kCountOf<Stream>> ofStream = {};

  const Channel &operator[](Stream stream) const {
    return all[ofStream[static_cast<size_t>(stream)]];
  }
  /// Adds those that are open to `to`.
  void listOpen(std::vector<Channel *> &to) {
    for (Channel &channel : all)
      if (channel.isOpen())
        to.push_back(&channel);
  }
};

/// What the ranks of one group do: those of all, or of a group of the mesh.
class GroupQueue : public CollectiveQueue {
public:
  GroupQueue(Communicator &host, Channels &channels)
      : host(host), channels(channels) {}

  int rank() const override { return host.rank(); }
  int ranks() const override { return host.ranks(); }
  bool isCapturable() const override { return true; }

  void admit(Collective kind, Reduction reduction,
             const std::vector<Transfer> &parts) const override {
    if (reduction == Reduction::Max)
      throw std::invalid_argument("a maximum: NCCL is used for sums only");
    for (const Transfer &part : parts) {
      typeOf(part.type);
      if (reduction == Reduction::PrescaledSum &&
          !Channel::isPrescaled(part.type))
        throw std::invalid_argument(std::string("a prescaled sum of ") +
                                    nameOf(part.type) +
                                    ": wanted f32, f16 or bf16");
      const bool aligned = (reinterpret_cast<uintptr_t>(part.send) |
                            reinterpret_cast<uintptr_t>(part.receive)) %
                               kNcclPayload ==
                           0;
      const std::string refusal =
          slicesForNccl(kind)
              ? refusedByNccl(part.count * sizeOf(part.type), aligned)
              : "";
      if (!refusal.empty())
        throw std::invalid_argument(refusal);
    }
  }

  void enqueue(Stream stream, Device::Queue queue, Collective kind,
               Reduction reduction,
               const std::vector<Transfer> &parts) override {
    const Channel &channel = channels[stream];
    if (!channel.isOpen())
      throw CommunicationError("NCCL was ended after an error");
    const auto on = reinterpret_cast<cudaStream_t>(queue);
    CallGroup group;
    for (const Transfer &part : parts)
      add(channel, on, kind, reduction, part);
    group.end();
    channel.settle();
  }

  std::unique_ptr<CollectiveQueue> makeGroup(const Mesh &, uint32_t) override {
    throw std::logic_error("a group of a mesh has no groups");
  }
  void check() override {
    host.checkPeers();
    for (const Channel &channel : channels.all)
      if (channel.isOpen())
        channel.checkOperations();
  }
  /// Of a group: the other ranks' channels go on.
  void abort() override {
    std::vector<Channel *> open;
    channels.listOpen(open);
    Channel::abort(open);
  }
  std::string describe() const override { return "NCCL " + ncclVersion(); }

private:
  static void add(const Channel &channel, cudaStream_t on, Collective kind,
                  Reduction reduction, const Transfer &part) {
    const ncclDataType_t type = typeOf(part.type);
    const ncclRedOp_t sum = reduction == Reduction::PrescaledSum
                                ? channel.prescaledSum(part.type)
                                : ncclSum;
    switch (kind) {
    case Collective::AllReduce:
      return nccl::check(ncclAllReduce(part.send, part.receive, part.count,
                                       type, sum, channel.comm(), on),
                         "ncclAllReduce");
    case Collective::ReduceScatter:
      return nccl::check(ncclReduceScatter(part.send, part.receive, part.count,
                                           type, sum, channel.comm(), on),
                         "ncclReduceScatter");
    case Collective::AllGather:
      return nccl::check(ncclAllGather(part.send, part.receive, part.count,
                                       type, channel.comm(), on),
                         "ncclAllGather");
    case Collective::Broadcast:
      return nccl::check(ncclBroadcast(part.send, part.receive, part.count,
                                       type, part.root, channel.comm(), on),
                         "ncclBroadcast");
    case Collective::Reduce:
      return nccl::check(ncclReduce(part.send, part.receive, part.count, type,
                                    sum, part.root, channel.comm(), on),
                         "ncclReduce");
    case Collective::AllToAll:
      return exchange(channel, on, part);
    case Collective::Send:
      return nccl::check(
          ncclSend(part.send, part.count, type, part.root, channel.comm(), on),
          "ncclSend");
    case Collective::Receive:
      return nccl::check(ncclRecv(part.receive, part.count, type, part.root,
                                  channel.comm(), on),
                         "ncclRecv");
    }
  }

  /// In a group, so that no send waits for a receive.
  static void exchange(const Channel &channel, cudaStream_t on,
                       const Transfer &part) {
    const ncclDataType_t type = typeOf(part.type);
    const size_t bytes = part.count * sizeOf(part.type);
    const auto *send = static_cast<const char *>(part.send);
    auto *receive = static_cast<char *>(part.receive);
    int ranks = 0;
    nccl::check(ncclCommCount(channel.comm(), &ranks), "ncclCommCount");
    for (int peer = 0; peer < ranks; ++peer) {
      nccl::check(ncclSend(send + size_t(peer) * bytes, part.count, type, peer,
                           channel.comm(), on),
                  "ncclSend");
      nccl::check(ncclRecv(receive + size_t(peer) * bytes, part.count, type,
                           peer, channel.comm(), on),
                  "ncclRecv");
    }
  }

  Communicator &host;
  Channels &channels;
};

/// The groups of a mesh are made with it, so that the memory of collectives is
/// known to all of them.
class Nccl final : public CollectiveQueue {
public:
  Nccl(const Program &program, Device &device, Communicator &host,
       const NcclOptions &options)
      : host(host), all(host, channels) {
    try {
      connect(program, options.timeoutSeconds);
      connectGroups(program);
    } catch (...) {
      abort();
      throw;
    }
    if (options.registers)
      known.emplace(device, openChannels(), options.windows);
  }

  /// After a failure peers may wait for ever: then nothing is finished.
  ~Nccl() override {
    if (std::uncaught_exceptions())
      abort();
    // Groups first, which were split from the others.
    std::vector<Channel *> open = openChannels();
    std::reverse(open.begin(), open.end());
    for (Channel *channel : open)
      if (!channel->close()) {
        abort();
        break;
      }
  }

  int rank() const override { return host.rank(); }
  int ranks() const override { return host.ranks(); }
  bool isCapturable() const override { return true; }
  void admit(Collective kind, Reduction reduction,
             const std::vector<Transfer> &parts) const override {
    all.admit(kind, reduction, parts);
  }
  void enqueue(Stream stream, Device::Queue queue, Collective kind,
               Reduction reduction,
               const std::vector<Transfer> &parts) override {
    all.enqueue(stream, queue, kind, reduction, parts);
  }
  std::unique_ptr<CollectiveQueue> makeGroup(const Mesh &,
                                             uint32_t group) override {
    Group &made = groups.at(group);
    return std::make_unique<GroupQueue>(*made.host, made.channels);
  }

  void check() override {
    all.check();
    for (auto &[index, group] : groups)
      for (const Channel &channel : group.channels.all)
        if (channel.isOpen())
          channel.checkOperations();
  }

  void abort() override { Channel::abort(openChannels()); }

  Memory *memory() override { return known ? &*known : nullptr; }

  std::string describe() const override {
    return "NCCL " + ncclVersion() + ", " +
           (known ? known->describe() : "no arenas registered");
  }

private:
  struct Group {
    std::unique_ptr<Communicator> host;
    Channels channels;
  };

  /// Calls `body` with each stream and group that a collective names.
  template <typename Body>
  static void forEachUse(const Program &program, Body body) {
    for (const auto &[name, region] : program.regions())
      for (const Command &command : region->commands)
        if (command.opcode == Opcode::Start)
          body(static_cast<size_t>(command.stream), command.group);
  }

  /// Those of all ranks are there for every stream that a group uses, too: a
  /// group's are split from them.
  void connect(const Program &program, double timeoutSeconds) {
    const bool ordered = ordersCommunicators();
    forEachUse(program, [&](size_t stream, uint32_t) {
      channels.ofStream[stream] = ordered ? stream : 0;
      Channel &channel = channels.all[channels.ofStream[stream]];
      if (!channel.isOpen())
        channel.connect(host, timeoutSeconds);
    });
  }

  void connectGroups(const Program &program) {
    forEachUse(program, [&](size_t stream, uint32_t index) {
      if (index == kAllRanks)
        return;
      Group &group = groups[index];
      if (!group.host)
        group.host = host.makeGroup(program.mesh, index);
      const size_t at = channels.ofStream[stream];
      group.channels.ofStream[stream] = at;
      if (!group.channels.all[at].isOpen())
        group.channels.all[at].split(
            channels.all[at], int(program.mesh.numberOf(index, rank())),
            int(program.mesh.indexIn(index, rank())), *group.host);
    });
  }

  std::vector<Channel *> openChannels() {
    std::vector<Channel *> open;
    channels.listOpen(open);
    for (auto &[index, group] : groups)
      group.channels.listOpen(open);
    return open;
  }

  Communicator &host;
  Channels channels; ///< of all ranks
  GroupQueue all;
  std::map<uint32_t, Group> groups; ///< of the mesh
  std::optional<NcclMemory> known;
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
