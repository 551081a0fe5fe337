//===- VerifyRegions.cpp - the regions of a step, and what they leave -----===//

#include "zero/Verify/Verify.h"

#include "program/ByteCount.h"

using namespace mlir;
using namespace mlir::zero;
using namespace mlir::zero::verify;

static YieldOp getYield(Operation *region) {
  Block &body = region->getRegion(0).front();
  return body.empty() ? YieldOp() : dyn_cast<YieldOp>(body.back());
}

/// Translation needs a place for everything, and memory was planned for it.
static bool isPlanned(const Tables &tables) {
  return tables.step->hasAttr(kPlaces);
}

/// The passes are those of the chunks that the mesh says.
static LogicalResult verifyPasses(const Tables &tables) {
  const int64_t passes =
      llvm::range_size(tables.step.getBody().getOps<ForwardOp>());
  if (passes == 0 || passes == tables.mesh.chunks)
    return success();
  return tables.step.emitOpError("has 'zero.forward' for ")
         << zrt::plural(passes, "chunk") << ", and the mesh says that a stage "
         << "has " << tables.mesh.chunks;
}

LogicalResult verify::verifyRegions(const Tables &tables) {
  if (failed(verifyPasses(tables)))
    return failure();
  Type loss;
  for (Operation &region : tables.step.getBody().front()) {
    if (!isa<MicroOp, EvaluateOp>(region))
      continue;
    YieldOp yield = getYield(&region);
    if (!yield)
      return region.emitOpError(
          "leaves no loss behind: wanted a 'zero.yield' at its end");
    if (!tables.hasLoss(&region))
      continue;
    Type found = yield.getValues().front().getType();
    if (loss && found != loss)
      return yield.emitOpError("yields a loss of ")
             << found << ", and the regions before it one of " << loss;
    loss = found;
  }
  if (isPlanned(tables) && !tables.step.getRegionOp<EvaluateOp>())
    return tables.step.emitOpError(
        "has no 'zero.evaluate', without which a run ends at its first "
        "evaluation; wanted the region that zero-differentiate makes");
  return success();
}
