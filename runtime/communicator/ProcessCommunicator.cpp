#include "communicator/ProcessCommunicator.h"

#include "communicator/Agreement.h"
#include "communicator/ProcessData.h"
#include "communicator/ProcessMail.h"
#include "program/ByteCount.h"

#include <algorithm>
#include <thread>

namespace zrt::processes {
namespace {

/// A message of a rank that has ended may still be on its way this long.
constexpr double kLeavingGraceSeconds = 1;
/// How much longer a rank waits that does not know who is late.
constexpr double kHearsayPatience = 1.25;

/// A started operation. Reused, with its memory.
struct Pending {
  explicit Pending(Wire &wire) : agreement(wire) {}

  Communicator::Ticket ticket = 0;
  OperationSignature mine;
  Agreement agreement;
  std::vector<Transfer> parts;
  bool compared = false, done = false;
};

class ProcessCommunicator final : public Communicator, private Progressing {
public:
  ProcessCommunicator(Job &job, std::unique_ptr<Wire> given,
                      const CommunicatorOptions &options);
  ~ProcessCommunicator() override;

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
  void checkPeers() override;
  void noteLost() override { job.noteLost(); }
  void abort(const std::string &reason) override;

private:
  Ticket post(Meeting meeting, Reduction reduction,
              const std::vector<Transfer> &parts);
  void progress() override;
  void cancel() override;
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

  Job &job;
  const std::unique_ptr<Wire> wire;
  const CommunicatorOptions options_;
  int rank_ = 0, ranks_ = 1;
  DataMover mover;
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

ProcessCommunicator::ProcessCommunicator(Job &job, std::unique_ptr<Wire> given,
                                         const CommunicatorOptions &options)
    : job(job), wire(std::move(given)), options_(options), rank_(wire->rank()),
      ranks_(wire->ranks()), mover(*wire), mail_(*wire) {
  job.add(this);
}

ProcessCommunicator::~ProcessCommunicator() {
  try {
    auto lock = job.lock();
    job.remove(this);
    const size_t left = pending_.size() + mail_.pending();
    if (left == 0)
      return;
    job.fail("rank " + std::to_string(rank_) + " of " + std::to_string(ranks_) +
             " left without waiting for " + std::to_string(left) +
             " started operation(s)");
    cancel();
  } catch (const CommunicationError &) {
    // The job is over, and with it what could still touch a buffer.
  }
}

void ProcessCommunicator::fail(const std::string &why) {
  job.fail(why);
  job.throwFailure();
}

void ProcessCommunicator::cancel() {
  mover.cancel();
  mail_.cancel();
  for (auto &pending : pending_)
    pending->agreement.cancel();
  pending_.clear();
}

Communicator::Ticket
ProcessCommunicator::post(Meeting meeting, Reduction reduction,
                          const std::vector<Transfer> &parts) {
  auto lock = job.lock();
  job.progress();
  if (job.failed())
    job.throwFailure();
  std::string invalid = findInvalid(meeting, reduction, parts, rank_, ranks_);
  if (!invalid.empty())
    fail(invalid);
  if (unused_.empty())
    unused_.push_back(std::make_unique<Pending>(*wire));
  pending_.push_back(std::move(unused_.back()));
  unused_.pop_back();
  Pending &pending = *pending_.back();
  pending.ticket = started_;
  pending.mine = signatureOf(started_++, meeting, reduction, parts);
  pending.parts = parts;
  pending.compared = pending.done = false;
  pending.agreement.begin(pending.mine);
  job.progress();
  return pending.ticket;
}

/// Agreements of all pending operations; data of the oldest that has any left,
/// so that all ranks move data in one order.
void ProcessCommunicator::progress() {
  bool moved = false;
  bool older = false; // whether an operation before this one is not done
  bool agreed = true; // whether the operations before have agreed
  for (auto &entry : pending_) {
    Pending &pending = *entry;
    if (pending.done)
      continue;
    moved |= pending.agreement.progress(agreed);
    agreed &= pending.agreement.isKnown();
    if (!pending.compared && pending.agreement.isKnown() && !older) {
      pending.compared = true;
      std::string difference = pending.agreement.describeDifference();
      if (!difference.empty())
        return job.fail(difference);
      // A barrier has no parts, and so no data.
      mover.begin(pending.mine.meeting.collective(), pending.mine.reduction,
                  pending.parts);
      moved = true;
    }
    if (pending.compared) {
      moved |= mover.progress();
      pending.done = mover.done() && pending.agreement.isDone();
    }
    older |= !pending.done;
  }
  std::string error;
  moved |= mail_.progress(error);
  if (!error.empty())
    return job.fail(error + ", on rank " + std::to_string(rank_));
  if (moved)
    lastProgress_ = Clock::now();
}

Pending *ProcessCommunicator::find(Ticket ticket) {
  for (auto &pending : pending_)
    if (pending->ticket == ticket)
      return pending.get();
  return nullptr;
}

std::string
ProcessCommunicator::describeOverdue(const Pending &pending,
                                     const std::string &within) const {
  const std::string operation = "operation " + std::to_string(pending.ticket) +
                                " of a group of " + std::to_string(ranks_) +
                                " ranks (" + describe(pending.mine) + "): ",
                    own = "rank " + std::to_string(rank_);
  if (pending.compared)
    return operation + "no data moved between " + own + " and " +
           listRanks(mover.awaited()) + within;
  if (pending.agreement.isKnown())
    return operation + own + " waits for an earlier operation" + within;
  return operation + listRanks(pending.agreement.awaited()) +
         (pending.agreement.awaitsStarts()
              ? " did not start it"
              : ", or a rank that it waits for, did not start it") +
         within + (within.empty() ? "" : ", " + own + " did");
}

/// Fails when nothing has moved for too long, or a rank that has ended is
/// waited for.
void ProcessCommunicator::checkOverdue(const Pending &pending,
                                       Clock::time_point since) {
  const bool isKnown = pending.agreement.isKnown();
  if (!isKnown)
    pending.agreement.visitAwaited([&](int peer) {
      if (job.secondsSinceLeft(wire->numberInJob(peer)) > kLeavingGraceSeconds)
        fail(describeOverdue(pending, "") + ": rank " + std::to_string(peer) +
             " has ended");
    });
  // A rank that hears of others by others lets one that knows better speak.
  const double patience =
      isKnown || pending.agreement.awaitsStarts() ? 1 : kHearsayPatience;
  const std::chrono::duration<double> idle =
      Clock::now() - std::max(since, lastProgress_);
  if (options_.timeoutSeconds > 0 &&
      idle.count() > options_.timeoutSeconds * patience)
    fail(describeOverdue(pending,
                         " within " + formatSeconds(options_.timeoutSeconds)));
}

/// What to tell of a wait in which nothing has moved for a while, or "": one
/// rank is enough, the first of those that are there.
std::string ProcessCommunicator::describeLate(const Pending &pending,
                                              Clock::time_point since) const {
  const std::chrono::duration<double> idle =
      Clock::now() - std::max(since, lastProgress_);
  if (!options_.notice || options_.noticeSeconds <= 0 ||
      idle.count() < options_.noticeSeconds)
    return "";
  if (!pending.agreement.isKnown() && !pending.agreement.speaks())
    return "";
  return describeOverdue(pending,
                         " within " + formatSeconds(options_.noticeSeconds));
}

//===----------------------------------------------------------------------===//
// From one rank to another
//===----------------------------------------------------------------------===//

Communicator::Ticket
ProcessCommunicator::startMail(Collective kind,
                               const std::vector<Transfer> &parts) {
  auto lock = job.lock();
  job.progress();
  if (job.failed())
    job.throwFailure();
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
  job.progress();
  return ticket;
}

std::string ProcessCommunicator::describeMail(Ticket ticket) const {
  return mail_.describe(ticket) + " of a group of " + std::to_string(ranks_) +
         " ranks, on rank " + std::to_string(rank_);
}

/// Whether it is over; then it is forgotten.
bool ProcessCommunicator::finishMail(Ticket ticket) {
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
bool ProcessCommunicator::finish(Ticket ticket) {
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

void ProcessCommunicator::checkOverdue(Ticket ticket, Clock::time_point since) {
  if (!(ticket & kMailTicket))
    return checkOverdue(*find(ticket), since);
  const int peer = mail_.peerOf(ticket);
  if (job.secondsSinceLeft(wire->numberInJob(peer)) > kLeavingGraceSeconds)
    fail(describeMail(ticket) + ": rank " + std::to_string(peer) +
         " has ended");
  const std::chrono::duration<double> idle =
      Clock::now() - std::max(since, lastProgress_);
  if (options_.timeoutSeconds > 0 && idle.count() > options_.timeoutSeconds)
    fail(describeMail(ticket) + ": nothing moved within " +
         formatSeconds(options_.timeoutSeconds));
}

std::string ProcessCommunicator::describeLate(Ticket ticket,
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

void ProcessCommunicator::wait(Ticket ticket) {
  const auto since = Clock::now();
  bool noticed = false;
  for (uint64_t turn = 1;; ++turn) {
    std::string late;
    {
      auto lock = job.lock();
      job.progress();
      if (job.failed())
        job.throwFailure();
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

std::unique_ptr<Communicator> ProcessCommunicator::split(int color, int key) {
  auto lock = job.lock();
  if (color < 0)
    fail("split: found color " + std::to_string(color) + " on rank " +
         std::to_string(rank_) + ", wanted zero or more");
  Ticket ticket = post(Meeting::split(), Reduction::Sum, {});
  lock.unlock();
  // What the wire does can block: only after every rank is known to call it.
  wait(ticket);
  lock.lock();
  return std::make_unique<ProcessCommunicator>(job, wire->split(color, key),
                                               options_);
}

/// For who waits by other means, as for a device: messages move meanwhile.
void ProcessCommunicator::checkPeers() {
  auto lock = job.lock();
  job.progress();
  if (job.failed())
    job.throwFailure();
}

void ProcessCommunicator::abort(const std::string &reason) {
  job.abort(rank_, ranks_, reason);
}

} // namespace

std::unique_ptr<Communicator> makeWorld(Job &job,
                                        const CommunicatorOptions &options) {
  auto lock = job.lock();
  return std::make_unique<ProcessCommunicator>(job, job.makeWire(), options);
}

} // namespace zrt::processes
