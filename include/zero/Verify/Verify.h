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

/// What every topic looks up.
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
  /// What `start` says of its buffers, described once: a reduction of many
  /// slices is asked for each, in every simulated micro-batch and topic.
  ArrayRef<AsyncBuffer> getBuffers(AsyncOpInterface start) const;

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

/// Where the simulated run stands.
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
  /// Whatever is in flight ends: before an evaluation.
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
/// What ranks compute along the axes that cut the model, of a model or of a
/// schedule.
LogicalResult verifyValues(ModuleOp module, StepOp step);
/// `maxReuseDistance` as in zero-insert-gathers. With `report`, says what was
/// saved.
LogicalResult verifyTraffic(const Tables &tables, int64_t maxReuseDistance,
                            bool report);
/// After zero-plan-memory; all succeed where nothing has a place.
LogicalResult verifyStreams(const Tables &tables);
LogicalResult verifyPlaces(const Tables &tables);
LogicalResult verifyMemory(const Tables &tables);

/// Says of an error in what zero's own passes wrote whose fault it is.
void remarkInternalError(ModuleOp module);

/// What all ranks' programs say of `op`: its attributes but those that
/// zero-specialize-rank changes and names that no other program knows.
DictionaryAttr getCommonFacts(Operation *op);
/// Where `module` holds a module for each rank: all of them are there, each
/// once, with the same training, inputs, parameters, optimizers and partitions.
/// Sorts `steps`, all that are in `module`, by rank.
LogicalResult verifyRanks(ModuleOp module, SmallVectorImpl<StepOp> &steps);
/// The same operations of ZeRO, with the same attributes, in the programs of
/// all ranks; of their order only that of collectives matters.
LogicalResult verifyOperations(ArrayRef<StepOp> ranks);
/// The same collectives, in the same order, in the programs of all ranks.
LogicalResult verifyOrder(ArrayRef<StepOp> ranks);

} // namespace mlir::zero::verify

#endif // ZERO_VERIFY_VERIFY_H
