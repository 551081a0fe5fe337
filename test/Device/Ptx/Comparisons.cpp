// Comparisons that set predicates.
#include "Machine.h"

#include <cmath>

namespace zrt::ptx {

namespace {

#define COMPARISON(Name, result)                                               \
  struct Name {                                                                \
    template <typename T> static bool of(T a, T b) { return result; }          \
  };
COMPARISON(Equal, a == b)
COMPARISON(Unequal, a != b)
COMPARISON(Less, a < b)
COMPARISON(LessOrEqual, a <= b)
COMPARISON(More, a > b)
COMPARISON(MoreOrEqual, a >= b)
// Of floating point: `ne` is false where there is a NaN, and what ends in `u`
// is true.
COMPARISON(Ordered, !std::isnan(a) && !std::isnan(b))
COMPARISON(Unordered, std::isnan(a) || std::isnan(b))
COMPARISON(OrderedUnequal, a<b || a> b)
COMPARISON(UnorderedEqual, !(a < b || a > b))
COMPARISON(UnorderedLess, !(a >= b))
COMPARISON(UnorderedLessOrEqual, !(a > b))
COMPARISON(UnorderedMore, !(a <= b))
COMPARISON(UnorderedMoreOrEqual, !(a < b))

struct AndWith {
  static bool of(bool a, bool b) { return a && b; }
};
struct OrWith {
  static bool of(bool a, bool b) { return a || b; }
};
struct XorWith {
  static bool of(bool a, bool b) { return a != b; }
};

template <typename T, typename Compare, typename With>
void addJoined(Opcodes &to, const std::string &name) {
  to[name].run = [](Lane &lane, const Instruction &each) {
    const Operand *o = each.operands;
    const bool result =
        Compare::of(valueOf<T>(lane, o[1]), valueOf<T>(lane, o[2]));
    set(lane, o[0], With::of(result, valueOf<bool>(lane, o[3])));
  };
}

template <typename T, typename Compare>
void add(Opcodes &to, const std::string &name, const std::string &type) {
  to["setp." + name + "." + type].run = [](Lane &lane,
                                           const Instruction &each) {
    const Operand *o = each.operands;
    set(lane, o[0],
        Compare::of(valueOf<T>(lane, o[1]), valueOf<T>(lane, o[2])));
  };
  addJoined<T, Compare, AndWith>(to, "setp." + name + ".and." + type);
  addJoined<T, Compare, OrWith>(to, "setp." + name + ".or." + type);
  addJoined<T, Compare, XorWith>(to, "setp." + name + ".xor." + type);
}

template <typename T> void addOrders(Opcodes &to, const std::string &type) {
  add<T, Equal>(to, "eq", type);
  add<T, Less>(to, "lt", type);
  add<T, LessOrEqual>(to, "le", type);
  add<T, More>(to, "gt", type);
  add<T, MoreOrEqual>(to, "ge", type);
}
template <typename T> void addInteger(Opcodes &to, const std::string &type) {
  addOrders<T>(to, type);
  add<T, Unequal>(to, "ne", type);
}
template <typename T> void addFloat(Opcodes &to, const std::string &type) {
  addOrders<T>(to, type);
  add<T, OrderedUnequal>(to, "ne", type);
  add<T, UnorderedEqual>(to, "equ", type);
  add<T, Unequal>(to, "neu", type);
  add<T, UnorderedLess>(to, "ltu", type);
  add<T, UnorderedLessOrEqual>(to, "leu", type);
  add<T, UnorderedMore>(to, "gtu", type);
  add<T, UnorderedMoreOrEqual>(to, "geu", type);
  add<T, Ordered>(to, "num", type);
  add<T, Unordered>(to, "nan", type);
}

} // namespace

void addComparisons(Opcodes &to) {
  for (const char *type : {"b16", "u16"})
    addInteger<uint16_t>(to, type);
  for (const char *type : {"b32", "u32"})
    addInteger<uint32_t>(to, type);
  for (const char *type : {"b64", "u64"})
    addInteger<uint64_t>(to, type);
  addInteger<int16_t>(to, "s16");
  addInteger<int32_t>(to, "s32");
  addInteger<int64_t>(to, "s64");
  addFloat<float>(to, "f32");
  addFloat<double>(to, "f64");
}

} // namespace zrt::ptx
