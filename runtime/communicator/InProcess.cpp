#include "communicator/InProcess.h"

#include "communicator/InProcessMail.h"
#include "communicator/InProcessWork.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>
#include <tuple>
#include <utility>

namespace zrt {
namespace {

using Clock = std::chrono::steady_clock;

/// What a communicator shares with all that were split from it: one failure,
/// and one lock for everything but the work itself.
struct World {
  explicit World(const CommunicatorOptions &options) : options(options) {}

  /// Records the first failure and wakes everyone. \pre `mutex` is held.
  void fail(const std::string &why) {
    if (failed)
      return;
    reason = why;
    failed = true;
    changed.notify_all();
  }

  /// Throws what was recorded, once no thread touches anyone's buffers: after
  /// the throw this rank's may be gone. \pre `mutex` is not held.
  [[noreturn]] void throwFailure() {
    while (working != 0)
      std::this_thread::yield();
    std::string why;
    {
      std::lock_guard<std::mutex> lock(mutex);
      why = reason;
    }
    throw CommunicationError(why);
  }

  const CommunicatorOptions options;
  std::mutex mutex;
  std::condition_variable changed;
  std::atomic<bool> failed{false};
  /// Threads that may be inside a buffer. Sequentially consistent with
  /// `failed`: a thread enters, then looks; a thrower fails, then looks.
  std::atomic<int> working{0};
  std::string reason;
};

struct Group;

/// One started operation; reused for another when every rank has waited.
struct Operation {
  uint64_t index = 0;
  bool live = false;
  OperationSignature signature; ///< of the first rank that started it
  int firstRank = 0;
  std::vector<char> posted, waited; ///< by rank
  int waitedCount = 0;
  bool noticed = false; ///< that a rank does not come
  InProcessWork work;
  std::vector<int> colors, keys;              ///< a split's arguments
  std::vector<std::shared_ptr<Group>> groups; ///< a split's results
  std::vector<int> groupRanks;
  std::atomic<int> postedCount{0};
  std::atomic<uint64_t> nextPiece{0};
  std::atomic<uint64_t> donePieces{0};
  uint64_t pieces = 0; ///< known when all have posted
};

/// The ranks of one communicator. All but the atomics under World::mutex.
struct Group {
  Group(std::shared_ptr<World> world, int ranks)
      : world(std::move(world)), ranks(ranks), operations(kOperations),
        left(ranks) {
    for (auto &operation : operations)
      operation = makeOperation();
  }

  /// An operation that allocates nothing when it is posted, unless it has more
  /// parts than most.
  std::unique_ptr<Operation> makeOperation() const {
    constexpr size_t kParts = 16;
    auto operation = std::make_unique<Operation>();
    operation->posted.reserve(ranks);
    operation->waited.reserve(ranks);
    operation->work.reserve(ranks, kParts);
    return operation;
  }

  Operation &slot(uint64_t index) {
    return *operations[index & (operations.size() - 1)];
  }

  /// The operation of that index; a new one when no rank has started it.
  Operation &claim(uint64_t index) {
    while (slot(index).live && slot(index).index != index)
      grow();
    Operation &operation = slot(index);
    if (!operation.live)
      clear(operation, index);
    return operation;
  }

  void clear(Operation &operation, uint64_t index) {
    operation.index = index;
    operation.live = true;
    operation.posted.assign(ranks, 0);
    operation.waited.assign(ranks, 0);
    operation.waitedCount = 0;
    operation.noticed = false;
    operation.work.reset(ranks);
    operation.postedCount = 0;
    operation.nextPiece = 0;
    operation.donePieces = 0;
  }

  /// Doubles the ring; operations keep their addresses.
  void grow() {
    std::vector<std::unique_ptr<Operation>> larger(operations.size() * 2);
    for (auto &operation : operations)
      if (operation->live)
        larger[operation->index & (larger.size() - 1)] = std::move(operation);
    for (auto &operation : larger)
      if (!operation)
        operation = makeOperation();
    operations = std::move(larger);
  }

  /// More than a step has in flight; a power of two.
  static constexpr size_t kOperations = 32;
  const std::shared_ptr<World> world;
  const int ranks;
  std::vector<std::unique_ptr<Operation>> operations; ///< a power of two
  MailBoxes mail;
  std::vector<char> left; ///< ranks whose communicator is gone
  int leftCount = 0;
};

/// "ranks 1, 3" of those whose flag is `value`.
std::string namesOf(const std::vector<char> &flags, char value) {
  std::string names;
  int found = 0;
  for (size_t rank = 0; rank < flags.size(); ++rank) {
    if (flags[rank] != value)
      continue;
    names += (found++ ? ", " : "") + std::to_string(rank);
  }
  return (found == 1 ? "rank " : "ranks ") + names;
}

/// Does for the last poster of a split what MPI_Comm_split does.
void makeGroups(Operation &operation, const std::shared_ptr<World> &world) {
  std::map<int, std::vector<int>> members;
  for (size_t rank = 0; rank < operation.colors.size(); ++rank)
    members[operation.colors[rank]].push_back(static_cast<int>(rank));
  for (auto &[color, ranks] : members) {
    std::sort(ranks.begin(), ranks.end(), [&](int left, int right) {
      return std::tie(operation.keys[left], left) <
             std::tie(operation.keys[right], right);
    });
    auto group = std::make_shared<Group>(world, static_cast<int>(ranks.size()));
    for (size_t i = 0; i < ranks.size(); ++i) {
      operation.groups[ranks[i]] = group;
      operation.groupRanks[ranks[i]] = static_cast<int>(i);
    }
  }
}

class InProcessCommunicator final : public Communicator {
public:
  InProcessCommunicator(std::shared_ptr<Group> group, int rank)
      : group_(std::move(group)), world_(*group_->world), rank_(rank) {}
  ~InProcessCommunicator() override;

  int rank() const override { return rank_; }
  int ranks() const override { return group_->ranks; }
  Ticket start(Collective kind, Reduction reduction,
               const std::vector<Transfer> &parts) override {
    return isBetweenTwo(kind) ? startMail(kind, parts)
                              : post(kind, reduction, parts, 0, 0);
  }
  void wait(Ticket ticket) override;
  void barrier() override {
    wait(post(Meeting::barrier(), Reduction::Sum, {}, 0, 0));
  }
  std::unique_ptr<Communicator> split(int color, int key) override;
  void checkPeers() override;
  void abort(const std::string &reason) override;

private:
  Ticket post(Meeting meeting, Reduction reduction,
              const std::vector<Transfer> &parts, int color, int key);
  void postLast(Operation &operation);
  Operation &find(Ticket ticket);
  template <class Complete, class Left, class Late>
  void awaitPeers(Complete complete, Left failWhereLeft, Late describe,
                  bool &noticed);
  void awaitPosts(Operation &operation);
  void failWhereLeft(const Operation &operation);
  Ticket startMail(Collective kind, const std::vector<Transfer> &parts);
  void waitForMail(StartedMail &started);
  void take(const StartedMail &started, Mail &mail);
  std::string describeMail(const StartedMail &started) const;
  std::string describeLate(const Operation &operation, double seconds) const;
  void tellLate(const std::string &what, bool &noticed,
                std::unique_lock<std::mutex> &lock);
  void doPieces(Operation &operation);
  void awaitPieces(Operation &operation);
  [[noreturn]] void fail(const std::string &why);
  std::string where(uint64_t index) const {
    return "operation " + std::to_string(index) + " of a group of " +
           std::to_string(group_->ranks) + " ranks";
  }

  const std::shared_ptr<Group> group_;
  World &world_;
  const int rank_;
  uint64_t started_ = 0, waited_ = 0;
  /// Sends and receives by their tickets, which have a bit that others have
  /// not.
  static constexpr Ticket kMailTicket = Ticket(1) << 63;
  std::map<Ticket, StartedMail> mail_;
  uint64_t startedMail_ = 0;
};

/// Turns of looking before a thread sleeps; a few microseconds, and none when
/// the peers need this core.
int spinTurns(int ranks) {
  static const int cores =
      static_cast<int>(std::thread::hardware_concurrency());
  return ranks <= cores ? 2000 : 0;
}

template <class Condition> bool spin(int ranks, Condition holds) {
  for (int turn = spinTurns(ranks); turn > 0; --turn) {
    if (holds())
      return true;
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
  return holds();
}

InProcessCommunicator::~InProcessCommunicator() {
  {
    std::lock_guard<std::mutex> lock(world_.mutex);
    if (const uint64_t left = started_ - waited_ + mail_.size())
      world_.fail("rank " + std::to_string(rank_) + " of " +
                  std::to_string(group_->ranks) + " left without waiting for " +
                  std::to_string(left) + " started operation(s)");
    group_->left[rank_] = 1;
    ++group_->leftCount;
    world_.changed.notify_all();
  }
  while (world_.failed && world_.working != 0)
    std::this_thread::yield();
}

void InProcessCommunicator::fail(const std::string &why) {
  {
    std::lock_guard<std::mutex> lock(world_.mutex);
    world_.fail(why);
  }
  world_.throwFailure();
}

Communicator::Ticket
InProcessCommunicator::post(Meeting meeting, Reduction reduction,
                            const std::vector<Transfer> &parts, int color,
                            int key) {
  std::string invalid =
      findInvalid(meeting, reduction, parts, rank_, group_->ranks);
  if (!invalid.empty())
    fail(invalid);
  OperationSignature signature =
      signatureOf(started_, meeting, reduction, parts);
  std::unique_lock<std::mutex> lock(world_.mutex);
  if (world_.failed) {
    lock.unlock();
    world_.throwFailure();
  }
  Operation &operation = group_->claim(started_);
  if (operation.postedCount == 0) {
    operation.signature = signature;
    operation.firstRank = rank_;
    if (meeting == Meeting::split()) {
      operation.colors.resize(group_->ranks);
      operation.keys.resize(group_->ranks);
      operation.groups.resize(group_->ranks);
      operation.groupRanks.resize(group_->ranks);
    }
  } else if (operation.signature != signature) {
    lock.unlock();
    fail(describeMismatch(operation.signature, operation.firstRank, signature,
                          rank_));
  }
  operation.posted[rank_] = 1;
  operation.work.post(rank_, parts);
  if (meeting == Meeting::split()) {
    operation.colors[rank_] = color;
    operation.keys[rank_] = key;
  }
  if (operation.postedCount + 1 == group_->ranks)
    postLast(operation);
  ++operation.postedCount;
  return started_++;
}

void InProcessCommunicator::postLast(Operation &operation) {
  // A barrier has no parts, and so no pieces.
  operation.work.describePieces(operation.signature.meeting.collective(),
                                operation.signature.reduction);
  operation.pieces = operation.work.pieces();
  if (operation.signature.meeting == Meeting::split())
    makeGroups(operation, group_->world);
  world_.changed.notify_all();
}

/// The operation that this rank started and has not waited for.
Operation &InProcessCommunicator::find(Ticket ticket) {
  std::unique_lock<std::mutex> lock(world_.mutex);
  if (world_.failed) {
    lock.unlock();
    world_.throwFailure();
  }
  Operation &operation = group_->slot(ticket);
  if (!operation.live || operation.index != ticket ||
      !operation.posted[rank_] || operation.waited[rank_]) {
    lock.unlock();
    fail(where(ticket) + ": rank " + std::to_string(rank_) +
         " waits for it without having started it, or for the second time");
  }
  return operation;
}

/// `seconds` after `begin`; 0: years later.
Clock::time_point after(Clock::time_point begin, double seconds) {
  constexpr double kYears = 3e8;
  return begin + std::chrono::duration_cast<Clock::duration>(
                     std::chrono::duration<double>(
                         seconds > 0 ? std::min(seconds, kYears) : kYears));
}

/// Waits until `complete` or a failure. `failWhereLeft` is asked whether peers
/// are gone, and `describe` what to say after so many seconds; both with the
/// lock held.
template <class Complete, class Left, class Late>
void InProcessCommunicator::awaitPeers(Complete complete, Left failWhereLeft,
                                       Late describe, bool &noticed) {
  const CommunicatorOptions &options = world_.options;
  const auto begin = Clock::now();
  const auto end = after(begin, options.timeoutSeconds);
  auto notice = after(begin, options.notice ? options.noticeSeconds : 0);
  std::unique_lock<std::mutex> lock(world_.mutex);
  while (!complete()) {
    failWhereLeft();
    if (world_.failed)
      return;
    world_.changed.wait_until(lock, std::min(notice, end));
    const auto now = Clock::now();
    if (complete() || now < std::min(notice, end))
      continue;
    if (now >= end)
      return world_.fail(describe(options.timeoutSeconds));
    notice = after(begin, 0);
    tellLate(describe(options.noticeSeconds), noticed, lock);
  }
}

void InProcessCommunicator::awaitPosts(Operation &operation) {
  auto complete = [&] {
    return operation.postedCount == group_->ranks || world_.failed;
  };
  if (!spin(group_->ranks, complete))
    awaitPeers(
        complete, [&] { failWhereLeft(operation); },
        [&](double seconds) { return describeLate(operation, seconds); },
        operation.noticed);
}

/// Fails where a rank is gone that has not started it. \pre The lock is held.
void InProcessCommunicator::failWhereLeft(const Operation &operation) {
  for (int rank = 0; group_->leftCount && rank < group_->ranks; ++rank)
    if (group_->left[rank] && !operation.posted[rank])
      world_.fail(where(operation.index) + " (" +
                  describe(operation.signature) + "): rank " +
                  std::to_string(rank) + " left without starting it");
}

std::string InProcessCommunicator::describeLate(const Operation &operation,
                                                double seconds) const {
  return where(operation.index) + " (" + describe(operation.signature) +
         "): " + namesOf(operation.posted, 0) + " did not start it within " +
         formatSeconds(seconds) + ", " + namesOf(operation.posted, 1) + " did";
}

/// Tells once for all who wait. \pre The lock is held.
void InProcessCommunicator::tellLate(const std::string &what, bool &noticed,
                                     std::unique_lock<std::mutex> &lock) {
  if (std::exchange(noticed, true))
    return;
  lock.unlock();
  world_.options.notice(what);
  lock.lock();
}

//===----------------------------------------------------------------------===//
// From one rank to another
//===----------------------------------------------------------------------===//

Communicator::Ticket
InProcessCommunicator::startMail(Collective kind,
                                 const std::vector<Transfer> &parts) {
  const bool isSend = kind == Collective::Send;
  const int peer = parts.size() == 1 ? parts.front().root : rank_;
  if (peer == rank_ || peer < 0 || peer >= group_->ranks)
    fail(std::string(isSend ? "send to" : "receive from") + " rank " +
         std::to_string(peer) + " in " + std::to_string(parts.size()) +
         " parts, on rank " + std::to_string(rank_) + " of " +
         std::to_string(group_->ranks) +
         ": wanted one part, and another rank of the group");
  std::unique_lock<std::mutex> lock(world_.mutex);
  if (world_.failed) {
    lock.unlock();
    world_.throwFailure();
  }
  const Ticket ticket = kMailTicket | startedMail_++;
  StartedMail &started = mail_[ticket];
  started.isSend = isSend;
  started.peer = peer;
  started.transfer = parts.front();
  if (isSend) {
    started.mail = std::make_shared<Mail>();
    started.mail->transfer = parts.front();
    group_->mail[{rank_, peer}].send(started.mail);
    world_.changed.notify_all();
  } else {
    started.number = group_->mail[{peer, rank_}].expect();
  }
  return ticket;
}

std::string
InProcessCommunicator::describeMail(const StartedMail &started) const {
  return std::string(started.isSend ? "a send of " : "a receive of ") +
         std::to_string(started.transfer.count) + " x " +
         nameOf(started.transfer.type) + (started.isSend ? " to" : " from") +
         " rank " + std::to_string(started.peer) + " of a group of " +
         std::to_string(group_->ranks) + " ranks, on rank " +
         std::to_string(rank_);
}

/// Copies what was sent. \pre The lock is not held.
void InProcessCommunicator::take(const StartedMail &started, Mail &mail) {
  const Transfer &from = mail.transfer, &to = started.transfer;
  if (from.count != to.count || from.type != to.type)
    fail(describeMail(started) + ": the other rank sends " +
         std::to_string(from.count) + " x " + nameOf(from.type));
  ++world_.working;
  if (!world_.failed)
    std::memcpy(to.receive, from.send, to.count * sizeOf(to.type));
  --world_.working;
  std::lock_guard<std::mutex> lock(world_.mutex);
  mail.isTaken = true;
  group_->mail[{started.peer, rank_}].discardTaken();
  world_.changed.notify_all();
}

void InProcessCommunicator::waitForMail(StartedMail &started) {
  bool noticed = false;
  const auto complete = [&] {
    if (!started.isSend && !started.mail)
      started.mail = group_->mail[{started.peer, rank_}].find(started.number);
    return world_.failed ||
           (started.mail && (!started.isSend || started.mail->isTaken));
  };
  const auto describe = [&](double seconds) {
    return describeMail(started) + ": rank " + std::to_string(started.peer) +
           (started.isSend ? " did not receive it within "
                           : " did not send it within ") +
           formatSeconds(seconds);
  };
  awaitPeers(
      complete,
      [&] {
        if (group_->left[started.peer])
          world_.fail(describeMail(started) + ": rank " +
                      std::to_string(started.peer) + " left without " +
                      (started.isSend ? "receiving it" : "sending it"));
      },
      describe, noticed);
  if (!world_.failed && !started.isSend)
    take(started, *started.mail);
  if (world_.failed)
    world_.throwFailure();
}

/// Does what pieces are left. Other waiters do the same at the same time.
void InProcessCommunicator::doPieces(Operation &operation) {
  ++world_.working;
  while (!world_.failed) {
    uint64_t piece =
        operation.nextPiece.fetch_add(1, std::memory_order_relaxed);
    if (piece >= operation.pieces)
      break;
    operation.work.run(piece, rank_);
    if (operation.donePieces.fetch_add(1) + 1 == operation.pieces) {
      std::lock_guard<std::mutex> lock(world_.mutex);
      world_.changed.notify_all();
    }
  }
  --world_.working;
}

/// Waits for the pieces that others are doing: at most one each, so there is
/// no timeout.
void InProcessCommunicator::awaitPieces(Operation &operation) {
  auto complete = [&] {
    return operation.donePieces == operation.pieces || world_.failed;
  };
  if (spin(group_->ranks, complete))
    return;
  std::unique_lock<std::mutex> lock(world_.mutex);
  world_.changed.wait(lock, complete);
}

void InProcessCommunicator::wait(Ticket ticket) {
  if (ticket & kMailTicket) {
    const auto started = mail_.find(ticket);
    if (started == mail_.end())
      fail("rank " + std::to_string(rank_) +
           " waits for a send or receive without having started it, or for "
           "the second time");
    waitForMail(started->second);
    mail_.erase(started);
    return;
  }
  Operation &operation = find(ticket);
  awaitPosts(operation);
  if (!world_.failed) {
    doPieces(operation);
    awaitPieces(operation);
  }
  if (world_.failed)
    world_.throwFailure();
  ++waited_;
  std::lock_guard<std::mutex> lock(world_.mutex);
  operation.waited[rank_] = 1;
  if (++operation.waitedCount == group_->ranks) {
    operation.live = false;
    operation.groups.clear();
  }
}

std::unique_ptr<Communicator> InProcessCommunicator::split(int color, int key) {
  if (color < 0)
    fail("split: found color " + std::to_string(color) + " on rank " +
         std::to_string(rank_) + ", wanted zero or more");
  Ticket ticket = post(Meeting::split(), Reduction::Sum, {}, color, key);
  Operation &operation = find(ticket);
  awaitPosts(operation);
  if (world_.failed)
    world_.throwFailure();
  std::shared_ptr<Group> group = operation.groups[rank_];
  int rank = operation.groupRanks[rank_];
  wait(ticket);
  return std::make_unique<InProcessCommunicator>(std::move(group), rank);
}

void InProcessCommunicator::checkPeers() {
  if (world_.failed)
    world_.throwFailure();
}

/// Returns once no thread touches this rank's buffers: what follows may free
/// them.
void InProcessCommunicator::abort(const std::string &reason) {
  {
    std::lock_guard<std::mutex> lock(world_.mutex);
    world_.fail("rank " + std::to_string(rank_) + " of " +
                std::to_string(group_->ranks) + " aborted: " + reason);
  }
  while (world_.working != 0)
    std::this_thread::yield();
}

} // namespace

std::vector<std::unique_ptr<Communicator>>
makeInProcess(int ranks, const CommunicatorOptions &options) {
  if (ranks <= 0)
    throw std::invalid_argument("in-process communicator: found " +
                                std::to_string(ranks) +
                                " ranks, wanted at least 1");
  auto group = std::make_shared<Group>(std::make_shared<World>(options), ranks);
  std::vector<std::unique_ptr<Communicator>> communicators;
  for (int rank = 0; rank < ranks; ++rank)
    communicators.push_back(
        std::make_unique<InProcessCommunicator>(group, rank));
  return communicators;
}

} // namespace zrt
