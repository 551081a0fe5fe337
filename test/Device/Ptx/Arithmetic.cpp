// Sums, products, quotients, bits and approximations.
#include "Machine.h"

#include "program/Float16.h"

#include <algorithm>
#include <cfenv>
#include <cmath>

namespace zrt::ptx {

namespace {

#define ONE(Name, result)                                                      \
  struct Name {                                                                \
    template <typename T> T operator()(T a) const { return T(result); }        \
  };
#define TWO(Name, result)                                                      \
  struct Name {                                                                \
    template <typename T> T operator()(T a, T b) const { return T(result); }   \
  };
#define THREE(Name, result)                                                    \
  struct Name {                                                                \
    template <typename T> T operator()(T a, T b, T c) const {                  \
      return T(result);                                                        \
    }                                                                          \
  };

TWO(Add, a + b)
TWO(Subtract, a - b)
TWO(Multiply, a *b)
THREE(MultiplyAdd, a *b + c)
TWO(And, a &b)
TWO(Or, a | b)
TWO(Xor, a ^ b)
ONE(Not, ~a)
ONE(Invert, !a) // of a predicate
ONE(Negate, T(0) - a)
ONE(NegateFloat, -a)
ONE(Same, a)
TWO(Smaller, b < a ? b : a)
TWO(Greater, a < b ? b : a)
TWO(SmallerFloat, std::fmin(a, b))
TWO(GreaterFloat, std::fmax(a, b))
TWO(DivideFloat, a / b)
ONE(Root, std::sqrt(a))
ONE(Reciprocal, T(1) / a)
ONE(InverseRoot, T(1) / std::sqrt(a))
ONE(Absolute, std::fabs(a))
ONE(AbsoluteInteger, a < 0 ? T(0) - a : a)
THREE(Fused, std::fma(a, b, c))
TWO(CopySign, std::copysign(b, a))
ONE(Power2, std::exp2(a))
ONE(Logarithm2, std::log2(a))
ONE(HyperbolicTangent, std::tanh(a))
ONE(Sine, std::sin(a))
ONE(Cosine, std::cos(a))
ONE(Ones, __builtin_popcount(a))
ONE(LeadingZeros, a ? __builtin_clz(a) : 32)

float flushed(float value) {
  return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0f, value)
                                                : value;
}
/// What is too small for a normal number is a zero, before and after.
template <typename Compute> struct Flushed {
  float operator()(float a) const { return flushed(Compute()(flushed(a))); }
};

template <int mode> struct FusedInMode {
  float operator()(float a, float b, float c) const {
    // Volatile, so that nothing is computed before the mode is set.
    volatile float x = a, y = b, z = c;
    std::fesetround(mode);
    volatile float result = std::fma(x, y, z);
    std::fesetround(FE_TONEAREST);
    return result;
  }
};

template <typename T> T divisor(T b) {
  if (b == 0)
    fault("divides by zero");
  return b;
}
struct Divide {
  template <typename T> T operator()(T a, T b) const {
    return std::is_signed_v<T> && divisor(b) == T(-1) ? T(0 - uint64_t(a))
                                                      : T(a / divisor(b));
  }
};
struct Remainder {
  template <typename T> T operator()(T a, T b) const {
    return std::is_signed_v<T> && divisor(b) == T(-1) ? T(0)
                                                      : T(a % divisor(b));
  }
};

template <typename T> void addInteger(Opcodes &to, const std::string &type) {
  using Unsigned = std::make_unsigned_t<T>;
  addBinary<Unsigned, Add>(to, "add." + type);
  addBinary<Unsigned, Subtract>(to, "sub." + type);
  addBinary<T, Smaller>(to, "min." + type);
  addBinary<T, Greater>(to, "max." + type);
  addBinary<T, Divide>(to, "div." + type);
  addBinary<T, Remainder>(to, "rem." + type);
  if constexpr (sizeof(T) >= 4) {
    addBinary<Unsigned, Multiply>(to, "mul.lo." + type);
    addTernary<Unsigned, MultiplyAdd>(to, "mad.lo." + type);
  }
  if constexpr (std::is_signed_v<T>) {
    addUnary<Unsigned, Negate>(to, "neg." + type);
    addUnary<T, AbsoluteInteger>(to, "abs." + type);
  }
}

/// The upper half of a product, and products of twice the bits.
template <typename T, typename Wide>
void addWide(Opcodes &to, const std::string &type) {
  to["mul.hi." + type].run = [](Lane &lane, const Instruction &each) {
    const Operand *o = each.operands;
    set(lane, o[0],
        T(Wide(valueOf<T>(lane, o[1])) * Wide(valueOf<T>(lane, o[2])) >>
          8 * sizeof(T)));
  };
  if constexpr (sizeof(Wide) <= 8) {
    to["mul.wide." + type].run = [](Lane &lane, const Instruction &each) {
      const Operand *o = each.operands;
      set(lane, o[0],
          Wide(Wide(valueOf<T>(lane, o[1])) * Wide(valueOf<T>(lane, o[2]))));
    };
    to["mad.wide." + type].run = [](Lane &lane, const Instruction &each) {
      const Operand *o = each.operands;
      set(lane, o[0],
          Wide(uint64_t(Wide(valueOf<T>(lane, o[1])) *
                        Wide(valueOf<T>(lane, o[2]))) +
               uint64_t(valueOf<Wide>(lane, o[3]))));
    };
  }
}

/// Shifts by the bits of a type or more give what all bits shifted out leave.
template <typename T> void addShiftRight(Opcodes &to, const std::string &type) {
  to["shr." + type].run = [](Lane &lane, const Instruction &each) {
    const T a = valueOf<T>(lane, each.operands[1]);
    const uint32_t by = valueOf<uint32_t>(lane, each.operands[2]);
    const T none = std::is_signed_v<T> && a < 0 ? T(-1) : T(0);
    set(lane, each.operands[0], by >= 8 * sizeof(T) ? none : T(a >> by));
  };
}

template <typename T> void insertBits(Lane &lane, const Instruction &each) {
  const Operand *o = each.operands;
  const uint32_t at = valueOf<uint32_t>(lane, o[3]) & 0xff,
                 count = valueOf<uint32_t>(lane, o[4]) & 0xff;
  T result = valueOf<T>(lane, o[2]);
  const T from = valueOf<T>(lane, o[1]);
  for (uint32_t i = 0; i < count && at + i < 8 * sizeof(T); ++i) {
    const T bit = T(1) << (at + i);
    result =
        i < 8 * sizeof(T) && (from >> i & 1) ? result | bit : result & ~bit;
  }
  set(lane, o[0], result);
}

template <typename T> void extractBits(Lane &lane, const Instruction &each) {
  const Operand *o = each.operands;
  const uint32_t at = valueOf<uint32_t>(lane, o[2]) & 0xff,
                 count = valueOf<uint32_t>(lane, o[3]) & 0xff;
  const T from = at < 8 * sizeof(T) ? valueOf<T>(lane, o[1]) >> at : T(0);
  set(lane, o[0], count < 8 * sizeof(T) ? from & ((T(1) << count) - 1) : from);
}

/// A run of ones, from a position, of a width.
void makeMask(Lane &lane, const Instruction &each) {
  const uint32_t at = valueOf<uint32_t>(lane, each.operands[1]),
                 width = valueOf<uint32_t>(lane, each.operands[2]);
  const uint32_t ones = width >= 32 ? ~0u : (1u << width) - 1;
  set(lane, each.operands[0], at >= 32 ? 0u : ones << at);
}

/// Four bytes of eight, as a selector has them.
void permute(Lane &lane, const Instruction &each) {
  const Operand *o = each.operands;
  const uint64_t bytes = uint64_t(valueOf<uint32_t>(lane, o[2])) << 32 |
                         valueOf<uint32_t>(lane, o[1]);
  const uint32_t selector = valueOf<uint32_t>(lane, o[3]);
  uint32_t result = 0;
  for (int i = 0; i < 4; ++i) {
    const uint32_t nibble = selector >> 4 * i & 15;
    uint8_t byte = uint8_t(bytes >> 8 * (nibble & 7));
    if (nibble & 8)
      byte = byte & 0x80 ? 0xff : 0;
    result |= uint32_t(byte) << 8 * i;
  }
  set(lane, o[0], result);
}

template <typename T> void addBits(Opcodes &to, const std::string &type) {
  addBinary<T, And>(to, "and." + type);
  addBinary<T, Or>(to, "or." + type);
  addBinary<T, Xor>(to, "xor." + type);
  addUnary<T, Not>(to, "not." + type);
  addShiftRight<T>(to, type);
  to["shl." + type].run = [](Lane &lane, const Instruction &each) {
    const uint32_t by = valueOf<uint32_t>(lane, each.operands[2]);
    const T a = valueOf<T>(lane, each.operands[1]);
    set(lane, each.operands[0], by >= 8 * sizeof(T) ? T(0) : T(a << by));
  };
}

template <typename T> void addFloat(Opcodes &to, const std::string &type) {
  for (const char *form : {".", ".rn."}) {
    addBinary<T, Add>(to, "add" + (form + type));
    addBinary<T, Subtract>(to, "sub" + (form + type));
    addBinary<T, Multiply>(to, "mul" + (form + type));
  }
  addBinary<T, DivideFloat>(to, "div.rn." + type);
  addTernary<T, Fused>(to, "fma.rn." + type);
  addUnary<T, Root>(to, "sqrt.rn." + type);
  addUnary<T, Reciprocal>(to, "rcp.rn." + type);
  addUnary<T, Absolute>(to, "abs." + type);
  addUnary<T, NegateFloat>(to, "neg." + type);
  addBinary<T, SmallerFloat>(to, "min." + type);
  addBinary<T, GreaterFloat>(to, "max." + type);
  addBinary<T, CopySign>(to, "copysign." + type);
}

/// Of two f16: f32 holds the result well enough for it to be rounded once.
template <typename Compute> uint16_t ofHalves(uint32_t a, uint32_t b) {
  return f32ToF16Portable(
      Compute()(f16ToF32Portable(uint16_t(a)), f16ToF32Portable(uint16_t(b))));
}
template <typename Compute>
void addHalves(Opcodes &to, const std::string &name) {
  to[name + ".rn.f16"].run = [](Lane &lane, const Instruction &each) {
    const Operand *o = each.operands;
    set(lane, o[0],
        ofHalves<Compute>(valueOf<uint16_t>(lane, o[1]),
                          valueOf<uint16_t>(lane, o[2])));
  };
  to[name + ".rn.f16x2"].run = [](Lane &lane, const Instruction &each) {
    const uint32_t a = valueOf<uint32_t>(lane, each.operands[1]),
                   b = valueOf<uint32_t>(lane, each.operands[2]);
    set(lane, each.operands[0],
        uint32_t(ofHalves<Compute>(a, b)) |
            uint32_t(ofHalves<Compute>(a >> 16, b >> 16)) << 16);
  };
}

/// A device's approximations, as near as f32 is.
template <typename Compute>
void addApproximation(Opcodes &to, const std::string &name) {
  addUnary<float, Compute>(to, name + ".approx.f32");
  addUnary<float, Flushed<Compute>>(to, name + ".approx.ftz.f32");
}

void addIntegers(Opcodes &to) {
  addInteger<int16_t>(to, "s16");
  addInteger<uint16_t>(to, "u16");
  addInteger<int32_t>(to, "s32");
  addInteger<uint32_t>(to, "u32");
  addInteger<int64_t>(to, "s64");
  addInteger<uint64_t>(to, "u64");
  addWide<int16_t, int32_t>(to, "s16");
  addWide<uint16_t, uint32_t>(to, "u16");
  addWide<int32_t, int64_t>(to, "s32");
  addWide<uint32_t, uint64_t>(to, "u32");
  addWide<int64_t, __int128>(to, "s64");
  addWide<uint64_t, unsigned __int128>(to, "u64");
  addBits<uint16_t>(to, "b16");
  addBits<uint32_t>(to, "b32");
  addBits<uint64_t>(to, "b64");
  addShiftRight<int16_t>(to, "s16");
  addShiftRight<uint16_t>(to, "u16");
  addShiftRight<int32_t>(to, "s32");
  addShiftRight<uint32_t>(to, "u32");
  addShiftRight<int64_t>(to, "s64");
  addShiftRight<uint64_t>(to, "u64");
}

void addFloats(Opcodes &to) {
  addFloat<float>(to, "f32");
  addFloat<double>(to, "f64");
  addHalves<Add>(to, "add");
  addHalves<Subtract>(to, "sub");
  addHalves<Multiply>(to, "mul");
  addTernary<float, FusedInMode<FE_DOWNWARD>>(to, "fma.rm.f32");
  addTernary<float, FusedInMode<FE_UPWARD>>(to, "fma.rp.f32");
  addTernary<float, FusedInMode<FE_TOWARDZERO>>(to, "fma.rz.f32");
  addApproximation<Power2>(to, "ex2");
  addApproximation<Logarithm2>(to, "lg2");
  addApproximation<Reciprocal>(to, "rcp");
  addApproximation<InverseRoot>(to, "rsqrt");
  addApproximation<Sine>(to, "sin");
  addApproximation<Cosine>(to, "cos");
  addUnary<float, HyperbolicTangent>(to, "tanh.approx.f32");
}

} // namespace

void addArithmetic(Opcodes &to) {
  addIntegers(to);
  addFloats(to);
  addBinary<bool, And>(to, "and.pred");
  addBinary<bool, Or>(to, "or.pred");
  addBinary<bool, Xor>(to, "xor.pred");
  addUnary<bool, Invert>(to, "not.pred");
  addUnary<uint32_t, Ones>(to, "popc.b32");
  addUnary<uint32_t, LeadingZeros>(to, "clz.b32");
  to["bfi.b32"].run = insertBits<uint32_t>;
  to["bfi.b64"].run = insertBits<uint64_t>;
  to["bfe.u32"].run = extractBits<uint32_t>;
  to["bfe.u64"].run = extractBits<uint64_t>;
  to["bmsk.clamp.b32"].run = makeMask;
  to["prmt.b32"].run = permute;
}

} // namespace zrt::ptx
