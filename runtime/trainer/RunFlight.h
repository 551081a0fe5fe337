// The records of a run's ranks on this machine: where they are, who reads them,
// and how long they stay.
#ifndef ZERO_RUNTIME_TRAINER_RUNFLIGHT_H
#define ZERO_RUNTIME_TRAINER_RUNFLIGHT_H

#include "communicator/Communicator.h"
#include "flight/FlightRecorder.h"

#include <condition_variable>
#include <iosfwd>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace zrt {

/// A folder with a record for each rank. Where it can be made nowhere, and no
/// place was asked for, there are none, and a remark says why.
///
/// A record stays where ranks no longer agree: where one was lost, stopped or
/// did something else, and no rank has given a reason. Then the folder is
/// named.
class RunFlight {
public:
  /// `place` is the folder that the run's folder is made in; empty: memory.
  /// `tag` is the run's, and no other's. Throws std::runtime_error where there
  /// is no such place.
  RunFlight(const std::string &place, uint64_t tag, std::ostream &errors);
  ~RunFlight();
  RunFlight(const RunFlight &) = delete;
  RunFlight &operator=(const RunFlight &) = delete;

  /// Makes the record of a rank of this process; null where there are none.
  FlightRecorder *add(const FlightOwner &owner);

  /// A rank of this process has failed. With a reason of its own the records of
  /// all are of no more use; otherwise the first of them says what they show.
  void fail(FlightRecorder *recorder, bool hasReason);
  /// The rank has ended well.
  void end(FlightRecorder *recorder);
  /// Says what the ranks do: when asked to, while they go on.
  void tell();

  /// Until the end, looks for ranks of other processes of this machine that
  /// have ended without a word, and has `communicator` abort then. Borrowed.
  void watchPeers(Communicator &communicator);

private:
  bool makeFolder(const std::string &place, uint64_t tag, std::string &why);
  void takeAway(FlightRecorder &recorder);
  void explain(bool isLost);
  void awaitPeers() const;
  void watch(Communicator &communicator);
  std::string describeLost() const;

  std::ostream &errors;
  std::string folder; ///< empty: there are no records
  std::vector<std::unique_ptr<FlightRecorder>> recorders;
  std::mutex mutex;
  std::condition_variable changed;
  bool ending = false, failed = false;
  std::thread watcher;
};

} // namespace zrt

#endif // ZERO_RUNTIME_TRAINER_RUNFLIGHT_H
