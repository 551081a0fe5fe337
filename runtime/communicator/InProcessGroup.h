// What ranks of one process share: a failure, and their started operations.
#ifndef ZERO_RUNTIME_COMMUNICATOR_INPROCESSGROUP_H
#define ZERO_RUNTIME_COMMUNICATOR_INPROCESSGROUP_H

#include "communicator/InProcessMail.h"
#include "communicator/InProcessWork.h"

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

namespace zrt::in_process {

/// The state that a communicator shares with all that were split from it: one
/// failure, and one lock for everything but the work itself.
struct World {
  explicit World(const CommunicatorOptions &options) : options(options) {}

  /// Records the first failure and wakes everyone. \pre `mutex` is held.
  void fail(const std::string &why) {
    if (failed)
      return;
    reason = why;
    failed = true;
    changed.notify_all();
  }

  /// Throws what was recorded, once no thread touches anyone's buffers: after
  /// the throw this rank's may be gone. \pre `mutex` is not held.
  [[noreturn]] void throwFailure() {
    while (working != 0)
      std::this_thread::yield();
    std::string why;
    {
      std::lock_guard<std::mutex> lock(mutex);
      why = reason;
    }
    throw CommunicationError(why);
  }

  const CommunicatorOptions options;
  std::mutex mutex;
  std::condition_variable changed;
  std::atomic<bool> failed{false};
  /// Threads that may be inside a buffer. Sequentially consistent with
  /// `failed`: a thread enters, then looks; a thrower fails, then looks.
  std::atomic<int> working{0};
  std::string reason;
};

struct Group;

/// One started operation; reused for another when every rank has waited.
struct Operation {
  uint64_t index = 0;
  bool live = false;
  OperationSignature signature; ///< of the first rank that started it
  int firstRank = 0;
  std::vector<char> posted, waited; ///< by rank
  int waitedCount = 0;
  bool noticed = false; ///< that a rank does not come
  InProcessWork work;
  std::vector<int> colors, keys;              ///< a split's arguments
  std::vector<std::shared_ptr<Group>> groups; ///< a split's results
  std::vector<int> groupRanks;
  std::atomic<int> postedCount{0};
  std::atomic<uint64_t> nextPiece{0};
  std::atomic<uint64_t> donePieces{0};
  uint64_t pieces = 0; ///< known when all have posted
};

/// The ranks of one communicator. All but the atomics under World::mutex.
struct Group {
  Group(std::shared_ptr<World> world, int ranks)
      : world(std::move(world)), ranks(ranks), operations(kOperations),
        left(ranks) {
    for (auto &operation : operations)
      operation = makeOperation();
  }

  /// An operation that allocates nothing when it is posted, unless it has more
  /// parts than most.
  std::unique_ptr<Operation> makeOperation() const {
    constexpr size_t kParts = 16;
    auto operation = std::make_unique<Operation>();
    operation->posted.reserve(ranks);
    operation->waited.reserve(ranks);
    operation->work.reserve(ranks, kParts);
    return operation;
  }

  Operation &slot(uint64_t index) {
    return *operations[index & (operations.size() - 1)];
  }

  /// The operation of that index; a new one when no rank has started it.
  Operation &claim(uint64_t index) {
    while (slot(index).live && slot(index).index != index)
      grow();
    Operation &operation = slot(index);
    if (!operation.live)
      clear(operation, index);
    return operation;
  }

  void clear(Operation &operation, uint64_t index) {
    operation.index = index;
    operation.live = true;
    operation.posted.assign(ranks, 0);
    operation.waited.assign(ranks, 0);
    operation.waitedCount = 0;
    operation.noticed = false;
    operation.work.reset(ranks);
    operation.postedCount = 0;
    operation.nextPiece = 0;
    operation.donePieces = 0;
  }

  /// Doubles the ring; operations keep their addresses.
  void grow() {
    std::vector<std::unique_ptr<Operation>> larger(operations.size() * 2);
    for (auto &operation : operations)
      if (operation->live)
        larger[operation->index & (larger.size() - 1)] = std::move(operation);
    for (auto &operation : larger)
      if (!operation)
        operation = makeOperation();
    operations = std::move(larger);
  }

  /// More than a step has in flight; a power of two.
  static constexpr size_t kOperations = 32;
  const std::shared_ptr<World> world;
  const int ranks;
  std::vector<std::unique_ptr<Operation>> operations; ///< a power of two
  MailBoxes mail;
  std::vector<char> left; ///< ranks whose communicator is gone
  int leftCount = 0;
};

} // namespace zrt::in_process

#endif // ZERO_RUNTIME_COMMUNICATOR_INPROCESSGROUP_H
