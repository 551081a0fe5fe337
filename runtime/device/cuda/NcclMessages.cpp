#include "device/cuda/NcclMessages.h"

#include "program/Collective.h"

using namespace zrt;
using namespace zrt::nccl;

/// Bytes of a way's first message.
static constexpr uint64_t kFirstBytes = 16;

/// Calls `visit` with the kind and the part of each message of `group`.
template <typename Visit>
static void forEachMessage(const Program &program, uint32_t group,
                           Visit visit) {
  for (const auto &[name, region] : program.regions())
    for (const Command &command : region->commands)
      if (command.opcode == Opcode::Start && isBetweenTwo(command.collective) &&
          command.group == group)
        visit(command.collective, command.parts.front());
}

bool Messages::areIn(const Program &program, uint32_t group) {
  bool any = false;
  forEachMessage(program, group,
                 [&](Collective, const CollectivePart &) { any = true; });
  return any;
}

Messages::Messages(const Program &program, uint32_t group, Communicator &host,
                   Device &device)
    : host(host), device(device) {
  forEachMessage(program, group, [&](Collective kind, const auto &part) {
    Transfer message;
    message.root = part.root;
    message.lane = part.lane;
    channels.try_emplace(wayOf(kind, message));
  });
}

void Messages::connect(double timeoutSeconds) {
  queue = device.makeQueue(/*highPriority=*/true);
  first = device.allocate(kFirstBytes, "first messages");
  // In the order of ways, which is the same on both of its ranks: of those that
  // are left, both come to the first one.
  for (auto &[way, channel] : channels)
    connect(way, channel, timeoutSeconds);
}

/// The owner has ended the channels.
Messages::~Messages() {
  if (first)
    device.release(first);
  if (queue)
    device.destroy(queue);
}

Messages::Way Messages::wayOf(Collective kind, const Transfer &message) const {
  return kind == Collective::Send
             ? Way(host.rank(), message.root, message.lane)
             : Way(message.root, host.rank(), message.lane);
}

/// With its first message two ranks connect, for which the host of each waits
/// until the other one comes: a step would wait there in another order than on
/// its queues.
void Messages::connect(const Way &way, Channel &channel,
                       double timeoutSeconds) {
  const auto &[from, to, lane] = way;
  const bool isSend = from == host.rank();
  channel.connectTwo(host, isSend ? to : from, isSend, timeoutSeconds);
  Transfer message;
  message.send = message.receive = first;
  message.count = kFirstBytes;
  message.type = DataType::I8;
  message.root = isSend ? to : from;
  message.lane = lane;
  enqueue(queue, isSend ? Collective::Send : Collective::Receive, message);
}

void Messages::enqueue(Device::Queue on, Collective kind,
                       const Transfer &message) const {
  const Channel &channel = channels.at(wayOf(kind, message));
  if (!channel.isOpen())
    throw CommunicationError("NCCL was ended after an error");
  auto *const stream = reinterpret_cast<cudaStream_t>(on);
  const ncclDataType_t type = typeOf(message.type);
  CallGroup group;
  if (kind == Collective::Send)
    check(
        ncclSend(message.send, message.count, type, 1, channel.comm(), stream),
        "ncclSend");
  else
    check(ncclRecv(message.receive, message.count, type, 0, channel.comm(),
                   stream),
          "ncclRecv");
  group.end();
  channel.settle();
}

void Messages::checkOperations() const {
  for (const auto &[way, channel] : channels)
    if (channel.isOpen())
      channel.checkOperations();
}

void Messages::listOpen(std::vector<Channel *> &to) {
  for (auto &[way, channel] : channels)
    if (channel.isOpen())
      to.push_back(&channel);
}
