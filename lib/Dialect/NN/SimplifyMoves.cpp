//===- SimplifyMoves.cpp - chains of views and transpositions -------------===//
//
// `nn.MultiheadAttention` of PyTorch merges samples and heads before a
// transposition, and splits them behind it. Where a rank has a part of the
// heads, the shapes in between do not tell of which of the two it is a part.
//
//===----------------------------------------------------------------------===//

#include "zero/Dialect/NN/TensorForms.h"

#include "Types.h"
#include "program/Bounds.h"

#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"

using namespace mlir;
using namespace mlir::nn;
using namespace mlir::nn::detail;

namespace {

/// A value, followed through moves from their source: which dimensions of the
/// source, or divisors of them, each dimension is the product of. Dimensions of
/// one index have none.
class Products {
public:
  explicit Products(ArrayRef<int64_t> shape);

  void transpose(ArrayRef<int64_t> permutation);
  void collapse(ArrayRef<ReassociationIndices> groups);
  /// Fails where a divisor would be no integer.
  LogicalResult expand(ArrayRef<ReassociationIndices> groups,
                       ArrayRef<int64_t> shape);

  /// Whether an expansion took apart what a collapse had merged.
  bool splitsMerged() const { return hasSplitMerged; }
  /// The sizes of the divisors, in the order of the source.
  SmallVector<int64_t> sizes() const;
  /// The divisors of the value, as positions in the order of the source.
  SmallVector<int64_t> permutation() const;

private:
  using Divisors = SmallVector<size_t, 2>; // outer to inner
  FailureOr<Divisors> take(Divisors &from, int64_t size);
  void split(Divisors &from, int64_t outer);

  SmallVector<int64_t> sizeOf; ///< by divisor
  SmallVector<size_t> order;   ///< of the source
  SmallVector<Divisors> value;
  bool hasSplitMerged = false;
};

} // namespace

Products::Products(ArrayRef<int64_t> shape) {
  for (int64_t extent : shape) {
    Divisors &divisors = value.emplace_back();
    if (extent == 1)
      continue;
    divisors.push_back(sizeOf.size());
    order.push_back(sizeOf.size());
    sizeOf.push_back(extent);
  }
}

void Products::transpose(ArrayRef<int64_t> permutation) {
  value = llvm::map_to_vector(
      permutation, [&](int64_t dim) { return Divisors(value[dim]); });
}

void Products::collapse(ArrayRef<ReassociationIndices> groups) {
  SmallVector<Divisors> merged;
  for (const ReassociationIndices &group : groups) {
    Divisors &all = merged.emplace_back();
    for (int64_t dim : group)
      llvm::append_range(all, value[dim]);
  }
  value = std::move(merged);
}

/// Makes the first of `from` two, of which the first has `outer` indices.
void Products::split(Divisors &from, int64_t outer) {
  const size_t first = from.front(), second = sizeOf.size();
  sizeOf.push_back(sizeOf[first] / outer);
  sizeOf[first] = outer;
  order.insert(llvm::find(order, first) + 1, second);
  from.insert(from.begin() + 1, second);
}

/// Takes the outermost divisors of `from` whose product is `size`.
FailureOr<Products::Divisors> Products::take(Divisors &from, int64_t size) {
  Divisors taken;
  while (size != 1) {
    const int64_t extent = sizeOf[from.front()];
    if (size % extent != 0) {
      if (extent % size != 0)
        return failure();
      split(from, size);
    }
    taken.push_back(from.front());
    size /= sizeOf[from.front()];
    from.erase(from.begin());
  }
  return taken;
}

LogicalResult Products::expand(ArrayRef<ReassociationIndices> groups,
                               ArrayRef<int64_t> shape) {
  SmallVector<Divisors> expanded;
  // A scalar has no dimension to take apart.
  if (groups.empty())
    expanded.resize(shape.size());
  for (auto [group, divisors] : llvm::zip_equal(groups, value)) {
    const bool isMerged = divisors.size() > 1;
    const auto isLong = [&](int64_t dim) { return shape[dim] != 1; };
    hasSplitMerged |= isMerged && llvm::count_if(group, isLong) > 1;
    for (int64_t dim : group) {
      FailureOr<Divisors> taken = take(divisors, shape[dim]);
      if (failed(taken))
        return failure();
      expanded.push_back(*taken);
    }
  }
  value = std::move(expanded);
  return success();
}

SmallVector<int64_t> Products::sizes() const {
  return llvm::map_to_vector(order,
                             [&](size_t divisor) { return sizeOf[divisor]; });
}

SmallVector<int64_t> Products::permutation() const {
  SmallVector<int64_t> positions;
  for (const Divisors &divisors : value)
    for (size_t divisor : divisors)
      positions.push_back(llvm::find(order, divisor) - order.begin());
  return positions;
}

//===----------------------------------------------------------------------===//
// Chains of moves
//===----------------------------------------------------------------------===//

static bool isMove(Operation *op) {
  return isa_and_nonnull<TransposeOp, tensor::CollapseShapeOp,
                         tensor::ExpandShapeOp>(op);
}

/// The moves up to `last` whose results nothing but the next one reads; none
/// where another move follows so.
static SmallVector<Operation *> movesTo(Operation *last) {
  if (!isMove(last) || (last->hasOneUse() && isMove(*last->getUsers().begin())))
    return {};
  SmallVector<Operation *> moves{last};
  while (true) {
    Value source = moves.back()->getOperand(0);
    Operation *op = source.getDefiningOp();
    if (!isMove(op) || !source.hasOneUse())
      break;
    moves.push_back(op);
  }
  std::reverse(moves.begin(), moves.end());
  return moves;
}

static FailureOr<Products> follow(ArrayRef<Operation *> moves) {
  Products products(typeOf(moves.front()->getOperand(0)).getShape());
  for (Operation *op : moves) {
    if (auto transpose = dyn_cast<TransposeOp>(op))
      products.transpose(transpose.getPermutation());
    else if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op))
      products.collapse(collapse.getReassociationIndices());
    else if (auto expand = cast<tensor::ExpandShapeOp>(op);
             failed(products.expand(expand.getReassociationIndices(),
                                    expand.getType().getShape())))
      return failure();
  }
  return products;
}

/// `value` in `shape`, by a collapse or an expansion of single dimensions.
static Value regroup(ImplicitLocOpBuilder &b, Value value,
                     ArrayRef<int64_t> shape) {
  RankedTensorType from = typeOf(value), to = from.clone(shape);
  if (from == to)
    return value;
  auto groups = getReassociationIndicesForReshape(from, to);
  if (!groups)
    return nn::buildReshape(b, value, to);
  if (from.getRank() > to.getRank())
    return tensor::CollapseShapeOp::create(b, to, value, *groups);
  return tensor::ExpandShapeOp::create(b, to, value, *groups);
}

static SmallVector<int64_t> withoutOnes(ArrayRef<int64_t> shape) {
  return llvm::to_vector(
      llvm::make_filter_range(shape, [](int64_t size) { return size != 1; }));
}

/// One expansion, one transposition and one collapse in place of `moves`,
/// beside views that take dimensions of one index out and put them in.
static Value rebuild(ImplicitLocOpBuilder &b, ArrayRef<Operation *> moves,
                     const Products &products) {
  Value value = moves.front()->getOperand(0);
  value = regroup(b, value, withoutOnes(typeOf(value).getShape()));
  value = regroup(b, value, products.sizes());
  SmallVector<int64_t> permutation = products.permutation();
  if (!llvm::is_sorted(permutation))
    value = nn::buildMove(b, value, permutation);
  ArrayRef<int64_t> shape = typeOf(moves.back()->getResult(0)).getShape();
  return regroup(b, regroup(b, value, withoutOnes(shape)), shape);
}

static bool isStatic(Operation *op) {
  return typeOf(op->getOperand(0)).hasStaticShape() &&
         typeOf(op->getResult(0)).hasStaticShape() &&
         typeOf(op->getResult(0)).getNumElements() != 0;
}

/// Erases the moves that lead from `source` to `value`.
static void eraseMoves(Value value, Value source) {
  while (value != source) {
    Operation *op = value.getDefiningOp();
    value = op->getOperand(0);
    op->erase();
  }
}

void mlir::nn::simplifyMoves(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    SmallVector<Operation *> moves = movesTo(&op);
    if (moves.empty() || !llvm::all_of(moves, isStatic))
      continue;
    FailureOr<Products> products = follow(moves);
    if (failed(products) || products->sizes().size() > zrt::kMostDims)
      continue;
    ImplicitLocOpBuilder b(op.getLoc(), &op);
    const Value source = moves.front()->getOperand(0);
    Value result = rebuild(b, moves, *products);
    size_t count = 0;
    for (Value at = result; at != source;
         at = at.getDefiningOp()->getOperand(0))
      ++count;
    if (!products->splitsMerged() && count >= moves.size()) {
      eraseMoves(result, source);
      continue;
    }
    op.getResult(0).replaceAllUsesWith(result);
    eraseMoves(op.getResult(0), source);
  }
}
