//===- VerifyQuantization.cpp - what is quantized, is as planned ----------===//
//
// Ranks that unpack other blocks than were packed would read scales as numbers,
// and passes that gather a parameter in two ways would compute with two values
// of it: the plan says how each travels, in every region.
//
//===----------------------------------------------------------------------===//

#include "zero/Verify/Verify.h"

#include "zero/Analysis/Quantization.h"

using namespace mlir;
using namespace mlir::zero;
using namespace mlir::zero::verify;

static LogicalResult verifyIs(Operation *op, QuantizationAttr wanted,
                              const Twine &what) {
  auto found = op->getAttrOfType<QuantizationAttr>("quantized");
  if (found == wanted)
    return success();
  InFlightDiagnostic error = op->emitOpError("sends ") << what;
  if (found)
    error << " quantized as " << found;
  else
    error << " as they are";
  if (wanted)
    return error << ", wanted " << wanted << " as is planned";
  return error << ", and is planned to send them as they are";
}

static LogicalResult verifyGather(AllGatherOp gather, const Tables &tables) {
  if (gather.getOver()) // later gathers, of what the first ones brought
    return success();
  for (auto name : gather.getParameters().getAsRange<FlatSymbolRefAttr>()) {
    QuantizationAttr wanted = getGatherQuantization(
        tables.training.getPlanning(), tables, name.getAttr());
    if (failed(verifyIs(gather, wanted, "slices of '" + name.getValue() + "'")))
      return failure();
  }
  return success();
}

/// Checks that exchanges feed quantization errors back as planned: with another
/// beta, ranks would still agree, and train something else.
static LogicalResult verifyFeedback(ExchangeGradientsOp exchange,
                                    FeedbackAttr wanted) {
  FeedbackAttr found = exchange.getFeedbackAttr();
  if (found == wanted)
    return success();
  InFlightDiagnostic error = exchange.emitOpError("feeds back errors as ");
  if (found)
    error << found;
  else
    error << "none";
  if (wanted)
    return error << ", wanted " << wanted << " as is planned";
  return error << ", and is planned to leave them out";
}

/// A partition keeps the errors of what it exchanges, and no others.
static LogicalResult verifyErrors(PartitionOp partition, const Tables &tables) {
  SmallVector<int64_t> wanted =
      getErrors(tables.training.getPlanning(), partition);
  ArrayRef<int64_t> found = partition.getErrors().value_or(ArrayRef<int64_t>());
  if (found == ArrayRef<int64_t>(wanted))
    return success();
  InFlightDiagnostic error = partition.emitOpError("keeps errors [");
  llvm::interleaveComma(found, error);
  error << "], wanted [";
  llvm::interleaveComma(wanted, error);
  return error << "] as is planned";
}

/// Checks that parameters are stored quantized as planned, since the runtime
/// packs them by the plan.
static LogicalResult verifyStored(PartitionOp partition, const Tables &tables) {
  QuantizationAttr found = partition.getQuantizedAttr(),
                   planned = tables.training.getPlanning().getQuantizedFrozen();
  if (!found || found == planned)
    return success();
  InFlightDiagnostic error = partition.emitOpError("stores parameters as ")
                             << found << ", wanted ";
  if (planned)
    return error << planned << " as is planned";
  return error << "them as they are: none are planned to be quantized";
}

LogicalResult verify::verifyQuantization(const Tables &tables) {
  PlanningAttr planning = tables.training.getPlanning();
  for (PartitionOp partition : tables.module.getOps<PartitionOp>())
    if (failed(verifyErrors(partition, tables)) ||
        failed(verifyStored(partition, tables)))
      return failure();
  WalkResult walk = tables.step->walk([&](Operation *op) {
    if (auto gather = dyn_cast<AllGatherOp>(op))
      return WalkResult(verifyGather(gather, tables));
    auto exchange = dyn_cast<ExchangeGradientsOp>(op);
    if (!exchange)
      return WalkResult::advance();
    if (failed(verifyIs(exchange, planning.getQuantizedGradients(),
                        "gradients")) ||
        failed(verifyFeedback(exchange, planning.getErrorFeedback())))
      return WalkResult::interrupt();
    if (exchange.getStep() == ExchangeStep::Within &&
        exchange.getOverAttr() != planning.getGradientsWithin())
      return WalkResult(exchange.emitOpError("adds up gradients within ")
                        << exchange.getOverAttr() << ", wanted "
                        << planning.getGradientsWithin() << " as is planned");
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}
