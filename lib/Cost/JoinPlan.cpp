//===- JoinPlan.cpp - which gathers travel together -----------------------===//

#include "zero/Cost/JoinPlan.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <limits>

using namespace mlir;
using namespace mlir::zero;

/// Of the time of what travels together, what a gather more has to save.
static constexpr double kLeastShare = 0.02;

/// How many more elements may be live at once for fewer collectives.
static constexpr double kMoreElements = 0.25;

/// As one gather: needed where the first of them is.
static GatherUse joinUses(ArrayRef<GatherUse> gathers, double seconds) {
  GatherUse joined = gathers.front();
  joined.seconds = seconds;
  for (const GatherUse &gather : gathers.drop_front()) {
    joined.lastUse = std::max(joined.lastUse, gather.lastUse);
    joined.readyAt = std::max(joined.readyAt, gather.readyAt);
    joined.elements += gather.elements;
  }
  return joined;
}

namespace {

class Joiner {
public:
  Joiner(ArrayRef<GatherUse> gathers, const JoinFacts &facts,
         const PrefetchLimits &limits)
      : gathers(gathers), facts(facts), limits(limits),
        held(elementsHeld(gathers)) {}

  SmallVector<size_t> join(int64_t mostEarly) const;
  SmallVector<GatherUse> usesOf(ArrayRef<size_t> firsts) const;

private:
  bool fits(size_t first, size_t next, int64_t elements) const;
  bool saves(size_t first, size_t next) const;

  ArrayRef<GatherUse> gathers;
  const JoinFacts &facts;
  const PrefetchLimits &limits;
  SmallVector<int64_t> held;
};

} // namespace

/// `elements` are those of the gathers from `first` to before `next`.
bool Joiner::fits(size_t first, size_t next, int64_t elements) const {
  return gathers[next].readyAt < gathers[first].neededAt &&
         elements - gathers[first].elements < limits.ahead &&
         held[first] + elements + gathers[next].elements <= limits.live;
}

bool Joiner::saves(size_t first, size_t next) const {
  double joined = facts.seconds(first, next);
  double saved =
      facts.seconds(first, next - 1) + gathers[next].seconds - joined;
  return saved > 0 && saved >= kLeastShare * joined;
}

/// At most so many elements come before they are needed with each first one.
SmallVector<size_t> Joiner::join(int64_t mostEarly) const {
  SmallVector<size_t> firsts;
  size_t first = 0;
  int64_t elements = 0;
  for (auto [index, gather] : llvm::enumerate(gathers)) {
    bool joins =
        index > 0 && fits(first, index, elements) && saves(first, index) &&
        elements - gathers[first].elements + gather.elements <= mostEarly &&
        facts.canJoin(first, index);
    if (!joins) {
      first = index;
      elements = 0;
    }
    elements += gather.elements;
    firsts.push_back(first);
  }
  return firsts;
}

SmallVector<GatherUse> Joiner::usesOf(ArrayRef<size_t> firsts) const {
  SmallVector<GatherUse> uses;
  for (size_t first = 0, end; first < gathers.size(); first = end) {
    end =
        std::upper_bound(firsts.begin(), firsts.end(), first) - firsts.begin();
    uses.push_back(joinUses(gathers.slice(first, end - first),
                            facts.seconds(first, end - 1)));
  }
  return uses;
}

SmallVector<size_t> mlir::zero::joinGathers(ArrayRef<GatherUse> gathers,
                                            const JoinFacts &facts,
                                            const PrefetchLimits &limits,
                                            const BlockSeconds &seconds) {
  const auto alone = llvm::to_vector(llvm::seq<size_t>(0, gathers.size()));
  const BlockTotals before = runInTime(gathers, limits, seconds);
  Joiner joiner(gathers, facts, limits);
  int64_t mostEarly = std::numeric_limits<int64_t>::max();
  while (mostEarly > 0) {
    SmallVector<size_t> firsts = joiner.join(mostEarly);
    BlockTotals after = runInTime(joiner.usesOf(firsts), limits, seconds);
    if (after.seconds <= before.seconds * (1 + kTolerance) &&
        double(after.elements) <= double(before.elements) * (1 + kMoreElements))
      return firsts;
    mostEarly = std::min(mostEarly, before.elements) / 2;
  }
  return alone;
}
