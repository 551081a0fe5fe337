//===- NNMatrixOps.cpp - constraints of matrix products and attention -----===//

#include "Verification.h"

using namespace mlir;
using namespace mlir::nn;
using namespace mlir::nn::detail;

//===----------------------------------------------------------------------===//
// linear, matmul
//===----------------------------------------------------------------------===//

LogicalResult LinearOp::inferReturnTypes(MLIRContext *,
                                         std::optional<Location> location,
                                         Adaptor op,
                                         SmallVectorImpl<Type> &results) {
  Checker check(getOperationName(), location);
  if (failed(check.minimumRank("x", op.getX(), 1)) || // C1
      failed(check.rank("w", op.getW(), 2)))
    return failure();
  RankedTensorType x = typeOf(op.getX()), w = typeOf(op.getW());
  int64_t k = w.getDimSize(op.getTransposed() ? 1 : 0);
  int64_t n = w.getDimSize(op.getTransposed() ? 0 : 1);
  if (x.getShape().back() != k) // C2
    return check.error("x has " + Twine(x.getShape().back()) +
                       " as its last dimension, wanted the weight's " +
                       Twine(k));
  Type element = x.getElementType();
  if (op.getBias() && (failed(check.shape("bias", op.getBias(), {n})) || // C3
                       failed(check.element("bias", op.getBias(), element))))
    return failure();
  if (failed(check.element("w", op.getW(), element))) // C4
    return failure();
  results.push_back(RankedTensorType::get( // C5
      append(x.getShape().drop_back(), n), element));
  return success();
}

LogicalResult MatmulOp::inferReturnTypes(MLIRContext *,
                                         std::optional<Location> location,
                                         Adaptor op,
                                         SmallVectorImpl<Type> &results) {
  Checker check(getOperationName(), location);
  RankedTensorType a = typeOf(op.getA()), b = typeOf(op.getB());
  int64_t rank = a.getRank();
  if (failed(check.minimumRank("a", op.getA(), 2)) || // C1
      failed(check.rank("b", op.getB(), rank)))
    return failure();
  if (a.getShape().drop_back(2) != b.getShape().drop_back(2)) // C2
    return check.error(
        "b has batch dimensions " + toString(b.getShape().drop_back(2)) +
        ", wanted those of a, " + toString(a.getShape().drop_back(2)));
  bool transposeA = op.getTransposeA(), transposeB = op.getTransposeB();
  int64_t m = a.getDimSize(rank - (transposeA ? 1 : 2));
  int64_t ka = a.getDimSize(rank - (transposeA ? 2 : 1));
  int64_t kb = b.getDimSize(rank - (transposeB ? 1 : 2));
  int64_t n = b.getDimSize(rank - (transposeB ? 2 : 1));
  if (ka != kb) // C3
    return check.error("b has " + Twine(kb) +
                       " elements to sum over, wanted those of a, " +
                       Twine(ka));
  if (failed(check.element("b", op.getB(), a.getElementType()))) // C4
    return failure();
  results.push_back(RankedTensorType::get( // C5
      append(append(a.getShape().drop_back(2), m), n), a.getElementType()));
  return success();
}

//===----------------------------------------------------------------------===//
// attention, attention_grad, rotary
//===----------------------------------------------------------------------===//

/// C5: [T, S], or four dimensions of which each is the score's or 1.
static LogicalResult checkMask(const Checker &check, Value mask,
                               ArrayRef<int64_t> score, Type statistic) {
  ArrayRef<int64_t> found = typeOf(mask).getShape();
  bool fits = found == score.drop_front(2);
  if (found.size() == score.size())
    fits = llvm::all_of(llvm::zip_equal(found, score), [](auto sizes) {
      auto [size, wanted] = sizes;
      return size == wanted || size == 1;
    });
  if (!fits)
    return check.error("mask has shape " + toString(found) + ", wanted " +
                       toString(score.drop_front(2)) + ", or " +
                       toString(score) + " with any size replaced by 1");
  return check.element("mask", mask, statistic);
}

/// C1 to C6 of attention and its gradient; writes the type of `lse`.
template <typename AdaptorT>
static LogicalResult checkAttention(const Checker &check, AdaptorT op,
                                    RankedTensorType &lse) {
  if (failed(check.rank("q", op.getQ(), 4)) || // C1
      failed(check.rank("k", op.getK(), 4)))
    return failure();
  RankedTensorType q = typeOf(op.getQ()), k = typeOf(op.getK());
  int64_t batch = q.getDimSize(0), queries = q.getDimSize(1);
  int64_t heads = q.getDimSize(2), width = q.getDimSize(3);
  int64_t keys = k.getDimSize(1), groups = k.getDimSize(2);
  if (failed(check.shape("k", op.getK(), {batch, keys, groups, width})) || // C2
      failed(check.shape("v", op.getV(), k.getShape())))
    return failure();
  if (groups == 0 || heads % groups != 0) // C3
    return check.error("q has " + Twine(heads) +
                       " heads, wanted a multiple of the " + Twine(groups) +
                       " heads of k");
  if (op.getCausal() && keys != queries) // C4
    return check.error("causal attention of " + Twine(queries) +
                       " queries has " + Twine(keys) + " keys, wanted as many");
  Type element = q.getElementType();
  if (op.getMask() &&
      failed(checkMask(check, op.getMask(), {batch, heads, queries, keys},
                       getStatisticType(element))))
    return failure();
  lse = statistics(q, {batch, heads, queries});
  return success(succeeded(check.element("k", op.getK(), element)) && // C6
                 succeeded(check.element("v", op.getV(), element)));
}

LogicalResult AttentionOp::inferReturnTypes(MLIRContext *,
                                            std::optional<Location> location,
                                            Adaptor op,
                                            SmallVectorImpl<Type> &results) {
  RankedTensorType lse;
  if (failed(checkAttention(Checker(getOperationName(), location), op, lse)))
    return failure();
  results.append({op.getQ().getType(), lse}); // C7
  return success();
}

LogicalResult
AttentionGradOp::inferReturnTypes(MLIRContext *,
                                  std::optional<Location> location, Adaptor op,
                                  SmallVectorImpl<Type> &results) {
  Checker check(getOperationName(), location);
  RankedTensorType lse;
  if (failed(checkAttention(check, op, lse)))
    return failure();
  RankedTensorType q = typeOf(op.getQ());
  if (failed(check.type("dout", op.getDout(), q)) || // C7
      failed(check.type("out", op.getOut(), q)) ||
      failed(check.type("lse", op.getLse(), lse)))
    return failure();
  results.append( // C8
      {op.getQ().getType(), op.getK().getType(), op.getV().getType()});
  return success();
}

LogicalResult RotaryOp::verify() {
  Checker check(getOperationName(), getLoc());
  if (failed(check.rank("x", getX(), 4))) // C1
    return failure();
  int64_t width = typeOf(getX()).getDimSize(3);
  if (width % 2 != 0) // C2
    return check.error("x has " + Twine(width) +
                       " features, wanted an even number");
  double theta = getTheta().convertToDouble();
  if (!(theta > 0)) // C3
    return check.error("theta is " + std::to_string(theta) +
                       ", wanted a positive number");
  return success();
}
