//===- TensorForms.cpp - tensor operations that have kernels --------------===//

#include "zero/Dialect/NN/TensorForms.h"

#include "zero/Dialect/NN/NN.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "llvm/ADT/Sequence.h"

using namespace mlir;

/// All of `rank` dimensions in one group; a scalar has none.
static SmallVector<ReassociationIndices> oneGroup(int64_t rank) {
  SmallVector<ReassociationIndices> groups;
  if (rank > 0)
    llvm::append_range(groups.emplace_back(), llvm::seq<int64_t>(rank));
  return groups;
}

Value mlir::nn::buildReshape(ImplicitLocOpBuilder &b, Value value,
                             RankedTensorType type) {
  auto source = cast<RankedTensorType>(value.getType());
  if (source.getShape() == type.getShape())
    return value;
  // A scalar has no dimension to collapse or to expand: [] says so.
  if (source.getRank() == 0)
    return tensor::ExpandShapeOp::create(b, type, value, oneGroup(0));
  if (type.getRank() == 0)
    return tensor::CollapseShapeOp::create(b, type, value, oneGroup(0));
  if (source.getRank() > 1)
    value =
        tensor::CollapseShapeOp::create(b, value, oneGroup(source.getRank()));
  if (type.getRank() > 1)
    value =
        tensor::ExpandShapeOp::create(b, type, value, oneGroup(type.getRank()));
  return value;
}

Value mlir::nn::buildProduct(ImplicitLocOpBuilder &b, Value left, Value right) {
  auto rows = cast<RankedTensorType>(left.getType());
  auto columns = cast<RankedTensorType>(right.getType());
  return MatmulOp::create(
      b, rows.clone({rows.getDimSize(0), columns.getDimSize(1)}), left, right,
      /*transpose_a=*/false, /*transpose_b=*/false,
      /*rows=*/DenseI64ArrayAttr());
}

Value mlir::nn::buildSum(ImplicitLocOpBuilder &b, Value value, int64_t dim) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape.erase(shape.begin() + dim);
  return ReduceOp::create(b, type.clone(shape), value, Reduction::Sum, {dim});
}

Value mlir::nn::buildMove(ImplicitLocOpBuilder &b, Value value,
                          ArrayRef<int64_t> permutation) {
  auto type = cast<RankedTensorType>(value.getType());
  auto shape = llvm::map_to_vector(
      permutation, [&](int64_t dim) { return type.getDimSize(dim); });
  return TransposeOp::create(b, type.clone(shape), value,
                             b.getDenseI64ArrayAttr(permutation));
}

Value mlir::nn::buildTranspose(ImplicitLocOpBuilder &b, Value value,
                               ArrayRef<int64_t> permutation) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape, moved;
  for (int64_t dim : permutation) {
    shape.push_back(type.getDimSize(dim));
    if (shape.back() != 1)
      moved.push_back(dim);
  }
  if (llvm::is_sorted(moved))
    return buildReshape(b, value, type.clone(shape));
  return buildMove(b, value, permutation);
}

SmallVector<Value> mlir::nn::buildSplit(ImplicitLocOpBuilder &b, Value value,
                                        int64_t dim, ArrayRef<int64_t> sizes) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<Type> types;
  SmallVector<int64_t> shape(type.getShape());
  for (int64_t size : sizes) {
    shape[dim] = size;
    types.push_back(type.clone(shape));
  }
  auto split = SplitOp::create(b, types, value, b.getI64IntegerAttr(dim),
                               b.getDenseI64ArrayAttr(sizes));
  return llvm::to_vector_of<Value>(split.getResults());
}

Value mlir::nn::buildMatrix(OpBuilder &builder, Location loc, Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  const int64_t rank = type.getRank();
  if (rank == 2)
    return value;
  if (rank == 1)
    return tensor::ExpandShapeOp::create(
        builder, loc, type.clone({1, type.getDimSize(0)}), value,
        ArrayRef<ReassociationIndices>{{0, 1}});
  auto rows = llvm::to_vector<2>(llvm::seq<int64_t>(rank - 1));
  return tensor::CollapseShapeOp::create(
      builder, loc, value, ArrayRef<ReassociationIndices>{rows, {rank - 1}});
}

Value mlir::nn::buildSplat(OpBuilder &builder, Location loc, Value scalar,
                           RankedTensorType type) {
  return buildBroadcast(builder, loc, scalar, {}, type);
}

Value mlir::nn::buildBroadcast(OpBuilder &builder, Location loc, Value value,
                               ArrayRef<int64_t> dims, RankedTensorType type) {
  return BroadcastOp::create(builder, loc, type, value,
                             builder.getDenseI64ArrayAttr(dims));
}

/// The indices of `op` as i32.
static Value buildIndices(ImplicitLocOpBuilder &b, tensor::GatherOp op) {
  Value ids = op.getIndices();
  Type element = op.getIndicesType().getElementType();
  RankedTensorType type = op.getIndicesType().clone(b.getI32Type());
  if (element.isIndex())
    return arith::IndexCastOp::create(b, type, ids);
  if (element.getIntOrFloatBitWidth() > 32)
    return arith::TruncIOp::create(b, type, ids);
  if (element.getIntOrFloatBitWidth() < 32)
    return arith::ExtUIOp::create(b, type, ids);
  return ids;
}

nn::GatheredRows::GatheredRows(tensor::GatherOp op)
    : permutation(op.getGatherDims()) {
  RankedTensorType source = op.getSourceType();
  for (int64_t dim : llvm::seq<int64_t>(source.getRank()))
    if (!llvm::is_contained(op.getGatherDims(), dim))
      permutation.push_back(dim);
  for (int64_t dim : permutation)
    shape.push_back(source.getDimSize(dim));
  gathered = op.getGatherDims().size();
  rows = ShapedType::getNumElements(ArrayRef(shape).take_front(gathered));
  columns = ShapedType::getNumElements(ArrayRef(shape).drop_front(gathered));
}

/// A tuple of indices is the number of a row, row-major.
Value nn::GatheredRows::buildIds(ImplicitLocOpBuilder &b,
                                 tensor::GatherOp op) const {
  Value ids = buildIndices(b, op);
  int64_t count = op.getIndicesType().getNumElements() / gathered;
  auto type = RankedTensorType::get({count}, b.getI32Type());
  if (gathered == 1)
    return buildReshape(b, ids, type);
  auto pairs = RankedTensorType::get({count, gathered}, b.getI32Type());
  ids = buildReshape(b, ids, pairs);
  auto at = [&](int64_t row, int64_t column) {
    return getAsIndexOpFoldResult(b.getContext(), {row, column});
  };
  Value number;
  for (int64_t i : llvm::seq(gathered)) {
    Value index = tensor::ExtractSliceOp::create(b, type, ids, at(0, i),
                                                 at(count, 1), at(1, 1));
    if (!number) {
      number = index;
      continue;
    }
    Value size = arith::ConstantOp::create(
        b, DenseElementsAttr::get(type, static_cast<int32_t>(shape[i])));
    number =
        arith::AddIOp::create(b, arith::MulIOp::create(b, number, size), index);
  }
  return number;
}

Value nn::GatheredRows::buildTable(ImplicitLocOpBuilder &b,
                                   Value source) const {
  Type element = cast<RankedTensorType>(source.getType()).getElementType();
  return buildReshape(b, buildTranspose(b, source, permutation),
                      RankedTensorType::get({rows, columns}, element));
}

Value nn::GatheredRows::buildSource(ImplicitLocOpBuilder &b,
                                    Value table) const {
  Type element = cast<RankedTensorType>(table.getType()).getElementType();
  Value value = buildReshape(b, table, RankedTensorType::get(shape, element));
  return buildTranspose(b, value, invertPermutationVector(permutation));
}

static bool isStatic(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.hasStaticShape();
}

namespace {

/// Rewrites one block.
class Rewriting {
public:
  explicit Rewriting(MLIRContext *context)
      : b(UnknownLoc::get(context), context) {}
  LogicalResult run(Block &block);

private:
  LogicalResult visit(Operation &op);
  void reshape(tensor::ReshapeOp op);
  void gather(tensor::GatherOp op);
  LogicalResult extract(tensor::ExtractOp op);
  LogicalResult insert(tensor::InsertOp op);
  void fromElements(tensor::FromElementsOp op);
  void splat(tensor::SplatOp op);
  void elementwise(Operation *op);

  FailureOr<SmallVector<int64_t>> constants(Operation *op, OperandRange indices,
                                            RankedTensorType type);
  Value tensorOf(Value scalar);
  void replace(Operation *op, Value value) {
    op->getResult(0).replaceAllUsesWith(value);
    dead.push_back(op);
  }

  ImplicitLocOpBuilder b;
  /// The tensors of rank 0 that hold scalars.
  DenseMap<Value, Value> tensors;
  SmallVector<Operation *> dead;
};

} // namespace

/// The values of `indices`, empty where one is not a constant; an error where
/// one is outside `type`.
FailureOr<SmallVector<int64_t>> Rewriting::constants(Operation *op,
                                                     OperandRange indices,
                                                     RankedTensorType type) {
  SmallVector<int64_t> values;
  for (auto [dim, index] : llvm::enumerate(indices)) {
    APInt value;
    if (!matchPattern(index, m_ConstantInt(&value)))
      return SmallVector<int64_t>();
    values.push_back(value.getSExtValue());
    if (values.back() < 0 || values.back() >= type.getDimSize(dim))
      return op->emitOpError("has the index ")
             << values.back() << " in dimension " << dim << " of " << type
             << ": wanted one from 0 to " << type.getDimSize(dim) - 1;
  }
  return values;
}

/// The tensor that holds `scalar`; null where there is none.
Value Rewriting::tensorOf(Value scalar) {
  if (Value tensor = tensors.lookup(scalar))
    return tensor;
  Attribute value;
  if (!matchPattern(scalar, m_Constant(&value)) ||
      !isa<FloatAttr, IntegerAttr>(value) || scalar.getType().isIndex())
    return nullptr;
  auto type = RankedTensorType::get({}, scalar.getType());
  return arith::ConstantOp::create(b, DenseElementsAttr::get(type, value));
}

void Rewriting::reshape(tensor::ReshapeOp op) {
  if (isStatic(op.getSource().getType()) && isStatic(op.getType()))
    replace(op, nn::buildReshape(b, op.getSource(),
                                 cast<RankedTensorType>(op.getType())));
}

/// The gathered dimensions, brought to the front, are the rows of a table.
void Rewriting::gather(tensor::GatherOp op) {
  RankedTensorType source = op.getSourceType();
  if (!source.hasStaticShape() || !op.getIndicesType().hasStaticShape() ||
      !isa<FloatType>(source.getElementType()))
    return;
  nn::GatheredRows rows(op);
  Value table = rows.buildTable(b, op.getSource());
  Value ids = rows.buildIds(b, op);
  int64_t count = cast<RankedTensorType>(ids.getType()).getNumElements();
  Value picked = nn::EmbeddingOp::create(b, source.clone({count, rows.columns}),
                                         ids, table, IntegerAttr());
  replace(op,
          nn::buildReshape(b, picked, cast<RankedTensorType>(op.getType())));
}

LogicalResult Rewriting::extract(tensor::ExtractOp op) {
  auto source = op.getTensor().getType();
  if (!isStatic(source))
    return success();
  auto at = constants(op, op.getIndices(), source);
  if (failed(at))
    return failure();
  if (static_cast<int64_t>(at->size()) != source.getRank())
    return success();
  if (source.getRank() == 0) {
    tensors[op.getResult()] = op.getTensor();
  } else {
    SmallVector<int64_t> ones(at->size(), 1);
    tensors[op.getResult()] = tensor::ExtractSliceOp::create(
        b, RankedTensorType::get({}, source.getElementType()), op.getTensor(),
        getAsIndexOpFoldResult(b.getContext(), *at),
        getAsIndexOpFoldResult(b.getContext(), ones),
        getAsIndexOpFoldResult(b.getContext(), ones));
  }
  dead.push_back(op);
  return success();
}

LogicalResult Rewriting::insert(tensor::InsertOp op) {
  RankedTensorType type = op.getDest().getType();
  if (!isStatic(type))
    return success();
  auto at = constants(op, op.getIndices(), type);
  if (failed(at))
    return failure();
  Value scalar = tensorOf(op.getScalar());
  if (!scalar || static_cast<int64_t>(at->size()) != type.getRank())
    return success();
  SmallVector<int64_t> ones(at->size(), 1);
  replace(op, type.getRank() == 0
                  ? scalar
                  : tensor::InsertSliceOp::create(
                        b, scalar, op.getDest(),
                        getAsIndexOpFoldResult(b.getContext(), *at),
                        getAsIndexOpFoldResult(b.getContext(), ones),
                        getAsIndexOpFoldResult(b.getContext(), ones)));
  return success();
}

void Rewriting::fromElements(tensor::FromElementsOp op) {
  if (op.getElements().empty())
    return;
  SmallVector<Value> elements;
  auto one = RankedTensorType::get({1}, op.getType().getElementType());
  for (Value element : op.getElements()) {
    Value tensor = tensorOf(element);
    if (!tensor)
      return;
    elements.push_back(nn::buildReshape(b, tensor, one));
  }
  Value all = elements.front();
  if (elements.size() > 1)
    all = tensor::ConcatOp::create(b, /*dim=*/0, elements);
  replace(op, nn::buildReshape(b, all, op.getType()));
}

void Rewriting::splat(tensor::SplatOp op) {
  // A constant has a kernel.
  if (Value scalar = tensors.lookup(op.getInput());
      scalar && isStatic(op.getType()))
    replace(op, nn::BroadcastOp::create(b, op.getType(), scalar,
                                        b.getDenseI64ArrayAttr({})));
}

/// Arithmetic on scalars of tensors becomes the same on tensors of rank 0.
void Rewriting::elementwise(Operation *op) {
  if (op->getNumResults() != 1 || op->getNumRegions() != 0 ||
      llvm::none_of(op->getOperands(),
                    [&](Value value) { return tensors.contains(value); }))
    return;
  IRMapping mapping;
  for (Value operand : op->getOperands()) {
    Value tensor = tensorOf(operand);
    if (!tensor)
      return;
    mapping.map(operand, tensor);
  }
  Operation *clone = b.clone(*op, mapping);
  Value result = clone->getResult(0);
  result.setType(RankedTensorType::get({}, result.getType()));
  tensors[op->getResult(0)] = result;
  dead.push_back(op);
}

LogicalResult Rewriting::visit(Operation &op) {
  b.setInsertionPoint(&op);
  b.setLoc(op.getLoc());
  if (auto extracted = dyn_cast<tensor::ExtractOp>(op))
    return extract(extracted);
  if (auto inserted = dyn_cast<tensor::InsertOp>(op))
    return insert(inserted);
  if (auto reshaped = dyn_cast<tensor::ReshapeOp>(op))
    reshape(reshaped);
  else if (auto gathered = dyn_cast<tensor::GatherOp>(op))
    gather(gathered);
  else if (auto elements = dyn_cast<tensor::FromElementsOp>(op))
    fromElements(elements);
  else if (auto filled = dyn_cast<tensor::SplatOp>(op))
    splat(filled);
  else if (OpTrait::hasElementwiseMappableTraits(&op))
    elementwise(&op);
  return success();
}

LogicalResult Rewriting::run(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block))
    if (failed(visit(op)))
      return failure();
  // An operation that still has uses is read by one that is not rewritten.
  for (Operation *op : llvm::reverse(dead))
    if (isOpTriviallyDead(op))
      op->erase();
  return success();
}

LogicalResult mlir::nn::rewriteTensorOps(Block &block) {
  return Rewriting(block.getParentOp()->getContext()).run(block);
}
