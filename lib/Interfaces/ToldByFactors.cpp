//===- ToldByFactors.cpp - rows and padding, as factors tell --------------===//

#include "zero/Interfaces/Factors.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;
using namespace mlir::zero;
using zrt::FactoredDim;
using zrt::FactorKind;
using zrt::Factors;

/// Whether `dim` has any of the factor.
static bool has(const FactoredDim &dim, size_t factor) {
  return llvm::any_of(dim.parts, [&](const zrt::DimPart &part) {
    return part.segments.empty()
               ? part.factor == factor
               : llvm::any_of(part.segments, [&](const FactoredDim &segment) {
                   return has(segment, factor);
                 });
  });
}

/// The factor that `dim` is; nothing where it is more than one, or segments.
static std::optional<size_t> onlyFactor(const FactoredDim &dim) {
  if (dim.parts.size() != 1 || !dim.parts[0].segments.empty())
    return std::nullopt;
  return dim.parts[0].factor;
}

//===----------------------------------------------------------------------===//
// Padding
//===----------------------------------------------------------------------===//

std::optional<SmallVector<PaddedDim>>
mlir::zero::findPadded(Operation *op, unsigned operand, int64_t dim) {
  const Factors factors = getFactors(op);
  auto factor = onlyFactor(factors.operands[operand].dimensions[dim]);
  if (!factor || factors.factors[*factor].kind != FactorKind::Parallel)
    return std::nullopt;
  SmallVector<PaddedDim> padded;
  auto add = [&](Value value, const zrt::FactoredTensor &tensor) {
    bool isOnly = true;
    for (auto [index, one] : llvm::enumerate(tensor.dimensions)) {
      if (onlyFactor(one) == factor)
        padded.push_back({value, static_cast<int64_t>(index)});
      else
        isOnly &= !has(one, *factor);
    }
    return isOnly;
  };
  bool isOnly = true;
  for (auto [value, tensor] :
       llvm::zip_equal(op->getResults(), factors.results))
    isOnly &= add(value, tensor);
  if (padded.empty())
    return std::nullopt;
  for (auto [value, tensor] :
       llvm::zip_equal(op->getOperands(), factors.operands))
    isOnly &= add(value, tensor);
  if (!isOnly)
    return std::nullopt;
  return padded;
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// The factor of the rows of `tensor`; nothing where it has none, or they are
/// of several. Outer factors of one element do not count.
static std::optional<size_t> rowFactor(const Factors &factors,
                                       const zrt::FactoredTensor &tensor) {
  if (tensor.dimensions.empty())
    return std::nullopt;
  FactoredDim rows = tensor.dimensions.front();
  while (rows.parts.size() > 1 && rows.parts.front().segments.empty() &&
         factors.factors[rows.parts.front().factor].size == 1)
    rows.parts.erase(rows.parts.begin());
  return onlyFactor(rows);
}

bool mlir::zero::tellsRowBlocks(Operation *op, unsigned result) {
  const Factors factors = getFactors(op);
  auto rows = rowFactor(factors, factors.results[result]);
  if (!rows)
    return false;
  const zrt::Factor &factor = factors.factors[*rows];
  if (!factor.range.empty())
    return true;
  auto isFirst = [&](const zrt::FactoredTensor &tensor) {
    for (auto [dim, one] : llvm::enumerate(tensor.dimensions))
      if (has(one, *rows) && (dim != 0 || onlyFactor(one) != rows))
        return false;
    return true;
  };
  return factor.kind == FactorKind::Parallel &&
         llvm::all_of(factors.operands, isFirst) &&
         llvm::all_of(factors.results, isFirst);
}

Value mlir::zero::buildToldRowBlock(
    Operation *op, OpBuilder &builder, unsigned result, int64_t begin,
    int64_t end, llvm::function_ref<Value(unsigned)> rowsOf) {
  const Factors factors = getFactors(op);
  auto rows = rowFactor(factors, factors.results[result]);
  StringRef range = factors.factors[*rows].range;
  SmallVector<Value> operands(op->getOperands());
  for (auto [index, tensor] : llvm::enumerate(factors.operands))
    if (rowFactor(factors, tensor) == rows &&
        (range.empty() || tensor.isAddend))
      operands[index] = rowsOf(index);
  Operation *block = builder.clone(*op);
  block->setOperands(operands);
  for (auto [value, tensor] :
       llvm::zip_equal(block->getResults(), factors.results)) {
    if (rowFactor(factors, tensor) != rows)
      continue;
    auto type = cast<RankedTensorType>(value.getType());
    SmallVector<int64_t> shape(type.getShape());
    shape.front() = end - begin;
    value.setType(type.clone(shape));
  }
  if (!range.empty()) {
    auto whole = op->getAttrOfType<DenseI64ArrayAttr>(range);
    int64_t first = whole ? whole[0] : 0;
    block->setAttr(range,
                   builder.getDenseI64ArrayAttr({first + begin, first + end}));
  }
  return block->getResult(result);
}
