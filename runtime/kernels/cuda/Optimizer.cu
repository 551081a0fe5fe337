// Gradient accumulation, found-inf and norm, updates, the loss scale: all
// predicated on the control block, which the host never reads in between.
#include "kernels/cuda/Device.cuh"

#include <cmath>

using namespace zrt;
using namespace zrt::cuda;

namespace {

constexpr int kThreads = 256;

template <typename From, typename To>
__global__ void convertKernel(const From *from, To *to, int64_t elements,
                              bool whole) {
  forEachPack(elements, [=](int64_t i, int count) {
    float values[kPack];
    load(from, i, count, whole, values);
    store(to, i, count, whole, values);
  });
}

template <typename From, typename To>
__global__ void accumulateKernel(const From *from, To *to, int64_t elements,
                                 bool whole, const Control *control) {
  const bool first = control->microIndex == 0;
  forEachPack(elements, [=](int64_t i, int count) {
    float values[kPack], sums[kPack];
    load(from, i, count, whole, values);
    if (!first) {
      load(to, i, count, whole, sums);
#pragma unroll
      for (int lane = 0; lane < kPack; ++lane)
        values[lane] = sums[lane] + values[lane];
    }
    store(to, i, count, whole, values);
  });
}

template <typename T>
__global__ void seedKernel(T *to, const Control *control) {
  *to = fromFloat<T>(control->lossSeed);
}

template <typename T>
__global__ void recordKernel(const T *loss, Control *control) {
  if (control->microIndex == 0)
    control->lossSum = 0;
  control->lossSum += toFloat(*loss);
}

__global__ void scaleHalfKernel(__half *to, float factor, int64_t elements,
                                bool whole) {
  forEachPack(elements, [=](int64_t i, int count) {
    float values[kPack];
    load(to, i, count, whole, values);
#pragma unroll
    for (int lane = 0; lane < kPack; ++lane)
      values[lane] *= factor;
    store(to, i, count, whole, values);
  });
}

//===----------------------------------------------------------------------===//
// Statistics
//===----------------------------------------------------------------------===//

/// Elements of one block: few enough that a table of squared mantissas (48
/// bits each) cannot overflow, and the same on every device.
constexpr int64_t kTerm = int64_t(1) << 16;
constexpr int64_t kNone = INT64_MAX;
constexpr int kExponents = 256;

struct Term {
  double squares;
  int64_t nonFinite;
  int64_t firstBad; ///< kNone where there is none
};

struct Earliest {
  __device__ static int64_t join(int64_t a, int64_t b) { return a < b ? a : b; }
};

__global__ void clearKernel(Control *control) {
  const int i = threadIdx.x;
  if (i < kNormLimbs)
    control->normLimbs[i] = 0;
  if (i < kMaxGroups)
    control->firstNonFinite[i] = -1;
  if (i == 0) {
    control->nonFinite = 0;
    control->normSum = 0;
  }
}

/// Adds value * 2^bit, in units of the lowest bit. Limbs have 32 bits of room
/// for carries, which `finishKernel` resolves.
__device__ void place(int64_t *limbs, uint64_t value, int bit) {
  int limb = bit / 32;
  unsigned __int128 shifted = static_cast<unsigned __int128>(value)
                              << (bit % 32);
  for (; shifted; shifted >>= 32)
    atomicAdd(reinterpret_cast<unsigned long long *>(limbs + limb++),
              static_cast<unsigned long long>(shifted & 0xffffffffu));
}

template <typename T, bool exact>
__global__ void termKernel(const T *gradient, int64_t elements, bool whole,
                           Term *terms, int64_t *limbs) {
  __shared__ unsigned long long table[exact ? kExponents : 1];
  if (exact)
    for (int i = threadIdx.x; i < kExponents; i += blockDim.x)
      table[i] = 0;
  __syncthreads();
  const int64_t begin = int64_t(blockIdx.x) * kTerm;
  const int64_t end = begin + kTerm < elements ? begin + kTerm : elements;
  double squares = 0;
  int64_t bad = 0, firstBad = kNone;
  for (int64_t i = begin + threadIdx.x * kPack; i < end;
       i += int64_t(blockDim.x) * kPack) {
    float values[kPack];
    load(gradient, i, int(end - i < kPack ? end - i : kPack), whole, values);
#pragma unroll
    for (int lane = 0; lane < kPack; ++lane) {
      const float value = values[lane];
      if (isNonFinite(value)) {
        ++bad;
        firstBad = Earliest::join(firstBad, i + lane);
      }
      if (!exact) {
        squares = fma(double(value), double(value), squares);
        continue;
      }
      const uint32_t bits = __float_as_uint(value);
      const uint32_t exponent = (bits >> 23) & 0xffu;
      const uint64_t mantissa =
          (bits & 0x7fffffu) | (exponent ? 0x800000u : 0u);
      if (mantissa)
        atomicAdd(&table[exponent],
                  static_cast<unsigned long long>(mantissa * mantissa));
    }
  }
  if (exact) {
    __syncthreads();
    // Exponent 255 is inf and NaN, which are counted and not summed. A
    // subnormal has the scale of exponent 1.
    for (int e = threadIdx.x; e < kExponents - 1; e += blockDim.x)
      if (table[e])
        place(limbs, table[e], 2 * (e ? e - 1 : 0));
  }
  const double sum = overBlock<Sum>(squares, 0.0);
  const int64_t count = overBlock<Sum>(bad, int64_t(0));
  const int64_t first = overBlock<Earliest>(firstBad, kNone);
  if (threadIdx.x == 0)
    terms[blockIdx.x] = {sum, count, first};
}

__device__ void normalizeLimbs(int64_t *limbs) {
  for (int i = 0; i + 1 < kNormLimbs; ++i) {
    limbs[i + 1] += limbs[i] >> 32;
    limbs[i] &= 0xffffffff;
  }
}

/// One block joins the terms, in an order that their number decides.
__global__ void finishKernel(const Term *terms, int64_t count, int partition,
                             bool exact, int64_t base, Control *control) {
  double squares = 0;
  int64_t bad = 0, firstBad = kNone;
  for (int64_t i = threadIdx.x; i < count; i += blockDim.x) {
    squares += terms[i].squares;
    bad += terms[i].nonFinite;
    firstBad = Earliest::join(firstBad, terms[i].firstBad);
  }
  squares = overBlock<Sum>(squares, 0.0);
  bad = overBlock<Sum>(bad, int64_t(0));
  firstBad = overBlock<Earliest>(firstBad, kNone);
  if (threadIdx.x)
    return;
  if (exact)
    normalizeLimbs(control->normLimbs);
  else
    control->normSum += squares;
  control->nonFinite += bad;
  if (!bad)
    return;
  // Ranges come in the order in which their reductions end.
  int64_t &known = control->firstNonFinite[partition];
  known = known < 0 ? base + firstBad : Earliest::join(known, base + firstBad);
}

__device__ double limbsToDouble(const int64_t *limbs) {
  int64_t digits[kNormLimbs];
  for (int i = 0; i < kNormLimbs; ++i)
    digits[i] = limbs[i];
  normalizeLimbs(digits);
  int top = kNormLimbs - 1;
  while (top > 0 && digits[top] == 0)
    --top;
  unsigned __int128 leading = 0;
  for (int i = top; i > top - 3; --i)
    leading = (leading << 32) | static_cast<uint64_t>(i >= 0 ? digits[i] : 0);
  bool sticky = false;
  for (int i = top - 3; i >= 0; --i)
    sticky |= digits[i] != 0;
  int shift = 0;
  for (; leading >> 63; leading >>= 1, ++shift)
    sticky |= leading & 1;
  const double value = static_cast<double>(static_cast<uint64_t>(leading) |
                                           static_cast<uint64_t>(sticky));
  constexpr int lowestBit = -298; // of the limbs
  return ldexp(value, shift + 32 * (top - 2) + lowestBit);
}

__global__ void gradientScaleKernel(double clip, double divisor, bool exact,
                                    bool skip, Control *control) {
  const bool clean = control->nonFinite == 0;
  const double scale = control->scale * divisor;
  const double sum =
      exact ? limbsToDouble(control->normLimbs) : control->normSum;
  const double norm = clean ? sqrt(sum) / scale : double(INFINITY);
  double factor = 1 / scale;
  if (clip > 0) {
    const double ratio = clip / (norm + 1e-6);
    factor = (ratio < 1.0 ? ratio : 1.0) / scale;
  }
  control->norm = float(norm);
  control->factor = float(factor);
  control->finite = clean || !skip;
}

//===----------------------------------------------------------------------===//
// Updates
//===----------------------------------------------------------------------===//

/// The scalars of an update: computed in f64, rounded once.
struct Scalars {
  float factor, l2, keep, rate, beta1, oneMinusBeta1, beta2, oneMinusBeta2,
      inverseRootBias2, epsilon, momentum;
};

__device__ Scalars scalarsOf(const UpdateRuleArguments &a) {
  const double rate = a.control->learningRate[a.partition];
  double bias1 = 1, bias2 = 1;
  if (a.biasCorrection && a.rule != UpdateRule::Sgd) {
    const double step = double(a.control->steps + 1);
    bias1 = 1 - pow(a.beta1, step);
    bias2 = 1 - pow(a.beta2, step);
  }
  Scalars s;
  s.factor = a.control->factor;
  s.l2 = a.rule == UpdateRule::AdamW ? 0.0f : float(a.weightDecay);
  s.keep = a.rule == UpdateRule::AdamW ? float(1 - rate * a.weightDecay) : 1.0f;
  s.rate = float(rate / bias1);
  s.beta1 = float(a.beta1);
  s.oneMinusBeta1 = float(1 - a.beta1);
  s.beta2 = float(a.beta2);
  s.oneMinusBeta2 = float(1 - a.beta2);
  s.inverseRootBias2 = float(1 / sqrt(bias2));
  s.epsilon = float(a.epsilon);
  s.momentum = float(a.momentum);
  return s;
}

/// The gradient as the update sees it: scaled, with the L2 term.
__device__ inline float prepare(const Scalars &s, float gradient,
                                float parameter) {
  const float scaled = gradient * s.factor;
  return s.l2 != 0 ? fmaf(s.l2, parameter, scaled) : scaled;
}

/// The f32 value of a bf16 one that was rounded half away from zero, and the
/// lower 16 bits, which as a signed number are what rounding took away.
__device__ inline float glue(BF16 upper, uint16_t lower) {
  return __uint_as_float((uint32_t(upper.bits) << 16) + lower -
                         ((lower & 0x8000u) << 1));
}

/// Parameters [i, i + count) from the master, whichever form it has.
__device__ inline void loadMaster(const UpdateRuleArguments &a, int64_t i,
                                  int count, bool whole, float *p) {
  if (!a.remainder)
    return load(a.parameter, i, count, whole, p);
  const auto *upper = static_cast<const BF16 *>(a.compute);
#pragma unroll
  for (int lane = 0; lane < kPack; ++lane)
    p[lane] =
        lane < count ? glue(upper[i + lane], a.remainder[i + lane]) : 0.0f;
}

/// And back, the 16-bit parameter with them.
template <typename Compute>
__device__ inline void storeMaster(const UpdateRuleArguments &a, int64_t i,
                                   int count, bool whole, const float *p) {
  if (a.remainder) {
#pragma unroll
    for (int lane = 0; lane < kPack; ++lane)
      if (lane < count)
        a.remainder[i + lane] = uint16_t(__float_as_uint(p[lane]));
  } else {
    store(a.parameter, i, count, whole, p);
  }
  if (a.compute)
    store<Compute, fromMaster<Compute>>(static_cast<Compute *>(a.compute), i,
                                        count, whole, p);
}

template <typename Gradient, typename Compute>
__global__ void __launch_bounds__(kThreads)
    adamKernel(UpdateRuleArguments a, bool whole) {
  if (!a.control->finite)
    return;
  __shared__ Scalars s;
  if (threadIdx.x == 0)
    s = scalarsOf(a);
  __syncthreads();
  forEachPack(a.elements, [&](int64_t i, int count) {
    float g[kPack], p[kPack], m[kPack], v[kPack];
    load(static_cast<const Gradient *>(a.gradient), i, count, whole, g);
    loadMaster(a, i, count, whole, p);
    load(a.moment1, i, count, whole, m);
    load(a.moment2, i, count, whole, v);
#pragma unroll
    for (int lane = 0; lane < kPack; ++lane) {
      const float gradient = prepare(s, g[lane], p[lane]);
      m[lane] = fmaf(s.oneMinusBeta1, gradient - m[lane], m[lane]);
      v[lane] = fmaf(gradient * s.oneMinusBeta2, gradient, v[lane] * s.beta2);
      const float denominator =
          fmaf(sqrtf(v[lane]), s.inverseRootBias2, s.epsilon);
      p[lane] = fmaf(-s.rate, m[lane] / denominator, p[lane] * s.keep);
    }
    store(a.moment1, i, count, whole, m);
    store(a.moment2, i, count, whole, v);
    storeMaster<Compute>(a, i, count, whole, p);
  });
}

template <typename Gradient, typename Compute>
__global__ void __launch_bounds__(kThreads)
    sgdKernel(UpdateRuleArguments a, bool whole) {
  if (!a.control->finite)
    return;
  __shared__ Scalars s;
  if (threadIdx.x == 0)
    s = scalarsOf(a);
  __syncthreads();
  forEachPack(a.elements, [&](int64_t i, int count) {
    float g[kPack], p[kPack], m[kPack];
    load(static_cast<const Gradient *>(a.gradient), i, count, whole, g);
    loadMaster(a, i, count, whole, p);
    if (a.moment1)
      load(a.moment1, i, count, whole, m);
#pragma unroll
    for (int lane = 0; lane < kPack; ++lane) {
      float direction = prepare(s, g[lane], p[lane]);
      if (a.moment1) {
        m[lane] = fmaf(s.momentum, m[lane], direction);
        direction = a.nesterov ? fmaf(s.momentum, m[lane], direction) : m[lane];
      }
      p[lane] = fmaf(-s.rate, direction, p[lane]);
    }
    if (a.moment1)
      store(a.moment1, i, count, whole, m);
    storeMaster<Compute>(a, i, count, whole, p);
  });
}

//===----------------------------------------------------------------------===//
// The loss scale
//===----------------------------------------------------------------------===//

/// As zero.update_scale on the host: DeepSpeed's rule after the last use.
__global__ void updateScaleKernel(ScaleArguments a) {
  Control &c = *a.control;
  const bool overflow = !c.finite;
  ++(overflow ? c.skipped : c.steps);
  if (a.dynamic && overflow) {
    if (a.hysteresis == 1 || c.hysteresis == 1) {
      if (c.scale == float(a.minimum)) {
        c.fatal = 1;
      } else {
        const double shrunk = c.scale / a.factor;
        c.scale = float(shrunk > a.minimum ? shrunk : a.minimum);
      }
    } else {
      --c.hysteresis;
    }
    c.lastOverflow = c.iteration++;
  } else if (a.dynamic) {
    if (a.consecutiveHysteresis)
      c.hysteresis = int32_t(a.hysteresis);
    const int64_t stable = c.iteration - c.lastOverflow - 1;
    if (stable > 0 && stable % a.window == 0) {
      c.hysteresis = int32_t(a.hysteresis);
      c.scale = float(c.scale * a.factor);
    }
    ++c.iteration;
  }
  c.lossSeed = c.scale / float(a.accumulation);
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
      convertKernel<<<blocksFor(elements / kPack + 1, kThreads), kThreads, 0,
                      stream>>>(static_cast<const From *>(from),
                                static_cast<To *>(to), elements,
                                holdsPacks<From>(from) && holdsPacks<To>(to));
    });
  });
  checkLaunch("convert");
}

void zrt::cuda::accumulate(DataType fromType, const void *from, DataType toType,
                           void *to, int64_t elements, const Control *control,
                           cudaStream_t stream) {
  if (elements == 0)
    return;
  withType(fromType, [&](auto source) {
    withType(toType, [&](auto target) {
      using From = decltype(source);
      using To = decltype(target);
      accumulateKernel<<<blocksFor(elements / kPack + 1, kThreads), kThreads, 0,
                         stream>>>(
          static_cast<const From *>(from), static_cast<To *>(to), elements,
          holdsPacks<From>(from) && holdsPacks<To>(to), control);
    });
  });
  checkLaunch("accumulate");
}

void zrt::cuda::seedLoss(DataType type, void *to, const Control *control,
                         cudaStream_t stream) {
  withType(type, [&](auto element) {
    seedKernel<<<1, 1, 0, stream>>>(static_cast<decltype(element) *>(to),
                                    control);
  });
  checkLaunch("loss_seed");
}

void zrt::cuda::recordLoss(DataType type, const void *loss, Control *control,
                           cudaStream_t stream) {
  withType(type, [&](auto element) {
    recordKernel<<<1, 1, 0, stream>>>(
        static_cast<const decltype(element) *>(loss), control);
  });
  checkLaunch("record_loss");
}

static int64_t termsOf(int64_t elements) {
  return (elements + kTerm - 1) / kTerm;
}

size_t zrt::cuda::statisticsWorkspace(int64_t elements) {
  return termsOf(elements) * sizeof(Term);
}

void zrt::cuda::gradientStatistics(const StatisticsArguments &a,
                                   cudaStream_t stream) {
  if (a.first)
    clearKernel<<<1, 32, 0, stream>>>(a.control);
  const int64_t count = termsOf(a.elements);
  auto *terms = static_cast<Term *>(a.workspace);
  if (count)
    withType(a.type, [&](auto element) {
      using T = decltype(element);
      const T *gradient = static_cast<const T *>(a.gradient);
      const bool whole = holdsPacks<T>(gradient);
      if (a.exact)
        termKernel<T, true><<<unsigned(count), kThreads, 0, stream>>>(
            gradient, a.elements, whole, terms, a.control->normLimbs);
      else
        termKernel<T, false><<<unsigned(count), kThreads, 0, stream>>>(
            gradient, a.elements, whole, terms, a.control->normLimbs);
    });
  finishKernel<<<1, 1024, 0, stream>>>(terms, count, a.partition, a.exact,
                                       a.base, a.control);
  checkLaunch("grad_stats");
}

void zrt::cuda::gradientScale(double clip, double divisor, bool exact,
                              bool skip, Control *control,
                              cudaStream_t stream) {
  gradientScaleKernel<<<1, 1, 0, stream>>>(clip, divisor, exact, skip, control);
  checkLaunch("grad_scale");
}

void zrt::cuda::update(const UpdateRuleArguments &a, cudaStream_t stream) {
  if (a.elements == 0)
    return;
  const unsigned blocks = blocksFor(a.elements / kPack + 1, kThreads);
  withType(a.gradientType, [&](auto gradient) {
    withType(a.compute ? a.computeType : DataType::F32, [&](auto compute) {
      using Gradient = decltype(gradient);
      using Compute = decltype(compute);
      const bool whole =
          holdsPacks<Gradient>(a.gradient) && holdsPacks<float>(a.parameter) &&
          holdsPacks<float>(a.moment1) && holdsPacks<float>(a.moment2) &&
          holdsPacks<Compute>(a.compute);
      if (a.rule == UpdateRule::Sgd)
        sgdKernel<Gradient, Compute><<<blocks, kThreads, 0, stream>>>(a, whole);
      else
        adamKernel<Gradient, Compute>
            <<<blocks, kThreads, 0, stream>>>(a, whole);
    });
  });
  checkLaunch("update");
}

void zrt::cuda::updateScale(const ScaleArguments &arguments,
                            cudaStream_t stream) {
  updateScaleKernel<<<1, 1, 0, stream>>>(arguments);
  checkLaunch("update_scale");
}

void zrt::cuda::scaleHalf(void *to, float factor, int64_t elements,
                          cudaStream_t stream) {
  if (elements == 0)
    return;
  scaleHalfKernel<<<blocksFor(elements / kPack + 1, kThreads), kThreads, 0,
                    stream>>>(static_cast<__half *>(to), factor, elements,
                              holdsPacks<__half>(to));
  checkLaunch("scale");
}
