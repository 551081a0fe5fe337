//===- Factors.cpp - factors of operations whose rows have no letters -----===//

#include "zero/Interfaces/Factors.h"
#include "zero/Dialect/NN/NN.h"

using namespace mlir;
using namespace mlir::nn;
using zrt::FactoredDim;
using zrt::FactorKind;
using zrt::Factors;

static ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

/// Parallel dimensions of `shape`.
static std::vector<FactoredDim> addParallel(Factors &factors,
                                            ArrayRef<int64_t> shape) {
  std::vector<FactoredDim> dims;
  for (int64_t size : shape)
    dims.push_back(zero::addFactor(factors, FactorKind::Parallel, size));
  return dims;
}

Factors StopGradientOp::getFactors() {
  Factors factors = zero::elementwiseFactors(*this);
  factors.operands[0].isLinear = true;
  return factors;
}

Factors BroadcastOp::getFactors() {
  Factors factors;
  std::vector<FactoredDim> y = addParallel(factors, shapeOf(getY())), x;
  for (int64_t dim : getDims())
    x.push_back(y[dim]);
  factors.operands = {{x, /*isAddend=*/false, /*isLinear=*/true}};
  factors.results = {{y}};
  return factors;
}

/// A reduced dimension may be cut: sums of parts add up, and the maximum or
/// mean of all elements follows from those of the parts.
Factors ReduceOp::getFactors() {
  Factors factors;
  bool isSum = getKind() == Reduction::Sum;
  std::vector<FactoredDim> x = addParallel(factors, shapeOf(getX())), y;
  for (int64_t dim : getDims())
    factors.factors[dim].kind = isSum ? FactorKind::Sum : FactorKind::Combined;
  for (int64_t dim : getKeptDims())
    y.push_back(x[dim]);
  factors.operands = {{x, /*isAddend=*/false, getKind() != Reduction::Max}};
  factors.results = {{y}};
  return factors;
}

Factors TransposeOp::getFactors() {
  Factors factors;
  std::vector<FactoredDim> x = addParallel(factors, shapeOf(getX())), y;
  for (int64_t dim : getPermutation())
    y.push_back(x[dim]);
  factors.operands = {{x, /*isAddend=*/false, /*isLinear=*/true}};
  factors.results = {{y}};
  return factors;
}

Factors SplitOp::getFactors() {
  Factors factors;
  std::vector<FactoredDim> x = addParallel(factors, shapeOf(getX())), segments;
  int64_t dim = getDim();
  for (auto [index, size] : llvm::enumerate(getSizes())) {
    segments.push_back(zero::addFactor(factors, FactorKind::Parallel, size));
    factors.factors.back().attribute = getSizesAttrName().str();
    factors.factors.back().index = static_cast<int64_t>(index);
    x[dim] = segments.back();
    factors.results.push_back({x});
  }
  x[dim] = zero::concatenate(segments);
  factors.operands = {{x, /*isAddend=*/false, /*isLinear=*/true}};
  return factors;
}
