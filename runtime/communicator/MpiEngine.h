// MPI itself: started once, finalised once, one thread in it at a time, and a
// channel over which ranks tell each other of failures.
#ifndef ZERO_RUNTIME_COMMUNICATOR_MPIENGINE_H
#define ZERO_RUNTIME_COMMUNICATOR_MPIENGINE_H

#include "communicator/Communicator.h"

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

namespace zrt::mpi {

using Clock = std::chrono::steady_clock;

/// Throws CommunicationError with MPI's text when `code` is an error.
void check(int code, const char *call);

/// Requests that are polled together; their memory is kept.
class RequestSet {
public:
  MPI_Request *add();
  /// Number of requests that have not completed.
  size_t active() const { return active_; }
  bool isComplete(size_t index) const {
    return requests_[index] == MPI_REQUEST_NULL;
  }
  /// Forgets all. \pre active() == 0.
  void clear() { requests_.clear(); }
  /// Looks once. Returns whether any request completed since the last look.
  bool poll();
  /// Takes back receives that nothing has arrived for, for a short while.
  void cancelReceives();

private:
  std::vector<MPI_Request> requests_;
  std::vector<int> completed_;
  std::vector<MPI_Status> statuses_;
  size_t active_ = 0;
};

/// What makes progress whenever any communicator of this process is called: a
/// peer may wait for one while this rank waits for another.
class Progressing {
public:
  virtual ~Progressing() = default;
  virtual void progress() = 0;
  /// Gives up everything pending: buffers are about to go away.
  virtual void cancel() = 0;
};

/// The process's MPI. Every call of MPI is made under `lock()`.
class Engine {
public:
  /// Initialises MPI at the first call.
  static Engine &get();

  /// Throws where MPI allows its first thread only and this is another, and
  /// after MPI was finalised.
  std::unique_lock<std::recursive_mutex> lock();

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }

  /// Collective. Communicators live until MPI is finalised: freeing one is
  /// collective too, and ranks let go of them in any order.
  MPI_Comm duplicateWorld();
  MPI_Comm split(MPI_Comm parent, int color, int key);

  void add(Progressing *communicator) {
    communicators_.push_back(communicator);
  }
  void remove(Progressing *communicator);
  void progress();

  bool failed() const { return failed_; }
  /// Records the first failure and tells every rank of the job.
  void fail(const std::string &reason);
  /// Throws what was recorded; before, no message can arrive in any buffer.
  [[noreturn]] void throwFailure();
  /// Fails because of `what` on the rank of a group, prints, waits for peers to
  /// end, and ends the job.
  [[noreturn]] void abort(int rank, int ranks, const std::string &what);

  /// How long ago the process with this rank of the job said that it ends;
  /// negative when it has not.
  double secondsSinceLeft(int worldRank) const;
  /// A peer is gone without having said so. Not under the lock.
  void noteLost() { lost_ = true; }

  void finalize();

private:
  struct Message {
    int32_t leaving;
    int32_t rank;
    char text[2040];
  };

  Engine();
  void send(bool leaving, const std::string &text);
  void receiveMessages();
  bool awaitPeersLeaving(double seconds);

  std::recursive_mutex mutex_;
  std::thread::id thread_;
  bool ownsMpi_ = false, firstThreadOnly_ = false, finalized_ = false;
  int rank_ = 0, ranks_ = 1;
  MPI_Comm control_ = MPI_COMM_NULL;
  Message incoming_ = {};
  MPI_Request receive_ = MPI_REQUEST_NULL;
  Message failure_ = {}, leaving_ = {};
  RequestSet sends_;
  std::vector<Progressing *> communicators_;
  std::vector<Clock::time_point> left_; ///< by rank; the epoch: not yet
  bool failed_ = false;
  std::atomic<bool> lost_{false};
  std::string reason_;
};

} // namespace zrt::mpi

#endif // ZERO_RUNTIME_COMMUNICATOR_MPIENGINE_H
