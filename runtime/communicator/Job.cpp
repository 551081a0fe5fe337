#include "communicator/Job.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace zrt::processes {

Requests::~Requests() = default;
Wire::~Wire() = default;
Job::~Job() = default;

/// How long peers are told of a rank that is gone: it never leaves.
static constexpr double kLostSeconds = 0.3;

void Job::setSize(int rank, int ranks) {
  rank_ = rank;
  ranks_ = ranks;
  left_.resize(size_t(ranks));
}

std::unique_lock<std::recursive_mutex> Job::lock() {
  std::unique_lock<std::recursive_mutex> lock(mutex_);
  if (finalized_)
    throw CommunicationError("the communicator of processes was used after the "
                             "job has ended");
  return lock;
}

void Job::remove(Progressing *communicator) {
  communicators_.erase(
      std::remove(communicators_.begin(), communicators_.end(), communicator),
      communicators_.end());
}

void Job::progress() {
  hearAll();
  if (failed_)
    return;
  try {
    for (Progressing *communicator : communicators_)
      communicator->progress();
  } catch (const CommunicationError &error) {
    fail("rank " + std::to_string(rank_) + ": " + error.what());
  }
}

void Job::hearAll() {
  Message message = {};
  while (hear(message)) {
    if (message.rank < 0 || message.rank >= ranks_)
      continue;
    if (message.leaving) {
      left_[size_t(message.rank)] = Clock::now();
    } else if (!failed_) {
      failed_ = isTold_ = true;
      message.text[sizeof(message.text) - 1] = '\0';
      reason_ = message.text;
    }
  }
}

void Job::say(bool leaving, const std::string &text) {
  Message &message = leaving ? leaving_ : failure_;
  message.leaving = leaving;
  message.rank = rank_;
  std::snprintf(message.text, sizeof(message.text), "%s", text.c_str());
  tell(message);
}

void Job::fail(const std::string &reason) {
  if (failed_)
    return;
  failed_ = true;
  reason_ = reason;
  say(/*leaving=*/false, reason);
}

void Job::throwFailure() {
  for (Progressing *communicator : communicators_)
    communicator->cancel();
  throw CommunicationError(reason_);
}

double Job::secondsSinceLeft(int number) const {
  if (left_[number] == Clock::time_point())
    return -1;
  return std::chrono::duration<double>(Clock::now() - left_[number]).count();
}

bool Job::awaitPeersLeaving(double seconds) {
  const auto begin = Clock::now();
  for (;;) {
    hearAll();
    bool all = true;
    for (int peer = 0; peer < ranks_; ++peer)
      all &= peer == rank_ || left_[peer] != Clock::time_point();
    const double limit = lost_ ? std::min(seconds, kLostSeconds) : seconds;
    if (all || Clock::now() - begin > std::chrono::duration<double>(limit))
      return all;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
}

/// What a rank says that aborts, of which all others repeat it.
static constexpr const char *kAborted = " aborted: ";

void Job::abort(int rank, int ranks, const std::string &what) {
  // Where a wait has failed, for no cause that a rank gives, `what` says what
  // this rank did, too.
  const bool saysMore = failed_ &&
                        reason_.find(kAborted) == std::string::npos &&
                        what.find(reason_) != std::string::npos;
  const std::string own = "rank " + std::to_string(rank);
  fail(own + " of " + std::to_string(ranks) + kAborted + what);
  // The rank that has aborted says why, and no other repeats it.
  if (!isTold_ || reason_.find(kAborted) == std::string::npos) {
    std::fprintf(stderr, "error: %s\n",
                 saysMore ? (own + ": " + what).c_str() : reason_.c_str());
    std::fflush(stderr);
  }
  // Peers that have said the same need not be waited for.
  say(/*leaving=*/true, "");
  awaitPeersLeaving(2);
  // The launcher is busy with the rank that is gone, and would take seconds.
  if (lost_)
    std::_Exit(1);
  kill();
}

void Job::finalize() {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  if (finalized_ || isClosed())
    return;
  hearAll();
  say(/*leaving=*/true, "");
  if (failed_ && !awaitPeersLeaving(5)) {
    std::fprintf(
        stderr,
        "error: rank %d ends the job, because not all ranks ended after: %s\n",
        rank_, reason_.c_str());
    std::fflush(stderr);
    kill();
  }
  finalized_ = true;
  close();
}

} // namespace zrt::processes
