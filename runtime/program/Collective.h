// What ranks do together, as compiler and runtime both name it.
#ifndef ZERO_RUNTIME_PROGRAM_COLLECTIVE_H
#define ZERO_RUNTIME_PROGRAM_COLLECTIVE_H

#include <cstdint>

namespace zrt {

/// A kind of collective. The numbers are part of the program format: append
/// only.
enum class Collective : uint8_t {
  AllReduce = 0,
  ReduceScatter = 1,
  AllGather = 2,
  Broadcast = 3,
  Reduce = 4,   ///< to one rank, the root
  AllToAll = 5, ///< part s of rank r goes to rank s, as its part r
};
inline constexpr int kCollectiveCount = 6;
constexpr const char *nameOf(Collective kind) {
  constexpr const char *names[kCollectiveCount] = {
      "all-reduce", "reduce-scatter", "all-gather",
      "broadcast",  "reduce",         "all-to-all"};
  return names[static_cast<int>(kind)];
}

/// How a collective combines the elements of all ranks.
enum class Reduction : uint8_t {
  Sum,          ///< integers wrap around; not of i1
  PrescaledSum, ///< f32 sum times `prescaleOf`, rounded once; of floats only
  Max,          ///< a NaN wins
};
constexpr const char *nameOf(Reduction reduction) {
  constexpr const char *names[] = {"sum", "prescaled sum", "max"};
  return names[static_cast<int>(reduction)];
}

/// 2^-ceil(log2 `ranks`), the factor of a prescaled sum: the largest power of
/// two with which no sum over `ranks` fp16 values overflows. Multiplying by it
/// is exact but for subnormals, before the sum as after it.
/// \pre ranks >= 1.
constexpr double prescaleOf(int64_t ranks) {
  double factor = 1;
  for (int64_t power = 1; power < ranks; power *= 2)
    factor /= 2;
  return factor;
}

constexpr bool isReducing(Collective kind) {
  return kind == Collective::AllReduce || kind == Collective::ReduceScatter ||
         kind == Collective::Reduce;
}
/// Whether one rank, the root, differs from the others.
constexpr bool isRooted(Collective kind) {
  return kind == Collective::Broadcast || kind == Collective::Reduce;
}

/// Whether the buffer that a rank sends, or receives, has a part of `count`
/// elements for every rank.
constexpr bool sendsToEach(Collective kind) {
  return kind == Collective::ReduceScatter || kind == Collective::AllToAll;
}
constexpr bool receivesFromEach(Collective kind) {
  return kind == Collective::AllGather || kind == Collective::AllToAll;
}
/// Whether what is received may lie in the buffer that is sent.
constexpr bool worksInPlace(Collective kind) {
  return !sendsToEach(kind) || !receivesFromEach(kind);
}
/// Elements that the ranks of a group send together, divided by n - 1.
constexpr uint64_t sentByGroup(Collective kind, uint64_t count, int64_t ranks) {
  if (kind == Collective::AllReduce)
    return 2 * count;
  return sendsToEach(kind) || receivesFromEach(kind) ? count * ranks : count;
}

/// What a collective moves; for the traffic counters.
enum class TrafficClass : uint8_t {
  Gradient = 0,
  Parameter = 1,
  Control = 2,    ///< norm, loss: a few numbers
  Activation = 3, ///< values of the model itself
};
inline constexpr int kTrafficClassCount = 4;
constexpr const char *nameOf(TrafficClass kind) {
  constexpr const char *names[kTrafficClassCount] = {"gradient", "parameter",
                                                     "control", "activation"};
  return names[static_cast<int>(kind)];
}

} // namespace zrt

#endif // ZERO_RUNTIME_PROGRAM_COLLECTIVE_H
