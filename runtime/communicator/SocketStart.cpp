#include "communicator/SocketStart.h"

#include "communicator/Operation.h"
#include "program/ByteCount.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <poll.h>
#include <random>

using namespace zrt;
using namespace zrt::processes;

namespace {

using Clock = std::chrono::steady_clock;

constexpr char kMagic[8] = {'z', 'e', 'r', 'o', ' ', 'j', 'o', 'b'};
constexpr uint32_t kVersion = 1;
/// A connection that says nothing is not of this job.
constexpr auto kHelloTime = std::chrono::seconds(10);
/// How long the answer of rank 0 may be on its way.
constexpr auto kAnswerTime = std::chrono::seconds(10);

/// Who connects: what a process says first.
struct Hello {
  char magic[8];
  uint32_t version;
  int32_t rank, ranks;
  uint32_t port; ///< where it listens
  uint64_t job;  ///< as rank 0 has chosen it; 0: not known yet
};

/// Where a process listens, as rank 0 tells it.
struct Row {
  char host[104]; ///< empty: where rank 0 is
  uint32_t port;
  uint32_t unused;
};

/// What rank 0 answers, ahead of the rows.
struct Answer {
  char magic[8];
  uint64_t job;
  char error[240]; ///< empty: all have come
};

class Start {
public:
  Start(const SocketPlace &place, const CommunicatorOptions &options)
      : place(place), options(options), sockets(size_t(place.ranks)),
        begun(Clock::now()) {}

  std::vector<Socket> run();

private:
  void gather();
  void welcome(Socket socket);
  void join();
  void meet();
  void answer(const std::string &error);
  bool isReady(Socket &socket, Hello &hello) const;
  std::string findFault(const Hello &hello) const;
  Patience patience() const;
  Hello makeHello() const;
  std::string missing() const;
  void lookForNotice(const std::string &what) const;
  void lookForLoss() const;

  SocketPlace place;
  const CommunicatorOptions &options;
  std::vector<Socket> sockets;
  std::vector<Row> rows;
  Socket listener;
  uint64_t job = 0;
  std::string error; ///< of a process that came
  Socket refused;    ///< the same
  const Clock::time_point begun;
  mutable bool isNoticed = false;
};

} // namespace

Patience Start::patience() const {
  Patience patience;
  if (options.timeoutSeconds > 0)
    patience.end =
        begun + std::chrono::duration_cast<Clock::duration>(
                    std::chrono::duration<double>(options.timeoutSeconds));
  patience.look = [this] { lookForLoss(); };
  return patience;
}

Hello Start::makeHello() const {
  Hello hello = {};
  std::memcpy(hello.magic, kMagic, sizeof(kMagic));
  hello.version = kVersion;
  hello.rank = place.rank;
  hello.ranks = place.ranks;
  hello.port = listener.port();
  hello.job = job;
  return hello;
}

void Start::lookForNotice(const std::string &what) const {
  const std::chrono::duration<double> waited = Clock::now() - begun;
  if (isNoticed || !options.notice || options.noticeSeconds <= 0 ||
      waited.count() < options.noticeSeconds)
    return;
  isNoticed = true;
  options.notice(what + " within " + formatSeconds(options.noticeSeconds));
}

void Start::lookForLoss() const {
  if (!options.findLoss)
    return;
  if (const std::string loss = options.findLoss(); !loss.empty())
    throw CommunicationError(loss);
}

std::string Start::missing() const {
  std::vector<int> absent;
  for (int rank = place.rank + 1; rank < place.ranks; ++rank)
    if (!sockets[size_t(rank)].isOpen())
      absent.push_back(rank);
  return listRanks(absent, /*most=*/8);
}

std::string Start::findFault(const Hello &hello) const {
  const std::string who = "rank " + std::to_string(hello.rank);
  if (hello.version != kVersion)
    return who + " is of another version of the runtime";
  if (hello.ranks != place.ranks)
    return who + " has a WORLD_SIZE of " + std::to_string(hello.ranks) +
           ", and rank " + std::to_string(place.rank) + " one of " +
           std::to_string(place.ranks);
  if (hello.rank <= place.rank || hello.rank >= place.ranks)
    return "a process came as " + who + " of " + std::to_string(place.ranks) +
           " to rank " + std::to_string(place.rank);
  if (sockets[size_t(hello.rank)].isOpen())
    return who + " came twice: is RANK different in each process?";
  return "";
}

/// Reads what a process says first; whether it is one of a job of this kind.
bool Start::isReady(Socket &socket, Hello &hello) const {
  Patience patience;
  patience.end = Clock::now() + kHelloTime;
  try {
    return socket.receiveAll(&hello, sizeof(hello), patience) &&
           std::memcmp(hello.magic, kMagic, sizeof(kMagic)) == 0;
  } catch (const CommunicationError &) {
    return false;
  }
}

/// Takes a process that connects in, unless it is of another job.
void Start::welcome(Socket socket) {
  Hello hello;
  if (!isReady(socket, hello) || hello.job != (place.rank ? job : 0))
    return;
  error = findFault(hello);
  if (!error.empty()) {
    refused = std::move(socket);
    return;
  }
  if (place.rank == 0) {
    Row &row = rows[size_t(hello.rank)];
    // What is near to rank 0 is where rank 0 is for the others.
    const std::string host = socket.peer();
    std::snprintf(row.host, sizeof(row.host), "%s",
                  isLoopback(host) ? "" : host.c_str());
    row.port = hello.port;
  }
  sockets[size_t(hello.rank)] = std::move(socket);
}

/// Until all processes with greater numbers have connected to this one.
void Start::gather() {
  const Patience patience = this->patience();
  while (std::any_of(sockets.begin() + place.rank + 1, sockets.end(),
                     [](const Socket &each) { return !each.isOpen(); })) {
    pollfd entry = {listener.number(), POLLIN, 0};
    ::poll(&entry, 1, 50);
    if (Socket socket = listener.accept(); socket.isOpen())
      welcome(std::move(socket));
    if (!error.empty())
      break;
    lookForLoss();
    lookForNotice(missing() + " did not come to rank " +
                  std::to_string(place.rank));
    if (patience.isOver()) {
      error = missing() + " did not come to rank " +
              std::to_string(place.rank) + " within " +
              formatSeconds(options.timeoutSeconds);
      break;
    }
  }
}

/// Tells all that have come to rank 0 where everybody is, or what is wrong.
void Start::answer(const std::string &fault) {
  Answer answer = {};
  std::memcpy(answer.magic, kMagic, sizeof(kMagic));
  answer.job = job;
  std::snprintf(answer.error, sizeof(answer.error), "%s", fault.c_str());
  const auto send = [&](const Socket &socket) {
    if (!socket.isOpen())
      return;
    socket.sendAll(&answer, sizeof(answer), patience());
    if (fault.empty())
      socket.sendAll(rows.data(), rows.size() * sizeof(Row), patience());
  };
  for (const Socket &socket : sockets)
    send(socket);
  send(refused);
}

/// Comes to rank 0, and hears where the others are.
void Start::join() {
  Patience patience = this->patience();
  // What rank 0 waits for, it says when its time is over.
  if (options.timeoutSeconds > 0)
    patience.end += kAnswerTime;
  const std::string what =
      "rank 0 at " + place.host + ", port " + std::to_string(place.port);
  patience.look = [&] {
    lookForLoss();
    lookForNotice(what + ", has not answered");
  };
  Socket &socket = sockets[0];
  Patience connecting = this->patience();
  connecting.look = patience.look;
  socket = Socket::connect(place.host, place.port, "rank 0", connecting);
  // Not before: the port could be the one that rank 0 is about to take.
  listener = Socket::listen(0, place.ranks);
  const Hello hello = makeHello();
  socket.sendAll(&hello, sizeof(hello), patience);
  Answer answer;
  if (!socket.receiveAll(&answer, sizeof(answer), patience) ||
      std::memcmp(answer.magic, kMagic, sizeof(kMagic)) != 0)
    throw CommunicationError(
        what + ", does not answer as rank 0 of this program: does another "
               "program listen there? Set MASTER_PORT to a free port");
  answer.error[sizeof(answer.error) - 1] = '\0';
  if (answer.error[0])
    throw CommunicationError(answer.error);
  job = answer.job;
  if (!socket.receiveAll(rows.data(), rows.size() * sizeof(Row), patience))
    throw CommunicationError(what + ", has ended");
}

/// Connects to those with smaller numbers, which listen by now.
void Start::meet() {
  const std::string near = sockets[0].peer();
  const Hello hello = makeHello();
  for (int rank = 1; rank < place.rank; ++rank) {
    Row &row = rows[size_t(rank)];
    row.host[sizeof(row.host) - 1] = '\0';
    Socket &socket = sockets[size_t(rank)];
    socket = Socket::connect(row.host[0] ? row.host : near, uint16_t(row.port),
                             "rank " + std::to_string(rank), patience());
    socket.sendAll(&hello, sizeof(hello), patience());
  }
}

std::vector<Socket> Start::run() {
  rows.resize(size_t(place.ranks));
  if (place.rank == 0) {
    try {
      listener = Socket::listen(place.port, place.ranks);
    } catch (const CommunicationError &error) {
      throw CommunicationError(error.what() + place.advice);
    }
    while (!job)
      job = (uint64_t(std::random_device{}()) << 32) | std::random_device{}();
    gather();
    answer(error);
  } else {
    join();
    meet();
    gather();
  }
  if (!error.empty())
    throw CommunicationError(error);
  return std::move(sockets);
}

std::vector<Socket>
zrt::processes::connectAll(const SocketPlace &place,
                           const CommunicatorOptions &options) {
  try {
    return Start(place, options).run();
  } catch (const CommunicationError &error) {
    throw CommunicationError("rank " + std::to_string(place.rank) + " of " +
                             std::to_string(place.ranks) +
                             ", at the start: " + error.what());
  }
}
