// The bytes of a flight record: a header, and a ring of a rank's last
// operations.
//
// Ranks write it through a shared mapping, so that it is whole however a
// process ends. Readers are other processes of the same build's layout, at any
// time: each entry says whether it is being written.
#ifndef ZERO_RUNTIME_FLIGHT_FLIGHTFILE_H
#define ZERO_RUNTIME_FLIGHT_FLIGHTFILE_H

#include <atomic>
#include <cstdint>

namespace zrt {

constexpr char kFlightMagic[8] = {'Z', 'E', 'R', 'O', 'F', 'L', 'T', '1'};
constexpr uint32_t kFlightOperations = 1024;
constexpr uint32_t kFlightGroups = 62;
constexpr uint32_t kFlightTextBytes = 192;

/// The number of a group that has no place in the header, or of no group.
constexpr uint32_t kNoFlightGroup = UINT32_MAX;
/// The command of an operation that is none of the program's commands.
constexpr uint32_t kNoCommand = UINT32_MAX;

enum class FlightKind : uint32_t {
  Kernel,
  Meeting,  ///< what a group of ranks starts together
  Transfer, ///< a send or a receive, between two
  Wait
};

enum class FlightState : uint32_t {
  Running, ///< or ended by a signal
  Ended,   ///< well
  Stopped  ///< because of its peers, for which it waited or which failed
};

/// One operation. A look at the clock costs more than all the rest, so there is
/// one: it has ended before the next one began.
struct FlightEntry {
  /// Counts from 1, over all operations of the rank; 0 while it is written.
  std::atomic<uint64_t> number;
  int64_t began;               ///< on the steady clock, in nanoseconds
  std::atomic<uint64_t> ended; ///< 0: not yet
  /// How many operations the group had started with this one; 0 where it is
  /// for no group. Of a wait, that of what it waits for.
  std::atomic<uint64_t> meeting;
  uint64_t signature; ///< of a meeting: equal where ranks do the same
  uint64_t update;
  FlightKind kind;
  std::atomic<uint32_t> group; ///< index in the header
  /// Regions that the rank had begun, and the command's number in this one.
  uint32_t region, command;
  char text[kFlightTextBytes]; ///< for people, with a zero at the end
};

/// The ranks of a communicator.
struct FlightGroup {
  uint64_t id; ///< the same on all of them, and no other group's
  uint32_t ranks;
  uint32_t rank; ///< this one's place
};

struct FlightHeader {
  char magic[8];
  uint32_t entryBytes, operations;
  int32_t rank, ranks;
  int32_t stage; ///< whose program it runs
  std::atomic<uint32_t> groups;
  int64_t process;
  char machine[64];
  char program[64];
  std::atomic<uint64_t> count; ///< of operations begun
  std::atomic<uint64_t> update;
  std::atomic<FlightState> state;
  FlightGroup group[kFlightGroups];
};

struct FlightFile {
  FlightHeader header;
  alignas(64) FlightEntry entries[kFlightOperations];
};

static_assert(sizeof(FlightEntry) == 256 && sizeof(FlightHeader) <= 2048,
              "an entry is four cache lines, and the header half a page");
static_assert(std::atomic<uint64_t>::is_always_lock_free,
              "other processes read what one writes");

} // namespace zrt

#endif // ZERO_RUNTIME_FLIGHT_FLIGHTFILE_H
