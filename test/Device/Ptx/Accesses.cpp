// Loads, stores and atomic operations. What they may touch, and in which order,
// is judged by the bench.
#include "Machine.h"

#include <algorithm>

namespace zrt::ptx {

namespace {

enum class Space { Generic, Global, Shared, Local, Parameter };

/// Where `offset` of `bytes` at most `whole` bytes is.
const char *within(const char *what, const char *begin, size_t whole,
                   uint64_t offset, size_t bytes) {
  if (offset + bytes > whole || offset > whole)
    fault("accesses " + std::to_string(bytes) + " bytes at " +
          std::to_string(offset) + " of " + what + ", of which there are " +
          std::to_string(whole));
  return begin + offset;
}

void wantAligned(uint64_t offset, size_t bytes) {
  if (offset % bytes)
    fault("accesses " + std::to_string(bytes) + " bytes at " +
          std::to_string(offset) + ", which is no multiple of as many");
}

bool isLocal(const Lane &lane, uint64_t address) {
  return address - reinterpret_cast<uint64_t>(lane.local) <
         machine.entry->localBytes;
}

enum class Kind { Read, Write, Atomic };

/// The address of an access that is allowed, or a fault. Of each space an
/// address is what its instructions take: of the device's memory one of the
/// host, of others an offset.
template <Space space>
char *reach(Lane &lane, const Operand &operand, size_t bytes, Kind kind) {
  uint64_t address = addressOf(lane, operand);
  if constexpr (space == Space::Parameter) {
    wantAligned(address, bytes);
    return const_cast<char *>(within("parameters", machine.parameters,
                                     machine.entry->parameterBytes, address,
                                     bytes));
  }
  if (space == Space::Generic && isLocal(lane, address))
    address -= reinterpret_cast<uint64_t>(lane.local);
  else if constexpr (space != Space::Local) {
    char *to = space == Space::Shared ? sharedAt(address, bytes)
                                      : reinterpret_cast<char *>(address);
    if (kind == Kind::Read)
      bench::noteRead(to, bytes, bytes);
    else if (kind == Kind::Write)
      bench::noteWrite(to, bytes, bytes);
    else
      bench::noteAtomic(to, bytes, "", int(lane.at->line));
    return to;
  }
  wantAligned(address, bytes);
  return const_cast<char *>(within("local memory", lane.local,
                                   machine.entry->localBytes, address, bytes));
}

template <Space space, typename T, int count>
void load(Lane &lane, const Instruction &each) {
  const char *from =
      reach<space>(lane, each.operands[count], sizeof(T) * count, Kind::Read);
  for (int i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, from + sizeof(T) * size_t(i), sizeof(T));
    set(lane, each.operands[i], value);
  }
}

template <Space space, typename T, int count>
void store(Lane &lane, const Instruction &each) {
  char *to =
      reach<space>(lane, each.operands[0], sizeof(T) * count, Kind::Write);
  for (int i = 0; i < count; ++i) {
    const T value = valueOf<T>(lane, each.operands[1 + i]);
    std::memcpy(to + sizeof(T) * size_t(i), &value, sizeof(T));
  }
}

/// What an access may be called: `volatile` and caches change nothing here.
template <Space space, typename T, int count>
void addAccess(Opcodes &to, const std::string &name, const std::string &vector,
               const std::string &type) {
  for (const char *before : {"", ".volatile"})
    for (const char *behind : {"", ".nc", ".ca", ".cg", ".cs", ".lu"})
      to["ld" + (before + name) + behind + vector + type].run =
          load<space, T, count>;
  if constexpr (space != Space::Parameter)
    for (const char *before : {"", ".volatile"})
      for (const char *behind : {"", ".wb", ".cg", ".cs", ".wt"})
        to["st" + (before + name) + behind + vector + type].run =
            store<space, T, count>;
}

template <Space space, typename T>
void addType(Opcodes &to, const char *name, const std::string &type) {
  addAccess<space, T, 1>(to, name, "", type);
  addAccess<space, T, 2>(to, name, ".v2", type);
  if constexpr (sizeof(T) <= 4)
    addAccess<space, T, 4>(to, name, ".v4", type);
}

template <Space space> void addSpace(Opcodes &to, const char *name) {
  addType<space, int8_t>(to, name, ".s8");
  addType<space, int16_t>(to, name, ".s16");
  addType<space, int32_t>(to, name, ".s32");
  addType<space, int64_t>(to, name, ".s64");
  for (const char *kind : {".u", ".b"}) {
    addType<space, uint8_t>(to, name, std::string(kind) + "8");
    addType<space, uint16_t>(to, name, std::string(kind) + "16");
    addType<space, uint32_t>(to, name, std::string(kind) + "32");
    addType<space, uint64_t>(to, name, std::string(kind) + "64");
  }
  addType<space, uint32_t>(to, name, ".f32");
  addType<space, uint64_t>(to, name, ".f64");
}

//===----------------------------------------------------------------------===//
// Atomic operations
//===----------------------------------------------------------------------===//

struct Sum {
  template <typename T> static T of(T a, T b) { return T(a + b); }
};
struct Largest {
  template <typename T> static T of(T a, T b) { return std::max(a, b); }
};
struct Smallest {
  template <typename T> static T of(T a, T b) { return std::min(a, b); }
};
struct Both {
  template <typename T> static T of(T a, T b) { return a & b; }
};
struct Either {
  template <typename T> static T of(T a, T b) { return a | b; }
};
struct Last {
  template <typename T> static T of(T, T b) { return b; }
};

/// `returns`: there is a register for what was there before. An operation that
/// a test leaves out reads and writes as others do.
template <Space space, typename T, typename Join, bool returns>
void change(Lane &lane, const Instruction &each) {
  const Operand &address = each.operands[returns];
  char *at = nullptr;
  if (each.isLeftOut) {
    reach<space>(lane, address, sizeof(T), Kind::Read);
    at = reach<space>(lane, address, sizeof(T), Kind::Write);
  } else {
    at = reach<space>(lane, address, sizeof(T), Kind::Atomic);
  }
  T old;
  std::memcpy(&old, at, sizeof(T));
  const T next = Join::of(old, valueOf<T>(lane, each.operands[1 + returns]));
  std::memcpy(at, &next, sizeof(T));
  if (returns)
    set(lane, each.operands[0], old);
}

template <typename T, typename Join>
void addChange(Opcodes &to, const std::string &name) {
  to["atom.global." + name] = {change<Space::Global, T, Join, true>,
                               Meeting::Atomic};
  to["atom.shared." + name] = {change<Space::Shared, T, Join, true>,
                               Meeting::Atomic};
  to["atom." + name] = {change<Space::Generic, T, Join, true>, Meeting::Atomic};
  to["red.global." + name] = {change<Space::Global, T, Join, false>,
                              Meeting::Atomic};
  to["red.shared." + name] = {change<Space::Shared, T, Join, false>,
                              Meeting::Atomic};
  to["red." + name] = {change<Space::Generic, T, Join, false>, Meeting::Atomic};
}

template <typename T> void addOrder(Opcodes &to, const std::string &type) {
  addChange<T, Largest>(to, "max." + type);
  addChange<T, Smallest>(to, "min." + type);
}
template <typename T> void addBits(Opcodes &to, const std::string &type) {
  addChange<T, Both>(to, "and." + type);
  addChange<T, Either>(to, "or." + type);
  addChange<T, Last>(to, "exch." + type);
}

} // namespace

void addAccesses(Opcodes &to) {
  addSpace<Space::Generic>(to, "");
  addSpace<Space::Global>(to, ".global");
  addSpace<Space::Shared>(to, ".shared");
  addSpace<Space::Local>(to, ".local");
  addSpace<Space::Parameter>(to, ".param");
  addChange<uint32_t, Sum>(to, "add.u32");
  addChange<uint32_t, Sum>(to, "add.s32");
  addChange<uint64_t, Sum>(to, "add.u64");
  addChange<float, Sum>(to, "add.f32");
  addChange<double, Sum>(to, "add.f64");
  addOrder<uint32_t>(to, "u32");
  addOrder<int32_t>(to, "s32");
  addOrder<uint64_t>(to, "u64");
  addOrder<int64_t>(to, "s64");
  addBits<uint32_t>(to, "b32");
  addBits<uint64_t>(to, "b64");
}

} // namespace zrt::ptx
