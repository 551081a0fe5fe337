// nn.dropout and nn.partial_dropout.
#include "kernels/host/DropoutDraws.h"

namespace zrt::host {

namespace {

template <typename T> class Dropout final : public Kernel {
public:
  Dropout(const KernelSpec &spec, const KernelContext &context)
      : pool(*context.pool),
        draws(DropoutRule(spec, "p"), context, spec.operands[0].shape[0]) {
    const TensorType &x = spec.operands[0];
    samples = x.shape[0];
    length = product(x, 1, x.shape.size());
    if (spec.operands.size() > 1) {
      const int64_t dim = spec.integer("dim");
      inner = product(x, dim + 1, x.shape.size());
      length = x.shape[dim] * inner;
      runs = product(x, 1, dim);
      stride = spec.integer("size") * inner;
    }
  }

  void run(void *const *buffers, void *) override {
    const T *x = at<T>(buffers, 0);
    T *y = at<T>(buffers, inner ? 2 : 1);
    const int64_t begins = inner ? *at<int32_t>(buffers, 1) * inner : 0;
    const int64_t blocks = (length + kBlock - 1) / kBlock;
    const bool identity = draws.areOff();
    pool.parallelFor(samples * runs * blocks, 4,
                     [&](int64_t begin, int64_t end) {
                       for (int64_t b = begin; b < end; ++b) {
                         int64_t row = b / blocks, from = b % blocks * kBlock;
                         int64_t count = std::min(kBlock, length - from);
                         int64_t offset = row * length + from;
                         if (identity)
                           std::memmove(static_cast<void *>(y + offset),
                                        x + offset, count * sizeof(T));
                         else
                           drop(row / runs, row % runs * stride + begins + from,
                                count, x + offset, y + offset);
                       }
                     });
  }

private:
  static constexpr int64_t kBlock = 1024; // elements; a multiple of 64

  void drop(int64_t sample, int64_t from, int64_t count, const T *x,
            T *y) const {
    draws.forEach(sample, from, count,
                  [&](int64_t i, int64_t some, const float *factors) {
                    forEachVector(some, [&](Lanes at) {
                      at.store(y + i, dropped(at.load(x + i),
                                              host::load(factors + at.at)));
                    });
                  });
  }

  ThreadPool &pool;
  DropoutDraws draws;
  int64_t samples;
  /// Elements that lie side by side in the sample, how many such runs of it
  /// there are, and how far they are apart. `inner` is what an index of the
  /// dimension that is cut has of them; 0 where none is.
  int64_t length, runs = 1, stride = 0, inner = 0;
};

} // namespace

void registerDropout(Registry &registry) {
  registry.add("nn.dropout", makeByOperand<Dropout>);
  registry.add("nn.partial_dropout", makeByOperand<Dropout>);
}

} // namespace zrt::host
