//===- NNMatrixOps.cpp - constraints of matrix products and attention -----===//

#include "Verification.h"

using namespace mlir;
using namespace mlir::nn;
using namespace mlir::nn::detail;

//===----------------------------------------------------------------------===//
// linear and what is fused with it, matmul
//===----------------------------------------------------------------------===//

/// C1 to C4 of a product with a weight; `input` is its first operand with its
/// name.
static LogicalResult checkWeight(const Checker &check,
                                 std::pair<StringRef, Value> input,
                                 TypedValue<RankedTensorType> w, Value bias,
                                 bool transposed) {
  if (failed(check.minimumRank(input.first, input.second, 1)) || // C1
      failed(check.rank("w", w, 2)))
    return failure();
  RankedTensorType x = typeOf(input.second);
  int64_t k = w.getType().getDimSize(transposed ? 1 : 0);
  int64_t n = w.getType().getDimSize(transposed ? 0 : 1);
  if (x.getShape().back() != k) // C2
    return check.error(input.first + " has " + Twine(x.getShape().back()) +
                       " as its last dimension, wanted the weight's " +
                       Twine(k));
  Type element = x.getElementType();
  if (bias && (failed(check.shape("bias", bias, {n})) || // C3
               failed(check.element("bias", bias, element))))
    return failure();
  return check.element("w", w, element); // C4
}

/// The same and C5; `result` is the product with its name.
static LogicalResult checkLinear(const Checker &check,
                                 std::pair<StringRef, Value> input,
                                 TypedValue<RankedTensorType> w, Value bias,
                                 bool transposed,
                                 std::pair<StringRef, Value> result) {
  if (failed(checkWeight(check, input, w, bias, transposed)))
    return failure();
  RankedTensorType x = typeOf(input.second);
  int64_t n = w.getType().getDimSize(transposed ? 0 : 1);
  return check.type(result.first, result.second, // C5
                    RankedTensorType::get(append(x.getShape().drop_back(), n),
                                          x.getElementType()));
}

LogicalResult LinearOp::verify() {
  return checkLinear(Checker(*this), {"x", getX()}, getW(), getBias(),
                     getTransposed(), {"y", getY()});
}

LogicalResult LinearAddOp::verify() {
  Checker check(*this);
  if (failed(checkLinear(check, {"x", getX()}, getW(), getBias(),
                         getTransposed(), {"y", getY()})))
    return failure();
  return check.type("c", getC(), typeOf(getY())); // C6
}

LogicalResult LinearGeluOp::verify() {
  Checker check(*this);
  if (failed(checkLinear(check, {"x", getX()}, getW(), getBias(),
                         getTransposed(), {"y", getY()})))
    return failure();
  return getH() ? check.type("h", getH(), typeOf(getY())) // C6
                : success();
}

LogicalResult LinearGeluGradOp::verify() {
  Checker check(*this);
  if (failed(checkLinear(check, {"dy", getDy()}, getW(), /*bias=*/Value(),
                         getTransposed(), {"dh", getDh()})))
    return failure();
  RankedTensorType dh = typeOf(getDh());
  if (failed(check.type("h", getH(), dh))) // C6
    return failure();
  return getDb() ? check.type("db", getDb(), // C7
                              RankedTensorType::get(dh.getShape().take_back(),
                                                    dh.getElementType()))
                 : success();
}

LogicalResult LinearWeightGradOp::verify() {
  Checker check(*this);
  if (failed(check.minimumRank("dy", getDy(), 1)) || // C1
      failed(check.minimumRank("x", getX(), 1)))
    return failure();
  RankedTensorType dy = typeOf(getDy()), x = typeOf(getX());
  if (x.getShape().drop_back() != dy.getShape().drop_back()) // C2
    return check.error(
        "x has leading dimensions " + toString(x.getShape().drop_back()) +
        ", wanted those of dy, " + toString(dy.getShape().drop_back()));
  Type element = dy.getElementType();
  if (failed(check.element("x", getX(), element))) // C3
    return failure();
  SmallVector<int64_t> dw = {x.getShape().back(), dy.getShape().back()};
  if (getTransposed())
    std::swap(dw[0], dw[1]);
  if (failed(
          check.type("dw", getDw(), RankedTensorType::get(dw, element)))) // C4
    return failure();
  return check.type("db", getDb(), // C5
                    RankedTensorType::get(dy.getShape().take_back(), element));
}

/// C1 to C8 of a loss of a product.
template <typename OpT>
static LogicalResult checkLinearCrossEntropy(const Checker &check, OpT op) {
  if (failed(checkWeight(check, {"x", op.getX()}, op.getW(), op.getBias(),
                         op.getTransposed())))
    return failure();
  RankedTensorType x = typeOf(op.getX());
  if (failed(check.shape("targets", op.getTargets(), // C5
                         x.getShape().drop_back())) ||
      failed(check.type("loss", op.getLoss(), statistics(x, {})))) // C6
    return failure();
  if (static_cast<int64_t>(op.getChunk()) < 1) // C7
    return check.error("chunk is " +
                       Twine(static_cast<int64_t>(op.getChunk())) +
                       ", wanted 1 or more");
  return check.count("classes", op.getClasses(), 1, // C8
                     typeOf(op.getW()).getDimSize(op.getTransposed() ? 0 : 1));
}

LogicalResult LinearCrossEntropyOp::verify() {
  return checkLinearCrossEntropy(Checker(*this), *this);
}

LogicalResult LinearCrossEntropyGradOp::verify() {
  Checker check(*this);
  if (failed(checkLinearCrossEntropy(check, *this)) ||
      failed(check.type("dloss", getDloss(), typeOf(getLoss()))) || // C9
      failed(check.type("dx", getDx(), typeOf(getX()))) ||          // C10
      failed(check.type("dw", getDw(), typeOf(getW()))))
    return failure();
  if (bool(getDb()) != bool(getBias()))
    return check.error(getBias() ? "has a bias and no db, wanted both"
                                 : "has db and no bias, wanted both or none");
  return getDb() ? check.type("db", getDb(), typeOf(getBias())) : success();
}

LogicalResult MatmulOp::verify() {
  Checker check(*this);
  RankedTensorType a = typeOf(getA()), b = typeOf(getB());
  int64_t rank = a.getRank();
  if (failed(check.minimumRank("a", getA(), 2)) || // C1
      failed(check.rank("b", getB(), rank)))
    return failure();
  if (a.getShape().drop_back(2) != b.getShape().drop_back(2)) // C2
    return check.error(
        "b has batch dimensions " + toString(b.getShape().drop_back(2)) +
        ", wanted those of a, " + toString(a.getShape().drop_back(2)));
  bool transposeA = getTransposeA(), transposeB = getTransposeB();
  int64_t m = a.getDimSize(rank - (transposeA ? 1 : 2));
  int64_t ka = a.getDimSize(rank - (transposeA ? 2 : 1));
  int64_t kb = b.getDimSize(rank - (transposeB ? 1 : 2));
  int64_t n = b.getDimSize(rank - (transposeB ? 2 : 1));
  if (ka != kb) // C3
    return check.error("b has " + Twine(kb) +
                       " elements to sum over, wanted those of a, " +
                       Twine(ka));
  if (failed(check.element("b", getB(), a.getElementType()))) // C4
    return failure();
  if (auto rows = getRows()) { // C6
    if (rank != 2)
      return check.error("rows are given of products with a batch, wanted "
                         "matrices");
    if (failed(check.rows(*rows, m)))
      return failure();
    m = (*rows)[1] - (*rows)[0];
  }
  return check.type(
      "c", getC(), // C5
      RankedTensorType::get(append(append(a.getShape().drop_back(2), m), n),
                            a.getElementType()));
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
template <typename OpT>
static LogicalResult checkAttention(const Checker &check, OpT op,
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

LogicalResult AttentionOp::verify() {
  RankedTensorType lse;
  Checker check(*this);
  if (failed(checkAttention(check, *this, lse)) ||
      failed(check.type("out", getOut(), typeOf(getQ())))) // C7
    return failure();
  return check.type("lse", getLse(), lse);
}

LogicalResult AttentionGradOp::verify() {
  Checker check(*this);
  RankedTensorType lse;
  if (failed(checkAttention(check, *this, lse)))
    return failure();
  RankedTensorType q = typeOf(getQ());
  if (failed(check.type("dout", getDout(), q)) || // C7
      failed(check.type("out", getOut(), q)) ||
      failed(check.type("lse", getLse(), lse)))
    return failure();
  if (failed(check.type("dq", getDq(), q)) || // C8
      failed(check.type("dk", getDk(), typeOf(getK()))))
    return failure();
  return check.type("dv", getDv(), typeOf(getV()));
}

LogicalResult RotaryOp::verify() {
  Checker check(*this);
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
  if (auto heads = getHeads()) // C4
    return check.rows(*heads, typeOf(getX()).getDimSize(2), "heads");
  return success();
}
