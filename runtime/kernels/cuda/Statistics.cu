// Found-inf, norm, and the verdict on an update.
#include "kernels/cuda/WideRows.cuh"

using namespace zrt;
using namespace zrt::cuda;

namespace {

constexpr int kThreads = 256;

/// Elements of one block: few enough that their squared mantissas (48 bits
/// each) fit a sum, and the same on every device.
constexpr int64_t kTerm = int64_t(1) << 16;
constexpr int64_t kNone = INT64_MAX;
constexpr int kExponents = 256;
/// Neighbours hardly differ in exponent: their squares go to tables of their
/// own, as the host's do. An exponent's sums lie side by side.
constexpr int kTables = 8;

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
  for (int group = i; group < kMaxGroups; group += blockDim.x)
    control->firstNonFinite[group] = -1;
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
  __shared__ unsigned long long tables[exact ? kExponents * kTables : 1];
  if (exact)
    for (int i = threadIdx.x; i < kExponents * kTables; i += blockDim.x)
      tables[i] = 0;
  __syncthreads();
  const int64_t begin = int64_t(blockIdx.x) * kTerm;
  const int64_t end = begin + kTerm < elements ? begin + kTerm : elements;
  double squares = 0;
  int64_t bad = 0, firstBad = kNone;
  const WideRow<T> row = {int(end - begin), 0, whole};
  row.template forEach<1>({gradient + begin}, [&](int i, auto &vectors) {
    float values[kWide<T>];
    unpack(vectors[0], values);
#pragma unroll
    for (int lane = 0; lane < kWide<T>; ++lane) {
      const float value = values[lane];
      if (isNonFinite(value)) {
        ++bad;
        firstBad = Earliest::join(firstBad, begin + i + lane);
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
        atomicAdd(&tables[exponent * kTables + threadIdx.x % kTables],
                  static_cast<unsigned long long>(mantissa * mantissa));
    }
  });
  if (exact) {
    __syncthreads();
    // Exponent 255 is inf and NaN, which are counted and not summed. A
    // subnormal has the scale of exponent 1.
    for (int e = threadIdx.x; e < kExponents - 1; e += blockDim.x) {
      unsigned long long sum = 0;
      for (int table = 0; table < kTables; ++table)
        sum += tables[e * kTables + table];
      if (sum)
        place(limbs, sum, 2 * (e ? e - 1 : 0));
    }
  }
  const double sum = overBlock<Sum>(squares, 0.0);
  const int64_t count = overBlock<Sum>(bad, int64_t(0));
  const int64_t first = overBlock<Earliest>(firstBad, kNone);
  if (threadIdx.x == 0)
    terms[blockIdx.x] = {sum, count, first};
}

/// Threads of the block that joins the terms.
constexpr int kFinishThreads = 1024;

/// One block joins the terms, in an order that their number decides.
__global__ void __launch_bounds__(kFinishThreads)
    finishKernel(const Term *terms, int64_t count, int partition, bool exact,
                 bool squared, int64_t base, Control *control) {
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
  else if (squared)
    control->normSum += squares;
  control->nonFinite += bad;
  if (!bad)
    return;
  // Ranges come in the order in which their reductions end.
  int64_t &known = control->firstNonFinite[partition];
  known = known < 0 ? base + firstBad : Earliest::join(known, base + firstBad);
}

__global__ void gradientScaleKernel(JudgeRule rule, Control *control) {
  judge(rule, *control);
}

} // namespace

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
      const bool whole = areWide(gradient);
      if (a.exact && a.squared)
        termKernel<T, true><<<unsigned(count), kThreads, 0, stream>>>(
            gradient, a.elements, whole, terms, a.control->normLimbs);
      else
        termKernel<T, false><<<unsigned(count), kThreads, 0, stream>>>(
            gradient, a.elements, whole, terms, a.control->normLimbs);
    });
  finishKernel<<<1, kFinishThreads, 0, stream>>>(
      terms, count, a.partition, a.exact, a.squared, a.base, a.control);
  checkLaunch("grad_stats");
}

void zrt::cuda::gradientScale(const JudgeRule &rule, Control *control,
                              cudaStream_t stream) {
  gradientScaleKernel<<<1, 1, 0, stream>>>(rule, control);
  checkLaunch("grad_scale");
}
