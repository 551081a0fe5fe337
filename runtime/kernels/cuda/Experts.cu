// nn.dispatch, nn.capacity_dispatch, nn.combine and nn.combine_grad on a
// device: choices are sorted by their experts, which says where each has its
// row.
#include "kernels/Registry.h"
#include "kernels/cuda/Context.h"
#include "kernels/cuda/Device.cuh"
#include "kernels/cuda/Indices.cuh"

#include <limits>

namespace zrt::cuda {

namespace {

constexpr int kThreads = 256;

/// Rows of `width` elements, chosen `choices` times each, of `count` rows; and
/// `places` of what is sorted.
struct Sizes {
  int64_t count, choices, width, places;

  Sizes(const TensorType &rows, const TensorType &ids, const TensorType &sorted)
      : count(rows.shape[0]), choices(ids.shape[1]), width(rows.shape[1]),
        places(sorted.shape[0]) {}
  __host__ __device__ int64_t all() const { return count * choices; }
};

/// What no group takes comes behind all groups. `first` may be null: 0.
__global__ void groupKernel(int64_t all, int32_t experts, int32_t groups,
                            const int32_t *ids, const int32_t *first,
                            int32_t *keys, Control *control) {
  const int64_t from = first ? *first : 0;
  for (int64_t c = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; c < all;
       c += int64_t(gridDim.x) * blockDim.x) {
    const int32_t id = ids[c];
    if (id < 0 || id >= experts)
      atomicExch(&control->outOfRange, 1); // other blocks may do so too
    const int64_t group = id - from;
    keys[c] = group >= 0 && group < groups ? int32_t(group) : groups;
  }
}

/// `order` is null where nothing is chosen.
__global__ void placeKernel(Sizes s, int64_t groups, const int32_t *keys,
                            const int32_t *order, int32_t *places,
                            int32_t *offsets) {
  const int64_t first = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  const int64_t step = int64_t(gridDim.x) * blockDim.x;
  for (int64_t i = first; i < s.all(); i += step)
    places[order[i]] = keys[i] < groups && i < s.places ? int32_t(i) : -1;
  for (int64_t e = first; e < groups; e += step) {
    const int64_t end = lowerBound(keys, s.all(), e + 1);
    offsets[e] = int32_t(end < s.places ? end : s.places);
  }
}

/// A thread has an element of what is sorted.
template <typename Word>
__global__ void sortedKernel(Sizes s, int64_t groups, const Word *rows,
                             const int32_t *order, const int32_t *offsets,
                             Word *sorted) {
  const int64_t used = groups ? offsets[groups - 1] : 0;
  for (int64_t t = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
       t < s.places * s.width; t += int64_t(gridDim.x) * blockDim.x) {
    const int64_t row = t / s.width;
    sorted[t] = row < used
                    ? rows[order[row] / s.choices * s.width + t % s.width]
                    : Word();
  }
}

class Dispatch final : public Kernel {
public:
  Dispatch(const KernelSpec &spec, const KernelContext &context)
      : context(context), type(spec.operands[0].type),
        s(spec.operands[0], spec.operands[1], spec.results[0]),
        experts(spec.integer("experts")), groups(spec.results[2].shape[0]),
        hasFirst(spec.operands.size() == 3) {
    constexpr int64_t most = std::numeric_limits<int32_t>::max();
    if (s.all() > most || s.places > most || experts > most)
      refuse(spec, "more than 2^31 - 1 choices, rows or experts");
  }

  size_t workspaceBytes() const override {
    return keyBytes() + stableOrderWorkspace(s.all());
  }

  void run(void *const *b, void *workspace) override {
    const cudaStream_t stream = context.cuda->stream;
    auto *keys = static_cast<int32_t *>(workspace);
    if (s.all())
      groupKernel<<<blocksFor(s.all(), kThreads), kThreads, 0, stream>>>(
          s.all(), int32_t(experts), int32_t(groups),
          static_cast<const int32_t *>(b[1]),
          hasFirst ? static_cast<const int32_t *>(b[2]) : nullptr, keys,
          context.control);
    void *const *results = b + (hasFirst ? 3 : 2);
    const StableOrder sorted = stableOrder(
        keys, s.all(), static_cast<char *>(workspace) + keyBytes(), stream);
    auto *offsets = static_cast<int32_t *>(results[2]);
    placeKernel<<<blocksFor(s.all() + groups, kThreads), kThreads, 0, stream>>>(
        s, groups, sorted.keys, sorted.order,
        static_cast<int32_t *>(results[1]), offsets);
    if (s.places * s.width)
      withType(type, [&](auto element) {
        using T = decltype(element);
        sortedKernel<T>
            <<<blocksFor(s.places * s.width, kThreads), kThreads, 0, stream>>>(
                s, groups, static_cast<const T *>(b[0]), sorted.order, offsets,
                static_cast<T *>(results[0]));
      });
    checkLaunch("dispatch");
  }

private:
  size_t keyBytes() const {
    return (s.all() * sizeof(int32_t) + 255) / 256 * 256;
  }

  KernelContext context;
  DataType type;
  Sizes s;
  int64_t experts, groups;
  bool hasFirst;
};

/// The choice that is the i-th to take a place; `given` may be null: first ones
/// of all rows, then second ones.
__device__ inline int64_t choiceAt(const Sizes &s, int64_t i,
                                   const int32_t *given) {
  return given ? given[i] : i % s.count * s.choices + i / s.count;
}

/// The experts of the choices in the order in which these take places. What is
/// outside comes behind all experts.
__global__ void expertKernel(Sizes s, int64_t experts, const int32_t *ids,
                             const int32_t *given, int32_t *keys,
                             Control *control) {
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < s.all();
       i += int64_t(gridDim.x) * blockDim.x) {
    const int64_t c = choiceAt(s, i, given);
    const int32_t id = c >= 0 && c < s.all() ? ids[c] : -1;
    if (id < 0 || id >= experts)
      atomicExch(&control->outOfRange, 1); // other blocks may do so too
    keys[i] = id >= 0 && id < experts ? id : int32_t(experts);
  }
}

/// A block has an expert: it counts the choices of it, and says of each which
/// place it has. `order` is null where nothing is chosen; places are -1 before.
__global__ void takeKernel(Sizes s, int64_t experts, int64_t capacity,
                           const int32_t *given, const int32_t *keys,
                           const int32_t *order, int32_t *places,
                           int32_t *counts) {
  for (int64_t e = blockIdx.x; e < experts; e += gridDim.x) {
    const int64_t begin = lowerBound(keys, s.all(), e);
    const int64_t end = lowerBound(keys, s.all(), e + 1);
    if (threadIdx.x == 0)
      counts[e] = int32_t(end - begin);
    for (int64_t i = threadIdx.x; i < capacity && i < end - begin;
         i += blockDim.x)
      places[choiceAt(s, order[begin + i], given)] = int32_t(e * capacity + i);
  }
}

/// A thread has an element of a row, for one of its choices. Places of no row
/// are 0 before.
template <typename Word>
__global__ void toPlacesKernel(Sizes s, const Word *rows, const int32_t *places,
                               Word *sorted) {
  for (int64_t t = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
       t < s.all() * s.width; t += int64_t(gridDim.x) * blockDim.x) {
    const int64_t c = t / s.width, i = t % s.width;
    if (places[c] >= 0)
      sorted[places[c] * s.width + i] = rows[c / s.choices * s.width + i];
  }
}

class CapacityDispatch final : public Kernel {
public:
  CapacityDispatch(const KernelSpec &spec, const KernelContext &context)
      : context(context), type(spec.operands[0].type),
        s(spec.operands[0], spec.operands[1], spec.results[0]),
        experts(spec.results[0].shape[0]), capacity(spec.results[0].shape[1]),
        hasOrder(spec.operands.size() == 3) {
    constexpr int64_t most = std::numeric_limits<int32_t>::max();
    s.places = experts * capacity;
    if (s.all() > most || s.places > most)
      refuse(spec, "more than 2^31 - 1 choices or places");
  }

  size_t workspaceBytes() const override {
    return keyBytes() + stableOrderWorkspace(s.all());
  }

  void run(void *const *b, void *workspace) override {
    const cudaStream_t stream = context.cuda->stream;
    void *const *results = b + (hasOrder ? 3 : 2);
    auto *places = static_cast<int32_t *>(results[1]);
    place(b, static_cast<char *>(workspace), places,
          static_cast<int32_t *>(results[2]));
    withType(type, [&](auto element) {
      using T = decltype(element);
      T *sorted = static_cast<T *>(results[0]);
      if (s.places * s.width)
        cudaMemsetAsync(sorted, 0, s.places * s.width * sizeof(T), stream);
      if (s.all() * s.width)
        toPlacesKernel<T>
            <<<blocksFor(s.all() * s.width, kThreads), kThreads, 0, stream>>>(
                s, static_cast<const T *>(b[0]), places, sorted);
    });
    checkLaunch("capacity_dispatch");
  }

private:
  size_t keyBytes() const {
    return (s.all() * sizeof(int32_t) + 255) / 256 * 256;
  }

  void place(void *const *b, char *workspace, int32_t *places,
             int32_t *counts) const {
    const cudaStream_t stream = context.cuda->stream;
    auto *keys = reinterpret_cast<int32_t *>(workspace);
    const auto *given = hasOrder ? static_cast<const int32_t *>(b[2]) : nullptr;
    if (s.all()) {
      cudaMemsetAsync(places, -1, s.all() * sizeof(int32_t), stream);
      expertKernel<<<blocksFor(s.all(), kThreads), kThreads, 0, stream>>>(
          s, experts, static_cast<const int32_t *>(b[1]), given, keys,
          context.control);
    }
    const StableOrder sorted =
        stableOrder(keys, s.all(), workspace + keyBytes(), stream);
    if (experts)
      takeKernel<<<blocksFor(experts, 1), kThreads, 0, stream>>>(
          s, experts, capacity, given, sorted.keys, sorted.order, places,
          counts);
  }

  KernelContext context;
  DataType type;
  Sizes s;
  int64_t experts, capacity;
  bool hasOrder;
};

/// Whether a place is a row. What is neither that nor -1 is noted.
__device__ inline bool isRow(const Sizes &s, int32_t place, Control *control) {
  if (place < -1 || place >= s.places)
    atomicExch(&control->outOfRange, 1); // other blocks may do so too
  return place >= 0 && place < s.places;
}

/// A thread has an element of the result.
template <typename T>
__global__ void combineKernel(Sizes s, const T *rows, const int32_t *places,
                              const T *weights, T *y, Control *control) {
  for (int64_t t = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
       t < s.count * s.width; t += int64_t(gridDim.x) * blockDim.x) {
    const int64_t row = t / s.width, i = t % s.width;
    float sum = 0;
    for (int64_t c = row * s.choices; c < (row + 1) * s.choices; ++c)
      if (isRow(s, places[c], control))
        sum += (weights ? toFloat(weights[c]) : 1.0f) *
               toFloat(rows[places[c] * s.width + i]);
    y[t] = fromFloat<T>(sum);
  }
}

class Combine final : public Kernel {
public:
  Combine(const KernelSpec &spec, const KernelContext &context)
      : context(context), type(spec.operands[0].type),
        s(spec.results[0], spec.operands[1], spec.operands[0]),
        hasWeights(spec.operands.size() == 3) {}

  void run(void *const *b, void *) override {
    if (!(s.count * s.width))
      return;
    withType(type, [&](auto element) {
      using T = decltype(element);
      combineKernel<T><<<blocksFor(s.count * s.width, kThreads), kThreads, 0,
                         context.cuda->stream>>>(
          s, static_cast<const T *>(b[0]), static_cast<const int32_t *>(b[1]),
          hasWeights ? static_cast<const T *>(b[2]) : nullptr,
          static_cast<T *>(b[hasWeights ? 3 : 2]), context.control);
    });
    checkLaunch("combine");
  }

private:
  KernelContext context;
  DataType type;
  Sizes s;
  bool hasWeights;
};

/// A block has a choice: its row of the gradient, and that of its weight. Rows
/// of no choice are 0 before.
template <typename T>
__global__ void combineGradKernel(Sizes s, const T *dy, const T *rows,
                                  const int32_t *places, const T *weights,
                                  T *drows, T *dweights, Control *control) {
  for (int64_t c = blockIdx.x; c < s.all(); c += gridDim.x) {
    const bool here = isRow(s, places[c], control);
    const T *from = dy + c / s.choices * s.width;
    const int64_t at = here ? places[c] * s.width : 0;
    const float weight = weights ? toFloat(weights[c]) : 1.0f;
    float sum = 0;
    for (int64_t i = threadIdx.x; here && i < s.width; i += blockDim.x) {
      if (dweights)
        sum += toFloat(from[i]) * toFloat(rows[at + i]);
      drows[at + i] = fromFloat<T>(weight * toFloat(from[i]));
    }
    if (!dweights)
      continue;
    sum = overBlock<Sum>(sum, 0.0f);
    if (threadIdx.x == 0)
      dweights[c] = fromFloat<T>(sum);
  }
}

class CombineGrad final : public Kernel {
public:
  CombineGrad(const KernelSpec &spec, const KernelContext &context)
      : context(context), type(spec.operands[0].type),
        s(spec.operands[0], spec.operands[2], spec.operands[1]),
        hasWeights(spec.operands.size() == 4) {}

  void run(void *const *b, void *) override {
    const cudaStream_t stream = context.cuda->stream;
    withType(type, [&](auto element) {
      using T = decltype(element);
      T *drows = static_cast<T *>(b[hasWeights ? 4 : 3]);
      if (s.places * s.width)
        cudaMemsetAsync(drows, 0, s.places * s.width * sizeof(T), stream);
      if (s.all())
        combineGradKernel<T><<<blocksFor(s.all(), 1), kThreads, 0, stream>>>(
            s, static_cast<const T *>(b[0]), static_cast<const T *>(b[1]),
            static_cast<const int32_t *>(b[2]),
            hasWeights ? static_cast<const T *>(b[3]) : nullptr, drows,
            hasWeights ? static_cast<T *>(b[5]) : nullptr, context.control);
    });
    checkLaunch("combine_grad");
  }

private:
  KernelContext context;
  DataType type;
  Sizes s;
  bool hasWeights;
};

} // namespace

void registerExperts(Registry &registry) {
  registry.add("nn.dispatch", makeKernel<Dispatch>);
  registry.add("nn.capacity_dispatch", makeKernel<CapacityDispatch>);
  registry.add("nn.combine", makeKernel<Combine>);
  registry.add("nn.combine_grad", makeKernel<CombineGrad>);
}

} // namespace zrt::cuda
