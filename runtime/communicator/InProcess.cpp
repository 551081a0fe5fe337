#include "communicator/InProcess.h"

#include "communicator/InProcessCommunicator.h"
#include "program/ByteCount.h"
#include "program/Cores.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace zrt::in_process {
namespace {

/// Lists the ranks whose flag is `value`.
std::string namesOf(const std::vector<char> &flags, char value) {
  std::vector<int> ranks;
  for (size_t rank = 0; rank < flags.size(); ++rank)
    if (flags[rank] == value)
      ranks.push_back(int(rank));
  return listRanks(ranks);
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

/// Turns of looking before a thread sleeps; a few microseconds, and none when
/// the peers need this core.
int spinTurns(int ranks) {
  static const int cores = coresOfProcess();
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

} // namespace

/// `seconds` after `begin`; 0: years later.
Clock::time_point after(Clock::time_point begin, double seconds) {
  constexpr double kYears = 3e8;
  return begin + std::chrono::duration_cast<Clock::duration>(
                     std::chrono::duration<double>(
                         seconds > 0 ? std::min(seconds, kYears) : kYears));
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

} // namespace zrt::in_process

namespace zrt {

std::vector<std::unique_ptr<Communicator>>
makeInProcess(int ranks, const CommunicatorOptions &options) {
  if (ranks <= 0)
    throw std::invalid_argument("in-process communicator: found " +
                                std::to_string(ranks) +
                                " ranks, wanted at least 1");
  auto group = std::make_shared<in_process::Group>(
      std::make_shared<in_process::World>(options), ranks);
  std::vector<std::unique_ptr<Communicator>> communicators;
  for (int rank = 0; rank < ranks; ++rank)
    communicators.push_back(
        std::make_unique<in_process::InProcessCommunicator>(group, rank));
  return communicators;
}

} // namespace zrt
