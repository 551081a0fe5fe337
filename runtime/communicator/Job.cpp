#include "communicator/Job.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <system_error>
#include <thread>

namespace zrt::processes {

Requests::~Requests() = default;
Wire::~Wire() = default;
Job::~Job() = default;

/// How long peers are told of a rank that is gone: it never leaves.
static constexpr double kLostSeconds = 0.3;
/// How long the end of a job that has failed may take.
static constexpr double kEndSeconds = 20;

void Job::setSize(int rank, int ranks) {
  ownRank = rank;
  rankCount = ranks;
  leftAt.resize(size_t(ranks));
}

std::unique_lock<std::recursive_mutex> Job::lock() {
  std::unique_lock<std::recursive_mutex> lock(mutex);
  if (isFinal)
    throw CommunicationError("the communicator of processes was used after the "
                             "job has ended");
  return lock;
}

void Job::remove(Progressing *communicator) {
  communicators.erase(
      std::remove(communicators.begin(), communicators.end(), communicator),
      communicators.end());
}

void Job::progress() {
  hearAll();
  if (hasFailed)
    return;
  try {
    for (Progressing *communicator : communicators)
      communicator->progress();
  } catch (const CommunicationError &error) {
    fail("rank " + std::to_string(ownRank) + ": " + error.what());
  }
}

void Job::hearAll() {
  Message message = {};
  while (hear(message)) {
    if (message.rank < 0 || message.rank >= rankCount)
      continue;
    if (message.leaving) {
      leftAt[size_t(message.rank)] = Clock::now();
    } else if (!hasFailed) {
      hasFailed = isTold = true;
      message.text[sizeof(message.text) - 1] = '\0';
      failureReason = message.text;
    }
  }
}

void Job::say(bool leaving, const std::string &text) {
  Message &message = leaving ? leavingMessage : failureMessage;
  message.leaving = leaving;
  message.rank = ownRank;
  std::snprintf(message.text, sizeof(message.text), "%s", text.c_str());
  tell(message);
}

void Job::fail(const std::string &reason) {
  if (hasFailed)
    return;
  hasFailed = true;
  failureReason = reason;
  say(/*leaving=*/false, reason);
}

void Job::throwFailure() {
  for (Progressing *communicator : communicators)
    communicator->cancel();
  throw CommunicationError(failureReason);
}

double Job::secondsSinceLeft(int number) const {
  if (leftAt[number] == Clock::time_point())
    return -1;
  return std::chrono::duration<double>(Clock::now() - leftAt[number]).count();
}

bool Job::awaitPeersLeaving(double seconds) {
  const auto begin = Clock::now();
  for (;;) {
    hearAll();
    bool all = true;
    for (int peer = 0; peer < rankCount; ++peer)
      all &= peer == ownRank || leftAt[peer] != Clock::time_point();
    const double limit = isLost ? std::min(seconds, kLostSeconds) : seconds;
    if (all || Clock::now() - begin > std::chrono::duration<double>(limit))
      return all;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
}

/// What a rank says that aborts, of which all others repeat it.
static constexpr const char *kAborted = " aborted: ";

void Job::abort(int rank, int ranks, const std::string &what) {
  const std::lock_guard<std::recursive_mutex> guard(mutex);
  // Where a wait has failed, for no cause that a rank gives, `what` says what
  // this rank did, too.
  const bool saysMore = hasFailed &&
                        failureReason.find(kAborted) == std::string::npos &&
                        what.find(failureReason) != std::string::npos;
  const std::string own = "rank " + std::to_string(rank);
  fail(own + " of " + std::to_string(ranks) + kAborted + what);
  // The rank that has aborted says why, and no other repeats it.
  if (!isTold || failureReason.find(kAborted) == std::string::npos) {
    std::fprintf(stderr, "error: %s\n",
                 saysMore ? (own + ": " + what).c_str()
                          : failureReason.c_str());
    std::fflush(stderr);
  }
  // Peers that have said the same need not be waited for.
  say(/*leaving=*/true, "");
  const bool allLeave = awaitPeersLeaving(2);
  // The launcher is busy with the rank that is gone, and would take seconds.
  if (isLost)
    std::_Exit(1);
  if (allLeave)
    endWithPeers();
  kill();
}

/// A launcher that has to end other processes while they end by themselves may
/// never return: Open MPI's does not, some of the time. It need not end any.
void Job::endWithPeers() {
  for (Progressing *communicator : communicators)
    communicator->cancel();
  if (exitWithin(kEndSeconds)) {
    isFinal = true;
    close();
  }
  std::_Exit(1);
}

/// Ends this process if it is still there then: what connects the processes can
/// wait for a peer that is gone. False where no thread can be started for that.
bool Job::exitWithin(double seconds) {
  try {
    std::thread([seconds] {
      std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
      std::_Exit(1);
    }).detach();
    return true;
  } catch (const std::system_error &) {
    return false;
  }
}

void Job::finalize() {
  const std::lock_guard<std::recursive_mutex> lock(mutex);
  if (isFinal || isClosed())
    return;
  hearAll();
  say(/*leaving=*/true, "");
  if (hasFailed && !awaitPeersLeaving(5)) {
    std::fprintf(
        stderr,
        "error: rank %d ends the job, because not all ranks ended after: %s\n",
        ownRank, failureReason.c_str());
    std::fflush(stderr);
    kill();
  }
  if (hasFailed)
    exitWithin(kEndSeconds);
  isFinal = true;
  close();
}

} // namespace zrt::processes
