// Messages over one connection, short and long, early and late; and bytes that
// no rank of this program sends.
#include "../MessageOf.h"

#include "communicator/SocketConnection.h"

#include <gtest/gtest.h>

#include <array>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

using namespace zrt::processes;
using zrt::test::messageOf;

namespace {

/// The two ends of a connection, neither of which blocks.
std::array<Socket, 2> makePair() {
  int ends[2] = {-1, -1};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
  return {Socket(ends[0]), Socket(ends[1])};
}

SocketOperation operationOn(std::string &bytes, uint32_t tag) {
  SocketOperation operation;
  operation.tag = tag;
  operation.data = bytes.data();
  operation.bytes = bytes.size();
  return operation;
}

class SocketConnections : public ::testing::Test {
protected:
  void advance(const bool &until) {
    while (!until) {
      ASSERT_TRUE(first.advance(true));
      ASSERT_TRUE(second.advance(true));
    }
  }

  std::array<Socket, 2> ends = makePair();
  SocketConnection first{std::move(ends[0])}, second{std::move(ends[1])};
};

/// What comes before a message, as it is on the wire.
struct Header {
  uint32_t kind = 0, context = 0, tag = 0, unused = 0;
  uint64_t bytes = 0, id = 0;
};

/// What a connection says that gets this header from the other side.
std::string refusalOf(const Header &header) {
  std::array<Socket, 2> ends = makePair();
  SocketConnection connection(std::move(ends[0]));
  ends[1].sendAll(&header, sizeof(header), {});
  return messageOf([&] { connection.advance(true); });
}

} // namespace

TEST_F(SocketConnections, CarryMessagesOfAllLengthsBothWays) {
  for (const size_t bytes : {size_t(0), size_t(5), size_t(1) << 20}) {
    std::string sent(bytes, 'a'), back(bytes, 'b'), came(bytes, ' '),
        cameBack(bytes, ' ');
    SocketOperation out = operationOn(sent, 1), in = operationOn(came, 1),
                    answer = operationOn(back, 2),
                    answered = operationOn(cameBack, 2);
    first.receive(answered);
    first.send(out);
    second.send(answer);
    // The first message comes, or is announced, before its receive.
    advance(answered.isDone);
    second.receive(in);
    advance(in.isDone);
    EXPECT_EQ(came, sent);
    EXPECT_EQ(cameBack, back);
  }
}

TEST_F(SocketConnections, KeepTheOrderOfMessages) {
  std::string one = "1", two = "2", other = "3", in[3] = {" ", " ", " "};
  SocketOperation sends[] = {operationOn(one, 7), operationOn(other, 8),
                             operationOn(two, 7)};
  SocketOperation receives[] = {operationOn(in[0], 7), operationOn(in[1], 7),
                                operationOn(in[2], 8)};
  for (SocketOperation &send : sends)
    first.send(send);
  for (SocketOperation &receive : receives)
    second.receive(receive);
  for (const SocketOperation &receive : receives)
    advance(receive.isDone);
  EXPECT_EQ(in[0] + in[1] + in[2], "123");
}

/// A long message that is under way, and one behind it.
class HalfWritten : public SocketConnections {
protected:
  HalfWritten() {
    second.receive(in);
    first.send(out);
    for (int i = 0; i < 3; ++i) { // announced, wanted, and begun
      EXPECT_TRUE(first.advance(true));
      EXPECT_TRUE(second.advance(true));
    }
    EXPECT_FALSE(out.isDone) << "all of it fits into the socket's buffer";
    first.send(following);
    second.receive(last);
  }

  std::string sent = std::string(64 << 20, 'a'),
              came = std::string(64 << 20, ' '), next = "next", then = "    ";
  SocketOperation out = operationOn(sent, 1), in = operationOn(came, 1),
                  following = operationOn(next, 1), last = operationOn(then, 1);
};

/// Its sender may reuse the memory, and the other side wants the rest.
TEST_F(HalfWritten, IsFinishedWhereItsSenderHasCancelled) {
  first.cancel(out);
  EXPECT_TRUE(out.isDone);
  sent.assign(sent.size(), 'x');
  advance(last.isDone);
  EXPECT_TRUE(in.isDone);
  EXPECT_TRUE(came == std::string(came.size(), 'a'));
  EXPECT_EQ(then, "next");
}

/// What still comes is read, and goes nowhere.
TEST_F(HalfWritten, IsSkippedWhereItsReceiverHasCancelled) {
  second.cancel(in);
  const std::string before = came;
  advance(last.isDone);
  EXPECT_TRUE(out.isDone);
  EXPECT_TRUE(came == before);
  EXPECT_EQ(then, "next");
}

TEST_F(SocketConnections, TellAndEnd) {
  const std::string told = "it is over";
  first.tell(told.data(), told.size());
  ASSERT_TRUE(first.advance(true));
  ASSERT_TRUE(second.advance(true));
  EXPECT_EQ(second.hear(), told);
  EXPECT_EQ(second.hear(), "");
  first.endWriting();
  while (second.advance(true))
    ;
  EXPECT_FALSE(second.isOpen());
  EXPECT_EQ(second.reason(), "it was closed");
}

TEST_F(SocketConnections, RefuseAMessageOfAnotherSize) {
  uint32_t tag = 0;
  for (const size_t bytes : {size_t(5), size_t(1) << 20}) {
    std::string sent(bytes, 'a'), room(3, ' ');
    SocketOperation out = operationOn(sent, ++tag), in = operationOn(room, tag);
    first.send(out);
    ASSERT_TRUE(first.advance(true));
    ASSERT_TRUE(second.advance(true));
    EXPECT_EQ(messageOf([&] { second.receive(in); }),
              "a message has " + std::to_string(bytes) + " bytes, wanted 3");
    first.cancel(out);
  }
}

TEST(SocketConnection, RefusesWhatNoRankSends) {
  EXPECT_EQ(refusalOf({0, 0, 0, 0, 100'000, 0}),
            "a message of 100000 bytes was not announced");
  for (const uint32_t kind : {2u, 3u})
    EXPECT_EQ(refusalOf({kind, 0, 0, 0, 1, 5}),
              "a message came that nobody has announced");
  EXPECT_EQ(refusalOf({4, 0, 0, 0, 1 << 20, 0}),
            "what a rank tells has 1048576 bytes");
  EXPECT_EQ(refusalOf({9, 0, 0, 0, 1, 0}), "a message is of no known kind");
}

TEST(Socket, KnowsTheOtherSide) {
  const Socket listening = Socket::listen(0, 1);
  const Socket made =
      Socket::connect("127.0.0.1", listening.port(), "it", Patience());
  Socket accepted;
  while (!(accepted = listening.accept()).isOpen())
    std::this_thread::yield();
  EXPECT_EQ(made.peer(), "127.0.0.1");
  EXPECT_EQ(accepted.peer(), "127.0.0.1");
  EXPECT_TRUE(isLoopback("127.0.0.53") && isLoopback("::1"));
  EXPECT_FALSE(isLoopback("10.0.0.7") || isLoopback("::2"));
}

TEST(Socket, SaysWhatItCannotHave) {
  const Socket listening = Socket::listen(0, 1);
  const uint16_t port = listening.port();
  EXPECT_EQ(messageOf([&] { Socket::listen(port, 1); }),
            "cannot listen on port " + std::to_string(port) +
                ": Address already in use");
  const std::array<Socket, 2> ends = makePair();
  Patience none;
  none.end = decltype(none.end)::min();
  char byte = 0;
  EXPECT_EQ(messageOf([&] { ends[0].receiveAll(&byte, 1, none); }),
            "an answer takes too long");
}
