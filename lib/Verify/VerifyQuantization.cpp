//===- VerifyQuantization.cpp - what is quantized, is as planned ----------===//
//
// Ranks that unpack other blocks than were packed would read scales as numbers,
// and passes that gather a parameter in two ways would compute with two values
// of it: the plan says how each travels, in every region.
//
//===----------------------------------------------------------------------===//

#include "Verify.h"

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

LogicalResult verify::verifyQuantization(const Tables &tables) {
  PlanningAttr planning = tables.training.getPlanning();
  WalkResult walk = tables.step->walk([&](Operation *op) {
    if (auto gather = dyn_cast<AllGatherOp>(op))
      return WalkResult(verifyGather(gather, tables));
    auto exchange = dyn_cast<ExchangeGradientsOp>(op);
    if (!exchange)
      return WalkResult::advance();
    if (failed(
            verifyIs(exchange, planning.getQuantizedGradients(), "gradients")))
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
