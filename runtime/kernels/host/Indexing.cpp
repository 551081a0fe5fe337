// nn.gather, nn.scatter_add and nn.scatter. Threads share rows and columns of
// the result, never an element of it: what several elements add up to follows
// from their order alone.
#include "kernels/Vector.h"
#include "kernels/host/Host.h"
#include "kernels/shapes/IndexShape.h"

#include <algorithm>
#include <stdexcept>

namespace zrt::host {

namespace {

/// Throws std::out_of_range where an id is no position in [0, size).
void checkIds(const char *kernel, const int32_t *ids, int64_t count,
              int64_t size) {
  for (int64_t i = 0; i < count; ++i)
    if (ids[i] < 0 || ids[i] >= size)
      throw std::out_of_range(std::string(kernel) + ": position " +
                              std::to_string(ids[i]) + ", number " +
                              std::to_string(i) +
                              " of the ids, is outside the dimension's 0 .. " +
                              std::to_string(size - 1) + "; check the data");
}

/// Elements of whatever type, by their bytes.
template <typename Word> class Gather final : public Kernel {
public:
  Gather(const KernelSpec &spec, const KernelContext &context)
      : pool(*context.pool),
        shape(spec, spec.operands[0], spec.results[0], spec.operands[1]) {}

  void run(void *const *buffers, void *) override {
    const Word *x = at<Word>(buffers, 0);
    const int32_t *ids = at<int32_t>(buffers, 1);
    Word *y = at<Word>(buffers, 2);
    checkIds("nn.gather", ids, shape.ids(), shape.size);
    const int64_t inner = shape.inner;
    pool.parallelFor(shape.outer * shape.count, rowGrain(inner),
                     [&](int64_t begin, int64_t end) {
                       for (int64_t row = begin; row < end; ++row)
                         take(x + row / shape.count * shape.size * inner,
                              ids + row * shape.idInner, y + row * inner);
                     });
  }

private:
  void take(const Word *from, const int32_t *ids, Word *to) const {
    const int64_t inner = shape.inner;
    if (shape.byRows())
      std::copy_n(from + ids[0] * inner, inner, to);
    else
      for (int64_t i = 0; i < inner; ++i)
        to[i] = from[ids[i] * inner + i];
  }

  ThreadPool &pool;
  IndexShape shape;
};

/// Calls `body(outer, first column, columns)` for parts of a scatter's result
/// that no two threads share.
template <typename Body>
void forEachPart(ThreadPool &pool, const IndexShape &shape, Body body) {
  constexpr int64_t width = 256;
  const int64_t parts = (shape.inner + width - 1) / width;
  pool.parallelFor(shape.outer * parts, rowGrain(shape.count * width),
                   [&](int64_t begin, int64_t end) {
                     for (int64_t i = begin; i < end; ++i) {
                       const int64_t first = i % parts * width;
                       body(i / parts, first,
                            std::min(width, shape.inner - first));
                     }
                   });
}

template <typename T> class ScatterAdd final : public Kernel {
public:
  ScatterAdd(const KernelSpec &spec, const KernelContext &context)
      : pool(*context.pool),
        shape(spec, spec.results[0], spec.operands[0], spec.operands[1]),
        elements(spec.results[0].elements()),
        hasInit(spec.integer("init") != 0) {}

  /// Sums of 16-bit elements, in f32.
  size_t workspaceBytes() const override {
    return sizeof(T) == sizeof(float) ? 0 : elements * sizeof(float);
  }

  void run(void *const *buffers, void *workspace) override {
    const int32_t *ids = at<int32_t>(buffers, 1);
    if (!shape.isBlock)
      checkIds("nn.scatter_add", ids, shape.ids(), shape.size);
    const T *init = hasInit ? at<T>(buffers, 2) : nullptr;
    T *y = at<T>(buffers, hasInit ? 3 : 2);
    auto *sums = static_cast<float *>(
        sizeof(T) == sizeof(float) ? static_cast<void *>(y) : workspace);
    forEachPart(pool, shape, [&](int64_t o, int64_t first, int64_t columns) {
      const int64_t whole = o * shape.size * shape.inner + first;
      start(init ? init + whole : nullptr, columns, sums + whole);
      add(at<T>(buffers, 0) + o * shape.count * shape.inner + first,
          ids + o * shape.count * shape.idInner + (shape.byRows() ? 0 : first),
          columns, sums + whole);
      finish(sums + whole, columns, y + whole);
    });
  }

private:
  void start(const T *init, int64_t columns, float *sums) const {
    for (int64_t row = 0; row < shape.size; ++row)
      forEachVector(columns, [&](Lanes at) {
        at.store(sums + row * shape.inner,
                 init ? at.load(init + row * shape.inner) : splat(0));
      });
  }

  void add(const T *x, const int32_t *ids, int64_t columns, float *sums) const {
    for (int64_t k = 0; k < shape.count; ++k) {
      const T *from = x + k * shape.inner;
      const int32_t *mine = ids + k * shape.idInner;
      if (shape.byRows())
        addRow(from, mine[0] - shape.firstRow, columns, sums);
      else
        for (int64_t i = 0; i < columns; ++i)
          if (const int64_t row = mine[i] - shape.firstRow; isHere(row))
            sums[row * shape.inner + i] += toFloat(from[i]);
    }
  }

  void addRow(const T *from, int64_t row, int64_t columns, float *sums) const {
    if (!isHere(row))
      return;
    float *to = sums + row * shape.inner;
    forEachVector(columns,
                  [&](Lanes at) { at.store(to, at.load(to) + at.load(from)); });
  }

  void finish(const float *sums, int64_t columns, T *y) const {
    if (sizeof(T) == sizeof(float))
      return;
    for (int64_t row = 0; row < shape.size; ++row)
      forEachVector(columns, [&](Lanes at) {
        at.store(y + row * shape.inner, at.load(sums + row * shape.inner));
      });
  }

  bool isHere(int64_t row) const { return row >= 0 && row < shape.size; }

  ThreadPool &pool;
  IndexShape shape;
  int64_t elements;
  bool hasInit;
};

/// `Join::replaces(x, y)`: whether x takes the place of y.
template <typename T> struct Last {
  static bool replaces(T, T) { return true; }
};
template <typename T> struct Largest {
  static bool replaces(T x, T y) {
    const float a = toFloat(x), b = toFloat(y);
    return a > b || a != a;
  }
};

template <typename T, template <typename> class Join>
class Scatter final : public Kernel {
public:
  Scatter(const KernelSpec &spec, const KernelContext &context)
      : pool(*context.pool),
        shape(spec, spec.results[0], spec.operands[0], spec.operands[1]),
        bytes(spec.results[0].bytes()) {}

  void run(void *const *buffers, void *) override {
    const T *x = at<T>(buffers, 0);
    const int32_t *ids = at<int32_t>(buffers, 1);
    T *y = at<T>(buffers, 3);
    checkIds("nn.scatter", ids, shape.ids(), shape.size);
    if (buffers[2] != buffers[3])
      std::memcpy(buffers[3], buffers[2], bytes);
    forEachPart(pool, shape, [&](int64_t o, int64_t first, int64_t columns) {
      T *whole = y + o * shape.size * shape.inner;
      for (int64_t k = 0; k < shape.count; ++k) {
        const int64_t row = o * shape.count + k;
        const int32_t *mine = ids + row * shape.idInner;
        for (int64_t i = first; i < first + columns; ++i) {
          const int64_t position = mine[shape.byRows() ? 0 : i];
          T &to = whole[position * shape.inner + i];
          if (const T from = x[row * shape.inner + i];
              Join<T>::replaces(from, to))
            to = from;
        }
      }
    });
  }

private:
  ThreadPool &pool;
  IndexShape shape;
  int64_t bytes;
};

template <typename T> using LargestOf = Scatter<T, Largest>;
template <typename Word> using LastOf = Scatter<Word, Last>;

/// Makes a K of a word as large as an element of operand 0.
template <template <typename> class K>
std::unique_ptr<Kernel> makeByBytes(const KernelSpec &spec,
                                    const KernelContext &context) {
  switch (sizeOf(spec.operands[0].type)) {
  case 1:
    return std::make_unique<K<uint8_t>>(spec, context);
  case 2:
    return std::make_unique<K<uint16_t>>(spec, context);
  case 4:
    return std::make_unique<K<uint32_t>>(spec, context);
  default:
    return std::make_unique<K<uint64_t>>(spec, context);
  }
}

std::unique_ptr<Kernel> makeScatter(const KernelSpec &spec,
                                    const KernelContext &context) {
  switch (spec.kind<ScatterKind>()) {
  case ScatterKind::Set:
    return makeByBytes<LastOf>(spec, context);
  case ScatterKind::Max:
    return makeByOperand<LargestOf>(spec, context);
  }
  return nullptr;
}

} // namespace

void registerIndexing(Registry &registry) {
  registry.add("nn.gather", makeByBytes<Gather>);
  registry.add("nn.scatter_add", makeByOperand<ScatterAdd>);
  registry.add("nn.scatter", makeScatter);
}

} // namespace zrt::host
