//===- VerifyTraffic.cpp - traffic is what tables and uses say ------------===//
//
// The closed form: elements that one rank sends in an update, each term times
// (n-1)/n. What it should be follows from partitions and from where the step
// uses parameters; what it is, from the collectives.
//
//===----------------------------------------------------------------------===//

#include "Verify.h"

using namespace mlir;
using namespace mlir::zero;
using namespace mlir::zero::verify;

namespace {

/// Elements, before the factor (n-1)/n.
struct Sent {
  int64_t gradients = 0, gathers = 0, refreshes = 0;
};

class Traffic {
public:
  Traffic(const Tables &tables, int64_t maxReuseDistance)
      : tables(tables), maxReuseDistance(maxReuseDistance) {}
  LogicalResult run(bool report);

private:
  void expectGradients();
  void expectRefreshes();
  void expectGathers();
  int64_t gatherUses(Block &block, int64_t distance);
  int64_t gatherUsesOfUpdate(int64_t distance);
  void countActual();
  LogicalResult verifySilence();
  void reportSavings();

  const Tables &tables;
  int64_t maxReuseDistance;
  Sent expected, actual;
};

} // namespace

//===----------------------------------------------------------------------===//
// What should be sent
//===----------------------------------------------------------------------===//

void Traffic::expectGradients() {
  int64_t accumulation = tables.training.getAccumulation();
  for (PartitionOp partition : tables.trained) {
    int64_t elements = partition.getFlatElements();
    // Reduced to owners, padding does not travel.
    if (partition.getLayout() == LayoutKind::Contiguous) {
      elements = 0;
      for (MemberAttr member : partition.getMemberRange())
        elements += member.getSize();
    }
    bool everyMicro =
        partition.getStage() >= 2 || tables.training.getDeterministic();
    expected.gradients += elements * (everyMicro ? accumulation : 1) *
                          (partition.getStage() == 0 ? 2 : 1);
  }
}

void Traffic::expectRefreshes() {
  for (PartitionOp partition : tables.trained)
    if (partition.hasShardedOptimizer() && !partition.hasShardedParameters())
      expected.refreshes += partition.getFlatElements();
  // Copies that persist are brought up to date once, if they changed.
  for (FlatSymbolRefAttr parameter : getResidentParameters(tables.step))
    if (PartitionOp partition = tables.ownerOf(parameter);
        partition && partition.isTrainable())
      expected.refreshes += tables.paddedElements(parameter);
}

/// Padded elements of one gather for each run of uses in `block` that are less
/// than `distance` elements of used parameters apart.
int64_t Traffic::gatherUses(Block &block, int64_t distance) {
  DenseMap<StringAttr, int64_t> lastUse;
  int64_t used = 0, gathered = 0;
  for (Operation &op : block) {
    if (isa<FreeOp>(op))
      continue;
    for (Value operand : op.getOperands()) {
      // What every rank has whole, or resident, is loaded without a gather.
      auto load = operand.getDefiningOp<LoadOp>();
      if (!load || !load.getSource())
        continue;
      FlatSymbolRefAttr parameter = load.getParameterAttr();
      auto last = lastUse.find(parameter.getAttr());
      bool isNext = last != lastUse.end() && used == last->second;
      if (!isNext) {
        if (last == lastUse.end() || used - last->second >= distance)
          gathered += tables.paddedElements(parameter);
        used += tables.getMember(parameter.getAttr()).getSize();
      }
      lastUse[parameter.getAttr()] = used;
    }
  }
  return gathered;
}

int64_t Traffic::gatherUsesOfUpdate(int64_t distance) {
  int64_t gathered = 0;
  for (auto micro : tables.step.getBody().getOps<MicroOp>())
    gathered += tables.step.getRunsPerUpdate(micro) *
                gatherUses(micro.getBody().front(), distance);
  return gathered;
}

void Traffic::expectGathers() {
  expected.gathers = gatherUsesOfUpdate(maxReuseDistance);
}

//===----------------------------------------------------------------------===//
// What is sent
//===----------------------------------------------------------------------===//

void Traffic::countActual() {
  int64_t times = 0;
  auto count = [&](CollectiveOpInterface op) {
    int64_t sent = times * op.getElementsSent(tables);
    if (isReduction(op))
      actual.gradients += sent;
    else if (isGather(op))
      actual.gathers += sent;
    else if (isRefresh(op))
      actual.refreshes += sent;
  };
  for (Operation &region : tables.step.getBody().front())
    if ((times = tables.step.getRunsPerUpdate(&region)))
      region.walk(count);
}

LogicalResult Traffic::verifySilence() {
  WalkResult walk = tables.step->walk([](Operation *op) {
    if (!isCollective(op))
      return WalkResult::advance();
    op->emitOpError("sends to other ranks, and there is one rank");
    return WalkResult::interrupt();
  });
  return failure(walk.wasInterrupted());
}

//===----------------------------------------------------------------------===//
// Comparison
//===----------------------------------------------------------------------===//

static LogicalResult compare(StepOp step, StringRef what, int64_t actual,
                             int64_t expected) {
  if (actual == expected)
    return success();
  return step.emitOpError("sends ")
         << actual << " elements of " << what
         << " an update (times (n-1)/n), wanted " << expected
         << " by its partitions and uses";
}

void Traffic::reportSavings() {
  int64_t trained = 0, padded = 0;
  for (PartitionOp partition : tables.trained) {
    padded += partition.getFlatElements();
    for (MemberAttr member : partition.getMemberRange())
      trained += member.getSize();
  }
  InFlightDiagnostic remark =
      tables.step.emitRemark("sends ")
      << actual.gradients << " elements of gradients, " << actual.gathers
      << " of gathered and " << actual.refreshes
      << " of refreshed parameters an update, times (n-1)/n";
  remark.attachNote() << trained << " elements are trained, " << padded
                      << " with padding";
  int64_t micros = tables.training.getAccumulation();
  if (tables.training.getStage() < 3 || tables.training.isSilent())
    return;
  remark.attachNote()
      << "the bound of stage 3 is " << 3 * micros * padded
      << "; parameters that the backward does not read, that are kept until "
         "their next use, or that persist are gathered less: "
      << actual.gathers + actual.refreshes << " instead of "
      << 2 * micros * padded;
  int64_t apart = gatherUsesOfUpdate(0);
  if (apart > actual.gathers)
    remark.attachNote() << "keeping parameters for their next use saves "
                        << apart - actual.gathers;
}

LogicalResult Traffic::run(bool report) {
  if (tables.training.isSilent())
    return verifySilence();
  expectGradients();
  expectRefreshes();
  expectGathers();
  countActual();
  if (failed(compare(tables.step, "gradients", actual.gradients,
                     expected.gradients)) ||
      failed(compare(tables.step, "refreshed parameters", actual.refreshes,
                     expected.refreshes)))
    return failure();
  if (failed(compare(tables.step, "gathered parameters", actual.gathers,
                     expected.gathers)))
    return failure();
  if (report)
    reportSavings();
  return success();
}

LogicalResult verify::verifyTraffic(const Tables &tables,
                                    int64_t maxReuseDistance, bool report) {
  return Traffic(tables, maxReuseDistance).run(report);
}
