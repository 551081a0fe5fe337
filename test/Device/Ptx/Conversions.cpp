// Conversions between types, and moves between registers.
#include "Machine.h"

#include "program/Float16.h"

#include <cmath>
#include <limits>

namespace zrt::ptx {

namespace {

template <typename To, typename From>
void addCast(Opcodes &to, const std::string &name) {
  to["cvt." + name].run = [](Lane &lane, const Instruction &each) {
    set(lane, each.operands[0],
        static_cast<To>(valueOf<From>(lane, each.operands[1])));
  };
}

/// Between integers, and from them to floating point.
template <typename From> void addCasts(Opcodes &to, const std::string &from) {
  addCast<int8_t, From>(to, "s8." + from);
  addCast<uint8_t, From>(to, "u8." + from);
  addCast<int16_t, From>(to, "s16." + from);
  addCast<uint16_t, From>(to, "u16." + from);
  addCast<int32_t, From>(to, "s32." + from);
  addCast<uint32_t, From>(to, "u32." + from);
  addCast<int64_t, From>(to, "s64." + from);
  addCast<uint64_t, From>(to, "u64." + from);
  addCast<float, From>(to, "rn.f32." + from);
  addCast<double, From>(to, "rn.f64." + from);
}

/// To an integer: what is beyond it is the nearest one, and a NaN is zero, or
/// of 64 bits the one that a device gives.
template <typename To, typename From> To saturated(From value) {
  using Limits = std::numeric_limits<To>;
  if (std::isnan(value))
    return sizeof(To) < 8 ? To(0) : To(uint64_t(1) << 63);
  if (value >= std::ldexp(From(1), Limits::digits))
    return Limits::max();
  return value <= From(Limits::min()) ? Limits::min() : static_cast<To>(value);
}
struct Nearest {
  template <typename T> T operator()(T a) const { return std::nearbyint(a); }
};
struct TowardsZero {
  template <typename T> T operator()(T a) const { return std::trunc(a); }
};
struct Down {
  template <typename T> T operator()(T a) const { return std::floor(a); }
};
struct Up {
  template <typename T> T operator()(T a) const { return std::ceil(a); }
};

template <typename To, typename From, typename Round>
void addToInteger(Opcodes &to, const std::string &name) {
  to["cvt." + name].run = [](Lane &lane, const Instruction &each) {
    const From value = valueOf<From>(lane, each.operands[1]);
    set(lane, each.operands[0], saturated<To>(Round()(value)));
  };
}

template <typename From, typename Round>
void addRounding(Opcodes &to, const std::string &mode,
                 const std::string &from) {
  addToInteger<int32_t, From, Round>(to, mode + ".s32." + from);
  addToInteger<uint32_t, From, Round>(to, mode + ".u32." + from);
  addToInteger<int64_t, From, Round>(to, mode + ".s64." + from);
  addToInteger<uint64_t, From, Round>(to, mode + ".u64." + from);
  addUnary<From, Round>(to, "cvt." + mode + "." + from + "." + from);
}
template <typename From> void addRoundings(Opcodes &to, const char *from) {
  addRounding<From, Nearest>(to, "rni", from);
  addRounding<From, TowardsZero>(to, "rzi", from);
  addRounding<From, Down>(to, "rmi", from);
  addRounding<From, Up>(to, "rpi", from);
}

/// To [0, 1]; a NaN is 0.
struct Saturate {
  float operator()(float a) const { return a > 0 ? std::fmin(a, 1.0f) : 0; }
};

void halfToFloat(Lane &lane, const Instruction &each) {
  set(lane, each.operands[0],
      f16ToF32Portable(valueOf<uint16_t>(lane, each.operands[1])));
}
void floatToHalf(Lane &lane, const Instruction &each) {
  set(lane, each.operands[0],
      f32ToF16Portable(valueOf<float>(lane, each.operands[1])));
}
/// The first operand becomes the upper half.
void floatsToHalves(Lane &lane, const Instruction &each) {
  const uint32_t high =
                     f32ToF16Portable(valueOf<float>(lane, each.operands[1])),
                 low = f32ToF16Portable(valueOf<float>(lane, each.operands[2]));
  set(lane, each.operands[0], high << 16 | low);
}
void brainToFloat(Lane &lane, const Instruction &each) {
  set(lane, each.operands[0],
      uint32_t(valueOf<uint16_t>(lane, each.operands[1])) << 16);
}
/// To nearest, ties to even; a NaN is the one that a device gives.
void floatToBrain(Lane &lane, const Instruction &each) {
  const uint32_t bits = valueOf<uint32_t>(lane, each.operands[1]);
  const bool isNaN = (bits & 0x7fffffffu) > 0x7f800000u;
  set(lane, each.operands[0],
      uint16_t(isNaN ? 0x7fff : (bits + 0x7fff + (bits >> 16 & 1)) >> 16));
}

template <typename T> void addMove(Opcodes &to, const std::string &type) {
  to["mov." + type].run = [](Lane &lane, const Instruction &each) {
    set(lane, each.operands[0], valueOf<T>(lane, each.operands[1]));
  };
  to["selp." + type].run = [](Lane &lane, const Instruction &each) {
    const Operand *o = each.operands;
    set(lane, o[0], valueOf<T>(lane, valueOf<bool>(lane, o[3]) ? o[1] : o[2]));
  };
}

/// Between one register and `parts` of `Part`.
template <typename Part, int parts>
void addSplit(Opcodes &to, const std::string &type) {
  to["unpack." + type].run = [](Lane &lane, const Instruction &each) {
    const uint64_t whole = bitsOf(lane, each.operands[parts]);
    for (int i = 0; i < parts; ++i)
      set(lane, each.operands[i], Part(whole >> 8 * sizeof(Part) * i));
  };
  to["pack." + type].run = [](Lane &lane, const Instruction &each) {
    uint64_t whole = 0;
    for (int i = 0; i < parts; ++i)
      whole |= uint64_t(valueOf<Part>(lane, each.operands[1 + i]))
               << 8 * sizeof(Part) * i;
    set(lane, each.operands[0], whole);
  };
}

/// An address of one space, as one that may be of any.
void addAddresses(Opcodes &to) {
  const auto same = [](Lane &lane, const Instruction &each) {
    set(lane, each.operands[0], bitsOf(lane, each.operands[1]));
  };
  to["cvta.to.global.u64"].run = same;
  to["cvta.global.u64"].run = same;
  to["cvta.shared.u64"].run = [](Lane &lane, const Instruction &each) {
    set(lane, each.operands[0],
        reinterpret_cast<uint64_t>(machine.shared) +
            valueOf<uint32_t>(lane, each.operands[1]));
  };
  to["cvta.to.shared.u64"].run = [](Lane &lane, const Instruction &each) {
    set(lane, each.operands[0],
        bitsOf(lane, each.operands[1]) -
            reinterpret_cast<uint64_t>(machine.shared));
  };
  to["cvta.local.u64"].run = [](Lane &lane, const Instruction &each) {
    set(lane, each.operands[0],
        reinterpret_cast<uint64_t>(lane.local) +
            bitsOf(lane, each.operands[1]));
  };
}

} // namespace

void addConversions(Opcodes &to) {
  addCasts<int8_t>(to, "s8");
  addCasts<uint8_t>(to, "u8");
  addCasts<int16_t>(to, "s16");
  addCasts<uint16_t>(to, "u16");
  addCasts<int32_t>(to, "s32");
  addCasts<uint32_t>(to, "u32");
  addCasts<int64_t>(to, "s64");
  addCasts<uint64_t>(to, "u64");
  addCast<float, double>(to, "rn.f32.f64");
  addCast<double, float>(to, "f64.f32");
  addRoundings<float>(to, "f32");
  addRoundings<double>(to, "f64");
  addUnary<float, Saturate>(to, "cvt.sat.f32.f32");
  to["cvt.f32.f16"].run = halfToFloat;
  to["cvt.rn.f16.f32"].run = floatToHalf;
  to["cvt.rn.f16x2.f32"].run = floatsToHalves;
  to["cvt.f32.bf16"].run = brainToFloat;
  to["cvt.rn.bf16.f32"].run = floatToBrain;
  for (const char *type : {"b16", "u16", "s16"})
    addMove<uint16_t>(to, type);
  for (const char *type : {"b32", "u32", "s32", "f32"})
    addMove<uint32_t>(to, type);
  for (const char *type : {"b64", "u64", "s64", "f64"})
    addMove<uint64_t>(to, type);
  addMove<bool>(to, "pred");
  addSplit<uint16_t, 2>(to, "b32.2");
  addSplit<uint16_t, 4>(to, "b64.4");
  addSplit<uint32_t, 2>(to, "b64.2");
  addAddresses(to);
}

} // namespace zrt::ptx
