#include "communicator/MpiCommunicator.h"

#include "communicator/MpiData.h"
#include "communicator/MpiMail.h"

#include <algorithm>

namespace zrt::mpi {
namespace {

constexpr int kHeaderTag = 1;
/// A message of a rank that has ended may still be on its way this long.
constexpr double kLeavingGraceSeconds = 1;

/// A started operation. Reused, with its memory.
struct Pending {
  Communicator::Ticket ticket = 0;
  OperationSignature mine;
  std::vector<OperationSignature> theirs; ///< by rank
  RequestSet sends, receives; ///< signatures, by distance from this rank
  std::vector<Transfer> parts;
  bool compared = false, done = false;
};

class MpiCommunicator final : public Communicator, private Progressing {
public:
  MpiCommunicator(Engine &engine, MPI_Comm comm,
                  const CommunicatorOptions &options);
  ~MpiCommunicator() override;

  int rank() const override { return rank_; }
  int ranks() const override { return ranks_; }
  Ticket start(Collective kind, Reduction reduction,
               const std::vector<Transfer> &parts) override {
    return isBetweenTwo(kind) ? startMail(kind, parts)
                              : post(kind, reduction, parts);
  }
  void wait(Ticket ticket) override;
  void barrier() override {
    wait(post(Meeting::barrier(), Reduction::Sum, {}));
  }
  std::unique_ptr<Communicator> split(int color, int key) override;
  void noteLost() override { engine_.noteLost(); }
  void abort(const std::string &reason) override;

private:
  Ticket post(Meeting meeting, Reduction reduction,
              const std::vector<Transfer> &parts);
  void postSignature(Pending &pending);
  void progress() override;
  void cancel() override;
  void compare(Pending &pending);
  Pending *find(Ticket ticket);
  Ticket startMail(Collective kind, const std::vector<Transfer> &parts);
  bool finish(Ticket ticket);
  bool finishMail(Ticket ticket);
  void checkOverdue(Ticket ticket, Clock::time_point since);
  std::string describeLate(Ticket ticket, Clock::time_point since) const;
  std::string describeMail(Ticket ticket) const;
  void checkOverdue(const Pending &pending, Clock::time_point since);
  std::string describeOverdue(const Pending &pending,
                              const std::string &within) const;
  std::string describeLate(const Pending &pending,
                           Clock::time_point since) const;
  [[noreturn]] void fail(const std::string &why);

  Engine &engine_;
  const MPI_Comm comm_;
  const CommunicatorOptions options_;
  int rank_ = 0, ranks_ = 1;
  std::vector<int> worldRanks_; ///< of this group's ranks
  std::unique_ptr<DataMover> mover_;
  /// Not yet waited for, in the order of their starts.
  std::vector<std::unique_ptr<Pending>> pending_;
  std::vector<std::unique_ptr<Pending>> unused_;
  uint64_t started_ = 0;
  Clock::time_point lastProgress_;
  /// Tickets of sends and receives have a bit that others have not.
  static constexpr Ticket kMailTicket = Ticket(1) << 63;
  Mail mail_;
  uint64_t startedMail_ = 0;
};

MpiCommunicator::MpiCommunicator(Engine &engine, MPI_Comm comm,
                                 const CommunicatorOptions &options)
    : engine_(engine), comm_(comm), options_(options), mail_(comm) {
  check(MPI_Comm_rank(comm, &rank_), "MPI_Comm_rank");
  check(MPI_Comm_size(comm, &ranks_), "MPI_Comm_size");
  std::vector<int> own(ranks_);
  worldRanks_.resize(ranks_);
  for (int rank = 0; rank < ranks_; ++rank)
    own[rank] = rank;
  MPI_Group group, world;
  check(MPI_Comm_group(comm, &group), "MPI_Comm_group");
  check(MPI_Comm_group(MPI_COMM_WORLD, &world), "MPI_Comm_group");
  check(MPI_Group_translate_ranks(group, ranks_, own.data(), world,
                                  worldRanks_.data()),
        "MPI_Group_translate_ranks");
  MPI_Group_free(&group);
  MPI_Group_free(&world);
  mover_ = std::make_unique<DataMover>(comm, rank_, ranks_);
  engine_.add(this);
}

MpiCommunicator::~MpiCommunicator() {
  try {
    auto lock = engine_.lock();
    engine_.remove(this);
    const size_t left = pending_.size() + mail_.pending();
    if (left == 0)
      return;
    engine_.fail("rank " + std::to_string(rank_) + " of " +
                 std::to_string(ranks_) + " left without waiting for " +
                 std::to_string(left) + " started operation(s)");
    cancel();
  } catch (const CommunicationError &) {
    // MPI is gone, and with it everything that could still touch a buffer.
  }
}

void MpiCommunicator::fail(const std::string &why) {
  engine_.fail(why);
  engine_.throwFailure();
}

void MpiCommunicator::cancel() {
  mover_->cancel();
  mail_.cancel();
  for (auto &pending : pending_)
    pending->receives.cancelReceives();
  pending_.clear();
}

Communicator::Ticket MpiCommunicator::post(Meeting meeting, Reduction reduction,
                                           const std::vector<Transfer> &parts) {
  auto lock = engine_.lock();
  engine_.progress();
  if (engine_.failed())
    engine_.throwFailure();
  std::string invalid = findInvalid(meeting, reduction, parts, rank_, ranks_);
  if (!invalid.empty())
    fail(invalid);
  if (unused_.empty())
    unused_.push_back(std::make_unique<Pending>());
  pending_.push_back(std::move(unused_.back()));
  unused_.pop_back();
  Pending &pending = *pending_.back();
  pending.ticket = started_;
  pending.mine = signatureOf(started_++, meeting, reduction, parts);
  pending.parts = parts;
  pending.compared = pending.done = false;
  postSignature(pending);
  engine_.progress();
  return pending.ticket;
}

void MpiCommunicator::postSignature(Pending &pending) {
  pending.theirs.resize(ranks_);
  pending.sends.clear();
  pending.receives.clear();
  for (int distance = 1; distance < ranks_; ++distance) {
    int peer = (rank_ + distance) % ranks_;
    check(MPI_Irecv(&pending.theirs[peer], sizeof(OperationSignature), MPI_BYTE,
                    peer, kHeaderTag, comm_, pending.receives.add()),
          "MPI_Irecv");
    check(MPI_Isend(&pending.mine, sizeof(OperationSignature), MPI_BYTE, peer,
                    kHeaderTag, comm_, pending.sends.add()),
          "MPI_Isend");
  }
}

/// Signatures of all pending operations; data of the oldest that has any left,
/// so that all ranks move data in one order.
void MpiCommunicator::progress() {
  bool moved = false;
  bool older = false; // whether an operation before this one is not done
  for (auto &entry : pending_) {
    Pending &pending = *entry;
    if (pending.done)
      continue;
    moved |= pending.receives.poll();
    moved |= pending.sends.poll();
    if (!pending.compared && !pending.receives.active() && !older) {
      compare(pending);
      if (engine_.failed())
        return;
      // A barrier has no parts, and so no data.
      mover_->begin(pending.mine.meeting.collective(), pending.mine.reduction,
                    pending.parts);
      moved = true;
    }
    if (pending.compared) {
      moved |= mover_->progress();
      pending.done = mover_->done() && !pending.sends.active();
    }
    older |= !pending.done;
  }
  std::string error;
  moved |= mail_.progress(error);
  if (!error.empty())
    return engine_.fail(error + ", on rank " + std::to_string(rank_));
  if (moved)
    lastProgress_ = Clock::now();
}

void MpiCommunicator::compare(Pending &pending) {
  pending.compared = true;
  pending.theirs[rank_] = pending.mine;
  for (int rank = 1; rank < ranks_; ++rank)
    if (pending.theirs[rank] != pending.theirs[0])
      return engine_.fail(
          describeMismatch(pending.theirs[0], 0, pending.theirs[rank], rank));
}

Pending *MpiCommunicator::find(Ticket ticket) {
  for (auto &pending : pending_)
    if (pending->ticket == ticket)
      return pending.get();
  return nullptr;
}

/// "rank 1", "ranks 1, 2"
static std::string namesOf(const std::set<int> &ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (int rank : ranks)
    text += (rank == *ranks.begin() ? "" : ", ") + std::to_string(rank);
  return text;
}

std::string MpiCommunicator::describeOverdue(const Pending &pending,
                                             const std::string &within) const {
  const std::string operation = "operation " + std::to_string(pending.ticket) +
                                " of a group of " + std::to_string(ranks_) +
                                " ranks (" + describe(pending.mine) + "): ",
                    own = "rank " + std::to_string(rank_);
  if (pending.compared)
    return operation + "no data moved between " + own + " and " +
           namesOf(mover_->awaited()) + within;
  if (!pending.receives.active())
    return operation + own + " waits for an earlier operation" + within;
  std::set<int> late;
  for (int distance = 1; distance < ranks_; ++distance)
    if (!pending.receives.isComplete(distance - 1))
      late.insert((rank_ + distance) % ranks_);
  return operation + namesOf(late) + " did not start it" + within +
         (within.empty() ? "" : ", " + own + " did");
}

/// Fails when nothing has moved for too long, or a rank that has ended is
/// waited for.
void MpiCommunicator::checkOverdue(const Pending &pending,
                                   Clock::time_point since) {
  for (int distance = 1; distance < ranks_ && !pending.compared; ++distance) {
    int peer = (rank_ + distance) % ranks_;
    if (!pending.receives.isComplete(distance - 1) &&
        engine_.secondsSinceLeft(worldRanks_[peer]) > kLeavingGraceSeconds)
      fail(describeOverdue(pending, "") + ": rank " + std::to_string(peer) +
           " has ended");
  }
  const std::chrono::duration<double> idle =
      Clock::now() - std::max(since, lastProgress_);
  if (options_.timeoutSeconds > 0 && idle.count() > options_.timeoutSeconds)
    fail(describeOverdue(pending,
                         " within " + formatSeconds(options_.timeoutSeconds)));
}

/// What to tell of a wait in which nothing has moved for a while, or "": one
/// rank is enough, the first of those that are there.
std::string MpiCommunicator::describeLate(const Pending &pending,
                                          Clock::time_point since) const {
  const std::chrono::duration<double> idle =
      Clock::now() - std::max(since, lastProgress_);
  if (!options_.notice || options_.noticeSeconds <= 0 ||
      idle.count() < options_.noticeSeconds)
    return "";
  for (int rank = 0; rank < rank_ && !pending.compared; ++rank)
    if (pending.receives.isComplete((rank + ranks_ - rank_) % ranks_ - 1))
      return "";
  return describeOverdue(pending,
                         " within " + formatSeconds(options_.noticeSeconds));
}

//===----------------------------------------------------------------------===//
// From one rank to another
//===----------------------------------------------------------------------===//

Communicator::Ticket
MpiCommunicator::startMail(Collective kind,
                           const std::vector<Transfer> &parts) {
  auto lock = engine_.lock();
  engine_.progress();
  if (engine_.failed())
    engine_.throwFailure();
  const bool isSend = kind == Collective::Send;
  const int peer = parts.size() == 1 ? parts.front().root : rank_;
  if (peer == rank_ || peer < 0 || peer >= ranks_)
    fail(std::string(isSend ? "send to" : "receive from") + " rank " +
         std::to_string(peer) + " in " + std::to_string(parts.size()) +
         " parts, on rank " + std::to_string(rank_) + " of " +
         std::to_string(ranks_) +
         ": wanted one part, and another rank of the group");
  const Ticket ticket = kMailTicket | startedMail_++;
  mail_.start(ticket, isSend, parts.front());
  return ticket;
}

std::string MpiCommunicator::describeMail(Ticket ticket) const {
  return mail_.describe(ticket) + " of a group of " + std::to_string(ranks_) +
         " ranks, on rank " + std::to_string(rank_);
}

/// Whether it is over; then it is forgotten.
bool MpiCommunicator::finishMail(Ticket ticket) {
  if (!mail_.isKnown(ticket))
    fail("rank " + std::to_string(rank_) +
         " waits for a send or receive without having started it, or for the "
         "second time");
  if (!mail_.isDone(ticket))
    return false;
  mail_.forget(ticket);
  return true;
}

//===----------------------------------------------------------------------===//
// Waiting
//===----------------------------------------------------------------------===//

/// Whether it is over; then its memory is kept for another one.
bool MpiCommunicator::finish(Ticket ticket) {
  if (ticket & kMailTicket)
    return finishMail(ticket);
  Pending *pending = find(ticket);
  if (!pending)
    fail("operation " + std::to_string(ticket) + ": rank " +
         std::to_string(rank_) +
         " waits for it without having started it, or for the second time");
  if (!pending->done)
    return false;
  auto place = std::find_if(pending_.begin(), pending_.end(), [&](auto &entry) {
    return entry.get() == pending;
  });
  unused_.push_back(std::move(*place));
  pending_.erase(place);
  return true;
}

void MpiCommunicator::checkOverdue(Ticket ticket, Clock::time_point since) {
  if (!(ticket & kMailTicket))
    return checkOverdue(*find(ticket), since);
  const int peer = mail_.peerOf(ticket);
  if (engine_.secondsSinceLeft(worldRanks_[peer]) > kLeavingGraceSeconds)
    fail(describeMail(ticket) + ": rank " + std::to_string(peer) +
         " has ended");
  const std::chrono::duration<double> idle =
      Clock::now() - std::max(since, lastProgress_);
  if (options_.timeoutSeconds > 0 && idle.count() > options_.timeoutSeconds)
    fail(describeMail(ticket) + ": nothing moved within " +
         formatSeconds(options_.timeoutSeconds));
}

std::string MpiCommunicator::describeLate(Ticket ticket,
                                          Clock::time_point since) const {
  if (!(ticket & kMailTicket)) {
    for (const auto &pending : pending_)
      if (pending->ticket == ticket)
        return describeLate(*pending, since);
    return "";
  }
  const std::chrono::duration<double> idle =
      Clock::now() - std::max(since, lastProgress_);
  if (!options_.notice || options_.noticeSeconds <= 0 ||
      idle.count() < options_.noticeSeconds)
    return "";
  return describeMail(ticket) + ": nothing moved within " +
         formatSeconds(options_.noticeSeconds);
}

void MpiCommunicator::wait(Ticket ticket) {
  const auto since = Clock::now();
  bool noticed = false;
  for (uint64_t turn = 1;; ++turn) {
    std::string late;
    {
      auto lock = engine_.lock();
      engine_.progress();
      if (engine_.failed())
        engine_.throwFailure();
      if (finish(ticket))
        return;
      if (turn % 64 == 0)
        checkOverdue(ticket, since);
      if (turn % 64 == 0 && !noticed)
        late = describeLate(ticket, since);
    }
    if (!late.empty()) {
      noticed = true;
      options_.notice(late);
    }
    // Peers may need this core: first politely, then for longer.
    if (turn > 20000)
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    else if (turn > 100)
      std::this_thread::yield();
  }
}

std::unique_ptr<Communicator> MpiCommunicator::split(int color, int key) {
  auto lock = engine_.lock();
  if (color < 0)
    fail("split: found color " + std::to_string(color) + " on rank " +
         std::to_string(rank_) + ", wanted zero or more");
  Ticket ticket = post(Meeting::split(), Reduction::Sum, {});
  lock.unlock();
  // MPI's own call can block: only after every rank is known to make it.
  wait(ticket);
  lock.lock();
  return std::make_unique<MpiCommunicator>(
      engine_, engine_.split(comm_, color, key), options_);
}

void MpiCommunicator::abort(const std::string &reason) {
  auto lock = engine_.lock();
  engine_.abort(rank_, ranks_, reason);
}

} // namespace

std::unique_ptr<Communicator> makeWorld(const CommunicatorOptions &options) {
  Engine &engine = Engine::get();
  auto lock = engine.lock();
  return std::make_unique<MpiCommunicator>(engine, engine.duplicateWorld(),
                                           options);
}

} // namespace zrt::mpi
