//===- Factors.cpp - the factors of any operation -------------------------===//

#include "zero/Interfaces/Factors.h"

#include "zero/Interfaces/KernelSpec.h"

#include "program/KernelSchema.h"

using namespace mlir;
using namespace mlir::zero;

zrt::FactoredDim mlir::zero::addFactor(zrt::Factors &factors,
                                       zrt::FactorKind kind, int64_t size) {
  zrt::Factor factor;
  factor.kind = kind;
  factor.size = size;
  factors.factors.push_back(factor);
  return {{{factors.factors.size() - 1, {}}}};
}

std::optional<size_t> mlir::zero::factorOf(const zrt::FactoredDim &dim) {
  if (dim.parts.size() != 1 || !dim.parts[0].segments.empty())
    return std::nullopt;
  return dim.parts[0].factor;
}

zrt::FactoredDim
mlir::zero::concatenate(std::vector<zrt::FactoredDim> segments) {
  if (segments.size() == 1)
    return segments.front();
  return {{{0, std::move(segments)}}};
}

zrt::FactoredDim mlir::zero::multiply(ArrayRef<zrt::FactoredDim> dims) {
  zrt::FactoredDim product;
  for (const zrt::FactoredDim &dim : dims)
    product.parts.insert(product.parts.end(), dim.parts.begin(),
                         dim.parts.end());
  return product;
}

zrt::Factors mlir::zero::wholeFactors(Operation *op) {
  zrt::Factors factors;
  auto add = [&](TypeRange types, std::vector<zrt::FactoredTensor> &tensors) {
    for (Type type : types) {
      zrt::FactoredTensor &tensor = tensors.emplace_back();
      if (auto ranked = dyn_cast<RankedTensorType>(type))
        for (int64_t size : ranked.getShape())
          tensor.dimensions.push_back(
              addFactor(factors, zrt::FactorKind::Whole, size));
    }
  };
  add(op->getOperandTypes(), factors.operands);
  add(op->getResultTypes(), factors.results);
  return factors;
}

zrt::Factors mlir::zero::elementwiseFactors(Operation *op) {
  zrt::Factors factors;
  zrt::FactoredTensor shaped;
  if (auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType()))
    for (int64_t size : type.getShape())
      shaped.dimensions.push_back(
          addFactor(factors, zrt::FactorKind::Parallel, size));
  // A scalar, such as the condition of a select, is the same for all elements.
  for (Type type : op->getOperandTypes())
    factors.operands.push_back(
        isa<RankedTensorType>(type) ? shaped : zrt::FactoredTensor());
  factors.results.assign(op->getNumResults(), shaped);
  return factors;
}

zrt::Factors mlir::zero::getFactors(Operation *op) {
  if (auto factored = dyn_cast<FactorOpInterface>(op))
    return factored.getFactors();
  if (auto kernel = dyn_cast<KernelOpInterface>(op))
    if (std::optional<zrt::Factors> factors =
            zrt::findFactors(toKernelSpec(op, kernel.describeKernel())))
      return *factors;
  // The elements of a constant are known, whichever they are.
  if (op->hasTrait<OpTrait::Elementwise>() || isa<ElementwiseOpInterface>(op) ||
      op->hasTrait<OpTrait::ConstantLike>())
    return elementwiseFactors(op);
  return wholeFactors(op);
}

void mlir::zero::setSizes(Operation *part, const zrt::Factors &factors,
                          llvm::function_ref<int64_t(size_t)> sizeOf) {
  Builder builder(part->getContext());
  for (auto [index, factor] : llvm::enumerate(factors.factors)) {
    if (factor.attribute.empty())
      continue;
    int64_t size = sizeOf(index);
    if (size == factor.size)
      continue;
    if (factor.index < 0) {
      part->setAttr(factor.attribute, builder.getI64IntegerAttr(size));
      continue;
    }
    auto list = part->getAttrOfType<DenseI64ArrayAttr>(factor.attribute);
    SmallVector<int64_t> sizes(list.asArrayRef());
    sizes[factor.index] = size;
    part->setAttr(factor.attribute, builder.getDenseI64ArrayAttr(sizes));
  }
}
