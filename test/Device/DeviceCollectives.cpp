#include "DeviceCollectives.h"

#include "../Runtime/communicator/CommunicatorTesting.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>

using namespace zrt;
using namespace zrt::test;
using namespace zrt::testing;

namespace {

/// Of one rank's part 16 bytes or a multiple, as programs have them.
constexpr uint64_t kCounts[] = {16, 1024, 100'000};
constexpr size_t kAlignment = 256;
constexpr size_t kMemory = size_t(16) << 20;

struct Rank {
  Rank(const DeviceMaker &make, Communicator &host)
      : device(make.device(host.rank())), queues(*device),
        library(make.collectives(*device, host)), times(*device, queues),
        communicator(*device, queues, *library, times),
        memory(library->memory() ? library->memory() : device.get()),
        block(static_cast<char *>(memory->allocate(kMemory, "test"))) {}
  ~Rank() { memory->release(block); }

  std::unique_ptr<Device> device;
  Queues queues;
  std::unique_ptr<CollectiveQueue> library;
  CommandTimes times;
  StreamCommunicator communicator;
  Memory *memory;
  char *block;
};

/// The host's buffers of one operation, and their place on the device.
class OnDevice {
public:
  OnDevice(Rank &rank, const OperationSpec &spec, size_t &used)
      : rank(rank), spec(spec),
        buffers(spec, rank.communicator.rank(), rank.communicator.ranks()) {
    for (Transfer transfer : buffers.transfers())
      add(transfer, used);
  }

  Communicator::Ticket start(Stream stream) {
    rank.communicator.admit(spec.kind, spec.reduction, transfers);
    return rank.communicator.startOn(stream, spec.kind, spec.reduction,
                                     transfers);
  }

  void check() {
    for (const Piece &piece : pieces)
      rank.memory->read(piece.host, piece.device, piece.bytes);
    buffers.expectCorrect();
  }

private:
  struct Piece {
    char *host, *device;
    size_t bytes;
  };

  char *place(const void *host, size_t bytes, size_t &used) {
    char *at = rank.block + used;
    used = (used + bytes + kAlignment - 1) / kAlignment * kAlignment;
    if (used > kMemory)
      throw std::logic_error("the test's memory is too small");
    auto *from = static_cast<char *>(const_cast<void *>(host));
    pieces.push_back({from, at, bytes});
    rank.memory->write(at, from, bytes);
    return at;
  }

  void add(Transfer transfer, size_t &used) {
    const size_t part = transfer.count * sizeOf(transfer.type);
    const size_t all = part * size_t(rank.communicator.ranks());
    const size_t sent = sendsToEach(spec.kind) ? all : part;
    const size_t got = receivesFromEach(spec.kind) ? all : part;
    const auto *send = static_cast<const char *>(transfer.send);
    auto *receive = static_cast<char *>(transfer.receive);
    if (spec.inPlace && worksInPlace(spec.kind)) {
      const char *begin = std::min<const char *>(send, receive);
      const size_t bytes =
          size_t(std::max<const char *>(send + sent, receive + got) - begin);
      char *at = place(begin, bytes, used);
      transfer.send = at + (send - begin);
      transfer.receive = at + (receive - begin);
    } else {
      // Where a rank sends or receives nothing, the other place stands for it.
      char *from = send ? place(send, sent, used) : nullptr;
      char *to = receive ? place(receive, got, used) : from;
      transfer.send = from ? from : to;
      transfer.receive = to;
    }
    transfers.push_back(transfer);
  }

  Rank &rank;
  OperationSpec spec;
  Buffers buffers;
  std::vector<Piece> pieces;
  std::vector<Transfer> transfers;
};

/// What programs have: sums of everything, and prescaled ones of floats.
template <typename Body> void forEachForm(Body body) {
  for (Collective kind : kAllKinds)
    for (DataType type :
         {DataType::F32, DataType::F16, DataType::BF16, DataType::F64,
          DataType::I8, DataType::I32, DataType::I64}) {
      body(kind, Reduction::Sum, type);
      if (isReducing(kind) && isFloat(type) && type != DataType::F64)
        body(kind, Reduction::PrescaledSum, type);
    }
}

/// Ranks that share a device wait for each other before and after: who waits
/// for the device waits for all that is on it, and so for the peers.
void checkEach(Rank &rank, Communicator &host) {
  const int ranks = rank.communicator.ranks();
  uint64_t seed = 1;
  forEachForm([&](Collective kind, Reduction reduction, DataType type) {
    for (uint64_t count : kCounts)
      for (bool inPlace : {false, true}) {
        size_t used = 0;
        OnDevice operation(
            rank,
            {kind, reduction, {{type, count, ranks - 1}}, inPlace, ++seed},
            used);
        host.barrier();
        rank.communicator.wait(operation.start(Stream::Reduce));
        operation.check();
        host.barrier();
      }
  });
}

/// Groups of parts of several types, and one on another stream beside them.
void checkGroups(Rank &rank, Communicator &host) {
  for (Collective kind : kAllKinds)
    for (bool inPlace : {false, true}) {
      OperationSpec group{kind, Reduction::Sum, {}, inPlace, 77};
      for (int part = 0; part < 5; ++part)
        for (DataType type : {DataType::F32, DataType::BF16})
          group.parts.push_back({type, uint64_t(64 * (part + 1)), 0});
      const OperationSpec beside{Collective::AllGather,
                                 Reduction::Sum,
                                 {{DataType::F32, 4096, 0}},
                                 !inPlace,
                                 78};
      size_t used = 0;
      OnDevice first(rank, group, used), second(rank, beside, used);
      host.barrier();
      const auto one = first.start(Stream::Reduce);
      const auto two = second.start(Stream::Gather);
      rank.communicator.wait(one);
      rank.communicator.wait(two);
      first.check();
      second.check();
      host.barrier();
    }
}

/// A message, as its two ranks know it.
struct Letter {
  uint32_t lane;
  float value;
};
constexpr Letter kSent[] = {{0, 1}, {0, 2}, {1, 3}, {0, 4}, {1, 5}};
constexpr size_t kReceived[] = {2, 0, 1, 4, 3}; ///< of those, in this order
constexpr uint64_t kLetter = 4096;              ///< elements

/// Both ranks start to send all before they receive any.
void checkMessages(Rank &rank, Communicator &host) {
  const int peer = 1 - host.rank();
  const auto place = [&](size_t i) {
    return reinterpret_cast<float *>(rank.block) + i * kLetter;
  };
  const auto start = [&](Collective kind, size_t letter, float *at) {
    const Transfer message{
        at, at, kLetter, DataType::F32, peer, kSent[letter].lane};
    rank.communicator.admit(kind, Reduction::Sum, {message});
    return rank.communicator.startOn(Stream::Exchange, kind, Reduction::Sum,
                                     {message});
  };
  std::vector<Communicator::Ticket> sends;
  for (size_t i = 0; i < std::size(kSent); ++i) {
    const std::vector<float> values(kLetter,
                                    kSent[i].value + float(100 * host.rank()));
    rank.memory->write(place(i), values.data(), kLetter * sizeof(float));
  }
  host.barrier();
  for (size_t i = 0; i < std::size(kSent); ++i)
    sends.push_back(start(Collective::Send, i, place(i)));
  for (size_t i : kReceived)
    rank.communicator.wait(
        start(Collective::Receive, i, place(std::size(kSent) + i)));
  for (Communicator::Ticket send : sends)
    rank.communicator.wait(send);
  rank.device->synchronize(rank.queues[Stream::Compute]);
  for (size_t i = 0; i < std::size(kSent); ++i) {
    std::vector<float> values(kLetter);
    rank.memory->read(values.data(), place(std::size(kSent) + i),
                      kLetter * sizeof(float));
    for (float value : values)
      ASSERT_EQ(value, kSent[i].value + float(100 * peer)) << i;
  }
  host.barrier();
}

} // namespace

std::vector<Command> zrt::test::messagesWith(int peer) {
  std::vector<Command> commands;
  for (Collective kind : {Collective::Send, Collective::Receive})
    for (const Letter &letter : kSent) {
      Command command;
      command.opcode = Opcode::Start;
      command.collective = kind;
      command.stream = Stream::Exchange;
      command.parts.emplace_back();
      command.parts.back().root = peer;
      command.parts.back().lane = letter.lane;
      commands.push_back(command);
    }
  return commands;
}

void zrt::test::checkCollectives(int ranks, const DeviceMaker &make) {
  onRanks(ranks, [&](Communicator &host) {
    Rank rank(make, host);
    checkEach(rank, host);
    checkGroups(rank, host);
    if (ranks == 2)
      checkMessages(rank, host);
    rank.library->check();
  });
}
