// nn.argsort and nn.cumsum.
#include "kernels/host/Host.h"

#include <algorithm>
#include <cstring>

namespace zrt::host {

namespace {

/// A number that is ordered as `value` is; a NaN comes last.
template <typename T> uint32_t orderOf(T value) {
  const float number = toFloat(value);
  if (number != number)
    return 0xffffffffu;
  uint32_t bits = 0; // -0 is 0
  if (number != 0)
    std::memcpy(&bits, &number, sizeof(bits));
  return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}
template <> uint32_t orderOf(int32_t value) {
  return static_cast<uint32_t>(value) ^ 0x80000000u;
}

/// Sorts pairs of an element's order and its position, no two of which are
/// equal: equal elements keep theirs.
template <typename T> class Argsort final : public Kernel {
public:
  Argsort(const KernelSpec &spec, const KernelContext &context)
      : pool(*context.pool), width(spec.operands[0].shape.back()),
        kept(spec.results[0].shape.back()),
        rows(product(spec.operands[0], 0, spec.operands[0].shape.size() - 1)),
        flip(spec.integer("descending") ? 0xffffffffu : 0) {}

  size_t workspaceBytes() const override {
    return pool.threads() * padded(width * sizeof(uint64_t));
  }

  void run(void *const *buffers, void *workspace) override {
    const T *x = at<T>(buffers, 0);
    int32_t *order = at<int32_t>(buffers, 1);
    pool.parallelForWorkers(rows, rowGrain(16 * width),
                            [&](int64_t begin, int64_t end, int worker) {
                              auto *pairs = reinterpret_cast<uint64_t *>(
                                  static_cast<char *>(workspace) +
                                  worker * padded(width * sizeof(uint64_t)));
                              for (int64_t row = begin; row < end; ++row)
                                sort(x + row * width, pairs,
                                     order + row * kept);
                            });
  }

private:
  void sort(const T *x, uint64_t *pairs, int32_t *order) const {
    for (int64_t i = 0; i < width; ++i)
      pairs[i] = uint64_t(orderOf(x[i]) ^ flip) << 32 | uint64_t(i);
    if (kept == width)
      std::sort(pairs, pairs + width);
    else
      std::partial_sort(pairs, pairs + kept, pairs + width);
    for (int64_t i = 0; i < kept; ++i)
      order[i] = static_cast<int32_t>(pairs[i] & 0xffffffffu);
  }

  ThreadPool &pool;
  int64_t width, kept, rows;
  uint32_t flip;
};

/// What running sums are kept in.
template <typename T> struct Running {
  float sum = 0;
  T add(T value) { return fromFloat<T>(sum += toFloat(value)); }
};
/// Overflow wraps around.
template <> struct Running<int32_t> {
  uint32_t sum = 0;
  int32_t add(int32_t value) {
    return static_cast<int32_t>(sum += static_cast<uint32_t>(value));
  }
};

template <typename T> class Cumsum final : public Kernel {
public:
  Cumsum(const KernelSpec &spec, const KernelContext &context)
      : pool(*context.pool), reverse(spec.integer("reverse") != 0) {
    const TensorType &x = spec.operands[0];
    const auto dim = static_cast<size_t>(spec.integer("dim"));
    outer = product(x, 0, dim);
    size = x.shape[dim];
    inner = product(x, dim + 1, x.shape.size());
  }

  void run(void *const *buffers, void *) override {
    const T *x = at<T>(buffers, 0);
    T *y = at<T>(buffers, 1);
    const int64_t chunks = (inner + kChunk - 1) / kChunk;
    pool.parallelFor(outer * chunks, rowGrain(size * std::min(inner, kChunk)),
                     [&](int64_t begin, int64_t end) {
                       for (int64_t i = begin; i < end; ++i) {
                         const int64_t first = i % chunks * kChunk;
                         const int64_t at = i / chunks * size * inner + first;
                         columns(x + at, std::min(kChunk, inner - first),
                                 y + at);
                       }
                     });
  }

private:
  static constexpr int64_t kChunk = 256; // columns

  void columns(const T *x, int64_t count, T *y) const {
    Running<T> running[kChunk];
    for (int64_t k = 0; k < size; ++k) {
      const int64_t row = (reverse ? size - 1 - k : k) * inner;
      for (int64_t i = 0; i < count; ++i)
        y[row + i] = running[i].add(x[row + i]);
    }
  }

  ThreadPool &pool;
  bool reverse;
  int64_t outer, size, inner;
};

/// Makes a K of floats, or of i32.
template <template <typename> class K>
std::unique_ptr<Kernel> makeOfNumbers(const KernelSpec &spec,
                                      const KernelContext &context) {
  if (spec.operands[0].type == DataType::I32)
    return std::make_unique<K<int32_t>>(spec, context);
  return makeByOperand<K>(spec, context);
}

} // namespace

void registerOrdering(Registry &registry) {
  registry.add("nn.argsort", makeOfNumbers<Argsort>);
  registry.add("nn.cumsum", makeOfNumbers<Cumsum>);
}

} // namespace zrt::host
