//===- Compare.cpp - what differs between two plans -----------------------===//

#include "Compare.h"

#include "Table.h"

#include "llvm/ADT/MapVector.h"

#include <cmath>
#include <map>

using namespace mlir;
using namespace mlir::zero;

namespace {

/// Rows of two figures and their difference.
class Columns {
public:
  Columns(StringRef title, StringRef first, StringRef second) {
    table.add({title.str(), first.str(), second.str(), "difference"});
  }
  void add(const Twine &name, int64_t first, int64_t second) {
    std::string difference = "=";
    if (first != second)
      difference = (second > first ? "+" : "") + formatCount(second - first);
    table.add({("  " + name).str(), formatCount(first), formatCount(second),
               difference});
  }
  void print() { table.print(llvm::outs()); }

private:
  Table table;
};

} // namespace

static void compareMemory(const PlanSummary &a, const PlanSummary &b) {
  Columns memory("memory of a rank, bytes", "first", "second");
  for (auto [first, second] : llvm::zip_equal(a.arenas, b.arenas))
    if (first.bytes != 0 || second.bytes != 0)
      memory.add(first.space.describe(), first.bytes, second.bytes);
  for (zrt::Tier tier : zrt::kCasesOf<zrt::Tier>) {
    int64_t first = a.totalBytes(fromRuntime(tier));
    int64_t second = b.totalBytes(fromRuntime(tier));
    bool isDevice = tier == zrt::Tier::Device;
    if (isDevice || first || second)
      memory.add(isDevice ? "all" : std::string("all on ") + zrt::nameOf(tier),
                 first, second);
  }
  memory.print();
}

static void compareTraffic(const PlanSummary &a, const PlanSummary &b) {
  // One of them may have no replicas, or no axis that cuts the model.
  llvm::MapVector<StringRef, std::pair<int64_t, int64_t>> sent;
  for (const TrafficSummary &part : a.traffic)
    sent[part.name].first = a.sent(part.planned.bytes, part.ranks);
  for (const TrafficSummary &part : b.traffic)
    sent[part.name].second = b.sent(part.planned.bytes, part.ranks);
  Columns traffic("sent by a rank in an update, bytes", "first", "second");
  for (auto &[name, bytes] : sent)
    traffic.add(name.str(), bytes.first, bytes.second);
  auto bytes = [](const TrafficSummary &part) { return part.planned.bytes; };
  traffic.add("all", a.sentInAll(bytes), b.sentInAll(bytes));
  traffic.print();
}

static void compareCollectives(const PlanSummary &a, const PlanSummary &b) {
  llvm::MapVector<StringRef, std::pair<int64_t, int64_t>> counts;
  for (const CollectiveSummary &collective : a.collectives)
    counts[collective.name].first = collective.count;
  for (const CollectiveSummary &collective : b.collectives)
    counts[collective.name].second = collective.count;
  Columns collectives("collectives of an update", "first", "second");
  for (auto &[name, count] : counts)
    collectives.add(name, count.first, count.second);
  collectives.print();
}

static void compareTimes(const Prediction &a, const Prediction &b) {
  Table table;
  table.add({"predicted time of an update", "first", "second", "difference"});
  auto add = [&](StringRef name, double first, double second) {
    std::string difference = "=";
    if (first != second)
      difference = (second > first ? "+" : "-") +
                   formatSeconds(std::abs(second - first));
    table.add({("  " + name).str(), formatSeconds(first), formatSeconds(second),
               difference});
  };
  add("all", a.seconds, b.seconds);
  add("exposed communication", a.exposed, b.exposed);
  for (zrt::Stream stream : zrt::kCasesOf<zrt::Stream>) {
    double first = a.busy[int(stream)], second = b.busy[int(stream)];
    if (first > 0 || second > 0)
      add(std::string("busy: ") + zrt::nameOf(stream), first, second);
  }
  table.print(llvm::outs());
  llvm::outs() << "predicted for " << a.machine;
  if (a.machine != b.machine)
    llvm::outs() << " and for " << b.machine;
  llvm::outs() << "\n";
}

/// What is in one plan's lines only, or larger there, the largest change first.
static void compareParts(const PlanSummary &a, const PlanSummary &b) {
  static constexpr size_t kShown = 10;
  std::map<std::string, int64_t> changes;
  auto collect = [&](const PlanSummary &plan, int64_t sign) {
    for (const ArenaSummary &arena : plan.arenas)
      for (const MemoryLine &line : arena.lines)
        changes[arena.space.describe() + ": " + line.name] += sign * line.bytes;
  };
  collect(a, -1);
  collect(b, 1);
  SmallVector<std::pair<int64_t, StringRef>> order;
  for (const auto &[name, change] : changes)
    if (change != 0)
      order.push_back({change, name});
  llvm::sort(order, [](const auto &x, const auto &y) {
    int64_t first = std::abs(x.first), second = std::abs(y.first);
    return first != second ? first > second : x.second < y.second;
  });
  if (order.empty())
    return;
  llvm::outs() << "largest differences in what fills memory:\n";
  Table table;
  for (auto [change, name] : ArrayRef(order).take_front(kShown))
    table.add(
        {("  " + name).str(), (change > 0 ? "+" : "") + formatCount(change)});
  table.print(llvm::outs());
  if (order.size() > kShown)
    llvm::outs() << "  and " << order.size() - kShown << " smaller ones\n";
}

void mlir::zero::printComparison(const PlanReport &first,
                                 const PlanReport &second, StringRef firstName,
                                 StringRef secondName) {
  auto title = [](StringRef which, StringRef name, const PlanSummary &plan) {
    llvm::outs() << which << ": " << name << " (stage " << plan.stage << ", "
                 << plural(plan.ranks, "rank") << ", "
                 << plural(plan.accumulation, "micro-batch", "es") << ")\n";
  };
  title("first ", firstName, first.plan);
  title("second", secondName, second.plan);
  llvm::outs() << "\n";
  compareMemory(first.plan, second.plan);
  llvm::outs() << "\n";
  compareTraffic(first.plan, second.plan);
  llvm::outs() << "\n";
  compareCollectives(first.plan, second.plan);
  llvm::outs() << "\n";
  compareTimes(first.prediction, second.prediction);
  llvm::outs() << "\n";
  compareParts(first.plan, second.plan);
}
