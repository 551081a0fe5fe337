//===- VerifyTraffic.cpp - traffic is what tables and uses say ------------===//
//
// What should be sent follows from partitions and from where the step uses
// parameters; what is sent, from the collectives.
//
//===----------------------------------------------------------------------===//

#include "zero/Verify/Verify.h"

#include "zero/Analysis/Mesh.h"
#include "zero/Analysis/Traffic.h"

using namespace mlir;
using namespace mlir::zero;
using namespace mlir::zero::verify;

namespace {

class Traffic {
public:
  Traffic(const Tables &tables, int64_t maxReuseDistance)
      : tables(tables), traffic(tables.module, tables.step),
        maxReuseDistance(maxReuseDistance) {}
  LogicalResult run(bool report);

private:
  LogicalResult verifySilence();
  LogicalResult compare(TrafficKind kind, StringRef what);
  void reportSavings();
  void reportGathers(InFlightDiagnostic &remark);

  const Tables &tables;
  TrafficAnalysis traffic;
  SmallVector<TrafficPart> expected, actual;
  int64_t maxReuseDistance;
};

} // namespace

LogicalResult Traffic::verifySilence() {
  WalkResult walk = tables.step->walk([&](Operation *op) {
    if (!isCollective(op))
      return WalkResult::advance();
    // Ranks that compute one model have much to say.
    auto collective = dyn_cast<CollectiveOpInterface>(op);
    if (tables.mesh.model && collective &&
        (collective.getTrafficClass() == zrt::TrafficClass::Activation ||
         collective.getTrafficClass() == zrt::TrafficClass::Control))
      return WalkResult::advance();
    op->emitOpError("sends to other ranks, and there is one rank");
    return WalkResult::interrupt();
  });
  return failure(walk.wasInterrupted());
}

LogicalResult Traffic::compare(TrafficKind kind, StringRef what) {
  int64_t sent = countElements(actual, kind);
  int64_t wanted = countElements(expected, kind);
  if (sent == wanted)
    return success();
  return tables.step.emitOpError("sends ")
         << sent << " elements of " << what
         << " an update (times (n-1)/n), wanted " << wanted
         << " by its partitions and uses";
}

//===----------------------------------------------------------------------===//
// Report
//===----------------------------------------------------------------------===//

/// Beside two gathers of every parameter in each micro-batch, frozen ones
/// included.
void Traffic::reportGathers(InFlightDiagnostic &remark) {
  int64_t twice = 2 * tables.training.getAccumulation();
  int64_t all = 0, less = 0, more = 0;
  for (auto [parameter, count] : traffic.countGathers()) {
    int64_t elements = traffic.paddedElements(parameter);
    all += twice * elements;
    less += std::max<int64_t>(twice - count, 0) * elements;
    more += std::max<int64_t>(count - twice, 0) * elements;
  }
  remark.attachNote()
      << "the bound of stage 3 is "
      << countElements(expected, TrafficKind::Gradients) + all
      << "; parameters that the backward does not read, that are kept until "
         "their next use, or that persist are gathered less: "
      << all - less << " instead of " << all;
  if (more > 0)
    remark.attachNote() << "parameters with more than two uses in a "
                           "micro-batch, such as tied ones, are gathered once "
                           "for each: "
                        << more << " on top";
}

void Traffic::reportSavings() {
  int64_t trained = 0, padded = 0;
  for (PartitionOp partition : tables.trained) {
    padded += partition.getFlatElements();
    for (MemberAttr member : partition.getMemberRange())
      trained += member.getSize();
  }
  int64_t gathered = countElements(actual, TrafficKind::Gathers);
  InFlightDiagnostic remark =
      tables.step.emitRemark("sends ")
      << countElements(actual, TrafficKind::Gradients)
      << " elements of gradients, " << gathered << " of gathered and "
      << countElements(actual, TrafficKind::Refreshes)
      << " of refreshed parameters an update, times (n-1)/n";
  remark.attachNote() << trained << " elements are trained, " << padded
                      << " with padding";
  if (tables.training.getStage() < 3)
    return;
  int64_t again = countElements(actual, TrafficKind::Regathers);
  if (again > 0)
    remark.attachNote()
        << again << " are gathered again within groups of "
        << getMesh(tables.module, tables.training).secondary.getSize()
        << " ranks, from the secondary partition";
  if (int64_t bytes = countElements(actual, TrafficKind::QuantizedGradients))
    remark.attachNote() << bytes << " bytes are those of quantized gradients";
  if (int64_t bytes = countElements(actual, TrafficKind::GradientsWithin))
    remark.attachNote()
        << bytes << " are those of quantized gradients within groups of "
        << tables.training.getPlanning().getGradientsWithin().getSize()
        << " ranks";
  if (int64_t bytes = countElements(actual, TrafficKind::Quantized))
    remark.attachNote() << bytes << " bytes are those of quantized parameters";
  reportGathers(remark);
  SmallVector<TrafficPart> most = traffic.expected(/*maxReuseDistance=*/0);
  int64_t apart = countElements(most, TrafficKind::Gathers) +
                  countElements(most, TrafficKind::Regathers);
  if (apart > gathered + again)
    remark.attachNote() << "keeping parameters for their next use saves "
                        << apart - gathered - again;
}

LogicalResult Traffic::run(bool report) {
  expected = traffic.expected(maxReuseDistance);
  actual = traffic.planned();
  if (tables.training.isSilent())
    return failed(verifySilence())
               ? failure()
               : compare(TrafficKind::Activations, "activations");
  if (failed(compare(TrafficKind::Gradients, "gradients")) ||
      failed(compare(TrafficKind::QuantizedGradients,
                     "quantized gradients (bytes)")) ||
      failed(compare(TrafficKind::GradientsWithin,
                     "quantized gradients within nodes (bytes)")) ||
      failed(compare(TrafficKind::Replicas, "gradients between replicas")) ||
      failed(compare(TrafficKind::Refreshes, "refreshed parameters")) ||
      failed(compare(TrafficKind::Gathers, "gathered parameters")) ||
      failed(compare(TrafficKind::Quantized, "quantized parameters (bytes)")) ||
      failed(compare(TrafficKind::Regathers,
                     "parameters gathered within a node")) ||
      failed(compare(TrafficKind::Activations, "activations")))
    return failure();
  if (report)
    reportSavings();
  return success();
}

LogicalResult verify::verifyTraffic(const Tables &tables,
                                    int64_t maxReuseDistance, bool report) {
  return Traffic(tables, maxReuseDistance).run(report);
}
