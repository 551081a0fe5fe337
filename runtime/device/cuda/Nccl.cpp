#include "device/cuda/Nccl.h"

#include "device/cuda/NcclChannels.h"
#include "device/cuda/NcclMemory.h"
#include "device/cuda/NcclMessages.h"
#include "io/Together.h"
#include "kernels/cuda/Context.h"
#include "kernels/cuda/Launchers.h"
#include "program/Collective.h"
#include "program/NcclParts.h"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <map>
#include <optional>
#include <vector>

using namespace zrt;
using namespace zrt::nccl;

namespace {

/// What the ranks of one group do: those of all, or of a group of the mesh.
class GroupQueue : public CollectiveQueue {
public:
  /// `messages` is null where the group has none. All are borrowed.
  GroupQueue(Communicator &host, Channels &channels,
             const std::unique_ptr<Messages> &messages)
      : host(host), channels(channels), messages(messages) {}

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

  uint64_t enqueueMessage(Device::Queue queue, Collective kind,
                          const Transfer &message) override {
    messages->enqueue(queue, kind, message);
    return 0;
  }

  Stream queueOf(Stream stream) const override {
    return channels.queueOf(stream);
  }

  std::unique_ptr<CollectiveQueue> makeGroup(const Mesh &, uint32_t) override {
    throw std::logic_error("a group of a mesh has no groups");
  }
  void check() override {
    host.checkPeers();
    for (const Channel &channel : channels.all)
      if (channel.isOpen())
        channel.checkOperations();
    if (messages)
      messages->checkOperations();
  }
  /// Of a group: the other ranks' channels go on.
  void abort() override {
    std::vector<Channel *> open;
    channels.listOpen(open);
    if (messages)
      messages->listOpen(open);
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
    case Collective::Receive:
      break;
    }
    throw std::logic_error(std::string(nameOf(kind)) + " is no collective");
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
  const std::unique_ptr<Messages> &messages;
};

/// The groups of a mesh are made with it, so that the memory of collectives is
/// known to all of them.
class Nccl final : public CollectiveQueue {
public:
  Nccl(const Program &program, Device &device, Communicator &host,
       const NcclOptions &options)
      : host(host), device(device), timeoutSeconds(options.timeoutSeconds),
        isCut(program.pipeline.isCut()), all(host, channels, messages) {
    try {
      const Uses uses(program, host);
      connect(program, uses);
      connectGroups(program, uses);
      connectMessages(program);
    } catch (...) {
      abort();
      throw;
    }
    if (options.memory != NcclMemoryKind::Plain)
      known.emplace(device, openChannels(),
                    options.memory == NcclMemoryKind::Windows);
  }

  /// Throws where NCCL does not take memory as it is told.
  void tryMemory(double seconds) {
    if (known)
      known->attempt(seconds);
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
  /// CUDA does not promise that branches of a graph run side by side, as
  /// messages of several ways must.
  bool isCapturable() const override { return !isCut; }
  Stream queueOf(Stream stream) const override { return all.queueOf(stream); }
  uint64_t enqueueMessage(Device::Queue queue, Collective kind,
                          const Transfer &message) override {
    return all.enqueueMessage(queue, kind, message);
  }
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
    return std::make_unique<GroupQueue>(*made.host, made.channels,
                                        made.messages);
  }

  void check() override {
    all.check();
    for (auto &[index, group] : groups)
      GroupQueue(*group.host, group.channels, group.messages).check();
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
    std::unique_ptr<Messages> messages;
  };

  /// Those of all ranks are there for every stream that a group uses, too: a
  /// group's are split from them.
  void connect(const Program &program, const Uses &uses) {
    channels.areOrdered = ordersCommunicators(program);
    uses.forEach([&](uint32_t, Stream stream) {
      Channel &channel = channels.of(stream);
      if (!channel.isOpen())
        channel.connect(host, timeoutSeconds);
    });
  }

  /// A pipeline's groups are all there, as `Executor` makes them.
  void connectGroups(const Program &program, const Uses &uses) {
    for (uint32_t index = kAllRanks + 1;
         isCut && index < program.mesh.groups.size(); ++index)
      groupOf(program, index);
    uses.forEach([&](uint32_t index, Stream stream) {
      if (index == kAllRanks)
        return;
      Group &group = groupOf(program, index);
      Channel &channel = group.channels.of(stream);
      if (!channel.isOpen())
        channel.split(channels.of(stream),
                      int(program.mesh.numberOf(index, rank())),
                      int(program.mesh.indexIn(index, rank())), *group.host);
    });
  }

  Group &groupOf(const Program &program, uint32_t index) {
    Group &group = groups[index];
    group.channels.areOrdered = channels.areOrdered;
    if (!group.host)
      group.host = host.makeGroup(program.mesh, index);
    return group;
  }

  void connectMessages(const Program &program) {
    const auto make = [&](uint32_t index, Communicator &ranks,
                          std::unique_ptr<Messages> &made) {
      if (!Messages::areIn(program, index))
        return;
      made = std::make_unique<Messages>(program, index, ranks, device);
      made->connect(timeoutSeconds);
    };
    make(kAllRanks, host, messages);
    for (auto &[index, group] : groups)
      make(index, *group.host, group.messages);
  }

  std::vector<Channel *> openChannels() {
    std::vector<Channel *> open;
    channels.listOpen(open);
    if (messages)
      messages->listOpen(open);
    for (auto &[index, group] : groups) {
      group.channels.listOpen(open);
      if (group.messages)
        group.messages->listOpen(open);
    }
    return open;
  }

  Communicator &host;
  Device &device;
  double timeoutSeconds;
  bool isCut;                         ///< the program is a stage of a pipeline
  Channels channels;                  ///< of all ranks
  std::unique_ptr<Messages> messages; ///< the same
  GroupQueue all;
  std::map<uint32_t, Group> groups; ///< of the mesh
  std::optional<NcclMemory> known;
};

} // namespace

/// What NCCL is told less of the memory where `kind` fails.
static NcclMemoryKind lessThan(NcclMemoryKind kind) {
  return kind == NcclMemoryKind::Windows ? NcclMemoryKind::Registered
                                         : NcclMemoryKind::Plain;
}

static const char *flagOf(NcclMemoryKind kind) {
  switch (kind) {
  case NcclMemoryKind::Plain:
    return "plain";
  case NcclMemoryKind::Registered:
    return "registered";
  case NcclMemoryKind::Windows:
    return "windows";
  }
  return "";
}

std::unique_ptr<CollectiveQueue> zrt::makeNccl(const Program &program,
                                               Device &device,
                                               Communicator &host,
                                               const NcclOptions &options) {
  NcclOptions tried = options;
  const std::string lack =
      program.pipeline.isCut() ? "windows are of one size on all ranks, and "
                                 "arenas of stages are not"
      : versionCode() < NCCL_VERSION(2, 27, 0)
          ? "NCCL " + ncclVersion() + " has no windows; 2.27 has"
          : "";
  if (tried.memory == NcclMemoryKind::Windows && !lack.empty()) {
    if (options.insists)
      throw std::runtime_error("--collectives-memory windows: " + lack +
                               "; give registered, or leave it out");
    tried.memory = NcclMemoryKind::Registered;
  }
  // Ranks that wait for one that has failed give up before it does.
  const double patience =
      options.timeoutSeconds > 0
          ? std::min(options.memorySeconds, options.timeoutSeconds / 2)
          : options.memorySeconds;
  while (true) {
    auto made = std::make_unique<Nccl>(program, device, host, tried);
    try {
      together(host, [&] { made->tryMemory(patience); });
      return made;
    } catch (const CommunicationError &) {
      throw;
    } catch (const std::exception &error) {
      // Communicators that do not settle are of no use any more.
      made->abort();
      if (options.insists)
        throw;
      const NcclMemoryKind less = lessThan(tried.memory);
      if (options.tell && !dynamic_cast<const PeerError *>(&error))
        options.tell(std::string(error.what()) +
                     "; all ranks go on as with --collectives-memory " +
                     flagOf(less));
      tried.memory = less;
    }
  }
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
