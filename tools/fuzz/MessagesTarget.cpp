// Target: what another process sends over a connection.
#include "Mutate.h"
#include "RuntimeTargets.h"

#include "communicator/Communicator.h"
#include "communicator/SocketConnection.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace fuzz;
using namespace zrt;
using namespace zrt::processes;

namespace {

constexpr char kGuard = 0x5a;
constexpr size_t kGuardBytes = 64;
/// Bytes of what is received: short messages and long ones.
constexpr size_t kSizes[] = {5, 0, 100'000, 64 << 10};

/// Two ends of a connection that do not block.
struct Ends {
  Ends() {
    int ends[2] = {-1, -1};
    require(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0,
            "no sockets");
    first = Socket(ends[0]);
    second = Socket(ends[1]);
  }
  Socket first, second;
};

/// Receives, in memory with guards around it.
struct Receives {
  Receives() {
    for (size_t i = 0; i < std::size(kSizes); ++i) {
      memory.emplace_back(kSizes[i] + 2 * kGuardBytes, kGuard);
      operations[i].context = 1;
      operations[i].tag = uint32_t(i);
      operations[i].data = memory.back().data() + kGuardBytes;
      operations[i].bytes = kSizes[i];
    }
  }
  bool areDone() const {
    return std::all_of(std::begin(operations), std::end(operations),
                       [](const SocketOperation &each) { return each.isDone; });
  }
  void checkGuards() const {
    for (const std::string &bytes : memory)
      require(std::count(bytes.begin(), bytes.begin() + kGuardBytes, kGuard) ==
                      kGuardBytes &&
                  std::count(bytes.end() - kGuardBytes, bytes.end(), kGuard) ==
                      kGuardBytes,
              "a message goes over the end of its buffer");
  }

  std::vector<std::string> memory;
  SocketOperation operations[std::size(kSizes)];
};

/// What has come to `socket` by now.
std::string readRaw(const Socket &socket) {
  std::string bytes;
  char part[1 << 16];
  for (ssize_t got; (got = ::recv(socket.number(), part, sizeof(part), 0)) > 0;)
    bytes.append(part, size_t(got));
  return bytes;
}

size_t writeRaw(const Socket &socket, const std::string &bytes, size_t from) {
  const ssize_t sent = ::send(socket.number(), bytes.data() + from,
                              bytes.size() - from, MSG_NOSIGNAL);
  return sent > 0 ? size_t(sent) : 0;
}

/// All that a sender says to a receiver that wants everything, which hears its
/// answers.
std::vector<std::string> messagesSeeds() {
  std::vector<std::string> seeds;
  for (const bool isEarly : {false, true}) {
    Ends toSender, toReceiver;
    SocketConnection sender(std::move(toSender.first)),
        receiver(std::move(toReceiver.first));
    Receives sends, receives;
    for (SocketOperation &each : sends.operations)
      sender.send(each);
    sender.tell("news", 4);
    std::string all;
    for (int turn = 0; turn < 200; ++turn) {
      if (turn == (isEarly ? 1 : 0))
        for (SocketOperation &each : receives.operations)
          receiver.receive(each);
      sender.advance(/*canRead=*/true);
      const std::string said = readRaw(toSender.second);
      all += said;
      for (size_t sent = 0; sent < said.size();) {
        sent += writeRaw(toReceiver.second, said, sent);
        receiver.advance(/*canRead=*/true);
      }
      receiver.advance(/*canRead=*/true);
      const std::string answers = readRaw(toReceiver.second);
      writeRaw(toSender.second, answers, 0);
    }
    require(receives.areDone(), "a seed does not arrive");
    seeds.push_back(all);
  }
  return seeds;
}

bool runMessages(const std::string &input) {
  Ends ends;
  SocketConnection connection(std::move(ends.first));
  Receives receives;
  // Half of them are there before anything comes.
  for (size_t i = 0; i < 2; ++i)
    connection.receive(receives.operations[2 * i]);
  bool isRight = true;
  try {
    for (size_t sent = 0, last = 1; last > 0; sent += last) {
      last = sent < input.size() ? writeRaw(ends.second, input, sent) : 0;
      connection.advance(/*canRead=*/true);
      readRaw(ends.second);
    }
    for (size_t i = 0; i < 2; ++i)
      connection.receive(receives.operations[2 * i + 1]);
    ::shutdown(ends.second.number(), SHUT_WR);
    for (int turn = 0; turn < 1000 && connection.isOpen(); ++turn)
      connection.advance(/*canRead=*/true);
    require(!connection.isOpen(), "a connection does not notice its end");
    while (!connection.hear().empty())
      ;
  } catch (const CommunicationError &error) {
    require(*error.what() != '\0', "an error without a text");
    isRight = false;
  }
  receives.checkGuards();
  for (SocketOperation &each : receives.operations)
    connection.cancel(each);
  return isRight && receives.areDone();
}

} // namespace

Target fuzz::messagesTarget() {
  return {"messages", messagesSeeds, makeBytes, runMessages};
}
