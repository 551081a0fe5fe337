// Where the ranks of a group no longer did the same, and which of them is why.
#ifndef ZERO_RUNTIME_FLIGHT_PARTING_H
#define ZERO_RUNTIME_FLIGHT_PARTING_H

#include "flight/FlightReader.h"

#include <map>
#include <string>
#include <vector>

namespace zrt {

enum class Deviation {
  None,      ///< does as the others
  Skipped,   ///< went past an operation that the others started
  Extra,     ///< started an operation once more than the others
  Reordered, ///< started a later operation first
  Different, ///< started another one; which of the ranks is right is not known
};

/// The operation that a rank started at the meeting where ranks part.
struct PartingRank {
  const FlightRecord *record = nullptr;
  const FlightStep *step = nullptr;
  Deviation deviation = Deviation::None;
};

/// The first meeting of a group whose ranks started different operations.
struct Parting {
  uint64_t meeting = 0;
  std::vector<PartingRank> ranks;
  const FlightStep *usual = nullptr; ///< of those that do not deviate
};

/// The ranks of a group that one of `records` names, with what each started.
class FlightGroupRanks {
public:
  FlightGroupRanks(const std::vector<FlightRecord> &records, uint64_t id);

  /// Finds the meeting at which ranks part; `ranks` is empty if all did the
  /// same, as far as is known.
  Parting findParting() const;

  struct Member {
    const FlightRecord *record;
    /// By number of the meeting.
    std::map<uint64_t, const FlightStep *> meetings;
    /// The operation that the rank waits for; null: it does not wait.
    const FlightStep *waits = nullptr;
    uint64_t last() const {
      return meetings.empty() ? 0 : meetings.rbegin()->first;
    }
  };
  const std::vector<Member> &members() const { return all; }
  uint32_t ranks() const { return count; }

private:
  bool differsAt(uint64_t meeting) const;
  void judge(const Member &member, uint64_t meeting, PartingRank &rank,
             const FlightStep &usual) const;
  const FlightStep *usualAt(uint64_t meeting) const;

  std::vector<Member> all;
  uint32_t count = 0;
};

/// Whether two ranks of a group started the same operation.
bool isSameMeeting(const FlightRecord &a, const FlightStep &x,
                   const FlightRecord &b, const FlightStep &y);

} // namespace zrt

#endif // ZERO_RUNTIME_FLIGHT_PARTING_H
