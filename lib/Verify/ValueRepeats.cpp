//===- ValueRepeats.cpp - values that are the same along a dimension ------===//
//
// A value that is equal along a dimension stays so along the part of the
// dimension that a reshape makes of it: there the value repeats.
//
//===----------------------------------------------------------------------===//

#include "ValueRule.h"

using namespace mlir;
using namespace mlir::zero;
using namespace mlir::zero::verify;
using zrt::DimPart;
using zrt::FactorKind;

/// The part of `repeat` that lies in the digits [stride, stride * size) of an
/// index, in units of `stride`; nothing where these do not divide each other.
static std::optional<Repeat> clip(const Repeat &repeat, int64_t stride,
                                  int64_t size) {
  const int64_t inner = std::max(repeat.stride, stride);
  const int64_t outer = std::min(repeat.span, stride * size);
  if (inner >= outer || inner % repeat.stride || inner % stride ||
      repeat.span % outer || (stride * size) % outer || outer % inner)
    return std::nullopt;
  return Repeat{inner / stride, outer / stride};
}

/// How `state` repeats along one part of its dimension `dim`.
static Repeats repeatsOfPart(const State &state, unsigned dim, int64_t stride,
                             int64_t size) {
  if (size == 0)
    return {};
  if (state.isUniform(dim))
    return {{1, size}};
  Repeats repeats;
  for (const auto &[other, repeat] : state.repeats)
    if (other == dim)
      if (std::optional<Repeat> clipped = clip(repeat, stride, size))
        repeats.push_back(*clipped);
  return repeats;
}

static Repeats intersect(const Repeats &first, const Repeats &second) {
  Repeats both;
  for (const Repeat &repeat : first)
    for (const Repeat &other : second)
      if (std::optional<Repeat> clipped =
              clip(repeat, other.stride, other.span / other.stride))
        both.push_back(
            {clipped->stride * other.stride, clipped->span * other.stride});
  return both;
}

/// Calls `visit` with each part of a dimension, from the innermost on, and how
/// far it is there from one index to the next.
static void
forEachPart(const zrt::Factors &factors, const zrt::FactoredDim &dim,
            llvm::function_ref<void(const DimPart &, int64_t stride)> visit) {
  int64_t stride = 1;
  for (const DimPart &part : llvm::reverse(dim.parts)) {
    visit(part, stride);
    stride *= sizeOf(factors, part);
  }
}

/// How all operands that have `factor` repeat along it.
Repeats Rule::repeatsOf(size_t factor) const {
  const int64_t size = factors.factors[factor].size;
  Repeats repeats{{1, size}};
  for (auto [index, tensor] : llvm::enumerate(factors.operands))
    for (unsigned dim = 0; dim < tensor.dimensions.size(); ++dim)
      forEachPart(factors, tensor.dimensions[dim],
                  [&, index = index](const DimPart &part, int64_t stride) {
                    if (!hasFactor({{part}}, [&](size_t other) {
                          return other == factor;
                        }))
                      return;
                    const State &state = operands[index];
                    if (part.segments.empty())
                      repeats = intersect(
                          repeats, repeatsOfPart(state, dim, stride, size));
                    else if (!state.isUniform(dim))
                      repeats.clear();
                  });
  return repeats;
}

/// How a result repeats along the parts of a dimension, since operands do.
Repeats Rule::repeatsOf(const zrt::FactoredDim &dim) const {
  Repeats repeats;
  forEachPart(factors, dim, [&](const DimPart &part, int64_t stride) {
    if (!part.segments.empty() || sizeOf(factors, part) == 1 ||
        factors.factors[part.factor].kind != FactorKind::Parallel)
      return;
    for (const Repeat &repeat : repeatsOf(part.factor)) {
      Repeat whole{repeat.stride * stride, repeat.span * stride};
      if (!repeats.empty() && repeats.back().span == whole.stride)
        repeats.back().span = whole.span;
      else
        repeats.push_back(whole);
    }
  });
  return repeats;
}

/// Sets along what `state`, a result, is the same.
void Rule::setUniform(State &state, const zrt::FactoredTensor &tensor) const {
  state.uniform = uniformOf(tensor);
  if (llvm::none_of(operands, [](const State &operand) {
        return operand.isUniformSomewhere();
      }))
    return;
  for (unsigned dim = 0; dim < tensor.dimensions.size(); ++dim) {
    const zrt::FactoredDim &factored = tensor.dimensions[dim];
    const bool isCut = llvm::any_of(
        state.layouts, [&](const Layout &layout) { return layout.dim == dim; });
    if (isCut || dim >= 64 || state.isUniform(dim))
      continue;
    for (const Repeat &repeat : repeatsOf(factored)) {
      if (repeat.stride == 1 && repeat.span == sizeOf(factors, factored))
        state.uniform |= uint64_t(1) << dim;
      else
        state.repeats.push_back({dim, repeat});
    }
  }
}

/// Whether `result` is a sum over what is the same along its indices.
bool Rule::isSumOfUniform(const zrt::FactoredTensor &result) const {
  for (auto [state, tensor] : llvm::zip_equal(operands, factors.operands))
    if (tensor.isAddend && !state.isZero)
      return false;
  return llvm::any_of(llvm::seq(factors.factors.size()), [&](size_t factor) {
    return factors.factors[factor].kind == FactorKind::Sum &&
           !hasFactorOf(result, factor) &&
           (isUniform(factor) || !repeatsOf(factor).empty());
  });
}

/// Whether what all ranks have of `dim` of an operand is the same for the parts
/// that `way` cuts.
bool Rule::repeatsAlong(const Way &way, unsigned operand, unsigned dim) const {
  const State &state = operands[operand];
  if (state.kind != State::Same)
    return false;
  bool fits = true;
  forEachPart(factors, factors.operands[operand].dimensions[dim],
              [&](const DimPart &part, int64_t stride) {
                if (!part.segments.empty()) {
                  fits &= !hasFactor({{part}}, [&](size_t other) {
                    return way.cut.contains(other);
                  });
                  return;
                }
                auto *cut = way.cut.find(part.factor);
                if (cut == way.cut.end())
                  return;
                auto holds = [&](const Repeat &repeat) {
                  return repeat.holdsFor(cut->second);
                };
                fits &= llvm::any_of(
                    repeatsOfPart(state, dim, stride, sizeOf(factors, part)),
                    holds);
              });
  return fits;
}
