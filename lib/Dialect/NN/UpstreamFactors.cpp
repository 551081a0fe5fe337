//===- UpstreamFactors.cpp - factors of upstream's operations -------------===//

#include "Types.h"

#include "zero/Dialect/NN/NN.h"
#include "zero/Interfaces/Factors.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using nn::detail::typeOf;
using zero::FactorOpInterface;
using zrt::FactoredDim;
using zrt::FactorKind;
using zrt::Factors;

namespace {

/// Lets the last factor be told by an entry of an attribute of `op`.
void addAttribute(Factors &factors, StringAttr name, int64_t index) {
  factors.factors.back().attribute = name.str();
  factors.factors.back().index = index;
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

/// The way in which an operation treats an operand that is a term of a sum.
enum class Term { None, Linear, Addend };

template <typename Op, Term... terms>
struct ArithModel
    : FactorOpInterface::ExternalModel<ArithModel<Op, terms...>, Op> {
  Factors getFactors(Operation *op) const {
    Factors factors = zero::elementwiseFactors(op);
    size_t operand = 0;
    for (Term term : {terms...}) {
      factors.operands[operand].isLinear = term == Term::Linear;
      factors.operands[operand++].isAddend = term == Term::Addend;
    }
    return factors;
  }
};

template <typename Op, Term... terms> void attachArith(MLIRContext *context) {
  Op::template attachInterface<ArithModel<Op, terms...>>(*context);
}

//===----------------------------------------------------------------------===//
// Reshapes
//===----------------------------------------------------------------------===//

template <typename Op>
struct ReshapeModel : FactorOpInterface::ExternalModel<ReshapeModel<Op>, Op> {
  static constexpr bool collapses = std::is_same_v<Op, tensor::CollapseShapeOp>;

  Factors getFactors(Operation *op) const {
    Factors factors;
    Value many = collapses ? op->getOperand(0) : op->getResult(0);
    std::vector<FactoredDim> parts, products;
    for (auto [dim, size] : llvm::enumerate(typeOf(many).getShape())) {
      parts.push_back(zero::addFactor(factors, FactorKind::Parallel, size));
      if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
        addAttribute(factors, expand.getStaticOutputShapeAttrName(),
                     static_cast<int64_t>(dim));
    }
    for (const ReassociationIndices &group :
         cast<Op>(op).getReassociationIndices()) {
      SmallVector<FactoredDim> dims;
      for (int64_t dim : group)
        dims.push_back(parts[dim]);
      products.push_back(zero::multiply(dims));
    }
    // A scalar is no group, and of one element all the same.
    factors.operands = {{collapses ? parts : products, /*isAddend=*/false,
                         /*isLinear=*/true}};
    factors.results = {{collapses ? products : parts}};
    return factors;
  }
};

//===----------------------------------------------------------------------===//
// Slices
//===----------------------------------------------------------------------===//

/// The dimension `dim` of the tensor that `slice` is a part of: what is before
/// the slice, the slice, which is written to `part`, and what is behind it.
/// With a stride the slice has one of as many elements each.
template <typename Op>
FactoredDim sliceOf(Factors &factors, Op slice, int64_t dim, int64_t whole,
                    FactoredDim &part) {
  int64_t offset = slice.getStaticOffset(dim), size = slice.getStaticSize(dim);
  int64_t stride = slice.getStaticStride(dim);
  bool fits = stride == 1 || (size * stride == whole && offset < stride);
  part = zero::addFactor(factors,
                         fits ? FactorKind::Parallel : FactorKind::Whole, size);
  addAttribute(factors, slice.getStaticSizesAttrName(), dim);
  if (!fits)
    return zero::addFactor(factors, FactorKind::Whole, whole);
  if (stride != 1)
    return zero::multiply(
        {part, zero::addFactor(factors, FactorKind::Whole, stride)});
  std::vector<FactoredDim> segments;
  if (offset)
    segments.push_back(zero::addFactor(factors, FactorKind::Whole, offset));
  segments.push_back(part);
  if (int64_t behind = whole - offset - size)
    segments.push_back(zero::addFactor(factors, FactorKind::Whole, behind));
  return zero::concatenate(segments);
}

/// The factors of the larger tensor, whose type is `whole`, and of the slice.
template <typename Op>
std::pair<std::vector<FactoredDim>, std::vector<FactoredDim>>
sliceAll(Factors &factors, Op slice, RankedTensorType whole) {
  std::vector<FactoredDim> large, small;
  llvm::SmallBitVector dropped = slice.getDroppedDims();
  for (auto [dim, size] : llvm::enumerate(whole.getShape())) {
    FactoredDim part;
    large.push_back(
        sliceOf(factors, slice, static_cast<int64_t>(dim), size, part));
    if (!dropped[dim])
      small.push_back(part);
  }
  return {large, small};
}

template <typename Op> bool isStatic(Op slice) {
  return !ShapedType::isDynamicShape(slice.getStaticOffsets()) &&
         !ShapedType::isDynamicShape(slice.getStaticSizes()) &&
         !ShapedType::isDynamicShape(slice.getStaticStrides());
}

struct ExtractSliceModel
    : FactorOpInterface::ExternalModel<ExtractSliceModel,
                                       tensor::ExtractSliceOp> {
  Factors getFactors(Operation *op) const {
    auto slice = cast<tensor::ExtractSliceOp>(op);
    if (!isStatic(slice))
      return zero::wholeFactors(op);
    Factors factors;
    auto [large, small] = sliceAll(factors, slice, slice.getSourceType());
    factors.operands = {{large, /*isAddend=*/false, /*isLinear=*/true}};
    factors.results = {{small}};
    return factors;
  }
};

struct InsertSliceModel
    : FactorOpInterface::ExternalModel<InsertSliceModel,
                                       tensor::InsertSliceOp> {
  Factors getFactors(Operation *op) const {
    auto slice = cast<tensor::InsertSliceOp>(op);
    if (!isStatic(slice))
      return zero::wholeFactors(op);
    Factors factors;
    auto [large, small] = sliceAll(factors, slice, slice.getDestType());
    factors.operands = {{small, /*isAddend=*/true, /*isLinear=*/false},
                        {large, /*isAddend=*/true, /*isLinear=*/false}};
    factors.results = {{large}};
    return factors;
  }
};

//===----------------------------------------------------------------------===//
// Others
//===----------------------------------------------------------------------===//

struct ConcatModel
    : FactorOpInterface::ExternalModel<ConcatModel, tensor::ConcatOp> {
  Factors getFactors(Operation *op) const {
    Factors factors;
    auto concat = cast<tensor::ConcatOp>(op);
    int64_t dim = static_cast<int64_t>(concat.getDim());
    std::vector<FactoredDim> y, segments;
    for (int64_t size : concat.getResultType().getShape())
      y.push_back(zero::addFactor(factors, FactorKind::Parallel, size));
    for (Value operand : op->getOperands()) {
      segments.push_back(zero::addFactor(factors, FactorKind::Parallel,
                                         typeOf(operand).getDimSize(dim)));
      std::vector<FactoredDim> x = y;
      x[dim] = segments.back();
      factors.operands.push_back({x, /*isAddend=*/true, /*isLinear=*/false});
    }
    y[dim] = zero::concatenate(segments);
    factors.results = {{y}};
    return factors;
  }
};

struct PadModel : FactorOpInterface::ExternalModel<PadModel, tensor::PadOp> {
  Factors getFactors(Operation *op) const {
    auto pad = cast<tensor::PadOp>(op);
    Value value = pad.getConstantPaddingValue();
    if (op->getNumOperands() != 1 || !value)
      return zero::wholeFactors(op);
    Factors factors;
    std::vector<FactoredDim> x, y;
    for (auto [size, low, high] :
         llvm::zip_equal(pad.getSourceType().getShape(), pad.getStaticLow(),
                         pad.getStaticHigh())) {
      std::vector<FactoredDim> segments;
      if (low)
        segments.push_back(zero::addFactor(factors, FactorKind::Whole, low));
      x.push_back(zero::addFactor(factors, FactorKind::Parallel, size));
      segments.push_back(x.back());
      if (high)
        segments.push_back(zero::addFactor(factors, FactorKind::Whole, high));
      y.push_back(zero::concatenate(segments));
    }
    bool isZero = matchPattern(value, m_AnyZeroFloat());
    factors.operands = {{x, /*isAddend=*/false, /*isLinear=*/isZero}};
    factors.results = {{y}};
    return factors;
  }
};

struct SplatModel
    : FactorOpInterface::ExternalModel<SplatModel, tensor::SplatOp> {
  Factors getFactors(Operation *op) const {
    Factors factors = zero::elementwiseFactors(op);
    factors.operands[0].isLinear = true;
    return factors;
  }
};

} // namespace

void mlir::nn::registerUpstreamFactorModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, arith::ArithDialect *) {
    attachArith<arith::AddFOp, Term::Addend, Term::Addend>(context);
    attachArith<arith::AddIOp, Term::Addend, Term::Addend>(context);
    attachArith<arith::SubFOp, Term::Addend, Term::Addend>(context);
    attachArith<arith::SelectOp, Term::None, Term::Addend, Term::Addend>(
        context);
    attachArith<arith::MulFOp, Term::Linear, Term::Linear>(context);
    attachArith<arith::DivFOp, Term::Linear, Term::None>(context);
    attachArith<arith::NegFOp, Term::Linear>(context);
    attachArith<arith::ExtFOp, Term::Linear>(context);
    attachArith<arith::TruncFOp, Term::Linear>(context);
  });
  registry.addExtension(+[](MLIRContext *context, tensor::TensorDialect *) {
    tensor::CollapseShapeOp::attachInterface<
        ReshapeModel<tensor::CollapseShapeOp>>(*context);
    tensor::ExpandShapeOp::attachInterface<ReshapeModel<tensor::ExpandShapeOp>>(
        *context);
    tensor::ExtractSliceOp::attachInterface<ExtractSliceModel>(*context);
    tensor::InsertSliceOp::attachInterface<InsertSliceModel>(*context);
    tensor::ConcatOp::attachInterface<ConcatModel>(*context);
    tensor::PadOp::attachInterface<PadModel>(*context);
    tensor::SplatOp::attachInterface<SplatModel>(*context);
  });
}
