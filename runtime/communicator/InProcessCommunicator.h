// The communicator of a rank that is a thread.
#ifndef ZERO_RUNTIME_COMMUNICATOR_INPROCESSCOMMUNICATOR_H
#define ZERO_RUNTIME_COMMUNICATOR_INPROCESSCOMMUNICATOR_H

#include "communicator/InProcessGroup.h"

#include <chrono>

namespace zrt::in_process {

using Clock = std::chrono::steady_clock;

/// `seconds` after `begin`; 0: years later.
Clock::time_point after(Clock::time_point begin, double seconds);

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

} // namespace zrt::in_process

#endif // ZERO_RUNTIME_COMMUNICATOR_INPROCESSCOMMUNICATOR_H
