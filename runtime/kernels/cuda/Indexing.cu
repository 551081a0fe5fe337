// nn.gather, nn.scatter_add and nn.scatter on a device. A scatter sorts what
// goes to each element first, so that a thread joins it in order.
#include "kernels/Registry.h"
#include "kernels/cuda/Context.h"
#include "kernels/cuda/Device.cuh"
#include "kernels/cuda/Indices.cuh"
#include "kernels/shapes/IndexShape.h"

#include <limits>

namespace zrt::cuda {

namespace {

constexpr int kThreads = 256;

/// What kernels know of an IndexShape.
struct Shape {
  int64_t size, count, inner, idInner, firstRow;
  int64_t ids;    ///< number of positions
  int64_t wholes; ///< elements of the whole
  int64_t parts;  ///< elements of the part
  bool isBlock;

  explicit Shape(const IndexShape &s)
      : size(s.size), count(s.count), inner(s.inner), idInner(s.idInner),
        firstRow(s.firstRow), ids(s.ids()), wholes(s.outer * s.size * s.inner),
        parts(s.outer * s.count * s.inner), isBlock(s.isBlock) {}
};

template <typename Word>
__global__ void gatherKernel(Shape s, const Word *x, const int32_t *ids,
                             Word *y, Control *control) {
  for (int64_t t = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; t < s.parts;
       t += int64_t(gridDim.x) * blockDim.x) {
    const int64_t row = t / s.inner, i = t % s.inner;
    const int64_t id = ids[s.idInner == 1 ? row : t];
    const bool known = id >= 0 && id < s.size;
    if (!known)
      atomicExch(&control->outOfRange, 1); // other blocks may do so too
    const int64_t from = (row / s.count * s.size + id) * s.inner + i;
    y[t] = known ? x[from] : Word();
  }
}

/// The element or row of the whole that each position means; -1: none.
__global__ void keyKernel(Shape s, const int32_t *ids, int32_t *keys,
                          Control *control) {
  for (int64_t t = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; t < s.ids;
       t += int64_t(gridDim.x) * blockDim.x) {
    const int64_t row = t / s.idInner, i = t % s.idInner;
    const int64_t id = ids[t] - s.firstRow;
    const bool here = id >= 0 && id < s.size;
    if (!here && !s.isBlock)
      atomicExch(&control->outOfRange, 1); // other blocks may do so too
    const int64_t key = (row / s.count * s.size + id) * s.idInner + i;
    keys[t] = here ? int32_t(key) : -1;
  }
}

/// How an element of the result comes of those that go there, in order.
template <typename T> struct Add {
  float sum;
  __device__ explicit Add(const T *start)
      : sum(start ? toFloat(*start) : 0.0f) {}
  __device__ void join(T value) { sum += toFloat(value); }
  __device__ T result() const { return fromFloat<T>(sum); }
};
template <typename T> struct Maximum {
  T best;
  __device__ explicit Maximum(const T *start) : best(*start) {}
  __device__ void join(T value) {
    const float a = toFloat(value);
    if (a > toFloat(best) || a != a)
      best = value;
  }
  __device__ T result() const { return best; }
};
template <typename Word> struct Set {
  Word last;
  __device__ explicit Set(const Word *start) : last(*start) {}
  __device__ void join(Word value) { last = value; }
  __device__ Word result() const { return last; }
};

template <typename T, template <typename> class Join>
__global__ void scatterKernel(Shape s, const T *x, const int32_t *keys,
                              const int32_t *order, const T *start, T *y) {
  for (int64_t t = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; t < s.wholes;
       t += int64_t(gridDim.x) * blockDim.x) {
    const int64_t key = s.idInner == 1 ? t / s.inner : t, i = t % s.inner;
    Join<T> joined(start ? start + t : nullptr);
    for (int64_t j = lowerBound(keys, s.ids, key); j < s.ids && keys[j] == key;
         ++j)
      joined.join(x[order[j] / s.idInner * s.inner + i]);
    y[t] = joined.result();
  }
}

/// Calls `body` with a word as large as an element.
template <typename Body> void withWord(DataType type, Body body) {
  switch (sizeOf(type)) {
  case 1:
    return body(uint8_t());
  case 2:
    return body(uint16_t());
  case 4:
    return body(uint32_t());
  default:
    return body(uint64_t());
  }
}

class Gather final : public Kernel {
public:
  Gather(const KernelSpec &spec, const KernelContext &context)
      : context(context), type(spec.operands[0].type),
        shape(IndexShape(spec, spec.operands[0], spec.results[0],
                         spec.operands[1])) {}

  void run(void *const *b, void *) override {
    if (!shape.parts)
      return;
    withWord(type, [&](auto word) {
      using Word = decltype(word);
      const unsigned blocks = blocksFor(shape.parts, kThreads);
      gatherKernel<Word><<<blocks, kThreads, 0, context.cuda->stream>>>(
          shape, static_cast<const Word *>(b[0]),
          static_cast<const int32_t *>(b[1]), static_cast<Word *>(b[2]),
          context.control);
    });
    checkLaunch("gather");
  }

private:
  KernelContext context;
  DataType type;
  Shape shape;
};

/// Both scatters. Of nn.scatter_add the tensor to start from may be absent.
class Scatter final : public Kernel {
public:
  Scatter(const KernelSpec &spec, const KernelContext &context)
      : context(context), type(spec.operands[0].type),
        shape(IndexShape(spec, spec.results[0], spec.operands[0],
                         spec.operands[1])),
        hasStart(spec.operands.size() == 3),
        kind(spec.name == "nn.scatter_add"                  ? kAdd
             : spec.kind<ScatterKind>() == ScatterKind::Set ? kSet
                                                            : kMaximum) {
    constexpr int64_t most = std::numeric_limits<int32_t>::max();
    if (shape.wholes > most || shape.ids > most)
      refuse(spec, "the result or its ids have more than 2^31 - 1 elements");
  }

  size_t workspaceBytes() const override {
    return keyBytes() + stableOrderWorkspace(shape.ids);
  }

  void run(void *const *b, void *workspace) override {
    if (!shape.wholes)
      return;
    const cudaStream_t stream = context.cuda->stream;
    auto *keys = static_cast<int32_t *>(workspace);
    if (shape.ids)
      keyKernel<<<blocksFor(shape.ids, kThreads), kThreads, 0, stream>>>(
          shape, static_cast<const int32_t *>(b[1]), keys, context.control);
    const StableOrder sorted = stableOrder(
        keys, shape.ids, static_cast<char *>(workspace) + keyBytes(), stream);
    if (kind == kSet)
      withWord(type, [&](auto word) {
        using Word = decltype(word);
        join<Word, Set>(b, sorted);
      });
    else
      withType(type, [&](auto element) {
        using T = decltype(element);
        kind == kAdd ? join<T, Add>(b, sorted) : join<T, Maximum>(b, sorted);
      });
    checkLaunch("scatter");
  }

private:
  enum Kind { kAdd, kSet, kMaximum };

  size_t keyBytes() const {
    return (shape.ids * sizeof(int32_t) + 255) / 256 * 256;
  }

  template <typename T, template <typename> class Join>
  void join(void *const *b, const StableOrder &sorted) {
    const unsigned blocks = blocksFor(shape.wholes, kThreads);
    scatterKernel<T, Join><<<blocks, kThreads, 0, context.cuda->stream>>>(
        shape, static_cast<const T *>(b[0]), sorted.keys, sorted.order,
        static_cast<const T *>(hasStart ? b[2] : nullptr),
        static_cast<T *>(b[hasStart ? 3 : 2]));
  }

  KernelContext context;
  DataType type;
  Shape shape;
  bool hasStart;
  Kind kind;
};

} // namespace

void registerIndexing(Registry &registry) {
  registry.add("nn.gather", makeKernel<Gather>);
  registry.add("nn.scatter_add", makeKernel<Scatter>);
  registry.add("nn.scatter", makeKernel<Scatter>);
}

} // namespace zrt::cuda
