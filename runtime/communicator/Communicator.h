// Collectives between ranks, one interface for every backend.
#ifndef ZERO_RUNTIME_COMMUNICATOR_COMMUNICATOR_H
#define ZERO_RUNTIME_COMMUNICATOR_COMMUNICATOR_H

#include "program/Program.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace zrt {

/// One part of a started operation. `count` as in `zrt::CollectivePart`.
/// In place: all-gather `send == receive + rank * count`, reduce-scatter
/// `receive == send + rank * count`, others `send == receive`.
struct Transfer {
  const void *send = nullptr;
  void *receive = nullptr;
  uint64_t count = 0;
  DataType type = DataType::F32;
  int root = 0;
  uint32_t lane = 0;
};

/// Thrown by every rank's next call after a rank failed, timed out or asked
/// for another operation than its peers; `what()` names both sides.
class CommunicationError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// The options of every backend.
struct CommunicatorOptions {
  /// Seconds that a wait lasts without any progress before it is an error;
  /// 0 waits for ever.
  double timeoutSeconds = 600;
  /// Seconds of the same after which `notice` is told, once an operation and
  /// while the wait goes on, which ranks are waited for; 0 never tells it.
  double noticeSeconds = 10;
  /// Called on the thread that waits; it calls no communicator.
  std::function<void(const std::string &what)> notice = nullptr;
  /// Why not all ranks will come, "" where nothing is known: asked while the
  /// ranks of processes look for each other.
  std::function<std::string()> findLoss = nullptr;
};

/// A group of ranks. All ranks start the same operations in the same order;
/// waits may come in any order, one for each start. Buffers are borrowed from
/// start to wait. Two threads of a rank must not call one communicator at once.
///
/// Sums of f32, f16 and bf16 are ((g0 + g1) + g2) + ... in rank order in f32,
/// rounded once; f64 and integers in their own type, in rank order.
class Communicator {
public:
  using Ticket = uint64_t;
  virtual ~Communicator();

  virtual int rank() const = 0;
  virtual int ranks() const = 0;

  /// Starts one operation made of `parts`, which the backend may fuse. Does
  /// not wait for peers. `reduction` concerns reducing kinds only.
  virtual Ticket start(Collective kind, Reduction reduction,
                       const std::vector<Transfer> &parts) = 0;
  /// Starts an operation on a stream of a device, if this communicator queues
  /// its operations; others ignore `stream`.
  virtual Ticket startOn(Stream stream, Collective kind, Reduction reduction,
                         const std::vector<Transfer> &parts);
  /// Returns when the operation is done on this rank; where operations are
  /// queued, when what is queued on the compute stream from now on comes after
  /// it.
  virtual void wait(Ticket ticket) = 0;
  virtual void barrier() = 0;
  /// Gives up a started operation that will never be done, as one that a graph
  /// was to hold which was not made. Throws std::logic_error where operations
  /// are not queued.
  virtual void forget(Ticket ticket);

  /// Throws std::invalid_argument where this backend does not do an operation
  /// that a program will start, so that it is known before the first one.
  virtual void admit(Collective kind, Reduction reduction,
                     const std::vector<Transfer> &parts) const;

  /// A communicator of the ranks that pass the same `color`, ordered by
  /// (`key`, rank). Every rank of this one must call it. `color` is not
  /// negative. A failure of either is a failure of both.
  virtual std::unique_ptr<Communicator> split(int color, int key) = 0;

  /// A communicator of this rank's group `group` of `mesh`, whose ranks this
  /// one has: ranks by their place in the group. Every rank must call it.
  virtual std::unique_ptr<Communicator> makeGroup(const Mesh &mesh,
                                                  uint32_t group);

  /// Throws CommunicationError where a peer failed, as far as is known here;
  /// for who waits for a peer by other means. Does not wait.
  virtual void checkPeers();

  /// Tells that a peer's process is gone without a word: an abort waits for
  /// nobody then, and leaves the job to its launcher, which has seen it, too.
  /// Any thread may call it, at any time; it waits for no other call.
  virtual void noteLost();

  /// Makes every pending and later call of every rank throw
  /// CommunicationError with `reason`. Any thread may call it, at any time.
  virtual void abort(const std::string &reason) = 0;

  void run(Collective kind, Reduction reduction,
           const std::vector<Transfer> &parts) {
    wait(start(kind, reduction, parts));
  }
};

} // namespace zrt

#endif // ZERO_RUNTIME_COMMUNICATOR_COMMUNICATOR_H
