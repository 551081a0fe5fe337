#include "communicator/MpiEngine.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace zrt::mpi {

void check(int code, const char *call) {
  if (code == MPI_SUCCESS)
    return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw CommunicationError(std::string("mpi communicator: ") + call + ": " +
                           text);
}

MPI_Request *RequestSet::add() {
  requests_.push_back(MPI_REQUEST_NULL);
  completed_.resize(requests_.size());
  statuses_.resize(requests_.size());
  ++active_;
  return &requests_.back();
}

bool RequestSet::poll() {
  if (!active_)
    return false;
  int count = 0;
  int code = MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(),
                          &count, completed_.data(), statuses_.data());
  if (code == MPI_ERR_IN_STATUS)
    for (int i = 0; i < count; ++i)
      check(statuses_[i].MPI_ERROR, "MPI_Testsome");
  check(code, "MPI_Testsome");
  if (count == MPI_UNDEFINED)
    count = static_cast<int>(active_);
  active_ -= count;
  return count > 0;
}

void RequestSet::cancelReceives() {
  const auto deadline = Clock::now() + std::chrono::milliseconds(100);
  for (MPI_Request &request : requests_)
    if (request != MPI_REQUEST_NULL)
      MPI_Cancel(&request);
  for (MPI_Request &request : requests_) {
    int done = 0;
    while (request != MPI_REQUEST_NULL && !done && Clock::now() < deadline)
      MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  }
  active_ = 0;
  requests_.clear();
}

namespace {
void finalizeAtExit() { Engine::get().finalize(); }
constexpr int kControlTag = 1;
/// How long peers are told of a rank that is gone: it never leaves.
constexpr double kLostSeconds = 0.3;
} // namespace

Engine &Engine::get() {
  // Never destroyed: communicators in static storage may outlive it.
  static Engine *engine = new Engine();
  return *engine;
}

Engine::Engine() : thread_(std::this_thread::get_id()) {
  int initialized = 0, provided = MPI_THREAD_SINGLE;
  check(MPI_Initialized(&initialized), "MPI_Initialized");
  if (initialized) {
    check(MPI_Query_thread(&provided), "MPI_Query_thread");
  } else {
    // Calls are serialised here, so that MPI need not lock for itself.
    check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided),
          "MPI_Init_thread");
    ownsMpi_ = true;
  }
  firstThreadOnly_ = provided < MPI_THREAD_SERIALIZED;
  control_ = duplicateWorld();
  check(MPI_Comm_rank(control_, &rank_), "MPI_Comm_rank");
  check(MPI_Comm_size(control_, &ranks_), "MPI_Comm_size");
  left_.resize(ranks_);
  check(MPI_Irecv(&incoming_, sizeof(Message), MPI_BYTE, MPI_ANY_SOURCE,
                  kControlTag, control_, &receive_),
        "MPI_Irecv");
  std::atexit(finalizeAtExit);
}

std::unique_lock<std::recursive_mutex> Engine::lock() {
  std::unique_lock<std::recursive_mutex> lock(mutex_);
  if (finalized_)
    throw CommunicationError(
        "mpi communicator: used after MPI was finalised at exit");
  if (firstThreadOnly_ && std::this_thread::get_id() != thread_)
    throw CommunicationError(
        "mpi communicator: this MPI allows calls from the thread that "
        "initialised it only (wanted MPI_THREAD_SERIALIZED)");
  return lock;
}

MPI_Comm Engine::duplicateWorld() {
  MPI_Comm result = MPI_COMM_NULL;
  check(MPI_Comm_dup(MPI_COMM_WORLD, &result), "MPI_Comm_dup");
  MPI_Comm_set_errhandler(result, MPI_ERRORS_RETURN);
  return result;
}

MPI_Comm Engine::split(MPI_Comm parent, int color, int key) {
  MPI_Comm result = MPI_COMM_NULL;
  check(MPI_Comm_split(parent, color, key, &result), "MPI_Comm_split");
  MPI_Comm_set_errhandler(result, MPI_ERRORS_RETURN);
  return result;
}

void Engine::remove(Progressing *communicator) {
  communicators_.erase(
      std::remove(communicators_.begin(), communicators_.end(), communicator),
      communicators_.end());
}

void Engine::progress() {
  receiveMessages();
  sends_.poll();
  if (failed_)
    return;
  try {
    for (Progressing *communicator : communicators_)
      communicator->progress();
  } catch (const CommunicationError &error) {
    fail("rank " + std::to_string(rank_) + ": " + error.what());
  }
}

void Engine::receiveMessages() {
  int done = 0;
  while (MPI_Test(&receive_, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && done) {
    if (incoming_.leaving) {
      left_[incoming_.rank] = Clock::now();
    } else if (!failed_) {
      failed_ = true;
      reason_ = incoming_.text;
    }
    MPI_Irecv(&incoming_, sizeof(Message), MPI_BYTE, MPI_ANY_SOURCE,
              kControlTag, control_, &receive_);
  }
}

void Engine::send(bool leaving, const std::string &text) {
  Message &message = leaving ? leaving_ : failure_;
  message.leaving = leaving;
  message.rank = rank_;
  std::snprintf(message.text, sizeof(message.text), "%s", text.c_str());
  for (int peer = 0; peer < ranks_; ++peer)
    if (peer != rank_)
      MPI_Isend(&message, sizeof(Message), MPI_BYTE, peer, kControlTag,
                control_, sends_.add());
}

void Engine::fail(const std::string &reason) {
  if (failed_)
    return;
  failed_ = true;
  reason_ = reason;
  send(/*leaving=*/false, reason);
}

void Engine::throwFailure() {
  for (Progressing *communicator : communicators_)
    communicator->cancel();
  throw CommunicationError(reason_);
}

double Engine::secondsSinceLeft(int worldRank) const {
  if (left_[worldRank] == Clock::time_point())
    return -1;
  return std::chrono::duration<double>(Clock::now() - left_[worldRank]).count();
}

bool Engine::awaitPeersLeaving(double seconds) {
  const auto begin = Clock::now();
  for (;;) {
    receiveMessages();
    sends_.poll();
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

void Engine::abort(int rank, int ranks, const std::string &what) {
  // Where a wait has failed, for no cause that a rank gives, `what` says what
  // this rank did, too.
  const bool saysMore = failed_ &&
                        reason_.find(kAborted) == std::string::npos &&
                        what.find(reason_) != std::string::npos;
  const std::string own = "rank " + std::to_string(rank);
  fail(own + " of " + std::to_string(ranks) + kAborted + what);
  std::fprintf(stderr, "error: %s\n",
               saysMore ? (own + ": " + what).c_str() : reason_.c_str());
  std::fflush(stderr);
  // Peers that have said the same need not be waited for.
  send(/*leaving=*/true, "");
  awaitPeersLeaving(2);
  // The launcher is busy with the rank that is gone, and would take seconds.
  if (lost_)
    std::_Exit(1);
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::abort();
}

void Engine::finalize() {
  std::lock_guard<std::recursive_mutex> lock(mutex_);
  int mpiFinalized = 0;
  MPI_Finalized(&mpiFinalized);
  if (finalized_ || mpiFinalized)
    return;
  send(/*leaving=*/true, "");
  if (failed_ && !awaitPeersLeaving(5)) {
    std::fprintf(
        stderr,
        "error: rank %d ends the job, because not all ranks ended after: %s\n",
        rank_, reason_.c_str());
    std::fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  finalized_ = true;
  MPI_Cancel(&receive_);
  MPI_Wait(&receive_, MPI_STATUS_IGNORE);
  if (ownsMpi_)
    MPI_Finalize();
}

} // namespace zrt::mpi
