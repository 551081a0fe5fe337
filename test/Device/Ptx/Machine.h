// The threads of a block that runs, as instructions see them. Memory, its order
// and what is wrong with an access are the bench's (../Bench/Accesses.cpp).
#ifndef ZERO_TEST_DEVICE_PTX_MACHINE_H
#define ZERO_TEST_DEVICE_PTX_MACHINE_H

#include "Program.h"

#include "../Bench/State.h"

#include <cstring>
#include <type_traits>

namespace zrt::ptx {

using bench::fault;
using bench::kWarp;

/// A thread.
struct Lane : bench::Thread {
  uint64_t *registers = nullptr;
  char *local = nullptr;
  uint32_t next = 0;               ///< the instruction that comes next
  const Instruction *at = nullptr; ///< the one that runs, or waits
};

/// What runs, of which there is one.
struct Machine {
  Entry *entry = nullptr;
  const char *parameters = nullptr;
  char *shared = nullptr;
  size_t sharedBytes = 0;
  std::vector<Lane> lanes;
  std::vector<uint64_t> registers;
  std::vector<char> locals;
};
extern Machine machine;

/// Runs all blocks of a launch, one after another. `parameters` lie as the
/// entry says. Throws bench::Fault.
void runGrid(Entry &entry, bench::Extent grid, bench::Extent block,
             size_t sharedBytes, const std::vector<char> &parameters);

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

template <typename T> T fromBits(uint64_t bits) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 8);
  T value;
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}
/// A register holds a signed value with its sign in all upper bits.
template <typename T> uint64_t toBits(T value) {
  if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
    return uint64_t(int64_t(value));
  } else {
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(T));
    return bits;
  }
}

inline uint64_t bitsOf(const Lane &lane, const Operand &operand) {
  return operand.place >= 0 ? lane.registers[operand.place] : operand.value;
}
template <typename T> T valueOf(const Lane &lane, const Operand &operand) {
  return fromBits<T>(bitsOf(lane, operand));
}
template <typename T> void set(Lane &lane, const Operand &to, T value) {
  if (to.place >= 0) // nowhere: the sink `_`
    lane.registers[to.place] = toBits(value);
}
inline uint64_t addressOf(const Lane &lane, const Operand &operand) {
  return operand.place >= 0 ? lane.registers[operand.place] + operand.value
                            : operand.value;
}

/// Where a shared access goes. Faults outside of the launch's.
inline char *sharedAt(uint64_t offset, size_t bytes) {
  const uint64_t own = uint32_t(offset); // addresses have 32 bits or 64
  if (own + bytes > machine.sharedBytes)
    fault("accesses " + std::to_string(bytes) + " bytes at " +
          std::to_string(own) + " of shared memory, of which there are " +
          std::to_string(machine.sharedBytes));
  return machine.shared + own;
}

//===----------------------------------------------------------------------===//
// Lanes that meet
//===----------------------------------------------------------------------===//

/// The lanes of a warp that do one thing together.
struct Warp {
  Lane *first; ///< of all its lanes
  unsigned lanes;
  uint32_t mask; ///< those that meet
  bool has(unsigned lane) const { return lane < lanes && (mask >> lane & 1); }
};
using Join = void (*)(const Warp &);
/// Waits for the lanes of `mask`; the last to come does `join` for all. Where
/// `orders` is true, what they did before is ordered with what follows.
void meet(Lane &lane, uint32_t mask, bool orders, Join join);

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

void addArithmetic(Opcodes &opcodes);
void addConversions(Opcodes &opcodes);
void addComparisons(Opcodes &opcodes);
void addAccesses(Opcodes &opcodes);
void addControl(Opcodes &opcodes);
void addMatrices(Opcodes &opcodes);

/// An opcode that does `Compute` of the operands behind its result.
template <typename T, typename Compute>
void addUnary(Opcodes &opcodes, const std::string &name) {
  opcodes[name].run = [](Lane &lane, const Instruction &each) {
    set(lane, each.operands[0], Compute()(valueOf<T>(lane, each.operands[1])));
  };
}
template <typename T, typename Compute>
void addBinary(Opcodes &opcodes, const std::string &name) {
  opcodes[name].run = [](Lane &lane, const Instruction &each) {
    const Operand *o = each.operands;
    set(lane, o[0], Compute()(valueOf<T>(lane, o[1]), valueOf<T>(lane, o[2])));
  };
}
template <typename T, typename Compute>
void addTernary(Opcodes &opcodes, const std::string &name) {
  opcodes[name].run = [](Lane &lane, const Instruction &each) {
    const Operand *o = each.operands;
    set(lane, o[0],
        Compute()(valueOf<T>(lane, o[1]), valueOf<T>(lane, o[2]),
                  valueOf<T>(lane, o[3])));
  };
}

} // namespace zrt::ptx

#endif // ZERO_TEST_DEVICE_PTX_MACHINE_H
