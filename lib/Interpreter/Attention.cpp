//===- Attention.cpp - nn.attention, its gradient, nn.rotary --------------===//

#include "Rules.h"

#include "zero/Dialect/NN/NN.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::zero;

namespace {

/// The scores of one attention: shapes and operands in one place.
struct Scores {
  const Array &q, &k;
  const Array *mask;
  bool causal;
  double scale;

  int64_t batches() const { return q.shape[0]; }
  int64_t queries() const { return q.shape[1]; }
  int64_t heads() const { return q.shape[2]; }
  int64_t features() const { return q.shape[3]; }
  int64_t keys() const { return k.shape[1]; }
  /// The key and value head that query head `h` uses.
  int64_t group(int64_t h) const { return h / (heads() / k.shape[2]); }
  /// Where row (b, t, h) of a [B, T, H, D] array begins.
  int64_t query(int64_t b, int64_t t, int64_t h) const {
    return q.offset({b, t, h, 0});
  }
  int64_t key(int64_t b, int64_t s, int64_t h) const {
    return k.offset({b, s, group(h), 0});
  }

  double maskAt(int64_t b, int64_t h, int64_t t, int64_t s) const {
    if (!mask)
      return 0.0;
    SmallVector<int64_t> index{b, h, t, s};
    if (mask->rank() == 2)
      index.erase(index.begin(), index.begin() + 2);
    for (auto [entry, size] : llvm::zip_equal(index, mask->shape))
      entry = size == 1 ? 0 : entry;
    return mask->reals[mask->offset(index)];
  }

  /// The probabilities of query (b, h, t), and the logarithm of the sum of
  /// exponentials. A query that sees no key has zeros, and 0.
  std::pair<SmallVector<double>, double> softmax(int64_t b, int64_t h,
                                                 int64_t t) const {
    SmallVector<double> p;
    for (int64_t s = 0; s < keys(); ++s)
      p.push_back(at(b, h, t, s));
    double largest = *llvm::max_element(p), sum = 0.0;
    if (largest == -std::numeric_limits<double>::infinity())
      return {SmallVector<double>(keys(), 0.0), 0.0};
    for (double &score : p)
      sum += score = std::exp(score - largest);
    for (double &share : p)
      share /= sum;
    return {p, largest + std::log(sum)};
  }

  double at(int64_t b, int64_t h, int64_t t, int64_t s) const {
    if (causal && s > t)
      return -std::numeric_limits<double>::infinity();
    double dot = 0.0;
    for (int64_t d = 0; d < features(); ++d)
      dot += q.reals[query(b, t, h) + d] * k.reals[key(b, s, h) + d];
    return scale * dot + maskAt(b, h, t, s);
  }
};

} // namespace

static LogicalResult attention(nn::AttentionOp op, Evaluation &e) {
  Scores scores{*e.in[0], *e.in[1], op.getMask() ? e.in[3] : nullptr,
                op.getCausal(), op.getScale().convertToDouble()};
  const Array &v = *e.in[2];
  Array &out = e.out[0], &lse = e.out[1];
  forEachIndex(lse.shape, [&](ArrayRef<int64_t> index) {
    int64_t b = index[0], h = index[1], t = index[2];
    auto [probabilities, total] = scores.softmax(b, h, t);
    lse.reals[lse.offset(index)] = total;
    for (int64_t s = 0; s < scores.keys(); ++s)
      for (int64_t d = 0; d < scores.features(); ++d)
        out.reals[scores.query(b, t, h) + d] +=
            probabilities[s] * v.reals[scores.key(b, s, h) + d];
  });
  return success();
}

/// With p, the softmax of the scores: dv = sum p dout;
/// dscore = p (dout . v - dout . out); dq = scale sum dscore k; dk = scale sum
/// dscore q.
static LogicalResult attentionGrad(nn::AttentionGradOp op, Evaluation &e) {
  const Array &dout = *e.in[0], &q = *e.in[1], &k = *e.in[2], &v = *e.in[3],
              &out = *e.in[4], &lse = *e.in[5];
  Scores scores{q, k, op.getMask() ? e.in[6] : nullptr, op.getCausal(),
                op.getScale().convertToDouble()};
  Array &dq = e.out[0], &dk = e.out[1], &dv = e.out[2];
  forEachIndex(lse.shape, [&](ArrayRef<int64_t> index) {
    int64_t b = index[0], h = index[1], t = index[2];
    int64_t query = scores.query(b, t, h);
    // From the scores: where they are large, `lse` has lost the logarithm.
    SmallVector<double> probabilities = scores.softmax(b, h, t).first;
    double correction = 0.0;
    for (int64_t d = 0; d < scores.features(); ++d)
      correction += dout.reals[query + d] * out.reals[query + d];
    for (int64_t s = 0; s < scores.keys(); ++s) {
      int64_t key = scores.key(b, s, h);
      double probability = probabilities[s];
      double dprobability = 0.0;
      for (int64_t d = 0; d < scores.features(); ++d) {
        dv.reals[key + d] += probability * dout.reals[query + d];
        dprobability += dout.reals[query + d] * v.reals[key + d];
      }
      double dscore = scores.scale * probability * (dprobability - correction);
      for (int64_t d = 0; d < scores.features(); ++d) {
        dq.reals[query + d] += dscore * k.reals[key + d];
        dk.reals[key + d] += dscore * q.reals[query + d];
      }
    }
  });
  return success();
}

/// Pair i at position t is rotated by t * theta^(-2 i / D).
static LogicalResult rotary(nn::RotaryOp op, Evaluation &e) {
  const Array &x = *e.in[0];
  int64_t features = x.shape[3];
  double theta = op.getTheta().convertToDouble();
  std::optional<ArrayRef<int64_t>> heads = op.getHeads();
  e.out[0].reals = x.reals;
  forEachIndex(ArrayRef(x.shape).drop_back(), [&](ArrayRef<int64_t> index) {
    if (heads && (index[2] < (*heads)[0] || index[2] >= (*heads)[1]))
      return;
    int64_t row = x.offset({index[0], index[1], index[2], 0});
    for (int64_t i = 0; i < features / 2; ++i) {
      int64_t first = row + (op.getInterleaved() ? 2 * i : i);
      int64_t second = first + (op.getInterleaved() ? 1 : features / 2);
      double angle =
          static_cast<double>(index[1]) * std::pow(theta, -2.0 * i / features);
      double cosine = std::cos(angle);
      double sine = op.getInverse() ? -std::sin(angle) : std::sin(angle);
      e.out[0].reals[first] = x.reals[first] * cosine - x.reals[second] * sine;
      e.out[0].reals[second] = x.reals[first] * sine + x.reals[second] * cosine;
    }
  });
  return success();
}

void rules::addAttention(EvaluationRules &rules) {
  rules.add<nn::AttentionOp>(attention);
  rules.add<nn::AttentionGradOp>(attentionGrad);
  rules.add<nn::RotaryOp>(rotary);
}
