// How processes find each other, as threads: who comes, who does not, and who
// is none of them.
#include "communicator/SocketStart.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <thread>

using namespace zrt;
using namespace zrt::processes;

namespace {

/// A port that nobody has, most likely: it was given a moment ago.
uint16_t freePort() { return Socket::listen(0, 1).port(); }

/// What each rank gets, or its error.
struct Outcome {
  std::vector<Socket> sockets;
  std::string error;
};

SocketPlace placeOf(int rank, int ranks, uint16_t port) {
  return {rank, ranks, "127.0.0.1", port, /*advice=*/""};
}

std::vector<Outcome> start(const std::vector<SocketPlace> &places,
                           double timeoutSeconds = 600) {
  std::vector<Outcome> outcomes(places.size());
  std::vector<std::thread> threads;
  CommunicatorOptions options;
  options.timeoutSeconds = timeoutSeconds;
  for (size_t i = 0; i < places.size(); ++i)
    threads.emplace_back([&, i] {
      try {
        outcomes[i].sockets = connectAll(places[i], options);
      } catch (const CommunicationError &error) {
        outcomes[i].error = error.what();
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  return outcomes;
}

void expectError(const Outcome &outcome, const std::string &text) {
  EXPECT_NE(outcome.error.find(text), std::string::npos)
      << "'" << outcome.error << "' lacks: " << text;
}

} // namespace

/// Each two ranks have a connection, whose ends are theirs.
TEST(SocketStart, ConnectsEachTwo) {
  constexpr int kRanks = 5;
  const uint16_t port = freePort();
  std::vector<SocketPlace> places;
  for (int rank = 0; rank < kRanks; ++rank)
    places.push_back(placeOf(rank, kRanks, port));
  auto outcomes = start(places);
  const Patience patience;
  for (int from = 0; from < kRanks; ++from) {
    ASSERT_EQ(outcomes[size_t(from)].error, "");
    for (int to = 0; to < kRanks; ++to)
      if (to != from)
        outcomes[size_t(from)].sockets[size_t(to)].sendAll(&from, sizeof(from),
                                                           patience);
  }
  for (int to = 0; to < kRanks; ++to)
    for (int from = 0; from < kRanks; ++from) {
      int found = -1;
      if (to == from)
        continue;
      EXPECT_TRUE(outcomes[size_t(to)].sockets[size_t(from)].receiveAll(
          &found, sizeof(found), patience));
      EXPECT_EQ(found, from);
    }
}

TEST(SocketStart, NamesWhoDoesNotCome) {
  expectError(start({placeOf(0, 4, freePort())}, 0.1)[0],
              "rank 0 of 4, at the start: ranks 1, 2, 3 did not come to rank 0 "
              "within 0.1 s");
}

/// Whoever waits for others asks whether they can still come.
TEST(SocketStart, EndsWhenALossIsKnown) {
  CommunicatorOptions options;
  int asked = 0;
  options.findLoss = [&] { return ++asked < 3 ? "" : "it was lost"; };
  for (int rank : {0, 1})
    try {
      asked = 0;
      connectAll(placeOf(rank, 3, freePort()), options);
      FAIL() << "all have come";
    } catch (const CommunicationError &error) {
      EXPECT_EQ(std::string(error.what()),
                "rank " + std::to_string(rank) +
                    " of 3, at the start: it was lost");
    }
}

TEST(SocketStart, NamesWhomItCannotReach) {
  expectError(start({placeOf(1, 2, freePort())}, 0.2)[0],
              "rank 1 of 2, at the start: cannot reach rank 0 at 127.0.0.1, "
              "port ");
}

TEST(SocketStart, RefusesWhoComesTwiceOrFromAnotherJob) {
  uint16_t port = freePort();
  const std::vector<SocketPlace> twice = {
      placeOf(0, 3, port), placeOf(1, 3, port), placeOf(1, 3, port)};
  expectError(start(twice)[0],
              "rank 1 came twice: is RANK different in each process?");
  port = freePort();
  expectError(start({placeOf(0, 2, port), placeOf(1, 3, port)})[1],
              "rank 1 has a WORLD_SIZE of 3, and rank 0 one of 2");
}

/// A port that others have, too: who says something else is not a rank.
TEST(SocketStart, HearsNoStranger) {
  const uint16_t port = freePort();
  std::thread stranger([&] {
    const Patience patience;
    for (const char *text : {"", "GET / HTTP/1.1\r\n\r\n"}) {
      const Socket socket = Socket::connect("127.0.0.1", port, "it", patience);
      socket.sendAll(text, std::strlen(text), patience);
    }
    start({placeOf(1, 2, port)});
  });
  EXPECT_EQ(start({placeOf(0, 2, port)})[0].error, "");
  stranger.join();
}

/// What listens at the port of rank 0 is something else.
TEST(SocketStart, NamesAnotherProgramAtThePort) {
  const Socket other = Socket::listen(0, 4);
  std::thread answers([&] {
    const Patience patience;
    Socket socket;
    while (!(socket = other.accept()).isOpen())
      std::this_thread::yield();
    char hello[16];
    socket.receiveAll(hello, sizeof(hello), patience);
    socket.sendAll("HTTP/1.1 400 Bad Request\r\n\r\n", 28, patience);
  });
  expectError(start({placeOf(1, 2, other.port())})[0],
              "does not answer as rank 0 of this program: does another program "
              "listen there? Set MASTER_PORT to a free port");
  answers.join();
}
