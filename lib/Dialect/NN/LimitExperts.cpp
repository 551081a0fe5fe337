//===- LimitExperts.cpp - experts that have as many places each -----------===//
//
// Rows that are sorted by experts, each once for every choice, become rows in
// places. What is computed row by row is computed of the places instead, and a
// product of groups is one of batches, an expert each.
//
//===----------------------------------------------------------------------===//

#include "zero/Dialect/NN/LimitExperts.h"

#include "Types.h"

#include "zero/Dialect/NN/TensorForms.h"
#include "zero/Interfaces/Factors.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/RegionUtils.h"

#include <cmath>

using namespace mlir;
using namespace mlir::nn;
using namespace mlir::nn::detail;
using zrt::FactorKind;

namespace {

/// The rows of one operation that sends them to experts.
class Limiter {
public:
  Limiter(DispatchOp op, const ExpertLimits &limits)
      : op(op), limits(limits), b(op.getLoc(), op) {}

  LogicalResult run();

private:
  /// An operation that reads sorted rows, or their places. `factor` is that of
  /// the rows if it computes each row by itself; without one it is a product,
  /// or brings rows back.
  struct Reader {
    Operation *op;
    zrt::Factors factors;
    std::optional<size_t> factor;
  };

  LogicalResult findReaders();
  LogicalResult addReader(Operation *user);
  LogicalResult place();
  FailureOr<Value> buildOrder();
  void rewrite(const Reader &reader);
  void multiply(GroupedMatmulOp product);
  void combine(CombineOp combined);
  void resize(const Reader &reader);
  Value toPlaces(Value rows);
  Value toRows(Value placed);
  int64_t findCapacity();

  DispatchOp op;
  const ExpertLimits &limits;
  ImplicitLocOpBuilder b;
  CapacityDispatchOp placed;
  /// Values whose dimension 0 is that of the sorted rows.
  DenseSet<Value> rows;
  SmallVector<Reader> readers;
  int64_t experts = 0, capacity = 0;
};

} // namespace

/// In f32, as DeepSpeed computes it, so that both round up in the same places.
int64_t Limiter::findCapacity() {
  RankedTensorType ids = typeOf(op.getIds());
  auto choices = static_cast<double>(ids.getDimSize(1));
  auto share = static_cast<float>(static_cast<double>(ids.getDimSize(0)) /
                                  static_cast<double>(experts));
  auto factor = static_cast<float>(limits.factor * choices);
  return std::max(limits.least,
                  static_cast<int64_t>(std::ceil(share * factor)));
}

/// Choices in the order of their weights, which are known where rows are sent.
FailureOr<Value> Limiter::buildOrder() {
  RankedTensorType ids = typeOf(op.getIds());
  zrt::DropOrder order = limits.order.value_or(
      ids.getDimSize(1) <= 2 ? zrt::DropOrder::Position
                             : zrt::DropOrder::Probability);
  if (order == zrt::DropOrder::Position)
    return Value();
  Value weights;
  for (Operation *user : op.getPlaces().getUsers())
    if (auto combined = dyn_cast<CombineOp>(user))
      weights = combined.getWeights();
  IRRewriter rewriter(op.getContext());
  if (!weights || failed(moveValueDefinitions(rewriter, {weights}, op)))
    return op.emitError() << "'" << op->getName()
                          << "' sends rows to experts before the weights of "
                             "choices are known, "
                             "by which those are to be dropped that find no "
                             "place; drop them by "
                             "position";
  int64_t all = ids.getNumElements();
  Value flat = buildReshape(b, weights, typeOf(weights).clone({all}));
  return Value(ArgsortOp::create(b, ids.clone({all}), flat, /*descending=*/true,
                                 b.getI64IntegerAttr(all)));
}

LogicalResult Limiter::place() {
  RankedTensorType ids = typeOf(op.getIds()), sorted = typeOf(op.getSorted());
  experts = static_cast<int64_t>(op.getExperts());
  if (op.getFirst() || sorted.getDimSize(0) != ids.getNumElements())
    return op.emitError()
           << "'" << op->getName()
           << "' keeps the rows of some choices only, and cannot "
              "give experts places; leave their capacity out";
  capacity = findCapacity();
  FailureOr<Value> order = buildOrder();
  if (failed(order))
    return failure();
  int64_t width = sorted.getDimSize(1);
  placed = CapacityDispatchOp::create(
      b, sorted.clone({experts, capacity, width}), ids, typeOf(op.getOffsets()),
      op.getRows(), op.getIds(), *order);
  op.getSorted().replaceAllUsesWith(toRows(placed.getSorted()));
  emitRemark(op.getLoc()) << "each of " << experts << " experts has "
                          << capacity << " places for the "
                          << ids.getNumElements()
                          << " choices of a micro-batch of "
                          << ids.getDimSize(0) << " rows; what finds none is "
                          << "dropped";
  return success();
}

static SmallVector<ReassociationIndices> placesTogether() {
  return {{0, 1}, {2}};
}

/// `value`, of rows, with the experts in front; a constant as one.
Value Limiter::toPlaces(Value value) {
  RankedTensorType type = typeOf(value);
  type = type.clone({experts, capacity, type.getDimSize(1)});
  SplatElementsAttr splat;
  if (matchPattern(value, m_Constant(&splat)))
    return arith::ConstantOp::create(b, splat.resizeSplat(type));
  return tensor::ExpandShapeOp::create(b, type, value, placesTogether());
}

Value Limiter::toRows(Value value) {
  return tensor::CollapseShapeOp::create(b, value, placesTogether());
}

void Limiter::multiply(GroupedMatmulOp product) {
  RankedTensorType c = typeOf(product.getC());
  Value y = MatmulOp::create(b, c.clone({experts, capacity, c.getDimSize(1)}),
                             toPlaces(product.getA()), product.getB(),
                             /*transpose_a=*/false, product.getTransposeB(),
                             /*rows=*/DenseI64ArrayAttr());
  product.getC().replaceAllUsesWith(toRows(y));
  product.erase();
}

/// Weights of what was dropped count nothing.
void Limiter::combine(CombineOp combined) {
  combined.getPlacesMutable().assign(placed.getPlaces());
  Value weights = combined.getWeights();
  if (!limits.renormalizes || !weights)
    return;
  RankedTensorType type = typeOf(weights), places = typeOf(placed.getPlaces());
  auto constant = [&](TypedAttr value) -> Value {
    return arith::ConstantOp::create(b, value);
  };
  auto floats = [&](double value) {
    return constant(DenseElementsAttr::get(
        type, b.getFloatAttr(type.getElementType(), value)));
  };
  Value isKept = arith::CmpIOp::create(
      b, arith::CmpIPredicate::sge, placed.getPlaces(),
      constant(DenseElementsAttr::get(places, b.getI32IntegerAttr(0))));
  Value kept = arith::SelectOp::create(b, isKept, weights, floats(0));
  Value sums =
      buildBroadcast(b, b.getLoc(), buildSum(b, kept, /*dim=*/1), {0}, type);
  // The least that DeepSpeed divides by.
  Value divisor = arith::MaximumFOp::create(
      b, sums, floats(std::numeric_limits<float>::epsilon()));
  combined.getWeightsMutable().assign(
      arith::DivFOp::create(b, kept, divisor).getResult());
}

static bool has(ArrayRef<zrt::FactoredDim> dims, size_t factor) {
  return llvm::any_of(dims, [&](const zrt::FactoredDim &dim) {
    return llvm::any_of(dim.parts, [&](const zrt::DimPart &part) {
      return part.segments.empty() ? part.factor == factor
                                   : has(part.segments, factor);
    });
  });
}

/// The factor that dimension 0 of a tensor is, and no other dimension.
static std::optional<size_t> rowsOf(const zrt::FactoredTensor &tensor) {
  if (tensor.dimensions.empty() || tensor.dimensions[0].parts.size() != 1 ||
      !tensor.dimensions[0].parts[0].segments.empty())
    return std::nullopt;
  return tensor.dimensions[0].parts[0].factor;
}

/// The factor of the rows of an operation that computes each by itself, beside
/// constants that are the same for all.
static std::optional<size_t> findRows(Operation *op,
                                      const zrt::Factors &factors,
                                      const DenseSet<Value> &rows) {
  std::optional<size_t> factor;
  for (auto [operand, tensor] :
       llvm::zip_equal(op->getOperands(), factors.operands))
    if (rows.contains(operand))
      factor = rowsOf(tensor);
  if (!factor || op->getNumRegions() != 0 || !isMemoryEffectFree(op) ||
      factors.factors[*factor].kind != FactorKind::Parallel)
    return std::nullopt;
  SplatElementsAttr splat;
  for (auto [operand, tensor] :
       llvm::zip_equal(op->getOperands(), factors.operands)) {
    bool isRead = has(tensor.dimensions, *factor);
    if (isRead && (rowsOf(tensor) != factor ||
                   (!rows.contains(operand) &&
                    !matchPattern(operand, m_Constant(&splat)))))
      return std::nullopt;
  }
  for (const zrt::FactoredTensor &tensor : factors.results)
    if (rowsOf(tensor) != factor)
      return std::nullopt;
  return factor;
}

LogicalResult Limiter::addReader(Operation *user) {
  SplatElementsAttr splat;
  if (auto product = dyn_cast<GroupedMatmulOp>(user))
    if (product.getOffsets() == op.getOffsets() &&
        (rows.contains(product.getA()) ||
         matchPattern(product.getA(), m_Constant(&splat)))) {
      rows.insert(product.getC());
      readers.push_back({user, {}, std::nullopt});
      return success();
    }
  if (auto combined = dyn_cast<CombineOp>(user))
    if (combined.getPlaces() == op.getPlaces() &&
        rows.contains(combined.getRows())) {
      readers.push_back({user, {}, std::nullopt});
      return success();
    }
  zrt::Factors factors = zero::getFactors(user);
  std::optional<size_t> factor = findRows(user, factors, rows);
  if (!factor)
    return user->emitError()
           << "'" << user->getName()
           << "' needs the rows of all choices, of which experts with a "
              "capacity have some; leave the capacity out";
  rows.insert(user->result_begin(), user->result_end());
  readers.push_back({user, std::move(factors), factor});
  return success();
}

/// In the order of the block, so that operands are known.
LogicalResult Limiter::findReaders() {
  rows.insert(op.getSorted());
  for (Operation &user :
       llvm::make_range(std::next(op->getIterator()), op->getBlock()->end())) {
    bool reads = llvm::any_of(user.getOperands(), [&](Value operand) {
      return rows.contains(operand) || operand.getDefiningOp() == op;
    });
    if (reads && failed(addReader(&user)))
      return failure();
  }
  return success();
}

void Limiter::resize(const Reader &reader) {
  auto resized = [&](Value value) {
    SmallVector<int64_t> shape(typeOf(value).getShape());
    shape[0] = experts * capacity;
    return typeOf(value).clone(shape);
  };
  SplatElementsAttr splat;
  for (auto [operand, tensor] :
       llvm::zip_equal(reader.op->getOpOperands(), reader.factors.operands))
    if (rowsOf(tensor) == reader.factor &&
        matchPattern(operand.get(), m_Constant(&splat)))
      operand.set(arith::ConstantOp::create(
          b, splat.resizeSplat(resized(operand.get()))));
  for (Value result : reader.op->getResults())
    result.setType(resized(result));
  zero::setSizes(reader.op, reader.factors, [&](size_t index) {
    return index == *reader.factor ? experts * capacity
                                   : reader.factors.factors[index].size;
  });
}

void Limiter::rewrite(const Reader &reader) {
  b.setInsertionPoint(reader.op);
  b.setLoc(reader.op->getLoc());
  if (reader.factor)
    return resize(reader);
  if (auto product = dyn_cast<GroupedMatmulOp>(reader.op))
    return multiply(product);
  combine(cast<CombineOp>(reader.op));
}

LogicalResult Limiter::run() {
  if (failed(findReaders()) || failed(place()))
    return failure();
  for (const Reader &reader : readers)
    rewrite(reader);
  op.erase();
  return success();
}

FailureOr<int64_t> nn::limitExperts(Block &block, const ExpertLimits &limits) {
  SmallVector<DispatchOp> found(block.getOps<DispatchOp>());
  for (DispatchOp op : found)
    if (failed(Limiter(op, limits).run()))
      return failure();
  return static_cast<int64_t>(found.size());
}
