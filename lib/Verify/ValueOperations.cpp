//===- ValueOperations.cpp - what ranks compute by one operation ----------===//

#include "ValueRule.h"

#include "zero/Interfaces/Factors.h"
#include "zero/Interfaces/KernelSpec.h"

#include "program/KernelSchema.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::zero;
using namespace mlir::zero::verify;
using zrt::FactorKind;
using zrt::Factors;

static FailureOr<States> report(Operation *op, Operation *at, AxesAttr over,
                                StringRef problem) {
  if (!at)
    return failure();
  InFlightDiagnostic error = at->emitOpError("over ") << over << ' ' << problem;
  if (op != at)
    error.attachNote(op->getLoc()) << "computed here";
  return error;
}

FailureOr<States> verify::applyFactors(Operation *op, const Factors &factors,
                                       ArrayRef<State> operands, AxesAttr over,
                                       Operation *at) {
  Rule rule(op, factors, operands, over);
  if (std::optional<States> results = rule.run())
    return *results;
  return report(op, at, over, rule.problem);
}

//===----------------------------------------------------------------------===//
// Ranges
//===----------------------------------------------------------------------===//

/// The distance between one rank's samples and the next one's behind `slice`,
/// if the slice has all of the dimension that has them.
static std::optional<int64_t> samplesOfSlice(tensor::ExtractSliceOp slice,
                                             int64_t samples) {
  auto type = slice.getSourceType();
  int64_t inner = 1, kept = 1;
  for (int64_t dim = type.getRank() - 1; dim >= 0; --dim) {
    int64_t extent = type.getDimSize(dim);
    if (samples < inner * extent) {
      if (slice.getStaticSize(dim) != extent)
        return std::nullopt;
      return samples / inner * kept;
    }
    inner *= extent;
    kept *= slice.getStaticSize(dim);
  }
  return std::nullopt;
}

/// The state of a slice of an operand that is cut: it takes some indices of
/// each rank's part.
static std::optional<States> sliceCut(tensor::ExtractSliceOp slice,
                                      const State &operand) {
  State result;
  result.kind = State::Cut;
  result.isOwn = operand.isOwn;
  result.sumsSamples = operand.sumsSamples;
  if (operand.samples) {
    std::optional<int64_t> samples = samplesOfSlice(slice, operand.samples);
    if (!samples)
      return std::nullopt;
    result.samples = *samples;
  }
  llvm::SmallBitVector dropped = slice.getDroppedDims();
  for (Layout layout : operand.layouts) {
    unsigned dim = layout.dim;
    if (ShapedType::isDynamic(slice.getStaticOffset(dim)) ||
        slice.getStaticStride(dim) != 1 || dropped[dim])
      continue;
    std::optional<Blocks> blocks = layout.blocks.window(
        slice.getStaticOffset(dim), slice.getStaticSize(dim));
    if (!blocks)
      continue;
    for (unsigned before = 0; before < dim; ++before)
      layout.dim -= dropped[before];
    result.layouts.push_back({layout.dim, *blocks});
  }
  if (result.layouts.empty() && !result.isOwn)
    return std::nullopt;
  return States{result};
}

namespace {
/// An operation that an attribute limits to a range of a factor, without it.
struct Unlimited {
  Factors factors;
  size_t factor = 0;
  std::pair<int64_t, int64_t> range;
  /// Whether the range is what there is of a result's first dimension.
  bool isOfResult = false;
};
} // namespace

/// The factor that is whole for the attribute `key` alone.
static std::optional<Unlimited> withoutRange(const zrt::KernelSpec &limited,
                                             const Factors &factors,
                                             StringRef key) {
  Unlimited result;
  const std::vector<int64_t> &range = limited.ints.at(key.str());
  result.range = {range[0], range[1]};
  zrt::KernelSpec spec = limited;
  spec.ints.erase(key.str());
  for (const zrt::Factor &factor : factors.factors) {
    if (factor.range != key)
      continue;
    StringRef name = StringRef(factor.name).split('@').first;
    auto whole = llvm::find_if(factors.factors, [&](const zrt::Factor &other) {
      return other.name == name;
    });
    if (whole == factors.factors.end())
      return std::nullopt;
    spec.results.front().shape.front() = whole->size;
    result.isOfResult = true;
  }
  std::optional<Factors> all = zrt::findFactors(spec);
  if (!all)
    return std::nullopt;
  result.factors = *all;
  for (auto [index, factor] : llvm::enumerate(all->factors))
    for (const zrt::Factor &other : factors.factors)
      if (other.name == factor.name && other.kind == FactorKind::Whole &&
          factor.kind != FactorKind::Whole) {
        result.factor = index;
        return result;
      }
  return std::nullopt;
}

static std::optional<Unlimited> findUnlimited(Operation *op,
                                              const Factors &factors) {
  auto kernel = dyn_cast<KernelOpInterface>(op);
  if (!kernel)
    return std::nullopt;
  zrt::KernelSpec spec = toKernelSpec(op, kernel.describeKernel());
  for (const auto &[key, values] : spec.ints)
    if (values.size() == 2 && op->hasAttrOfType<DenseI64ArrayAttr>(key))
      if (auto unlimited = withoutRange(spec, factors, key))
        return unlimited;
  return std::nullopt;
}

/// Whether the range, and the indices before and behind it, consist of whole
/// blocks.
static bool isOfBlocks(const Blocks &blocks, std::pair<int64_t, int64_t> range,
                       int64_t size) {
  auto fills = [&](int64_t begin, int64_t end) {
    auto window = blocks.window(begin, end - begin);
    return begin == end || (window && window->fills(end - begin));
  };
  return fills(0, range.first) && fills(range.first, range.second) &&
         fills(range.second, size);
}

/// The states of the results of an operation that is limited to a range:
/// derived without the range, if the range goes with the cut.
static std::optional<States> applyUnlimited(Operation *op,
                                            const Factors &factors,
                                            ArrayRef<State> operands,
                                            AxesAttr over) {
  std::optional<Unlimited> unlimited = findUnlimited(op, factors);
  if (!unlimited)
    return std::nullopt;
  Rule rule(op, unlimited->factors, operands, over);
  if (!unlimited->isOfResult)
    rule.mayCut = [&](size_t factor, const Blocks &blocks) {
      return factor != unlimited->factor ||
             isOfBlocks(blocks, unlimited->range,
                        unlimited->factors.factors[factor].size);
    };
  std::optional<States> results = rule.run();
  if (!results || !unlimited->isOfResult)
    return results;
  auto [begin, end] = unlimited->range;
  for (Layout &layout : results->front().layouts)
    if (layout.dim == 0)
      if (auto blocks = layout.blocks.window(begin, end - begin))
        layout.blocks = *blocks;
  return results;
}

//===----------------------------------------------------------------------===//
// Any operation
//===----------------------------------------------------------------------===//

FailureOr<States> verify::applyOperation(Operation *op,
                                         ArrayRef<State> operands,
                                         AxesAttr over, Operation *at) {
  SplatElementsAttr splat;
  if (matchPattern(op, m_Constant(&splat))) {
    State state;
    state.uniform = ~uint64_t(0);
    state.isZero = matchPattern(op, m_AnyZeroFloat());
    return States{state};
  }
  bool areSame = llvm::all_of(operands, [](const State &state) {
    return state.kind == State::Same && !state.isUniformSomewhere();
  });
  // Ranks that compute the same of the same have the same.
  if (areSame && !isa<FactorOpInterface>(op))
    return States(op->getNumResults());
  if (operands.size() == 1) {
    if (auto moved = applyMove(op, operands[0], over.getSize()))
      return *moved;
    if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
      if (operands[0].kind == State::Cut)
        if (auto sliced = sliceCut(slice, operands[0]))
          return *sliced;
  }
  const Factors factors = getFactors(op);
  Rule rule(op, factors, operands, over);
  if (std::optional<States> results = rule.run()) {
    if (operands.size() == 1 &&
        (operands[0].kind == State::Cut || operands[0].kind == State::Own ||
         operands[0].kind == State::Term))
      setFront(results->front(), op, over.getSize());
    return *results;
  }
  if (auto results = applyUnlimited(op, factors, operands, over))
    return *results;
  return report(op, at, over, rule.problem);
}
