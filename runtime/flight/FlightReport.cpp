#include "flight/FlightReport.h"

#include "flight/Parting.h"
#include "program/ByteCount.h"

#include <algorithm>
#include <cstdio>
#include <set>
#include <stdexcept>

using namespace zrt;

namespace {

std::string nameOf(int rank) { return "rank " + std::to_string(rank); }

std::string updateOf(uint64_t update) {
  return update == 0 ? "before the first update"
                     : "in update " + std::to_string(update);
}

void checkOneRun(const std::vector<FlightRecord> &records) {
  std::set<int> ranks;
  for (const FlightRecord &record : records) {
    if (record.ranks != records.front().ranks ||
        record.program != records.front().program)
      throw std::invalid_argument(
          record.path + ": is of " + std::to_string(record.ranks) +
          " ranks of '" + record.program + "', and " + records.front().path +
          " of " + std::to_string(records.front().ranks) + " of '" +
          records.front().program + "': give the records of one run");
    if (!ranks.insert(record.rank).second)
      throw std::invalid_argument(record.path + ": is a second record of " +
                                  nameOf(record.rank) +
                                  ": give the records of one run");
  }
}

/// What a rank is in; null: nothing.
const FlightStep *openStep(const FlightRecord &record) {
  for (auto step = record.steps.rbegin(); step != record.steps.rend(); ++step)
    if (!step->hasEnded)
      return &*step;
  return nullptr;
}

std::string describeRank(const FlightRecord &record) {
  std::string text = nameOf(record.rank) + ": ";
  if (record.state == FlightState::Ended)
    return text + "ended well";
  if (record.isLost())
    text += "its process (" + std::to_string(record.process) + " on " +
            record.machine + ") has ended without a word, ";
  return text + describeLast(record);
}

/// Ranks of the run that no record is of.
std::vector<int> missingOf(const std::vector<FlightRecord> &records) {
  std::vector<int> missing;
  for (int rank = 0; rank < records.front().ranks; ++rank)
    if (std::none_of(records.begin(), records.end(),
                     [&](const auto &record) { return record.rank == rank; }))
      missing.push_back(rank);
  return missing;
}

/// The step that a meeting has on one of the ranks.
const FlightStep *stepOf(const FlightGroupRanks &group, uint64_t meeting) {
  for (const FlightGroupRanks::Member &member : group.members())
    if (const auto found = member.meetings.find(meeting);
        found != member.meetings.end())
      return found->second;
  return nullptr;
}

/// The first meeting that a rank has not started while others wait; 0: none.
uint64_t unmetMeeting(const FlightGroupRanks &group) {
  uint64_t waited = UINT64_MAX, first = UINT64_MAX, last = 0;
  bool anyLate = false;
  for (const FlightGroupRanks::Member &member : group.members()) {
    if (member.waits)
      waited = std::min(waited, member.waits->meeting);
    first = std::min(first, member.last());
    last = std::max(last, member.last());
  }
  if (waited == UINT64_MAX)
    return 0;
  for (const FlightGroupRanks::Member &member : group.members())
    anyLate |= member.last() < waited;
  if (anyLate)
    return waited;
  // Where data does not move, ranks may wait for what all have started.
  return first < last ? first + 1 : 0;
}

std::string describeArrivals(const FlightGroupRanks &group) {
  const uint64_t meeting = unmetMeeting(group);
  if (meeting == 0)
    return "";
  std::vector<int> arrived, late;
  std::string why;
  for (const FlightGroupRanks::Member &member : group.members()) {
    const bool isThere = member.last() >= meeting;
    (isThere ? arrived : late).push_back(member.record->rank);
    if (!isThere && !member.waits)
      why += "; " + describeRank(*member.record);
  }
  const FlightStep *step = stepOf(group, meeting);
  return "waited for: " + (step ? step->text : "an operation") + ": " +
         listRanks(arrived) + " arrived, " + listRanks(late) + " did not" +
         why + "\n";
}

std::string describeDeviation(const PartingRank &rank,
                              const FlightStep &usual) {
  const std::string name = nameOf(rank.record->rank), own = rank.step->text;
  switch (rank.deviation) {
  case Deviation::None:
    return "";
  case Deviation::Skipped:
    return name + " skipped it, and went on with " + own;
  case Deviation::Extra:
    return name + " started " + own + " once more";
  case Deviation::Reordered:
    return name + " changed the order, and started " + own + " before it";
  case Deviation::Different:
    if (own == usual.text)
      return name + " started it with other counts or types";
    return name + " started " + own;
  }
  return "";
}

std::string describeParting(const FlightGroupRanks &group) {
  const Parting parting = group.findParting();
  if (parting.ranks.empty())
    return "";
  std::string text =
      "ranks part " + updateOf(parting.ranks.front().step->update) + ":";
  std::vector<int> usual;
  for (const PartingRank &rank : parting.ranks)
    if (rank.deviation == Deviation::None)
      usual.push_back(rank.record->rank);
  const FlightStep &theirs =
      parting.usual ? *parting.usual : *parting.ranks.front().step;
  if (!usual.empty())
    text += " " + listRanks(usual) + " started " + theirs.text;
  for (const PartingRank &rank : parting.ranks)
    if (rank.deviation != Deviation::None)
      text +=
          (text.back() == ':' ? " " : "; ") + describeDeviation(rank, theirs);
  return text + "\n";
}

/// Ranks that wait for no other one, where others wait.
std::string describeIdle(const std::vector<FlightRecord> &records) {
  std::vector<int> waiting, others;
  for (const FlightRecord &record : records) {
    const FlightStep *step = openStep(record);
    const bool waits = step && step->kind == FlightKind::Wait;
    if (record.state != FlightState::Ended)
      (waits ? waiting : others).push_back(record.rank);
  }
  if (waiting.empty() || others.empty())
    return "";
  return listRanks(waiting) + (waiting.size() == 1 ? " waits" : " wait") +
         " for others; " + listRanks(others) +
         (others.size() == 1 ? " does not\n" : " do not\n");
}

std::vector<uint64_t> groupsOf(const std::vector<FlightRecord> &records) {
  std::vector<uint64_t> ids;
  for (const FlightRecord &record : records)
    for (const FlightGroup &group : record.groups)
      if (std::find(ids.begin(), ids.end(), group.id) == ids.end())
        ids.push_back(group.id);
  return ids;
}

} // namespace

std::string zrt::describeLast(const FlightRecord &record) {
  const std::string update = updateOf(record.update);
  if (const FlightStep *open = openStep(record))
    return update + ", in " + open->text;
  if (record.steps.empty())
    return update + ", before any operation";
  return update + ", after " + record.steps.back().text;
}

std::string zrt::describeFlights(const std::vector<FlightRecord> &records) {
  if (records.empty())
    return "";
  checkOneRun(records);
  std::string text, found;
  for (const FlightRecord &record : records)
    text += describeRank(record) + "\n";
  if (const std::vector<int> missing = missingOf(records); !missing.empty())
    text += listRanks(missing) + ": no record here, see on " +
            (missing.size() == 1 ? "its machine\n" : "their machines\n");
  for (const uint64_t id : groupsOf(records)) {
    const FlightGroupRanks group(records, id);
    const std::string parting = describeParting(group);
    found += parting.empty() ? describeArrivals(group) : parting;
  }
  return text + (found.empty() ? describeIdle(records) : found);
}

std::string zrt::listFlight(const FlightRecord &record, size_t count) {
  std::string text;
  const size_t first =
      record.steps.size() - std::min(count, record.steps.size());
  for (size_t i = first; i < record.steps.size(); ++i) {
    const FlightStep &step = record.steps[i];
    char numbers[96];
    std::snprintf(numbers, sizeof(numbers), "%10llu %12.6f s  update %llu  ",
                  static_cast<unsigned long long>(step.number),
                  double(step.began - record.steps[first].began) / 1e9,
                  static_cast<unsigned long long>(step.update));
    text += numbers + step.text;
    if (!step.hasEnded)
      text += "  (not finished)";
    text += "\n";
  }
  return text;
}
