// nn.attention and nn.partial_attention.
#include "kernels/host/AttentionParts.h"
#include "kernels/host/SoftmaxRow.h"

#include <cmath>
#include <limits>

namespace zrt::host {

namespace {

template <typename T, Word word> class Attention final : public Kernel {
public:
  Attention(const KernelSpec &spec, const KernelContext &context)
      : pool(*context.pool), shape(spec, 0, 3), dropout(shape, context),
        q(RowStrides::of(spec.operands[0])),
        k(RowStrides::of(spec.operands[1])),
        v(RowStrides::of(spec.operands[2])),
        out(RowStrides::of(spec.results[0])) {}

  size_t workspaceBytes() const override {
    return pool.threads() * workerBytes();
  }

  void run(void *const *buffers, void *workspace) override {
    Tensors tensors{at<T>(buffers, 0),
                    at<T>(buffers, 1),
                    at<T>(buffers, 2),
                    shape.masked ? at<float>(buffers, shape.mask) : nullptr,
                    at<T>(buffers, shape.results),
                    at<float>(buffers, shape.results + 1),
                    dropout.begin(shape, buffers)};
    pool.parallelForWorkers(
        shape.batch * shape.heads, 1,
        [&](int64_t begin, int64_t end, int worker) {
          Pieces pieces(shape, static_cast<char *>(workspace) +
                                   worker * workerBytes());
          for (int64_t i = begin; i < end; ++i)
            head(tensors, i / shape.heads, i % shape.heads, pieces);
        });
  }

private:
  struct Tensors {
    const T *q, *k, *v;
    const float *mask;
    T *out;
    float *lse;
    bool drops;
  };

  /// A worker's scratch memory.
  struct Pieces {
    Scratch scratch;
    float *keys;    ///< panels
    float *values;  ///< [steps of S, width]
    float *queries; ///< [block, wordWidth], scaled where words are floats
    float *scores;  ///< [block, scoreStride]
    float *sums;    ///< [kTileRows, width]
    Pieces(const AttentionBlocks &s, void *memory)
        : scratch(memory),
          keys(scratch.take(s.wordWidth<word>() * s.keyWidth())),
          values(scratch.take(stepsOf<word>(s.keys) * s.width())),
          queries(scratch.take(s.blockQueries() * s.wordWidth<word>())),
          scores(scratch.take(s.blockQueries() * s.scoreStride())),
          sums(scratch.take(kTileRows * s.width())) {}
  };

  size_t workerBytes() const { return Pieces(shape, nullptr).scratch.bytes(); }

  void head(const Tensors &x, int64_t b, int64_t h, Pieces &p) const {
    const int64_t g = h / (shape.heads / shape.groups);
    copyOperandPanels<word>(shape, x.k + k.at(b, 0, g), k.token, p.keys);
    copyDepthRows<word>(shape, x.v + v.at(b, 0, g), shape.keys, v.token,
                        p.values);
    for (int64_t t = 0; t < shape.queries; t += shape.blockQueries())
      block(x, b, h, t, std::min(shape.blockQueries(), shape.queries - t), p);
  }

  void block(const Tensors &x, int64_t b, int64_t h, int64_t first,
             int64_t count, Pieces &p) const {
    copyOperandRows<word>(shape, x.q + q.at(b, first, h), count, q.token,
                          shape.scale, p.queries);
    multiplyPanels<word>(shape, first, count, p.queries, p.keys, p.scores);
    float *lse = x.lse + (b * shape.heads + h) * shape.queries;
    for (int64_t i = 0; i < count; i += kTileRows) {
      const int64_t rows = std::min(kTileRows, count - i);
      float scales[kTileRows];
      for (int64_t r = 0; r < rows; ++r)
        scales[r] = softmax(x, b, h, first + i + r,
                            p.scores + (i + r) * shape.scoreStride(),
                            lse[first + i + r]);
      multiplyRows<word>(
          rows, shape.width(),
          stepsOf<word>(shape.visible(first + i + rows - 1)),
          {p.scores + i * shape.scoreStride(), shape.scoreStride(), 1},
          p.values, shape.width(), p.sums, shape.width(), false);
      for (int64_t r = 0; r < rows; ++r)
        writeRow(p.sums + r * shape.width(), scales[r],
                 x.out + out.at(b, first + i + r, h));
    }
  }

  /// Turns scores into e^(score - largest), zero past the visible keys, as
  /// words of a left operand; returns the reciprocal of their sum. A query that
  /// sees no key, all of whose scores are -infinity, has 0, and 0 for `lse`.
  float softmax(const Tensors &x, int64_t b, int64_t h, int64_t t,
                float *scores, float &lse) const {
    const int64_t visible = shape.visible(t);
    if (word == Word::Pair && shape.scale != 1)
      scaleRow(scores, visible, shape.scale);
    if (x.mask)
      addMask(shape, x.mask, b, h, t, scores);
    const float most = maximumOfRow(scores, visible);
    const float largest =
        most == -std::numeric_limits<float>::infinity() ? 0.0f : most;
    Vector sum = splat(0);
    forEachVector(visible, [&](Lanes at) {
      Vector e = at.fill(exponential(at.load(scores) - largest), 0);
      sum += e;
      store(scores + at.at, e);
    });
    store(scores + wholeLanes(visible), splat(0));
    if (x.drops)
      drop(b, h, t, scores);
    if constexpr (word == Word::Pair)
      packRow(scores, wholeLanes(visible) + kLanes, scores);
    const float total = sumOf(sum);
    lse = total == 0 ? 0.0f : largest + std::log(total);
    return total == 0 ? 0.0f : 1.0f / total;
  }

  void drop(int64_t b, int64_t h, int64_t t, float *weights) const {
    dropout.forEach(
        shape, b, h, t, [&](int64_t i, int64_t count, const float *factors) {
          forEachVector(count, [&](Lanes at) {
            at.store(weights + i,
                     dropped(at.load(weights + i), load(factors + at.at)));
          });
        });
  }

  void writeRow(const float *sums, float factor, T *out) const {
    forEachVector(shape.features,
                  [&](Lanes at) { at.store(out, at.load(sums) * factor); });
  }

  ThreadPool &pool;
  AttentionBlocks shape;
  WeightDropout dropout;
  RowStrides q, k, v, out;
};

} // namespace

void registerAttention(Registry &registry) {
  registry.add("nn.attention", makeForWords<Attention>);
  registry.add("nn.partial_attention", makeForWords<Attention>);
}

} // namespace zrt::host
