//===- Attention.cpp - attention, of all heads or some, and nn.rotary -----===//

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
  /// Of the weights; nothing where all are kept.
  std::optional<double> dropout = std::nullopt;
  uint64_t id = 0;
  /// The key head of the whole sample that the first one here is.
  int64_t firstGroup = 0;

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

  /// What becomes of a weight: its place is that in a tensor [B, H, T, S].
  double factorAt(const Evaluation &e, int64_t b, int64_t h, int64_t t,
                  int64_t s) const {
    if (!dropout)
      return 1.0;
    int64_t head = firstGroup * (heads() / k.shape[2]) + h;
    return rules::dropoutFactor(e, b, (head * queries() + t) * keys() + s,
                                *dropout, id);
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

/// Of either operation, whose operands q, k and v are from `first` on, and what
/// may be absent, or of a part of the heads, from `rest` on.
template <typename OpT>
static Scores scoresOf(OpT op, Evaluation &e, size_t first, size_t rest) {
  constexpr bool isPartial = std::is_same_v<OpT, nn::PartialAttentionOp> ||
                             std::is_same_v<OpT, nn::PartialAttentionGradOp>;
  Scores scores{*e.in[first], *e.in[first + 1],
                op.getMask() ? e.in[rest + isPartial] : nullptr, op.getCausal(),
                op.getScale().convertToDouble()};
  if constexpr (isPartial) {
    scores.firstGroup = e.in[rest]->integers[0];
    scores.dropout = op.getDropout().convertToDouble();
    scores.id = op.getId();
  } else if (op.getDropout()) {
    scores.dropout = op.getDropout()->convertToDouble();
    scores.id = *op.getId();
  }
  return scores;
}

template <typename OpT> static LogicalResult attention(OpT op, Evaluation &e) {
  Scores scores = scoresOf(op, e, /*first=*/0, /*rest=*/3);
  const Array &v = *e.in[2];
  Array &out = e.out[0], &lse = e.out[1];
  forEachIndex(lse.shape, [&](ArrayRef<int64_t> index) {
    int64_t b = index[0], h = index[1], t = index[2];
    auto [probabilities, total] = scores.softmax(b, h, t);
    lse.reals[lse.offset(index)] = total;
    for (int64_t s = 0; s < scores.keys(); ++s) {
      double weight = probabilities[s] * scores.factorAt(e, b, h, t, s);
      for (int64_t d = 0; d < scores.features(); ++d)
        out.reals[scores.query(b, t, h) + d] +=
            weight * v.reals[scores.key(b, s, h) + d];
    }
  });
  return success();
}

/// With p, the softmax of the scores, and f, what becomes of it: dv = sum f p
/// dout; dscore = p (f dout . v - dout . out); dq = scale sum dscore k; dk =
/// scale sum dscore q.
template <typename OpT>
static LogicalResult attentionGrad(OpT op, Evaluation &e) {
  const Array &dout = *e.in[0], &q = *e.in[1], &k = *e.in[2], &v = *e.in[3],
              &out = *e.in[4], &lse = *e.in[5];
  Scores scores = scoresOf(op, e, /*first=*/1, /*rest=*/6);
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
      double factor = scores.factorAt(e, b, h, t, s);
      double dprobability = 0.0;
      for (int64_t d = 0; d < scores.features(); ++d) {
        dv.reals[key + d] += factor * probability * dout.reals[query + d];
        dprobability += dout.reals[query + d] * v.reals[key + d];
      }
      double dscore =
          scores.scale * probability * (factor * dprobability - correction);
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
  rules.add<nn::AttentionOp>(attention<nn::AttentionOp>);
  rules.add<nn::PartialAttentionOp>(attention<nn::PartialAttentionOp>);
  rules.add<nn::AttentionGradOp>(attentionGrad<nn::AttentionGradOp>);
  rules.add<nn::PartialAttentionGradOp>(
      attentionGrad<nn::PartialAttentionGradOp>);
  rules.add<nn::RotaryOp>(rotary);
}
