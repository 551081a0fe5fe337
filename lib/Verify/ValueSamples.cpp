//===- ValueSamples.cpp - samples of all ranks, where their experts are ---===//
//
// Over an axis whose ranks have samples of their own, what each of them has is
// sent to those that have a part of another dimension: the samples of all ranks
// are then one behind the other in a dimension, of which every index is
// computed by itself, until they are sent back. In the order of memory the next
// rank's are `samples` elements behind.
//
//===----------------------------------------------------------------------===//

#include "ValueRule.h"
#include "Values.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::zero;
using namespace mlir::zero::verify;
using zrt::FactorKind;

/// Calls `body(factor, inner)` for each factor of `tensor` that is no segment,
/// from the innermost one on, with how far its indices are apart, until it
/// returns true.
static void
forEachFactor(const zrt::Factors &factors, const zrt::FactoredTensor &tensor,
              llvm::function_ref<bool(size_t factor, int64_t inner)> body) {
  int64_t inner = 1;
  for (const zrt::FactoredDim &dim : llvm::reverse(tensor.dimensions))
    for (const zrt::DimPart &part : llvm::reverse(dim.parts)) {
      if (part.segments.empty() && body(part.factor, inner))
        return;
      inner *= sizeOf(factors, part);
    }
}

std::optional<SampleFactor> Rule::findSamples(unsigned operand) const {
  std::optional<SampleFactor> found;
  int64_t samples = operands[operand].samples;
  forEachFactor(
      factors, factors.operands[operand], [&](size_t factor, int64_t inner) {
        int64_t size = factors.factors[factor].size;
        if (samples >= inner * size)
          return false;
        if (samples % inner == 0 && samples * over.getSize() <= inner * size)
          found = {factor, samples / inner};
        return true;
      });
  return found;
}

/// The layouts of an operand. If a rank has one index of the cut dimension, its
/// layout cannot be told from that of the samples, which are in the same order;
/// then the layouts of other dimensions count, if there are any.
SmallVector<Layout, 1> Rule::layoutsOf(unsigned operand) const {
  const State &state = operands[operand];
  SmallVector<Layout, 1> apart;
  if (state.samples)
    for (const Layout &layout : state.layouts) {
      int64_t inner = strideOf(op->getOperand(operand), layout.dim);
      int64_t extent = cast<RankedTensorType>(op->getOperand(operand).getType())
                           .getDimSize(layout.dim);
      if (state.samples < inner || state.samples >= inner * extent)
        apart.push_back(layout);
    }
  return apart.empty() ? state.layouts : apart;
}

/// Checks an operand of an operation that reads the samples of all ranks: it
/// has them in the same order, or values that are equal for all of them.
bool Rule::fitsSamples(unsigned operand, const SampleFactor &samples) {
  const State &state = operands[operand];
  if (state.samples) {
    if (findSamples(operand) == samples)
      return true;
    fail("reads " + nameOf(operand) +
         " of the samples of all ranks in another order than those beside it; "
         "wanted one order");
    return false;
  }
  bool isSame = true;
  for (auto [dim, factored] :
       llvm::enumerate(factors.operands[operand].dimensions))
    isSame &= state.isZero || state.isUniform(dim) ||
              !hasFactor(factored, [&](size_t factor) {
                return factor == samples.factor;
              });
  if (isSame && !state.sumsSamples)
    return true;
  fail("reads " + nameOf(operand) + ", which is " + describe(state) +
       ", beside the samples of all ranks; wanted those, or what is the same "
       "for all of them");
  return false;
}

/// The distance, in elements of a result, between the samples of one rank and
/// those of the next; 0 if the result has none.
static int64_t samplesOf(const zrt::Factors &factors,
                         const zrt::FactoredTensor &tensor,
                         const SampleFactor &samples) {
  int64_t found = 0;
  forEachFactor(factors, tensor, [&](size_t factor, int64_t inner) {
    if (factor == samples.factor)
      found = samples.indices * inner;
    return factor == samples.factor;
  });
  return found;
}

/// The factor that has the samples of operands, each index of which is computed
/// by itself.
std::optional<SampleFactor> Rule::readSamples() {
  for (auto [index, state] : llvm::enumerate(operands)) {
    if (!state.samples)
      continue;
    std::optional<SampleFactor> samples = findSamples(index);
    FactorKind kind =
        samples ? factors.factors[samples->factor].kind : FactorKind::Whole;
    if (kind == FactorKind::Parallel || kind == FactorKind::Sum)
      return samples;
    return fail("needs all samples of " + nameOf(index) +
                ", of which each rank has its own; wanted what is computed of "
                "each by itself");
  }
  return std::nullopt;
}

/// The state behind a reshape, which keeps the elements in their order. If a
/// rank has one index of the cut dimension, that dimension may stand in front
/// of the samples of all ranks or behind them, since this moves no element.
void Rule::reshapeSamples(const State &operand, State &result) const {
  result.samples = operand.samples;
  result.sumsSamples = operand.sumsSamples;
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  auto add = [&](int64_t block) {
    for (const Layout &layout : partOfBlock(type.getShape(), block).layouts)
      if (!llvm::is_contained(result.layouts, layout))
        result.layouts.push_back(layout);
  };
  for (const Layout &layout : operand.layouts) {
    if (!operand.samples || layout.blocks.begin != 0 ||
        layout.blocks.sizes.size() != 1)
      continue;
    int64_t block =
        layout.blocks.sizes.front() * strideOf(op->getOperand(0), layout.dim);
    int64_t all = operand.samples * over.getSize();
    add(block);
    if (type.getNumElements() != all ||
        (block != operand.samples && block != all))
      continue;
    add(operand.samples);
    add(all);
  }
}

/// Follows the samples of all ranks from operands to results: they stay apart,
/// or are added up.
bool Rule::followSamples(States &results) {
  if (isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(op)) {
    reshapeSamples(operands.front(), results.front());
    return true;
  }
  bool sums = llvm::any_of(
      operands, [](const State &state) { return state.sumsSamples; });
  std::optional<SampleFactor> samples = readSamples();
  if (!problem.empty())
    return false;
  for (unsigned index = 0; samples && index < operands.size(); ++index)
    if (!fitsSamples(index, *samples))
      return false;
  for (auto [state, tensor] : llvm::zip_equal(results, factors.results)) {
    bool hasFactor = samples && hasFactorOf(tensor, samples->factor);
    if (hasFactor)
      state.samples = samplesOf(factors, tensor, *samples);
    state.sumsSamples = sums || (samples && !hasFactor);
    if (!hasFactor || state.samples)
      continue;
    fail("moves the samples of all ranks into segments; wanted a dimension of "
         "them");
    return false;
  }
  return true;
}
