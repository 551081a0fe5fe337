//===- CanonicalSearch.cpp - offsets below a capacity, exactly ------------===//

#include "CanonicalSearch.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"

#include "llvm/ADT/Statistic.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <functional>
#include <limits>
#include <numeric>

using namespace mlir::zero;

#define DEBUG_TYPE "zero-allocate"
ALWAYS_ENABLED_STATISTIC(numSearched, "Steps of searches for offsets");

static constexpr int64_t kNever = std::numeric_limits<int64_t>::max() / 2;

//===----------------------------------------------------------------------===//
// The problem
//===----------------------------------------------------------------------===//

CanonicalSearch::CanonicalSearch(llvm::ArrayRef<Lifetime> buffers,
                                 llvm::ArrayRef<int64_t> sizes) {
  for (auto [buffer, size] : llvm::zip_equal(buffers, sizes))
    items.push_back({0, 0, size, buffer.end - buffer.begin + 1});
  findCliques(buffers);
  findConflicts();
  rank.resize(items.size());
  bounds.resize(items.size());
  for (auto *perClique : {&lowest, &second, &above})
    perClique->resize(cliques);
  lowestOwner.resize(cliques);
  blames.resize(cliques);
}

/// Replaces time by the largest sets of buffers that are alive together:
/// whatever else is alive at one moment is a part of such a set.
void CanonicalSearch::findCliques(llvm::ArrayRef<Lifetime> buffers) {
  // (moment, begins?, item): what ends before a moment comes first.
  std::vector<std::tuple<int64_t, bool, int>> events;
  for (auto [index, buffer] : llvm::enumerate(buffers)) {
    events.push_back({buffer.begin, true, index});
    events.push_back({buffer.end + 1, false, index});
  }
  llvm::sort(events);
  bool growing = false;
  for (auto [moment, begins, index] : events) {
    if (!begins && growing)
      ++cliques;
    growing = begins;
    if (begins)
      items[index].first = cliques;
    else
      items[index].last = cliques - 1;
  }
  cliqueBytes.resize(cliques);
  for (const Item &item : items)
    for (int clique = item.first; clique <= item.last; ++clique)
      cliqueBytes[clique] += item.size;
}

void CanonicalSearch::findConflicts() {
  conflicts.resize(items.size());
  for (size_t i = 0; i < items.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (items[i].first <= items[j].last && items[j].first <= items[i].last) {
        conflicts[i].push_back(j);
        conflicts[j].push_back(i);
      }
}

//===----------------------------------------------------------------------===//
// Orders and restarts
//===----------------------------------------------------------------------===//

/// Each order is a list of keys, largest first: T the fullest clique, W the
/// duration, C the cliques, A duration x size, S the size, D the conflicts,
/// F and G the most and the sum of blames, H and J those times size and
/// cliques. An order that looks at blames first places what failed before.
static constexpr llvm::StringLiteral kOrders[] = {
    "TWA", "TAW", "WAT", "AWT", "TCS", "SWT", "FCS", "DAW",
    "FSC", "CAT", "GCS", "TSW", "HCS", "FWA", "CTA", "JSC",
    "FWA", "HCS", "FWA", "FAT", "FWT", "FTW"};
/// Many short attempts find more than a few long ones; they grow slowly.
static constexpr int64_t kFirstNodes = 1000;
static constexpr double kGrowth = 1.5;
/// What remains of blames at the next attempt.
static constexpr double kRemember = 0.95;

double CanonicalSearch::keyOf(int index, char key) const {
  const Item &item = items[index];
  double length = item.last - item.first + 1;
  auto most = [&](auto &values) {
    return double(*std::max_element(values.begin() + item.first,
                                    values.begin() + item.last + 1));
  };
  auto sum = [&] {
    return std::accumulate(blames.begin() + item.first,
                           blames.begin() + item.last + 1, 0.0);
  };
  switch (key) {
  case 'T':
    return most(cliqueBytes);
  case 'W':
    return item.duration;
  case 'C':
    return length;
  case 'A':
    return double(item.duration) * item.size;
  case 'S':
    return item.size;
  case 'D':
    return conflicts[index].size();
  case 'F':
    return most(blames);
  case 'G':
    return sum();
  case 'H':
    return sum() * item.size;
  default:
    return most(blames) * length;
  }
}

void CanonicalSearch::rankBy(llvm::StringRef keys) {
  std::vector<std::array<double, 3>> values(items.size());
  for (size_t i = 0; i < items.size(); ++i)
    for (size_t k = 0; k < keys.size(); ++k)
      values[i][k] = -keyOf(i, keys[k]);
  std::vector<int> order(items.size());
  std::iota(order.begin(), order.end(), 0);
  llvm::sort(order, [&](int a, int b) {
    return std::tie(values[a], a) < std::tie(values[b], b);
  });
  for (auto [position, item] : llvm::enumerate(order))
    rank[item] = position;
}

/// This thread's time on a core.
static double threadSeconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec + now.tv_nsec * 1e-9;
}

CanonicalSearch::Outcome CanonicalSearch::solve(int64_t newCapacity,
                                                SearchLimit limit) {
  capacity = newCapacity;
  endSeconds = limit.seconds > 0 ? threadSeconds() + limit.seconds : 0;
  workAllowed = limit.work ? workDone + limit.work : kNever;
  outOfTime = false;
  llvm::scope_exit count(
      [&, before = workDone] { numSearched += workDone - before; });
  for (int64_t bytes : cliqueBytes)
    if (bytes > capacity)
      return Outcome::Impossible;
  for (nodesAllowed = kFirstNodes;; nodesAllowed *= kGrowth)
    for (llvm::StringRef keys : kOrders) {
      for (double &value : blames)
        value *= kRemember;
      rankBy(keys);
      Outcome outcome = attempt();
      if (outcome != Outcome::Unknown || outOfTime)
        return outcome;
    }
}

CanonicalSearch::Outcome CanonicalSearch::attempt() {
  skyline.assign(items.size(), 0);
  offset.assign(items.size(), 0);
  placed.assign(items.size(), false);
  trail.clear();
  nodes = 0;
  exhausted = false;
  Part all(items.size());
  std::iota(all.begin(), all.end(), 0);
  llvm::sort(all, [&](int a, int b) {
    return std::tie(items[a].first, a) < std::tie(items[b].first, b);
  });
  if (searchParts(all, /*without=*/-1, {0, -1}))
    return Outcome::Found;
  return exhausted ? Outcome::Unknown : Outcome::Impossible;
}

bool CanonicalSearch::isExhausted() {
  constexpr int64_t kNodesBetweenLooks = 64;
  ++nodes;
  outOfTime |= workDone > workAllowed;
  outOfTime |= endSeconds > 0 && nodes % kNodesBetweenLooks == 0 &&
               threadSeconds() > endSeconds;
  exhausted |= outOfTime || nodes > nodesAllowed;
  return exhausted;
}

//===----------------------------------------------------------------------===//
// The search
//===----------------------------------------------------------------------===//

/// Searches each of the parts into which `part`, in order of time, falls.
bool CanonicalSearch::searchParts(const Part &part, int without, Front front) {
  struct Bounded {
    Part part;
    int64_t lowestTop;
  };
  std::vector<Bounded> parts;
  int reached = -1;
  for (int item : part) {
    if (item == without)
      continue;
    if (items[item].first > reached)
      parts.emplace_back();
    parts.back().part.push_back(item);
    reached = std::max(reached, items[item].last);
  }
  for (Bounded &bounded : parts)
    if (!bound(bounded.part, front, bounded.lowestTop))
      return false;
  // The smaller ones fail sooner.
  llvm::sort(parts, [](const Bounded &a, const Bounded &b) {
    return std::pair(a.part.size(), a.part.front()) <
           std::pair(b.part.size(), b.part.front());
  });
  for (const Bounded &bounded : parts)
    if (!searchPart(bounded.part, front, bounded.lowestTop)) {
      // Parts before this one were placed; the caller lowers their skyline.
      for (int item : part)
        placed[item] = item == without;
      return false;
    }
  return true;
}

bool CanonicalSearch::searchPart(const Part &part, Front front,
                                 int64_t lowestTop) {
  if (isExhausted())
    return false;
  // Above `lowestTop`, another buffer could sink below the one chosen here.
  std::vector<Candidate> candidates;
  for (int item : part)
    if (isFree(item, front) && skyline[item] < lowestTop)
      candidates.push_back({skyline[item], rank[item], item});
  // Few are tried: a heap orders no more than these.
  std::make_heap(candidates.begin(), candidates.end(), std::greater<>());
  for (; !candidates.empty(); candidates.pop_back()) {
    std::pop_heap(candidates.begin(), candidates.end(), std::greater<>());
    int item = std::get<2>(candidates.back());
    if (breaksSymmetry(item))
      continue;
    if (placeAndSearch(part, item))
      return true;
    if (exhausted)
      return false;
  }
  return false;
}

bool CanonicalSearch::placeAndSearch(const Part &part, int item) {
  size_t mark = trail.size();
  offset[item] = skyline[item];
  placed[item] = true;
  int64_t top = offset[item] + items[item].size;
  for (int other : conflicts[item])
    if (!placed[other] && skyline[other] < top) {
      trail.push_back({other, skyline[other]});
      skyline[other] = top;
    }
  if (searchParts(part, item, {offset[item], rank[item]}))
    return true;
  for (; trail.size() > mark; trail.pop_back())
    skyline[trail.back().first] = trail.back().second;
  placed[item] = false;
  return false;
}

/// Whether `item` may be placed on the skyline now. What lies before the front
/// should have been placed earlier; it must wait for another buffer below it.
bool CanonicalSearch::isFree(int item, Front front) const {
  return std::pair(skyline[item], rank[item]) >
         std::pair(front.offset, front.rank);
}

/// Buffers of equal lifetime may change places: of two that lie on each other,
/// the lower one has the lower rank; of two of equal size, too.
bool CanonicalSearch::breaksSymmetry(int item) const {
  const Item &mine = items[item];
  return llvm::any_of(conflicts[item], [&](int other) {
    const Item &theirs = items[other];
    if (theirs.first != mine.first || theirs.last != mine.last)
      return false;
    if (placed[other])
      return offset[other] + theirs.size == skyline[item] &&
             rank[other] > rank[item];
    return theirs.size == mine.size && rank[other] < rank[item];
  });
}

//===----------------------------------------------------------------------===//
// Bounds
//===----------------------------------------------------------------------===//

bool CanonicalSearch::bound(const Part &part, Front front, int64_t &lowestTop) {
  int firstClique = items[part.front()].first, lastClique = 0;
  blocked.clear();
  for (int item : part) {
    lastClique = std::max(lastClique, items[item].last);
    bounds[item] = isFree(item, front) ? skyline[item] : front.offset;
    if (!isFree(item, front))
      blocked.push_back(item);
  }
  if (!blocked.empty() && !boundBlocked(part, firstClique, lastClique))
    return false;
  lowestTop = kNever;
  for (int item : part)
    lowestTop = std::min(lowestTop, bounds[item] + items[item].size);
  return boundCliques(part, firstClique, lastClique);
}

/// A blocked buffer lies on an unplaced one of its cliques.
bool CanonicalSearch::boundBlocked(const Part &part, int firstClique,
                                   int lastClique) {
  constexpr int kRounds = 3;
  bool changed = true;
  for (int round = 0; round < kRounds && changed; ++round) {
    findLowestTops(part, firstClique, lastClique);
    changed = false;
    for (int item : blocked) {
      int64_t best = kNever;
      for (int c = items[item].first; c <= items[item].last; ++c)
        best = std::min(best, lowestOwner[c] == item ? second[c] : lowest[c]);
      if (best + items[item].size > capacity) {
        blame(item);
        return false;
      }
      changed |= best > bounds[item];
      bounds[item] = std::max(bounds[item], best);
    }
  }
  return true;
}

void CanonicalSearch::findLowestTops(const Part &part, int firstClique,
                                     int lastClique) {
  std::fill(&lowest[firstClique], &lowest[lastClique] + 1, kNever);
  std::fill(&second[firstClique], &second[lastClique] + 1, kNever);
  for (int item : part) {
    int64_t top = bounds[item] + items[item].size;
    workDone += items[item].last - items[item].first + 1;
    for (int c = items[item].first; c <= items[item].last; ++c) {
      if (top < lowest[c]) {
        second[c] = std::exchange(lowest[c], top);
        lowestOwner[c] = item;
      } else {
        second[c] = std::min(second[c], top);
      }
    }
  }
}

/// In each clique, what cannot begin below a bound has to fit above it.
bool CanonicalSearch::boundCliques(const Part &part, int firstClique,
                                   int lastClique) {
  byBound.clear();
  for (int item : part)
    byBound.push_back({-bounds[item], item});
  llvm::sort(byBound);
  std::fill(&above[firstClique], &above[lastClique] + 1, 0);
  for (auto [bound, item] : byBound) {
    int64_t room = capacity + bound, size = items[item].size;
    workDone += items[item].last - items[item].first + 1;
    for (int c = items[item].first; c <= items[item].last; ++c) {
      above[c] += size;
      if (above[c] > room) {
        blames[c] += 1;
        return false;
      }
    }
  }
  return true;
}

void CanonicalSearch::blame(int item) {
  double share = 1.0 / (items[item].last - items[item].first + 1);
  for (int c = items[item].first; c <= items[item].last; ++c)
    blames[c] += share;
}
