#include "communicator/SocketWire.h"

#include "communicator/SocketConnection.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <numeric>
#include <poll.h>
#include <thread>

namespace zrt::processes {
namespace {

/// How long a process that ends waits for what others have to say.
constexpr auto kEndTime = std::chrono::seconds(5);
constexpr int kSplitTag = 0;

class SocketJob final : public Job {
public:
  SocketJob(const SocketPlace &place, const CommunicatorOptions &options);

  std::unique_ptr<Wire> makeWire() override;
  SocketConnection &to(int number) { return *connections[size_t(number)]; }

  uint32_t nextContext = 1;

private:
  /// Moves what can be moved without waiting.
  void advance();
  void tell(const Message &message) override;
  bool hear(Message &message) override;
  [[noreturn]] void kill() override;
  void close() override;
  void noteEnded(int number);
  /// Moves until everything is written, and heard where `hears`, or until
  /// `end`.
  void finishUntil(Clock::time_point end, bool hears);

  /// By number; null at this process's own.
  std::vector<std::unique_ptr<SocketConnection>> connections;
  std::vector<pollfd> polled;
  std::deque<Message> heard;
  bool isClosing = false; ///< this process has said that it ends
};

class SocketRequests final : public Requests {
public:
  SocketRequests(SocketJob &job, uint32_t context,
                 const std::vector<int> &numbers)
      : job(job), context(context), numbers(numbers) {}

  ~SocketRequests() override { cancel(); }

  void send(const void *from, size_t bytes, int peer, int tag) override {
    Request &request = add(from, bytes, peer, tag);
    request.connection->send(request.operation);
  }
  void receive(void *to, size_t bytes, int peer, int tag) override {
    Request &request = add(to, bytes, peer, tag);
    request.connection->receive(request.operation);
  }
  size_t active() const override { return activeCount; }
  bool isComplete(size_t index) const override {
    return requests[index]->operation.isDone;
  }
  void clear() override { used = 0; }
  bool poll() override;
  void cancel() override;

private:
  struct Request {
    SocketConnection *connection = nullptr;
    SocketOperation operation;
    bool isCounted = false; ///< as complete
  };
  Request &add(const void *data, size_t bytes, int peer, int tag);

  SocketJob &job;
  const uint32_t context;
  const std::vector<int> &numbers;
  std::vector<std::unique_ptr<Request>> requests; ///< kept for later ones
  size_t used = 0, activeCount = 0;
};

SocketRequests::Request &SocketRequests::add(const void *data, size_t bytes,
                                             int peer, int tag) {
  if (used == requests.size())
    requests.push_back(std::make_unique<Request>());
  Request &request = *requests[used++];
  request.connection = &job.to(numbers[size_t(peer)]);
  request.operation.context = context;
  request.operation.tag = uint32_t(tag);
  request.operation.data = static_cast<char *>(const_cast<void *>(data));
  request.operation.bytes = bytes;
  request.operation.isDone = false;
  request.isCounted = false;
  ++activeCount;
  return request;
}

bool SocketRequests::poll() {
  bool moved = false;
  for (size_t i = 0; activeCount && i < used; ++i) {
    Request &request = *requests[i];
    if (request.isCounted || !request.operation.isDone)
      continue;
    request.isCounted = true;
    --activeCount;
    moved = true;
  }
  return moved;
}

void SocketRequests::cancel() {
  for (size_t i = 0; i < used; ++i)
    if (!requests[i]->operation.isDone)
      requests[i]->connection->cancel(requests[i]->operation);
  used = activeCount = 0;
}

class SocketWire final : public Wire {
public:
  SocketWire(SocketJob &job, uint32_t context, std::vector<int> numbers)
      : job(job), context(context), numbers(std::move(numbers)) {
    const auto own =
        std::find(this->numbers.begin(), this->numbers.end(), job.rank());
    ownRank = int(own - this->numbers.begin());
  }
  int rank() const override { return ownRank; }
  int ranks() const override { return int(numbers.size()); }
  int numberInJob(int rank) const override { return numbers[size_t(rank)]; }
  std::unique_ptr<Requests> makeRequests() override {
    return std::make_unique<SocketRequests>(job, context, numbers);
  }
  std::unique_ptr<Wire> split(int color, int key) override;

private:
  SocketJob &job;
  const uint32_t context;
  const std::vector<int> numbers; ///< in the job, by rank
  int ownRank = 0;
};

/// Two groups that share two ranks have different contexts: each takes one that
/// none of its ranks has used.
std::unique_ptr<Wire> SocketWire::split(int color, int key) {
  struct Choice {
    int32_t color, key;
    uint32_t context, unused;
  };
  std::vector<Choice> choices(numbers.size());
  choices[size_t(ownRank)] = {color, key, job.nextContext, 0};
  SocketRequests requests(job, context, numbers);
  for (int peer = 0; peer < ranks(); ++peer)
    if (peer != ownRank) {
      requests.receive(&choices[size_t(peer)], sizeof(Choice), peer, kSplitTag);
      requests.send(&choices[size_t(ownRank)], sizeof(Choice), peer, kSplitTag);
    }
  for (;;) {
    job.progress();
    requests.poll();
    if (!requests.active())
      break;
    if (job.failed())
      job.throwFailure();
    std::this_thread::yield();
  }
  std::vector<int> members;
  uint32_t chosen = 0;
  for (int rank = 0; rank < ranks(); ++rank) {
    chosen = std::max(chosen, choices[size_t(rank)].context);
    if (choices[size_t(rank)].color == color)
      members.push_back(rank);
  }
  std::sort(members.begin(), members.end(), [&](int left, int right) {
    return std::pair(choices[size_t(left)].key, left) <
           std::pair(choices[size_t(right)].key, right);
  });
  for (int &member : members)
    member = numbers[size_t(member)];
  job.nextContext = chosen + 1;
  return std::make_unique<SocketWire>(job, chosen, std::move(members));
}

SocketJob::SocketJob(const SocketPlace &place,
                     const CommunicatorOptions &options)
    : connections(size_t(place.ranks)) {
  setSize(place.rank, place.ranks);
  std::vector<Socket> sockets = connectAll(place, options);
  for (size_t number = 0; number < sockets.size(); ++number)
    if (sockets[number].isOpen())
      connections[number] =
          std::make_unique<SocketConnection>(std::move(sockets[number]));
}

std::unique_ptr<Wire> SocketJob::makeWire() {
  std::vector<int> numbers(static_cast<size_t>(ranks()));
  std::iota(numbers.begin(), numbers.end(), 0);
  return SocketWire(*this, /*context=*/0, numbers).split(0, rank());
}

/// Of one that has said that it ends, nothing more is wanted.
void SocketJob::noteEnded(int number) {
  if (isClosing)
    return;
  for (std::string text; !(text = to(number).hear()).empty();) {
    Message message = {};
    std::memcpy(&message, text.data(), std::min(text.size(), sizeof(message)));
    heard.push_back(message);
  }
  const bool hasLeft =
      secondsSinceLeft(number) >= 0 ||
      std::any_of(heard.begin(), heard.end(), [&](const Message &message) {
        return message.leaving && message.rank == number;
      });
  if (hasLeft)
    return;
  noteLost();
  fail("the process of rank " + std::to_string(number) +
       " has ended without a word: its connection to rank " +
       std::to_string(rank()) + ": " + to(number).reason());
}

void SocketJob::advance() {
  polled.clear();
  for (const auto &connection : connections) {
    const bool isOpen = connection && connection->isOpen();
    polled.push_back(
        {isOpen ? connection->descriptor() : -1,
         short(POLLIN | (isOpen && connection->hasToWrite() ? POLLOUT : 0)),
         0});
  }
  if (::poll(polled.data(), polled.size(), 0) <= 0)
    return;
  for (size_t number = 0; number < connections.size(); ++number) {
    if (!polled[number].revents)
      continue;
    const bool canRead = polled[number].revents & ~POLLOUT;
    try {
      if (!connections[number]->advance(canRead))
        noteEnded(int(number));
    } catch (const CommunicationError &error) {
      fail("rank " + std::to_string(rank()) + ", from rank " +
           std::to_string(number) + ": " + error.what());
    }
  }
}

/// On its way before anything that this rank does next: others may see that
/// first.
void SocketJob::tell(const Message &message) {
  for (const auto &connection : connections)
    if (connection && connection->isOpen()) {
      connection->tell(&message, sizeof(message));
      connection->advance(/*canRead=*/false);
    }
}

bool SocketJob::hear(Message &message) {
  if (heard.empty()) {
    advance();
    for (const auto &connection : connections)
      for (std::string text;
           connection && !(text = connection->hear()).empty();) {
        heard.emplace_back();
        std::memcpy(&heard.back(), text.data(),
                    std::min(text.size(), sizeof(message)));
      }
  }
  if (heard.empty())
    return false;
  message = heard.front();
  heard.pop_front();
  return true;
}

void SocketJob::finishUntil(Clock::time_point end, bool hears) {
  for (bool isBusy = true; isBusy && Clock::now() < end;) {
    isBusy = false;
    hearAll();
    for (const auto &connection : connections)
      isBusy |= connection && connection->isOpen() &&
                (hears || connection->hasToWrite());
    if (isBusy)
      std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
}

void SocketJob::kill() {
  finishUntil(Clock::now() + std::chrono::milliseconds(200), /*hears=*/false);
  std::_Exit(1);
}

/// A connection that is closed while the other side writes loses what that has
/// not read: each side ends its writing, and waits for the other's end.
void SocketJob::close() {
  const auto end = Clock::now() + kEndTime;
  isClosing = true;
  finishUntil(end, /*hears=*/false);
  for (const auto &connection : connections)
    if (connection)
      connection->endWriting();
  finishUntil(end, /*hears=*/true);
}

} // namespace

Job &socketJob(const SocketPlace &place, const CommunicatorOptions &options) {
  static Job *job = [&] {
    Job *made = new SocketJob(place, options);
    std::atexit([] { socketJob({}, {}).finalize(); });
    return made;
  }();
  return *job;
}

} // namespace zrt::processes
