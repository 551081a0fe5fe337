// nn.attention_grad and nn.partial_attention_grad. With p, the softmax of the
// scores, recomputed, and f, what dropout multiplies it by:
// dv = sum f p dout; dscore = p (f dout . v - dout . out);
// dq = scale sum dscore k; dk = scale sum dscore q.
#include "kernels/host/AttentionParts.h"
#include "kernels/host/SoftmaxRow.h"

#include <cstring>

namespace zrt::host {

namespace {

template <typename T, Word word> class AttentionGrad final : public Kernel {
public:
  AttentionGrad(const KernelSpec &spec, const KernelContext &context)
      : pool(*context.pool), shape(spec, 1, 6), dropout(shape, context),
        dout(RowStrides::of(spec.operands[0])),
        q(RowStrides::of(spec.operands[1])),
        k(RowStrides::of(spec.operands[2])),
        v(RowStrides::of(spec.operands[3])),
        out(RowStrides::of(spec.operands[4])),
        dq(RowStrides::of(spec.results[0])),
        dk(RowStrides::of(spec.results[1])),
        dv(RowStrides::of(spec.results[2])) {}

  size_t workspaceBytes() const override {
    return pool.threads() * workerBytes();
  }

  void run(void *const *buffers, void *workspace) override {
    const size_t result = shape.results;
    Tensors tensors{at<T>(buffers, 0),
                    at<T>(buffers, 1),
                    at<T>(buffers, 2),
                    at<T>(buffers, 3),
                    at<T>(buffers, 4),
                    at<float>(buffers, 5),
                    shape.masked ? at<float>(buffers, shape.mask) : nullptr,
                    at<T>(buffers, result),
                    at<T>(buffers, result + 1),
                    at<T>(buffers, result + 2),
                    dropout.begin(shape, buffers)};
    pool.parallelForWorkers(
        shape.batch * shape.groups, 1,
        [&](int64_t begin, int64_t end, int worker) {
          Pieces pieces(shape, static_cast<char *>(workspace) +
                                   worker * workerBytes());
          for (int64_t i = begin; i < end; ++i)
            group(tensors, i / shape.groups, i % shape.groups, pieces);
        });
  }

private:
  struct Tensors {
    const T *dout, *q, *k, *v, *out;
    const float *lse, *mask;
    T *dq, *dk, *dv;
    bool drops;
  };

  /// A worker's scratch memory.
  struct Pieces {
    Scratch scratch;
    float *keyPanels, *valuePanels;
    float *keys;          ///< [steps of S, width]
    float *dkeys;         ///< [S, width]
    float *dvalues;       ///< [S, width]
    float *queries;       ///< [block, wordWidth], scaled where words are floats
    float *douts;         ///< [block, wordWidth]
    float *probabilities; ///< [block, scoreStride]
    float *dscores;       ///< [block, scoreStride]
    float *dqueries;      ///< [kTileRows, width]
    float *factors;       ///< [scoreStride], of one query's weights
    // Operands that pairs have beside those: the same rows, in other pairs.
    float *queryPairs = nullptr;  ///< [steps of block, width]
    float *doutPairs = nullptr;   ///< [steps of block, width]
    float *dscorePairs = nullptr; ///< [block, half of scoreStride]
    Pieces(const AttentionBlocks &s, void *memory)
        : scratch(memory),
          keyPanels(scratch.take(s.wordWidth<word>() * s.keyWidth())),
          valuePanels(scratch.take(s.wordWidth<word>() * s.keyWidth())),
          keys(scratch.take(stepsOf<word>(s.keys) * s.width())),
          dkeys(scratch.take(s.keys * s.width())),
          dvalues(scratch.take(s.keys * s.width())),
          queries(scratch.take(s.blockQueries() * s.wordWidth<word>())),
          douts(scratch.take(s.blockQueries() * s.wordWidth<word>())),
          probabilities(scratch.take(s.blockQueries() * s.scoreStride())),
          dscores(scratch.take(s.blockQueries() * s.scoreStride())),
          dqueries(scratch.take(kTileRows * s.width())),
          factors(s.dropout ? scratch.take(s.scoreStride()) : nullptr) {
      if constexpr (word == Word::Pair) {
        const int64_t steps = stepsOf<word>(s.blockQueries());
        queryPairs = scratch.take(steps * s.width());
        doutPairs = scratch.take(steps * s.width());
        dscorePairs = scratch.take(s.blockQueries() * s.scoreStride() / 2);
      }
    }
  };

  size_t workerBytes() const { return Pieces(shape, nullptr).scratch.bytes(); }

  /// The query heads that share one key head, in order.
  void group(const Tensors &x, int64_t b, int64_t g, Pieces &p) const {
    const int64_t keys = shape.keys;
    const size_t bytes = keys * shape.width() * sizeof(float);
    copyOperandPanels<word>(shape, x.k + k.at(b, 0, g), k.token, p.keyPanels);
    copyOperandPanels<word>(shape, x.v + v.at(b, 0, g), v.token, p.valuePanels);
    copyDepthRows<word>(shape, x.k + k.at(b, 0, g), keys, k.token, p.keys);
    std::memset(p.dkeys, 0, bytes);
    std::memset(p.dvalues, 0, bytes);
    const int64_t sharing = shape.heads / shape.groups;
    for (int64_t h = g * sharing; h < (g + 1) * sharing; ++h)
      for (int64_t t = 0; t < shape.queries; t += shape.blockQueries())
        block(x, b, h, t, std::min(shape.blockQueries(), shape.queries - t), p);
    // Scaled queries have scaled these already.
    const float scale = word == Word::Pair ? shape.scale : 1;
    for (int64_t s = 0; s < keys; ++s) {
      writeRow(p.dkeys + s * shape.width(), scale, x.dk + dk.at(b, s, g));
      writeRow(p.dvalues + s * shape.width(), 1, x.dv + dv.at(b, s, g));
    }
  }

  void block(const Tensors &x, int64_t b, int64_t h, int64_t first,
             int64_t count, Pieces &p) const {
    const T *qs = x.q + q.at(b, first, h), *ds = x.dout + dout.at(b, first, h);
    copyOperandRows<word>(shape, qs, count, q.token, shape.scale, p.queries);
    copyOperandRows<word>(shape, ds, count, dout.token, 1, p.douts);
    multiplyPanels<word>(shape, first, count, p.queries, p.keyPanels,
                         p.probabilities);
    multiplyPanels<word>(shape, first, count, p.douts, p.valuePanels,
                         p.dscores);
    for (int64_t i = 0; i < count; ++i)
      scoreRow(x, b, h, first + i, p.probabilities + i * shape.scoreStride(),
               p.dscores + i * shape.scoreStride(), p.factors);
    const float *queries = p.queries, *douts = p.douts, *dscores = p.dscores;
    if constexpr (word == Word::Pair) {
      copyDepthRows<word>(shape, qs, count, q.token, p.queryPairs);
      copyDepthRows<word>(shape, ds, count, dout.token, p.doutPairs);
      pairScores(first, count, p);
      queries = p.queryPairs;
      douts = p.doutPairs;
      dscores = p.dscorePairs;
    }
    for (int64_t i = 0; i < count; i += kTileRows)
      queryRows(x, b, h, first, i, std::min(kTileRows, count - i), dscores, p);
    addKeys(first, count, p.dscores, queries, p.dkeys);
    addKeys(first, count, p.probabilities, douts, p.dvalues);
  }

  /// Rounds what `scoreRow` gave: gradients of scores to rows of pairs, and
  /// both, in place, to pairs of neighbouring queries in the first one's row.
  void pairScores(int64_t first, int64_t count, Pieces &p) const {
    const int64_t stride = shape.scoreStride();
    for (int64_t i = 0; i < count; ++i)
      packRow(p.dscores + i * stride,
              wholeLanes(shape.visible(first + i)) + kLanes,
              p.dscorePairs + i * (stride / 2));
    for (int64_t i = 0; i < count; i += 2) {
      const bool hasNext = i + 1 < count;
      const int64_t lanes =
          wholeLanes(shape.visible(first + i + hasNext)) + kLanes;
      for (float *rows : {p.probabilities + i * stride, p.dscores + i * stride})
        for (int64_t s = 0; s < lanes; s += kLanes)
          store(rows + s, pairUp(load(rows + s),
                                 hasNext ? load(rows + stride + s) : splat(0)));
    }
  }

  /// Scores become weights, and `dscores`, dout . v until now, theirs; both are
  /// zero past the visible keys. `factors` has room for what dropout draws.
  void scoreRow(const Tensors &x, int64_t b, int64_t h, int64_t t,
                float *scores, float *dscores, float *factors) const {
    const int64_t visible = shape.visible(t);
    const T *result = x.out + out.at(b, t, h), *ds = x.dout + dout.at(b, t, h);
    Vector product = splat(0);
    forEachVector(shape.features, [&](Lanes at) {
      product = fma(at.load(ds), at.load(result), product);
    });
    const float correction = sumOf(product);
    const float lse = x.lse[(b * shape.heads + h) * shape.queries + t];
    if (word == Word::Pair && shape.scale != 1)
      scaleRow(scores, visible, shape.scale);
    if (x.mask)
      addMask(shape, x.mask, b, h, t, scores);
    const RowSoftmax softmax = softmaxOf(scores, visible, lse);
    if (x.drops)
      dropout.forEach(shape, b, h, t,
                      [&](int64_t i, int64_t count, const float *some) {
                        std::memcpy(factors + i, some, count * sizeof(float));
                      });
    forEachVector(visible, [&](Lanes at) {
      Vector p = exponential(at.load(scores) - softmax.shift) * softmax.scale;
      Vector weight = p, dweight = at.load(dscores);
      if (x.drops) {
        const Vector factor = load(factors + at.at);
        weight = dropped(p, factor);
        dweight = dropped(dweight, factor);
      }
      store(scores + at.at, at.fill(weight, 0));
      store(dscores + at.at, at.fill(p * (dweight - correction), 0));
    });
    store(scores + wholeLanes(visible), splat(0));
    store(dscores + wholeLanes(visible), splat(0));
  }

  /// dq of queries [first + i, first + i + rows).
  void queryRows(const Tensors &x, int64_t b, int64_t h, int64_t first,
                 int64_t i, int64_t rows, const float *dscores,
                 Pieces &p) const {
    const int64_t stride = shape.scoreStride() / elementsOf<word>;
    multiplyRows<word>(rows, shape.width(),
                       stepsOf<word>(shape.visible(first + i + rows - 1)),
                       {dscores + i * stride, stride, 1}, p.keys, shape.width(),
                       p.dqueries, shape.width(), false);
    for (int64_t r = 0; r < rows; ++r)
      writeRow(p.dqueries + r * shape.width(), shape.scale,
               x.dq + dq.at(b, first + i + r, h));
  }

  /// sums[s] += the sum over the block's queries i that see key s of
  /// factors[i][s] * rows[i].
  void addKeys(int64_t first, int64_t count, const float *factors,
               const float *rows, float *sums) const {
    const int64_t last = shape.visible(first + count - 1);
    const int64_t width = shape.width();
    const int64_t stride = shape.scoreStride() * elementsOf<word>;
    const int64_t steps = stepsOf<word>(count);
    for (int64_t s = 0; s < last; s += kTileRows) {
      const int64_t skipped =
          shape.causal ? std::max<int64_t>(s - first, 0) / elementsOf<word> : 0;
      multiplyRows<word>(std::min(kTileRows, last - s), width, steps - skipped,
                         {factors + skipped * stride + s, 1, stride},
                         rows + skipped * width, width, sums + s * width, width,
                         true);
    }
  }

  void writeRow(const float *sums, float factor, T *to) const {
    forEachVector(shape.features,
                  [&](Lanes at) { at.store(to, at.load(sums) * factor); });
  }

  ThreadPool &pool;
  AttentionBlocks shape;
  WeightDropout dropout;
  RowStrides dout, q, k, v, out, dq, dk, dv;
};

} // namespace

void registerAttentionGrad(Registry &registry) {
  registry.add("nn.attention_grad", makeForWords<AttentionGrad>);
  registry.add("nn.partial_attention_grad", makeForWords<AttentionGrad>);
}

} // namespace zrt::host
