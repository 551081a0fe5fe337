//===- VerifyWeights.cpp - weights of micro-batches -----------------------===//
//
// Where micro-batches have weights, each region yields one, the gradient of the
// loss is multiplied by it once, and the update divides by the mean of them
// all.
//
//===----------------------------------------------------------------------===//

#include "zero/Verify/Verify.h"

using namespace mlir;
using namespace mlir::zero;
using namespace mlir::zero::verify;

/// One seed of `micro` has the weight that it yields.
static LogicalResult verifySeeds(MicroOp micro, YieldOp yield) {
  Value weight = yield.getWeight();
  LossSeedOp weighted;
  for (auto seed : micro.getBody().getOps<LossSeedOp>()) {
    if (!seed.getWeight())
      continue;
    if (seed.getWeight() != weight)
      return seed.emitOpError(
          "has a weight that the micro-batch does not yield");
    if (weighted) {
      InFlightDiagnostic error =
          seed.emitOpError("weighs the gradient of the loss a second time");
      error.attachNote(weighted.getLoc()) << "the first one";
      return error;
    }
    weighted = seed;
  }
  if (weight && !weighted)
    return yield.emitOpError("has a weight by which no 'zero.loss_seed' "
                             "multiplies the gradient of the loss");
  return success();
}

static LogicalResult verifyYields(const Tables &tables, bool isWeighted) {
  for (Operation &op : tables.step.getBody().front()) {
    if (!isa<MicroOp, EvaluateOp>(op) || op.getRegion(0).front().empty())
      continue;
    auto yield = dyn_cast<YieldOp>(op.getRegion(0).front().back());
    if (!yield)
      continue;
    // The stage that has the loss says what it weighs.
    if (!!yield.getWeight() != (isWeighted && tables.hasLoss(&op)))
      return yield.emitOpError()
             << (isWeighted ? "has no weight, and the last micro-batch of an "
                              "update has one"
                            : "has a weight, and the last micro-batch of an "
                              "update has none");
    if (auto micro = dyn_cast<MicroOp>(op);
        micro && failed(verifySeeds(micro, yield)))
      return failure();
  }
  return success();
}

LogicalResult mlir::zero::verify::verifyWeights(const Tables &tables) {
  const bool isWeighted = tables.step.hasWeights();
  if (failed(verifyYields(tables, isWeighted)))
    return failure();
  auto apply = tables.step.getRegionOp<ApplyOp>();
  if (!apply)
    return success();
  const int64_t wanted =
      isWeighted ? tables.mesh.countWeights(tables.training) : 0;
  for (Operation &op : apply.getBody().front()) {
    if (auto judge = dyn_cast<JudgeOp>(op)) {
      const int64_t found = judge.getMicroBatches().value_or(0);
      if (found != wanted)
        return judge.emitOpError("divides by the mean weight of ")
               << found << " micro-batches, and " << wanted
               << " of an update have weights";
    } else if (auto reduce = dyn_cast<ReduceStatsOp>(op)) {
      if (reduce.getWeighted() != isWeighted)
        return reduce.emitOpError(
            isWeighted ? "leaves each rank with the weights of its own "
                         "micro-batches; wanted 'weighted'"
                       : "adds up weights that micro-batches do not have");
    }
  }
  return success();
}
