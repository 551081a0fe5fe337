//===- Verify.h - the topics of zero-verify-schedule ------------*- C++ -*-===//
//
// Each topic walks the schedule in the order in which it runs (initialize, two
// updates of several micro-batches, evaluate, one more update) and keeps the
// facts that it is about. It asks what is true when an operation runs, not
// which operation stands beside it, so that schedules may overlap what they
// like.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_VERIFY_VERIFY_H
#define ZERO_VERIFY_VERIFY_H

#include "zero/Analysis/Handles.h"
#include "zero/Analysis/Mesh.h"
#include "zero/Analysis/Schedule.h"
#include "zero/Dialect/Zero/PartitionTable.h"

namespace mlir::zero::verify {

/// Tables that every topic of the verifier looks up.
struct Tables : PartitionTable {
  Tables(ModuleOp module, StepOp step);

  PartitionOp ownerOf(FlatSymbolRefAttr parameter) const {
    return getPartition(parameter.getAttr());
  }
  /// The segments that hold a parameter at stage 3, padding included, in
  /// elements; 0 where it is in no partition.
  int64_t paddedElements(FlatSymbolRefAttr parameter) const;
  /// Whether a region ends with the loss, and does not leave that to others.
  bool hasLoss(Operation *region) const;
  /// The buffers of `start`, described once: a reduction of many slices is
  /// asked for them in every simulated micro-batch and topic.
  ArrayRef<AsyncBuffer> getBuffers(AsyncOpInterface start) const;
  /// The buffer of `start` that holds `result`, which it or its wait gives;
  /// null where none does.
  const AsyncBuffer *findBuffer(AsyncOpInterface start, Value result) const;

  // Operations are handles, and none of their methods is const.
  mutable ModuleOp module;
  mutable StepOp step;
  Handles handles;
  TrainingAttr training; ///< never null
  MeshAxes mesh;
  SmallVector<PartitionOp> trained;

private:
  /// The schedule does not change while it is verified. Behind pointers, so
  /// that what was given out stays where it is.
  mutable DenseMap<Operation *, std::unique_ptr<SmallVector<AsyncBuffer>>>
      buffers;
};

/// The position of the simulated run.
struct RunPosition {
  Operation *region = nullptr;
  int64_t update = 0;
  /// Index of the micro-batch, and how many the simulated update has.
  int64_t micro = 0, micros = 1;
};

/// A topic's state. `visit` sees each operation of each region as it runs.
class Tracker {
public:
  virtual ~Tracker() = default;
  virtual void enter() {}
  virtual LogicalResult visit(Operation &op) = 0;
  virtual LogicalResult leave() { return success(); }
  /// Ends all operations in flight, before an evaluation.
  virtual LogicalResult drain() { return success(); }

  RunPosition now;
};

/// Lets the schedule run before `tracker`.
LogicalResult simulate(const Tables &tables, Tracker &tracker);

/// Whether `value` is the complete gradient of `parameter`'s elements
/// [begin, end): a `zero.gradient` says so.
bool isGradientOf(Value value, FlatSymbolRefAttr parameter, int64_t begin,
                  int64_t end);
/// Completes an error about a value that is not the gradient it is taken for:
/// what it is instead, and where it is from.
void describeGradient(InFlightDiagnostic &error, Value value);

LogicalResult verifyPartitions(const Tables &tables);
LogicalResult verifyRegions(const Tables &tables);
LogicalResult verifyMarks(const Tables &tables);
LogicalResult verifyHandles(const Tables &tables);
LogicalResult verifyLifetimes(const Tables &tables);
LogicalResult verifyReads(const Tables &tables);
LogicalResult verifySlices(const Tables &tables);
LogicalResult verifyGradients(const Tables &tables);
LogicalResult verifyQuantization(const Tables &tables);
LogicalResult verifyUpdates(const Tables &tables);
LogicalResult verifyWeights(const Tables &tables);
LogicalResult verifyOffload(const Tables &tables);
LogicalResult verifyActivations(const Tables &tables);
LogicalResult verifyStash(const Tables &tables);
/// Checks that ranks compute parts of one model along the axes that cut it, in
/// a model or in a schedule.
LogicalResult verifyValues(ModuleOp module, StepOp step);
/// Checks the traffic of a schedule against its closed form; `maxReuseDistance`
/// as in zero-insert-gathers. With `report`, reports the traffic that was
/// saved.
LogicalResult verifyTraffic(const Tables &tables, int64_t maxReuseDistance,
                            bool report);
/// Checks of a schedule after zero-plan-memory; they succeed if nothing has a
/// place.
LogicalResult verifyStreams(const Tables &tables);
LogicalResult verifyPlaces(const Tables &tables);
LogicalResult verifyMemory(const Tables &tables);

/// Emits the remark that an error in a model or a schedule that zero's passes
/// wrote is internal, unless the model itself has operations between ranks.
void remarkInternalError(ModuleOp module);

/// The attributes of `op` that must be equal in the programs of all ranks,
/// without those that zero-specialize-rank changes, and without names that no
/// other program knows.
DictionaryAttr getCommonFacts(Operation *op);
/// If `module` holds a module for each rank, checks that all of them are there,
/// each once, with the same training, inputs, parameters, optimizers and
/// partitions, and sorts `steps`, all that are in `module`, by rank.
LogicalResult verifyRanks(ModuleOp module, SmallVectorImpl<StepOp> &steps);
/// Checks that the programs of all ranks have the same operations of ZeRO, with
/// the same attributes; of their order only that of collectives matters.
LogicalResult verifyOperations(ArrayRef<StepOp> ranks);
/// Checks that the programs of all ranks have the same collectives in the same
/// order.
LogicalResult verifyOrder(ArrayRef<StepOp> ranks);

} // namespace mlir::zero::verify

#endif // ZERO_VERIFY_VERIFY_H
