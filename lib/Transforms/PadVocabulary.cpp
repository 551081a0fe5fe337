//===- PadVocabulary.cpp - output projections with rows of zeros ----------===//

#include "zero/Analysis/Mesh.h"
#include "zero/Analysis/Padding.h"
#include "zero/Dialect/Zero/Zero.h"
#include "zero/Transforms/Passes.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

#include <numeric>

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
  int64_t choose(int64_t size) const;
  void padFrom(StepOp step, ParameterOp parameter);

  /// Ranks that the vocabulary may be cut over.
  int64_t ranks = 1;
};

} // namespace

static RankedTensorType withDim(RankedTensorType type, int64_t dim,
                                int64_t size) {
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = size;
  return type.clone(shape);
}

/// The first indices of `value` along each dimension that `type` has.
static Value takeFirst(OpBuilder &b, Value value, RankedTensorType type) {
  SmallVector<OpFoldResult> offsets(type.getRank(), b.getIndexAttr(0));
  SmallVector<OpFoldResult> strides(type.getRank(), b.getIndexAttr(1));
  SmallVector<OpFoldResult> sizes;
  for (int64_t size : type.getShape())
    sizes.push_back(b.getIndexAttr(size));
  return tensor::ExtractSliceOp::create(b, value.getLoc(), type, value, offsets,
                                        sizes, strides);
}

namespace {

/// Computes outputs of the model a second time, at its end and of the rows that
/// count, so that they are as large as they were and nothing is copied. Nothing
/// else reads them: a micro-batch, which has no outputs, does without.
class KeptOutputs {
public:
  /// Before anything is padded.
  explicit KeptOutputs(PaddingClosure &closure) : closure(closure) {
    for (OpOperand *output : closure.outputs) {
      OpBuilder b(output->getOwner());
      output->set(compute(b, output->get()));
    }
  }
  /// Afterwards.
  void readRows();

private:
  Value compute(OpBuilder &b, Value value);

  PaddingClosure &closure;
  IRMapping kept;
  /// Of loads, which only rows are read of, with the type of these.
  SmallVector<std::pair<Value, RankedTensorType>> loads;
};

} // namespace

/// A copy of what computes `value`.
Value KeptOutputs::compute(OpBuilder &b, Value value) {
  if (!closure.dims.contains(value) || kept.contains(value))
    return kept.lookupOrDefault(value);
  Operation *def = value.getDefiningOp();
  for (Value operand : def->getOperands())
    compute(b, operand);
  b.clone(*def, kept);
  if (isa<LoadOp>(def))
    loads.emplace_back(kept.lookup(value),
                       cast<RankedTensorType>(value.getType()));
  return kept.lookup(value);
}

/// The first rows of a parameter are a view.
void KeptOutputs::readRows() {
  for (auto [load, type] : loads) {
    OpBuilder b(load.getContext());
    b.setInsertionPointAfterValue(load);
    auto parameter = SymbolTable::lookupNearestSymbolFrom<ParameterOp>(
        load.getDefiningOp(),
        cast<LoadOp>(load.getDefiningOp()).getParameterAttr());
    load.setType(parameter.getTensorType());
    Value rows = takeFirst(b, load, type);
    load.replaceAllUsesExcept(rows, rows.getDefiningOp());
  }
}

/// Gives everything in `closure` `padded` indices instead of `size`.
static void padAll(PaddingClosure &closure, int64_t size, int64_t padded) {
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
}

/// With outputs that are computed a second time.
static void padBesideOutputs(PaddingClosure &closure, int64_t size,
                             int64_t padded) {
  KeptOutputs outputs(closure);
  padAll(closure, size, padded);
  outputs.readRows();
}

/// With outputs that are the first indices of what is padded: ranks that have
/// ranges of it would each compute all of it a second time.
static void padWithOutputs(PaddingClosure &closure, int64_t size,
                           int64_t padded) {
  SmallVector<RankedTensorType> types;
  for (OpOperand *output : closure.outputs)
    types.push_back(cast<RankedTensorType>(output->get().getType()));
  padAll(closure, size, padded);
  for (auto [output, type] : llvm::zip_equal(closure.outputs, types)) {
    OpBuilder b(output->getOwner());
    output->set(takeFirst(b, output->get(), type));
  }
}

/// What `size` rows become a multiple of; 1 where they stay as they are. Few
/// rows are padded only as far as ranks need it to have as many each.
int64_t PadVocabulary::choose(int64_t size) const {
  int64_t unit = std::lcm(int64_t(multiple), ranks);
  return size / unit < kFewestMultiples ? ranks : unit;
}

/// A matrix whose rows are no multiple, with all that is padded with it.
void PadVocabulary::padFrom(StepOp step, ParameterOp parameter) {
  RankedTensorType type = parameter.getTensorType();
  if (type.getRank() != 2 || parameter.getRows())
    return;
  int64_t size = type.getDimSize(0), unit = choose(size);
  int64_t padded = llvm::divideCeilSigned(size, unit) * unit;
  if (padded == size)
    return;
  PaddingClosure closure = findPadding(step, parameter);
  // Only products become faster, but ranks have ranges of every table; others
  // have no vocabulary to speak of.
  if ((!closure.hasGain && ranks == 1) || !closure.isCounted)
    return;
  if (!closure.at)
    return ranks > 1 ? padWithOutputs(closure, size, padded)
                     : padBesideOutputs(closure, size, padded);
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
  for (AxesAttr axis : listModelAxes(getOperation()))
    if (axis.getPartAxes())
      ranks = axis.getSize();
  if (multiple == 1 && ranks == 1)
    return;
  auto steps = llvm::to_vector(getOperation().getOps<StepOp>());
  if (steps.size() > 1) {
    steps[1].emitError("is a second step that may read the same parameters; "
                       "pad the vocabulary of one step");
    return signalPassFailure();
  }
  for (StepOp step : steps) {
    if (!step.isModel()) {
      step.emitError("is a schedule already; pad its vocabulary before "
                     "zero-differentiate");
      return signalPassFailure();
    }
    for (ParameterOp parameter : getOperation().getOps<ParameterOp>())
      padFrom(step, parameter);
  }
}
