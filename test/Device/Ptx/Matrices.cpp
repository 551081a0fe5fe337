// Products of matrices by a warp, of 16 x 16 x 16, and copies that arrive
// later.
//
// How a matrix lies in registers is a device's own, and only these instructions
// know: here lane i has the elements 8 i to 8 i + 7 of it by rows. In f16 an
// operand has registers for as many again, which a device fills as well.
#include "Machine.h"

#include "program/Float16.h"

#include <cmath>

namespace zrt::ptx {

namespace {

constexpr unsigned kSide = 16, kOwn = 8; // elements of a lane

struct Half {
  static constexpr int kRegisters = 8;
  static float of(uint16_t bits) { return f16ToF32Portable(bits); }
};
struct Brain {
  static constexpr int kRegisters = 4;
  static float of(uint16_t bits) {
    return fromBits<float>(uint32_t(bits) << 16);
  }
};

/// The address of an element of a matrix in memory.
template <typename T, bool shared>
char *elementAt(Lane &lane, const Operand &operand, uint64_t index) {
  const uint64_t address = addressOf(lane, operand) + index * sizeof(T);
  return shared ? sharedAt(address, sizeof(T))
                : reinterpret_cast<char *>(address);
}

/// A device wants the first element at a multiple of 32 bytes, and rows at
/// multiples of 16.
template <bool shared>
void wantMatrix(Lane &lane, const Operand &operand, uint64_t stride) {
  uint64_t address = addressOf(lane, operand);
  const uint64_t begin = reinterpret_cast<uint64_t>(machine.shared);
  if (!shared && address - begin < machine.sharedBytes)
    address -= begin;
  if (address % 32 || stride % 16)
    fault("takes a matrix whose address is no multiple of 32 bytes, or whose "
          "rows are " +
          std::to_string(stride) + " bytes apart, no multiple of 16");
}

/// Whole warps alone take part, and what one of them reads is ordered with
/// nothing by that.
void meetAll(Lane &lane, Join join) { meet(lane, ~0u, /*orders=*/false, join); }

/// Takes the place of the lane that came last, for what is noted.
struct As {
  explicit As(Lane &lane) { bench::running.thread = &lane; }
};

template <int registers, bool columnFirst, bool shared>
void loadFragments(const Warp &warp) {
  for (unsigned i = 0; i < warp.lanes; ++i) {
    Lane &lane = warp.first[i];
    const As as(lane);
    const Operand *o = lane.at->operands;
    const uint32_t stride = valueOf<uint32_t>(lane, o[registers + 1]);
    wantMatrix<shared>(lane, o[registers], stride * 2);
    uint32_t words[kOwn / 2] = {};
    for (unsigned j = 0; j < kOwn; ++j) {
      const unsigned row = (i * kOwn + j) / kSide,
                     column = (i * kOwn + j) % kSide;
      const char *at = elementAt<uint16_t, shared>(
          lane, o[registers],
          columnFirst ? uint64_t(column) * stride + row
                      : uint64_t(row) * stride + column);
      bench::noteRead(at, 2, 2);
      uint16_t bits;
      std::memcpy(&bits, at, 2);
      words[j / 2] |= uint32_t(bits) << 16 * (j % 2);
    }
    for (int r = 0; r < registers; ++r)
      set(lane, o[r], words[unsigned(r) % (kOwn / 2)]);
  }
}

template <bool shared> void storeFragments(const Warp &warp) {
  for (unsigned i = 0; i < warp.lanes; ++i) {
    Lane &lane = warp.first[i];
    const As as(lane);
    const Operand *o = lane.at->operands;
    const uint32_t stride = valueOf<uint32_t>(lane, o[kOwn + 1]);
    wantMatrix<shared>(lane, o[0], stride * 4);
    for (unsigned j = 0; j < kOwn; ++j) {
      const unsigned row = (i * kOwn + j) / kSide,
                     column = (i * kOwn + j) % kSide;
      char *at =
          elementAt<float, shared>(lane, o[0], uint64_t(row) * stride + column);
      bench::noteWrite(at, 4, 4);
      const uint32_t bits = valueOf<uint32_t>(lane, o[1 + j]);
      std::memcpy(at, &bits, 4);
    }
  }
}

/// A matrix of the warp's, whose first register is `first`.
template <typename T>
void gather(const Warp &warp, int first, float (&matrix)[kSide][kSide]) {
  for (unsigned i = 0; i < kSide * kSide; ++i) {
    const Lane &lane = warp.first[i / kOwn];
    const unsigned own = i % kOwn;
    const uint32_t word =
        valueOf<uint32_t>(lane, lane.at->operands[first + int(own / 2)]);
    matrix[i / kSide][i % kSide] = T::of(uint16_t(word >> 16 * (own % 2)));
  }
}

/// Sums in the order of the depth; a device's order is its own.
template <typename T> void multiply(const Warp &warp) {
  float a[kSide][kSide], b[kSide][kSide], sums[kSide * kSide];
  gather<T>(warp, kOwn, a);
  gather<T>(warp, kOwn + T::kRegisters, b);
  for (unsigned i = 0; i < kSide * kSide; ++i) {
    const Lane &lane = warp.first[i / kOwn];
    const int added = int(kOwn + i % kOwn) + 2 * T::kRegisters;
    float sum = valueOf<float>(lane, lane.at->operands[added]);
    for (unsigned k = 0; k < kSide; ++k)
      sum = std::fma(a[i / kSide][k], b[k][i % kSide], sum);
    sums[i] = sum;
  }
  for (unsigned i = 0; i < kSide * kSide; ++i) {
    Lane &lane = warp.first[i / kOwn];
    set(lane, lane.at->operands[i % kOwn], sums[i]);
  }
}

template <typename T, bool columnFirst>
void addLoad(Opcodes &to, const std::string &layout, const std::string &type) {
  const std::string tail = ".sync.aligned." + layout + ".m16n16k16";
  for (const char *which : {"a", "b"}) {
    const std::string name = std::string("wmma.load.") + which + tail;
    to[name + "." + type].run = [](Lane &lane, const Instruction &) {
      meetAll(lane, loadFragments<T::kRegisters, columnFirst, false>);
    };
    to[name + ".shared." + type].run = [](Lane &lane, const Instruction &) {
      meetAll(lane, loadFragments<T::kRegisters, columnFirst, true>);
    };
  }
}

template <typename T> void addMultiply(Opcodes &to, const std::string &types) {
  for (const char *a : {"row", "col"})
    for (const char *b : {"row", "col"})
      to[std::string("wmma.mma.sync.aligned.") + a + "." + b + ".m16n16k16." +
         types]
          .run = [](Lane &lane, const Instruction &) {
        meetAll(lane, multiply<T>);
      };
}

//===----------------------------------------------------------------------===//
// Copies that arrive later
//===----------------------------------------------------------------------===//

/// The fourth operand is how many bytes come from memory; the others would be
/// zeros, which no kernel here asks for.
void startCopy(Lane &lane, const Instruction &each) {
  const Operand *o = each.operands;
  const size_t bytes = valueOf<uint32_t>(lane, o[2]);
  if (valueOf<uint32_t>(lane, o[3]) != bytes)
    fault("starts a copy that fills with zeros, which is not modelled");
  bench::startCopy(sharedAt(addressOf(lane, o[0]), bytes),
                   reinterpret_cast<const void *>(addressOf(lane, o[1])),
                   bytes);
}
void commitCopies(Lane &, const Instruction &) { bench::commitCopies(); }
void awaitCopies(Lane &lane, const Instruction &each) {
  bench::awaitCopies(valueOf<uint32_t>(lane, each.operands[0]), "",
                     int(each.line));
}

} // namespace

void addMatrices(Opcodes &to) {
  addLoad<Half, false>(to, "row", "f16");
  addLoad<Half, true>(to, "col", "f16");
  addLoad<Brain, false>(to, "row", "bf16");
  addLoad<Brain, true>(to, "col", "bf16");
  const std::string store = "wmma.store.d.sync.aligned.row.m16n16k16";
  to[store + ".f32"].run = [](Lane &lane, const Instruction &) {
    meetAll(lane, storeFragments<false>);
  };
  to[store + ".shared.f32"].run = [](Lane &lane, const Instruction &) {
    meetAll(lane, storeFragments<true>);
  };
  addMultiply<Half>(to, "f32.f32");
  addMultiply<Brain>(to, "f32.bf16.bf16.f32");
  for (const char *cache : {"ca", "cg"})
    to[std::string("cp.async.") + cache + ".shared.global"].run = startCopy;
  to["cp.async.commit_group"].run = commitCopies;
  to["cp.async.wait_group"] = {awaitCopies, Meeting::Arrival};
}

} // namespace zrt::ptx
