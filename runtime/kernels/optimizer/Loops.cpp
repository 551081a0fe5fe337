// Contraction is off here: every fused multiply-add is written out, so the
// bits are the same for every instruction set and every place in a range.
#include "kernels/optimizer/Loops.h"

#include "kernels/optimizer/Vector.h"

using namespace zrt;

void loops::convert(DataType fromType, const void *from, DataType toType,
                    void *to, int64_t begin, int64_t end) {
  withLane(fromType, [=](auto source) ZRT_INLINE_BODY {
    withLane(toType, [=](auto target) ZRT_INLINE_BODY {
      forEachVector(begin, end, [=](int64_t i, int count) ZRT_INLINE_BODY {
        target.store(to, i, source.load(from, i, count), count);
      });
    });
  });
}

void loops::add(DataType fromType, const void *from, float *to, int64_t begin,
                int64_t end) {
  withLane(fromType, [=](auto source) ZRT_INLINE_BODY {
    forEachVector(begin, end, [=](int64_t i, int count) ZRT_INLINE_BODY {
      F32x16 sum = LaneF32::load(to, i, count) + source.load(from, i, count);
      LaneF32::store(to, i, sum, count);
    });
  });
}

//===----------------------------------------------------------------------===//
// Gradient statistics
//===----------------------------------------------------------------------===//

/// All-ones in the lanes that are inf or NaN.
ZRT_INLINE I32x16 isNonFinite(F32x16 value) {
  return (bitCast<U32x16>(value) & 0x7f800000u) == 0x7f800000u;
}

/// The sum of lanes that each hold less than 2^31.
ZRT_INLINE int64_t total(U32x16 counts) {
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
  withLane(type, [&](auto source) ZRT_INLINE_BODY {
    for (int64_t block = begin; block < end; block += kCountedAtOnce) {
      int64_t last =
          end - block > kCountedAtOnce ? block + kCountedAtOnce : end;
      U32x16 counts = 0;
      forEachVector(block, last, [&](int64_t i, int count) ZRT_INLINE_BODY {
        counts -= bitCast<U32x16>(isNonFinite(source.load(from, i, count)));
      });
      found += total(counts);
    }
  });
  return found;
}

double loops::sumSquares(DataType type, const void *from, int64_t begin,
                         int64_t end, int64_t &nonFinite) {
  F64x16 sums = 0;
  withLane(type, [&](auto source) ZRT_INLINE_BODY {
    for (int64_t block = begin; block < end; block += kCountedAtOnce) {
      int64_t last =
          end - block > kCountedAtOnce ? block + kCountedAtOnce : end;
      U32x16 counts = 0;
      forEachVector(block, last, [&](int64_t i, int count) ZRT_INLINE_BODY {
        F32x16 value = source.load(from, i, count);
        F64x16 x = __builtin_convertvector(value, F64x16);
        sums = __builtin_elementwise_fma(x, x, sums);
        counts -= bitCast<U32x16>(isNonFinite(value));
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
  withLane(type, [=](auto source) ZRT_INLINE_BODY {
    forEachVector(begin, end, [=](int64_t i, int count) ZRT_INLINE_BODY {
      U32x16 bits = bitCast<U32x16>(source.load(from, i, count));
      U32x16 exponent = (bits >> 23) & 0xffu;
      U32x16 fraction = bits & 0x7fffffu;
      U32x16 mantissa = exponent != 0u ? fraction | 0x800000u : fraction;
      U64x16 wide = __builtin_convertvector(mantissa, U64x16);
      U64x16 square = wide * wide;
      uint32_t exponents[kLanes];
      uint64_t squares[kLanes];
      storeLanes(exponents, exponent, kLanes);
      storeLanes(squares, square, kLanes);
      // Lanes beyond `count` are zeros, and add nothing.
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
  ZRT_INLINE_BODY static F32x16 fma(F32x16 a, F32x16 b, F32x16 c) {
    return __builtin_elementwise_fma(a, b, c);
  }
  ZRT_INLINE_BODY static F32x16 root(F32x16 a) {
    return __builtin_elementwise_sqrt(a);
  }
  /// -1, 0 or 1; 0 of NaN.
  ZRT_INLINE_BODY static F32x16 sign(F32x16 a) {
    const F32x16 one = 1, zero = 0;
    return (a > zero ? one : zero) - (a < zero ? one : zero);
  }
};

} // namespace

/// The gradient as the update sees it: scaled, with the L2 term.
template <typename Gradient, typename Rule>
ZRT_INLINE F32x16 loadGradient(Gradient lane, const UpdateArguments<Rule> &u,
                               F32x16 parameter, int64_t i, int count) {
  F32x16 gradient = lane.load(u.gradient, i, count) * u.scalars.factor;
  return u.scalars.l2 != 0 ? VectorMath::fma(u.scalars.l2, parameter, gradient)
                           : gradient;
}

/// The f32 value of a bf16 one that was rounded half away from zero, and the
/// lower 16 bits, which as a signed number are what rounding took away.
ZRT_INLINE F32x16 loadParameter(const UpdateBuffers &u, int64_t i, int count) {
  if (!u.remainder)
    return LaneF32::load(u.parameter, i, count);
  U32x16 lower = __builtin_convertvector(
      loadLanes<U16x16>(u.remainder + i, count), U32x16);
  U32x16 upper = bitCast<U32x16>(LaneBf16::load(u.compute, i, count));
  return bitCast<F32x16>(upper + lower - ((lower & 0x8000u) << 1));
}

template <typename Compute>
ZRT_INLINE void storeParameter(Compute lane, const UpdateBuffers &u,
                               F32x16 parameter, int64_t i, int count) {
  if (u.remainder) {
    storeLanes(
        u.remainder + i,
        __builtin_convertvector(bitCast<U32x16>(parameter) & 0xffffu, U16x16),
        count);
    return lane.storeMaster(u.compute, i, parameter, count);
  }
  LaneF32::store(u.parameter, i, parameter, count);
  if (u.compute)
    lane.storeMaster(u.compute, i, parameter, count);
}

/// Calls `body(gradientLane, computeLane)`.
template <typename Body>
ZRT_INLINE void withLanes(DataType gradientType, DataType computeType,
                          Body body) {
  withLane(gradientType, [&](auto gradient) ZRT_INLINE_BODY {
    withLane(computeType,
             [&](auto compute) ZRT_INLINE_BODY { body(gradient, compute); });
  });
}

template <typename Rule>
void loops::update(const UpdateArguments<Rule> &arguments, int64_t begin,
                   int64_t end) {
  const UpdateArguments<Rule> u = arguments;
  withLanes(
      u.gradientType, u.computeType,
      [&](auto gradientLane, auto computeLane) ZRT_INLINE_BODY {
        forEachVector(begin, end, [&](int64_t i, int count) ZRT_INLINE_BODY {
          F32x16 parameter = loadParameter(u, i, count);
          F32x16 gradient = loadGradient(gradientLane, u, parameter, i, count);
          F32x16 states[kStateRoom<Rule>];
#pragma clang loop unroll(full)
          for (int k = 0; k < Rule::kStates; ++k)
            states[k] =
                u.states[k] ? LaneF32::load(u.states[k], i, count) : 0.0f;
          Rule::template next<VectorMath>(u.scalars.rule, gradient, parameter,
                                          states);
#pragma clang loop unroll(full)
          for (int k = 0; k < Rule::kStates; ++k)
            if (u.states[k])
              LaneF32::store(u.states[k], i, states[k], count);
          storeParameter(computeLane, u, parameter, i, count);
        });
      });
}

#define INSTANTIATE(Rule)                                                      \
  template void loops::update<rules::Rule>(                                    \
      const UpdateArguments<rules::Rule> &, int64_t, int64_t);
ZRT_FOR_EACH_UPDATE_RULE(INSTANTIATE)
#undef INSTANTIATE
