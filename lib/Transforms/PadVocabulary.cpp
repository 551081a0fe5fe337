//===- PadVocabulary.cpp - output projections with rows of zeros ----------===//

#include "zero/Analysis/Padding.h"
#include "zero/Dialect/Zero/Zero.h"
#include "zero/Transforms/Passes.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::zero {
#define GEN_PASS_DEF_PADVOCABULARY
#include "zero/Transforms/Passes.h.inc"
} // namespace mlir::zero

using namespace mlir;
using namespace mlir::zero;

/// The fewest multiples that a parameter's rows are padded from: padding is
/// then at most a sixteenth.
static constexpr int64_t kFewestMultiples = 16;

namespace {

struct PadVocabulary : public zero::impl::PadVocabularyBase<PadVocabulary> {
  using PadVocabularyBase::PadVocabularyBase;
  void runOnOperation() override;

private:
  void padFrom(StepOp step, ParameterOp parameter);
};

} // namespace

static RankedTensorType withDim(RankedTensorType type, int64_t dim,
                                int64_t size) {
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = size;
  return type.clone(shape);
}

/// Outputs of the model without padding: `type` is what they were.
static void keepOutput(OpOperand &output, RankedTensorType type) {
  OpBuilder b(output.getOwner());
  SmallVector<OpFoldResult> offsets(type.getRank(), b.getIndexAttr(0));
  SmallVector<OpFoldResult> strides(type.getRank(), b.getIndexAttr(1));
  SmallVector<OpFoldResult> sizes;
  for (int64_t size : type.getShape())
    sizes.push_back(b.getIndexAttr(size));
  output.set(tensor::ExtractSliceOp::create(b, output.getOwner()->getLoc(),
                                            type, output.get(), offsets, sizes,
                                            strides));
}

/// Gives everything in `closure` `padded` indices instead of `size`.
static void pad(PaddingClosure &closure, int64_t size, int64_t padded) {
  SmallVector<RankedTensorType> outputs;
  for (OpOperand *output : closure.outputs)
    outputs.push_back(cast<RankedTensorType>(output->get().getType()));
  for (ParameterOp parameter : closure.parameters) {
    parameter.setType(withDim(parameter.getTensorType(), 0, padded));
    parameter.setRows(size);
  }
  for (auto [value, dim] : closure.dims)
    value.setType(
        withDim(cast<RankedTensorType>(value.getType()), dim, padded));
  for (OpOperand *use : closure.uses)
    cast<PaddableOpInterface>(use->getOwner())
        .setPadded(use->getOperandNumber(), closure.dims.lookup(use->get()),
                   size);
  for (auto [output, type] : llvm::zip_equal(closure.outputs, outputs))
    keepOutput(*output, type);
}

/// A matrix whose rows are no multiple, with all that is padded with it.
void PadVocabulary::padFrom(StepOp step, ParameterOp parameter) {
  RankedTensorType type = parameter.getTensorType();
  if (type.getRank() != 2 || parameter.getRows())
    return;
  int64_t unit = multiple, size = type.getDimSize(0);
  int64_t padded = llvm::divideCeilSigned(size, unit) * unit;
  if (padded == size || size / unit < kFewestMultiples)
    return;
  PaddingClosure closure = findPadding(step, parameter);
  // Only products become faster; others have no vocabulary to speak of.
  if (!closure.hasPaddedResults || !closure.isCounted)
    return;
  if (!closure.at)
    return pad(closure, size, padded);
  InFlightDiagnostic remark = parameter.emitRemark("'@")
                              << parameter.getSymName() << "' keeps " << size
                              << " rows, which are no multiple of " << unit;
  remark.attachNote(closure.at->getLoc()) << closure.obstacle;
}

void PadVocabulary::runOnOperation() {
  if (multiple < 1) {
    getOperation().emitError("multiple is ")
        << int64_t(multiple) << ", wanted 1 or more";
    return signalPassFailure();
  }
  for (StepOp step : getOperation().getOps<StepOp>()) {
    if (!step.isModel()) {
      step.emitError("is a schedule already; pad its vocabulary before "
                     "zero-differentiate");
      return signalPassFailure();
    }
    for (ParameterOp parameter : getOperation().getOps<ParameterOp>())
      padFrom(step, parameter);
  }
}
