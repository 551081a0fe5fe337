// Contraction is off here: every fused multiply-add is written out, so the
// bits are the same for every instruction set and every place in a range.
#include "kernels/optimizer/Loops.h"

#include "kernels/Vector.h"

using namespace zrt;
using namespace zrt::host;

#define INLINE_BODY __attribute__((always_inline))

namespace {

typedef double DoubleVector __attribute__((ext_vector_type(16)));
typedef uint64_t LongVector __attribute__((ext_vector_type(16)));

/// Elements at an address, of the type T, one of the three that gradients and
/// parameters have.
template <typename T> struct Typed {
  ZERO_INLINE static Vector load(const void *from, Lanes lanes) {
    return lanes.load(static_cast<const T *>(from));
  }
  ZERO_INLINE static void store(void *to, Lanes lanes, Vector value) {
    lanes.store(static_cast<T *>(to), value);
  }
  /// The rounding of a parameter that follows an f32 master: of bf16, half away
  /// from zero.
  ZERO_INLINE static void storeMaster(void *to, Lanes lanes, Vector value) {
    store(to, lanes, value);
  }
};

template <>
ZERO_INLINE void Typed<BFloat16>::storeMaster(void *to, Lanes lanes,
                                              Vector value) {
  WordVector bits = wordsOf(value);
  // What is stored has no bits left to round.
  store(to, lanes, vectorOf(upperHalves(bits + 0x8000u, bits) << 16));
}

/// Calls `body` with the `Typed` of `type`.
template <typename Body> ZERO_INLINE void withType(DataType type, Body body) {
  switch (type) {
  case DataType::BF16:
    return body(Typed<BFloat16>{});
  case DataType::F16:
    return body(Typed<Float16>{});
  default:
    return body(Typed<float>{});
  }
}

} // namespace

void loops::convert(DataType fromType, const void *from, DataType toType,
                    void *to, int64_t begin, int64_t end) {
  withType(fromType, [=](auto source) INLINE_BODY {
    withType(toType, [=](auto target) INLINE_BODY {
      forEachVector(begin, end, [=](Lanes lanes) INLINE_BODY {
        target.store(to, lanes, source.load(from, lanes));
      });
    });
  });
}

void loops::add(DataType fromType, const void *from, float *to, int64_t begin,
                int64_t end) {
  withType(fromType, [=](auto source) INLINE_BODY {
    forEachVector(begin, end, [=](Lanes lanes) INLINE_BODY {
      lanes.store(to, lanes.load(to) + source.load(from, lanes));
    });
  });
}

//===----------------------------------------------------------------------===//
// Gradient statistics
//===----------------------------------------------------------------------===//

/// All-ones in the lanes that are inf or NaN.
static ZERO_INLINE WordVector nonFiniteIn(Vector value) {
  IntVector found = (wordsOf(value) & 0x7f800000u) == 0x7f800000u;
  return __builtin_bit_cast(WordVector, found);
}

/// The sum of lanes that each hold less than 2^31.
static ZERO_INLINE int64_t total(WordVector counts) {
  int64_t sum = 0;
  for (int lane = 0; lane < kLanes; ++lane)
    sum += counts[lane];
  return sum;
}

/// Elements whose lane counters cannot wrap.
constexpr int64_t kCountedAtOnce = int64_t(1) << 32;

int64_t loops::countNonFinite(DataType type, const void *from, int64_t begin,
                              int64_t end) {
  int64_t found = 0;
  withType(type, [&](auto source) INLINE_BODY {
    for (int64_t block = begin; block < end; block += kCountedAtOnce) {
      int64_t last =
          end - block > kCountedAtOnce ? block + kCountedAtOnce : end;
      WordVector counts = 0;
      forEachVector(block, last, [&](Lanes lanes) INLINE_BODY {
        counts -= nonFiniteIn(source.load(from, lanes));
      });
      found += total(counts);
    }
  });
  return found;
}

double loops::sumSquares(DataType type, const void *from, int64_t begin,
                         int64_t end, int64_t &nonFinite) {
  DoubleVector sums = 0;
  withType(type, [&](auto source) INLINE_BODY {
    for (int64_t block = begin; block < end; block += kCountedAtOnce) {
      int64_t last =
          end - block > kCountedAtOnce ? block + kCountedAtOnce : end;
      WordVector counts = 0;
      forEachVector(block, last, [&](Lanes lanes) INLINE_BODY {
        Vector value = source.load(from, lanes);
        DoubleVector x = __builtin_convertvector(value, DoubleVector);
        sums = __builtin_elementwise_fma(x, x, sums);
        counts -= nonFiniteIn(value);
      });
      nonFinite += total(counts);
    }
  });
  for (int width = kLanes / 2; width; width /= 2)
    for (int lane = 0; lane < width; ++lane)
      sums[lane] += sums[lane + width];
  return sums[0];
}

void loops::exactSquares(DataType type, const void *from, int64_t begin,
                         int64_t end, uint64_t *tables) {
  withType(type, [=](auto source) INLINE_BODY {
    forEachVector(begin, end, [=](Lanes lanes) INLINE_BODY {
      WordVector bits = wordsOf(source.load(from, lanes));
      WordVector exponent = (bits >> 23) & 0xffu;
      WordVector fraction = bits & 0x7fffffu;
      WordVector mantissa = exponent != 0u ? fraction | 0x800000u : fraction;
      LongVector wide = __builtin_convertvector(mantissa, LongVector);
      LongVector square = wide * wide;
      uint32_t exponents[kLanes];
      uint64_t squares[kLanes];
      std::memcpy(exponents, &exponent, sizeof(exponents));
      std::memcpy(squares, &square, sizeof(squares));
      // Lanes past the end are zeros, and add nothing.
#pragma clang loop unroll(full)
      for (int lane = 0; lane < kLanes; ++lane)
        tables[(lane % kSquareTables) * kSquareExponents + exponents[lane]] +=
            squares[lane];
    });
  });
}

//===----------------------------------------------------------------------===//
// Updates
//===----------------------------------------------------------------------===//

namespace {

/// What rules compute with: sixteen elements.
struct VectorMath {
  ZERO_INLINE static Vector fma(Vector a, Vector b, Vector c) {
    return __builtin_elementwise_fma(a, b, c);
  }
  ZERO_INLINE static Vector root(Vector a) {
    return __builtin_elementwise_sqrt(a);
  }
  /// -1, 0 or 1; 0 of NaN.
  ZERO_INLINE static Vector sign(Vector a) {
    const Vector one = 1, zero = 0;
    return (a > zero ? one : zero) - (a < zero ? one : zero);
  }
};

} // namespace

/// The gradient as the update sees it: scaled, with the L2 term.
template <typename Gradient, typename Rule>
static ZERO_INLINE Vector loadGradient(Gradient type,
                                       const UpdateArguments<Rule> &u,
                                       Vector parameter, Lanes lanes) {
  Vector gradient = type.load(u.gradient, lanes) * u.scalars.factor;
  return u.scalars.l2 != 0 ? VectorMath::fma(u.scalars.l2, parameter, gradient)
                           : gradient;
}

/// The f32 value of a bf16 one that was rounded half away from zero, and the
/// lower 16 bits, which as a signed number are what rounding took away.
static ZERO_INLINE Vector loadParameter(const UpdateBuffers &u, Lanes lanes) {
  if (!u.remainder)
    return lanes.load(u.parameter);
  ShortVector remainder = {};
  std::memcpy(&remainder, u.remainder + lanes.at,
              lanes.count * sizeof(uint16_t));
  WordVector lower = __builtin_convertvector(remainder, WordVector);
  WordVector upper = wordsOf(Typed<BFloat16>::load(u.compute, lanes));
  return vectorOf(upper + lower - ((lower & 0x8000u) << 1));
}

template <typename Compute>
static ZERO_INLINE void storeParameter(Compute type, const UpdateBuffers &u,
                                       Vector parameter, Lanes lanes) {
  if (u.remainder) {
    ShortVector lower =
        __builtin_convertvector(wordsOf(parameter) & 0xffffu, ShortVector);
    std::memcpy(u.remainder + lanes.at, &lower, lanes.count * sizeof(uint16_t));
    return type.storeMaster(u.compute, lanes, parameter);
  }
  lanes.store(u.parameter, parameter);
  if (u.compute)
    type.storeMaster(u.compute, lanes, parameter);
}

/// Calls `body(gradientType, computeType)`.
template <typename Body>
static ZERO_INLINE void withTypes(DataType gradientType, DataType computeType,
                                  Body body) {
  withType(gradientType, [&](auto gradient) INLINE_BODY {
    withType(computeType,
             [&](auto compute) INLINE_BODY { body(gradient, compute); });
  });
}

template <typename Rule>
void loops::update(const UpdateArguments<Rule> &arguments, int64_t begin,
                   int64_t end) {
  const UpdateArguments<Rule> u = arguments;
  withTypes(u.gradientType, u.computeType,
            [&](auto gradientType, auto computeType) INLINE_BODY {
              forEachVector(begin, end, [&](Lanes lanes) INLINE_BODY {
                Vector parameter = loadParameter(u, lanes);
                Vector gradient =
                    loadGradient(gradientType, u, parameter, lanes);
                Vector states[kStateRoom<Rule>];
#pragma clang loop unroll(full)
                for (int k = 0; k < Rule::kStates; ++k)
                  states[k] = u.states[k] ? lanes.load(u.states[k]) : splat(0);
                Rule::template next<VectorMath>(u.scalars.rule, gradient,
                                                parameter, states);
#pragma clang loop unroll(full)
                for (int k = 0; k < Rule::kStates; ++k)
                  if (u.states[k])
                    lanes.store(u.states[k], states[k]);
                storeParameter(computeType, u, parameter, lanes);
              });
            });
}

#define INSTANTIATE(Rule)                                                      \
  template void loops::update<rules::Rule>(                                    \
      const UpdateArguments<rules::Rule> &, int64_t, int64_t);
ZRT_FOR_EACH_UPDATE_RULE(INSTANTIATE)
#undef INSTANTIATE
