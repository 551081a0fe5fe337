#include "flight/Parting.h"

#include <algorithm>
#include <tuple>

using namespace zrt;

namespace {

/// Where a command stands in what its rank does, by its program.
using Position = std::tuple<uint32_t, uint32_t>;
Position positionOf(const FlightStep &step) {
  return {step.region, step.command};
}

bool isCommand(const FlightStep &step) { return step.command != kNoCommand; }

/// A rank's program never goes back.
bool goesBack(const FlightGroupRanks::Member &member, uint64_t meeting) {
  const auto here = member.meetings.find(meeting);
  const auto before = member.meetings.find(meeting - 1);
  return here != member.meetings.end() && before != member.meetings.end() &&
         isCommand(*here->second) && isCommand(*before->second) &&
         positionOf(*here->second) <= positionOf(*before->second);
}

} // namespace

bool zrt::isSameMeeting(const FlightRecord &a, const FlightStep &x,
                        const FlightRecord &b, const FlightStep &y) {
  if (x.signature != y.signature || isCommand(x) != isCommand(y))
    return false;
  // Stages of a pipeline run programs of their own.
  return a.stage != b.stage || !isCommand(x) || positionOf(x) == positionOf(y);
}

FlightGroupRanks::FlightGroupRanks(const std::vector<FlightRecord> &records,
                                   uint64_t id) {
  for (const FlightRecord &record : records)
    for (uint32_t index = 0; index < record.groups.size(); ++index) {
      if (record.groups[index].id != id)
        continue;
      count = record.groups[index].ranks;
      Member member{&record, {}, nullptr};
      for (const FlightStep &step : record.steps) {
        if (step.group != index || step.meeting == 0)
          continue;
        if (step.kind == FlightKind::Meeting)
          member.meetings[step.meeting] = &step;
        else if (step.kind == FlightKind::Wait && !step.hasEnded)
          member.waits = &step;
      }
      all.push_back(std::move(member));
    }
}

bool FlightGroupRanks::differsAt(uint64_t meeting) const {
  const Member *first = nullptr;
  for (const Member &member : all) {
    const auto found = member.meetings.find(meeting);
    if (found == member.meetings.end())
      continue;
    if (first && !isSameMeeting(*first->record, *first->meetings.at(meeting),
                                *member.record, *found->second))
      return true;
    if (!first)
      first = &member;
  }
  return false;
}

/// What the program wants at a meeting: of those that do not go back, what most
/// ranks started and, where they are as many, what comes first.
const FlightStep *FlightGroupRanks::usualAt(uint64_t meeting) const {
  const FlightStep *usual = nullptr;
  size_t most = 0;
  for (const Member &member : all) {
    const auto found = member.meetings.find(meeting);
    if (found == member.meetings.end() || goesBack(member, meeting))
      continue;
    const auto same = [&](const Member &other) {
      const auto step = other.meetings.find(meeting);
      return step != other.meetings.end() &&
             isSameMeeting(*member.record, *found->second, *other.record,
                           *step->second);
    };
    const auto size = size_t(std::count_if(all.begin(), all.end(), same));
    if (size > most || (size == most && isCommand(*found->second) &&
                        positionOf(*found->second) < positionOf(*usual))) {
      usual = found->second;
      most = size;
    }
  }
  return usual;
}

void FlightGroupRanks::judge(const Member &member, uint64_t meeting,
                             PartingRank &rank, const FlightStep &usual) const {
  const FlightStep &own = *rank.step;
  const auto isUsual = [&](const FlightStep &step) {
    return step.signature == usual.signature &&
           positionOf(step) == positionOf(usual) &&
           isCommand(step) == isCommand(usual);
  };
  if (isUsual(own))
    return;
  const auto next = member.meetings.upper_bound(meeting);
  const bool comesBack =
      std::any_of(next, member.meetings.end(),
                  [&](const auto &later) { return isUsual(*later.second); });
  if (goesBack(member, meeting))
    rank.deviation = Deviation::Extra;
  else if (!isCommand(own) || !isCommand(usual))
    rank.deviation = Deviation::Different;
  else if (comesBack)
    rank.deviation = Deviation::Reordered;
  else if (positionOf(own) > positionOf(usual))
    rank.deviation = Deviation::Skipped;
  else
    rank.deviation = Deviation::Different;
}

Parting FlightGroupRanks::findParting() const {
  Parting parting;
  uint64_t first = UINT64_MAX, last = 0;
  for (const Member &member : all)
    if (!member.meetings.empty()) {
      first = std::min(first, member.meetings.begin()->first);
      last = std::max(last, member.last());
    }
  while (first <= last && !differsAt(first))
    ++first;
  if (first > last)
    return parting;
  parting.meeting = first;
  parting.usual = usualAt(first);
  for (const Member &member : all) {
    const auto found = member.meetings.find(first);
    if (found == member.meetings.end())
      continue;
    PartingRank rank{member.record, found->second, Deviation::None};
    if (parting.usual)
      judge(member, first, rank, *parting.usual);
    else
      rank.deviation = Deviation::Different;
    parting.ranks.push_back(rank);
  }
  return parting;
}
