// Gradient accumulation, updates, the loss scale: all predicated on the control
// block, which the host never reads in between.
#include "kernels/cuda/Wide.cuh"

#include <algorithm>

#include <cmath>

using namespace zrt;
using namespace zrt::cuda;

namespace {

constexpr int kThreads = 256;

/// Elements that fill a vector of the narrower type.
template <typename From, typename To>
constexpr int kLanes = std::max(kWide<From>, kWide<To>);

template <typename From, typename To>
__global__ void convertKernel(const From *from, To *to, int64_t elements,
                              bool whole) {
  constexpr int lanes = kLanes<From, To>;
  forEachPack<lanes>(elements, [=](int64_t i, int count) {
    float values[lanes];
    loadLanes<lanes>(from, i, count, whole, values);
    storeLanes<lanes>(to, i, count, whole, values);
  });
}

template <typename From, typename To>
__global__ void accumulateKernel(const From *from, To *to, int64_t elements,
                                 bool whole, bool alwaysAdds,
                                 const Control *control) {
  constexpr int lanes = kLanes<From, To>;
  const bool first = control->microIndex == 0 && !alwaysAdds;
  forEachPack<lanes>(elements, [=](int64_t i, int count) {
    float values[lanes], sums[lanes];
    loadLanes<lanes>(from, i, count, whole, values);
    if (!first) {
      loadLanes<lanes>(to, i, count, whole, sums);
#pragma unroll
      for (int lane = 0; lane < lanes; ++lane)
        values[lane] = sums[lane] + values[lane];
    }
    storeLanes<lanes>(to, i, count, whole, values);
  });
}

/// As elements of two bytes: what is updated has types of two and of four.
__global__ void copyUpdatedKernel(const uint16_t *from, uint16_t *to,
                                  int64_t elements, bool whole,
                                  const Control *control) {
  if (!control->finite)
    return;
  forEachPack<kWide<uint16_t>>(elements, [=](int64_t i, int count) {
    storeWide(to, i, count, whole, loadWide(from, i, count, whole));
  });
}

template <typename T>
__global__ void seedKernel(const float *weight, T *to, const Control *control) {
  *to = fromFloat<T>(control->lossSeed * (weight ? *weight : 1.0f));
}

template <typename T>
__global__ void recordKernel(const T *loss, const float *weight,
                             Control *control) {
  recordLoss(*control, toFloat(*loss), weight);
}

//===----------------------------------------------------------------------===//
// Updates
//===----------------------------------------------------------------------===//

/// The gradient as the update sees it: scaled, with the L2 term.
template <typename Rule>
__device__ inline float prepare(const UpdateScalars<Rule> &s, float gradient,
                                float parameter) {
  const float scaled = gradient * s.factor;
  return s.l2 != 0 ? fmaf(s.l2, parameter, scaled) : scaled;
}

/// The f32 value of a bf16 one that was rounded half away from zero, and the
/// lower 16 bits, which as a signed number are what rounding took away.
__device__ inline float glue(float upper, uint16_t lower) {
  return __uint_as_float(__float_as_uint(upper) + lower -
                         ((lower & 0x8000u) << 1));
}

/// Four neighbours of the master, whichever form it has.
struct MasterPack {
  Pack<float> whole;
  Pack<BF16> upper;
  Pack<uint16_t> lower;
};

__device__ __forceinline__ MasterPack loadMaster(const UpdateBuffers &a,
                                                 int64_t i, int count,
                                                 bool whole) {
  MasterPack master;
  if (a.remainder) {
    master.upper =
        loadPack(static_cast<const BF16 *>(a.compute), i, count, whole);
    master.lower = loadPack(a.remainder, i, count, whole);
  } else {
    master.whole = loadPack(a.parameter, i, count, whole);
  }
  return master;
}

/// And back, the 16-bit parameter with them.
template <typename Compute>
__device__ __forceinline__ void storeMaster(const UpdateBuffers &a, int64_t i,
                                            int count, bool whole,
                                            const Pack<float> &p) {
  if (a.remainder) {
    Pack<uint16_t> lower;
#pragma unroll
    for (int lane = 0; lane < kPack; ++lane)
      lower.lanes[lane] = uint16_t(__float_as_uint(p.lanes[lane]));
    storePack(a.remainder, i, count, whole, lower);
  } else {
    storePack(a.parameter, i, count, whole, p);
  }
  if (!a.compute)
    return;
  Pack<Compute> rounded;
#pragma unroll
  for (int lane = 0; lane < kPack; ++lane)
    rounded.lanes[lane] = fromMaster<Compute>(p.lanes[lane]);
  storePack(static_cast<Compute *>(a.compute), i, count, whole, rounded);
}

/// What rules compute with: one element.
struct ThreadMath {
  __device__ static float fma(float a, float b, float c) {
    return fmaf(a, b, c);
  }
  __device__ static float root(float a) { return sqrtf(a); }
  /// -1, 0 or 1; 0 of NaN.
  template <typename T> __device__ static T sign(T a) {
    return T(a > 0) - T(a < 0);
  }
};

template <typename Gradient, typename Compute, typename Rule>
__device__ __forceinline__ void updatePack(const DeviceUpdate<Rule> &a,
                                           const UpdateScalars<Rule> &s,
                                           int64_t i, int count, bool whole) {
  // All loads come before the first use, so that they wait together.
  const Pack<Gradient> g =
      loadPack(static_cast<const Gradient *>(a.gradient), i, count, whole);
  const MasterPack master = loadMaster(a, i, count, whole);
  Pack<float> p, kept[kStateRoom<Rule>] = {};
#pragma unroll
  for (int k = 0; k < Rule::kStates; ++k)
    if (a.states[k])
      kept[k] = loadPack(a.states[k], i, count, whole);
#pragma unroll
  for (int lane = 0; lane < kPack; ++lane) {
    const float old = a.remainder ? glue(toFloat(master.upper.lanes[lane]),
                                         master.lower.lanes[lane])
                                  : master.whole.lanes[lane];
    float states[kStateRoom<Rule>], next = old;
#pragma unroll
    for (int k = 0; k < Rule::kStates; ++k)
      states[k] = kept[k].lanes[lane];
    Rule::template next<ThreadMath>(
        s.rule, prepare(s, toFloat(g.lanes[lane]), old), next, states);
    p.lanes[lane] = next;
#pragma unroll
    for (int k = 0; k < Rule::kStates; ++k)
      kept[k].lanes[lane] = states[k];
  }
#pragma unroll
  for (int k = 0; k < Rule::kStates; ++k)
    if (a.states[k])
      storePack(a.states[k], i, count, whole, kept[k]);
  storeMaster<Compute>(a, i, count, whole, p);
}

template <typename Gradient, typename Compute, typename Rule>
__global__ void __launch_bounds__(kThreads)
    updateKernel(DeviceUpdate<Rule> a, bool whole) {
  if (!a.control->finite)
    return;
  __shared__ UpdateScalars<Rule> shared;
  if (threadIdx.x == 0)
    shared = scalarsOf<Rule>(a.hyper, a.partition, *a.control);
  __syncthreads();
  const UpdateScalars<Rule> s = shared;
  forEachPack(a.elements, [&](int64_t i, int count) {
    if (whole && count == kPack)
      updatePack<Gradient, Compute, Rule>(a, s, i, kPack, true);
    else
      updatePack<Gradient, Compute, Rule>(a, s, i, count, false);
  });
}

//===----------------------------------------------------------------------===//
// The loss scale
//===----------------------------------------------------------------------===//

__global__ void updateScaleKernel(ScaleRule rule, Control *control) {
  zrt::updateScale(rule, *control);
}

} // namespace

int zrt::cuda::multiprocessors() {
  static const int count = [] {
    int device = 0, found = 1;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&found, cudaDevAttrMultiProcessorCount, device);
    return found;
  }();
  return count;
}

void zrt::cuda::checkLaunch(const char *kernel) {
  const cudaError_t status = cudaGetLastError();
  if (status != cudaSuccess)
    throw std::runtime_error(std::string("launch of '") + kernel +
                             "': " + cudaGetErrorString(status));
}

void zrt::cuda::convert(DataType fromType, const void *from, DataType toType,
                        void *to, int64_t elements, cudaStream_t stream) {
  if (elements == 0)
    return;
  withType(fromType, [&](auto source) {
    withType(toType, [&](auto target) {
      using From = decltype(source);
      using To = decltype(target);
      convertKernel<<<blocksFor(elements / kLanes<From, To> + 1, kThreads),
                      kThreads, 0, stream>>>(static_cast<const From *>(from),
                                             static_cast<To *>(to), elements,
                                             areWide(from, to));
    });
  });
  checkLaunch("convert");
}

void zrt::cuda::copyUpdated(const void *from, void *to, int64_t bytes,
                            const Control *control, cudaStream_t stream) {
  const int64_t count = bytes / int64_t(sizeof(uint16_t));
  if (count == 0)
    return;
  copyUpdatedKernel<<<blocksFor(count / kWide<uint16_t> + 1, kThreads),
                      kThreads, 0, stream>>>(
      static_cast<const uint16_t *>(from), static_cast<uint16_t *>(to), count,
      areWide(from, to), control);
  checkLaunch("copy_updated");
}

void zrt::cuda::accumulate(DataType fromType, const void *from, DataType toType,
                           void *to, int64_t elements, bool alwaysAdds,
                           const Control *control, cudaStream_t stream) {
  if (elements == 0)
    return;
  withType(fromType, [&](auto source) {
    withType(toType, [&](auto target) {
      using From = decltype(source);
      using To = decltype(target);
      accumulateKernel<<<blocksFor(elements / kLanes<From, To> + 1, kThreads),
                         kThreads, 0, stream>>>(
          static_cast<const From *>(from), static_cast<To *>(to), elements,
          areWide(from, to), alwaysAdds, control);
    });
  });
  checkLaunch("accumulate");
}

void zrt::cuda::seedLoss(DataType type, const float *weight, void *to,
                         const Control *control, cudaStream_t stream) {
  withType(type, [&](auto element) {
    seedKernel<<<1, 1, 0, stream>>>(
        weight, static_cast<decltype(element) *>(to), control);
  });
  checkLaunch("loss_seed");
}

void zrt::cuda::recordLoss(DataType type, const void *loss, const float *weight,
                           Control *control, cudaStream_t stream) {
  withType(type, [&](auto element) {
    recordKernel<<<1, 1, 0, stream>>>(
        static_cast<const decltype(element) *>(loss), weight, control);
  });
  checkLaunch("record_loss");
}

/// Blocks for `items` items a thread each, at most what the device holds at
/// once: with more, all but the last of them would wait for that.
template <typename Function>
static unsigned residentBlocks(Function *kernel, int64_t items) {
  int each = 1;
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, kThreads, 0);
  const int64_t wanted = (items + kThreads - 1) / kThreads;
  const int64_t most = int64_t(multiprocessors()) * (each > 0 ? each : 1);
  return unsigned(wanted < most ? wanted : most);
}

template <typename Rule>
void zrt::cuda::update(const DeviceUpdate<Rule> &a, cudaStream_t stream) {
  if (a.elements == 0)
    return;
  const int64_t packs = (a.elements + kPack - 1) / kPack;
  withType(a.gradientType, [&](auto gradient) {
    withType(a.compute ? a.computeType : DataType::F32, [&](auto compute) {
      using Gradient = decltype(gradient);
      using Compute = decltype(compute);
      bool whole =
          holdsPacks<Gradient>(a.gradient) && holdsPacks<float>(a.parameter) &&
          holdsPacks<uint16_t>(a.remainder) && holdsPacks<Compute>(a.compute);
      for (const float *state : a.states)
        whole &= holdsPacks<float>(state);
      auto *kernel = updateKernel<Gradient, Compute, Rule>;
      kernel<<<residentBlocks(kernel, packs), kThreads, 0, stream>>>(a, whole);
    });
  });
  checkLaunch("update");
}

#define INSTANTIATE(Rule)                                                      \
  template void zrt::cuda::update<rules::Rule>(                                \
      const DeviceUpdate<rules::Rule> &, cudaStream_t);
ZRT_FOR_EACH_UPDATE_RULE(INSTANTIATE)
#undef INSTANTIATE

void zrt::cuda::updateScale(const ScaleRule &rule, Control *control,
                            cudaStream_t stream) {
  updateScaleKernel<<<1, 1, 0, stream>>>(rule, control);
  checkLaunch("update_scale");
}
