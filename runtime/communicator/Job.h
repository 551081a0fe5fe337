// The processes of a job: one thread at a time in what connects them, and how
// they tell each other of failures and of their ends.
#ifndef ZERO_RUNTIME_COMMUNICATOR_JOB_H
#define ZERO_RUNTIME_COMMUNICATOR_JOB_H

#include "communicator/Communicator.h"
#include "communicator/Wire.h"

#include <atomic>
#include <chrono>
#include <mutex>

namespace zrt::processes {

using Clock = std::chrono::steady_clock;

/// An object that makes progress whenever any communicator of this process is
/// called: a peer may wait for one while this rank waits for another.
class Progressing {
public:
  virtual ~Progressing() = default;
  virtual void progress() = 0;
  /// Gives up everything pending: buffers are about to go away.
  virtual void cancel() = 0;
};

/// The only job of a process, which ends with it: communicators in static
/// storage may outlive everything else. Every call of the library that connects
/// the processes is made under `lock()`.
class Job {
public:
  virtual ~Job();

  /// Throws after the end of the job, and where this thread may not call.
  virtual std::unique_lock<std::recursive_mutex> lock();
  /// A wire of all processes. Collective.
  virtual std::unique_ptr<Wire> makeWire() = 0;

  int rank() const { return ownRank; }
  int ranks() const { return rankCount; }

  void add(Progressing *communicator) { communicators.push_back(communicator); }
  void remove(Progressing *communicator);
  void progress();

  bool failed() const { return hasFailed; }
  /// Records the first failure and tells every rank of the job.
  void fail(const std::string &reason);
  /// Throws what was recorded; before, no message can arrive in any buffer.
  [[noreturn]] void throwFailure();
  /// Fails because of `what` on the rank of a group, prints, waits for peers to
  /// end, and ends the job. Not under the lock.
  [[noreturn]] void abort(int rank, int ranks, const std::string &what);

  /// How long ago the process with this number said that it ends; negative when
  /// it has not.
  double secondsSinceLeft(int number) const;
  /// A peer is gone without having said so. Not under the lock.
  void noteLost() { isLost = true; }

  /// Called at the process's exit.
  void finalize();

protected:
  /// A message of a process to all others.
  struct Message {
    int32_t leaving;
    int32_t rank;
    char text[2040];
  };

  Job() = default;
  void setSize(int rank, int ranks);

  /// Starts to send `message`, which stays, to all others.
  virtual void tell(const Message &message) = 0;
  /// Moves what was told on its way, and reads what others tell; whether
  /// `message` is one of theirs.
  virtual bool hear(Message &message) = 0;
  /// Ends all processes, those that nothing reaches as well where that can be.
  [[noreturn]] virtual void kill() = 0;
  /// Ends what connects the processes, none of which has anything under way.
  virtual void close() = 0;
  virtual bool isClosed() const { return false; }

  /// Takes what others have told by now.
  void hearAll();

private:
  void say(bool leaving, const std::string &text);
  bool awaitPeersLeaving(double seconds);
  [[noreturn]] void endWithPeers();
  static bool exitWithin(double seconds);

  std::recursive_mutex mutex;
  bool isFinal = false;
  int ownRank = 0, rankCount = 1;
  Message failureMessage = {}, leavingMessage = {};
  std::vector<Progressing *> communicators;
  std::vector<Clock::time_point> leftAt;  ///< by rank; the epoch: not yet
  bool hasFailed = false, isTold = false; ///< by another rank
  std::atomic<bool> isLost{false};
  std::string failureReason;
};

} // namespace zrt::processes

#endif // ZERO_RUNTIME_COMMUNICATOR_JOB_H
