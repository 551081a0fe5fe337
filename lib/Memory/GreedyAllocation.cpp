//===- GreedyAllocation.cpp - offsets by best fit -------------------------===//
//
// Buffers are placed one after the other, each into the smallest gap beside the
// placed ones that are alive with it. Which order is best differs from model to
// model, so several compete.
//
//===----------------------------------------------------------------------===//

#include "GreedyAllocation.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"

#include "llvm/ADT/Statistic.h"

#include <functional>
#include <limits>
#include <map>
#include <numeric>

using namespace mlir::zero;

#define DEBUG_TYPE "zero-allocate"
ALWAYS_ENABLED_STATISTIC(numCompared,
                         "Placed buffers that a buffer was compared with");

static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

namespace {

/// Where in its gap a buffer is placed.
enum class Side {
  Low,
  /// Buffers of more than the mean lifetime low, the others high: what comes
  /// and goes then does not lie between what stays.
  Both
};

/// A placed buffer.
struct Taken {
  int64_t begin, end, bottom, top;

  bool operator<(const Taken &other) const { return bottom < other.bottom; }
};

/// Placed buffers by lifetime: each at the smallest node of a binary tree over
/// time that holds all of its life, and so is alive in the node's middle. A
/// look-up costs what it finds, and for each level what is alive at one time.
class TimeTree {
public:
  void clear() { levels.clear(); }
  void insert(const Taken &taken) {
    unsigned level = llvm::bit_width(uint64_t(taken.begin ^ taken.end));
    levels.resize(std::max<size_t>(levels.size(), level + 1));
    levels[level][taken.begin >> level].push_back(taken);
  }
  /// Those alive at some moment of [begin, end], by offset.
  void findAlive(int64_t begin, int64_t end, std::vector<Taken> &found) const {
    found.clear();
    for (auto [level, nodes] : llvm::enumerate(levels))
      for (auto node = nodes.lower_bound(begin >> level);
           node != nodes.end() && node->first <= end >> level; ++node)
        llvm::copy_if(node->second, std::back_inserter(found),
                      [&](const Taken &taken) {
                        return taken.begin <= end && taken.end >= begin;
                      });
    llvm::sort(found);
  }

private:
  std::vector<std::map<int64_t, std::vector<Taken>>> levels;
};

/// One greedy placement.
class Placement {
public:
  Placement(llvm::ArrayRef<Lifetime> buffers, llvm::ArrayRef<int64_t> sizes,
            int64_t target);

  GreedyResult run(llvm::ArrayRef<int> order, Side side);

private:
  bool areFewAlive() const;
  void insert(const Taken &mine);
  int64_t findOffset(int buffer, bool high);

  llvm::ArrayRef<Lifetime> buffers;
  llvm::ArrayRef<int64_t> sizes;
  int64_t target;
  /// Before which nothing is alive.
  int64_t start = 0;
  /// Whether `tree` has the placed buffers, and `taken` those of interest.
  bool usesTree = false;
  TimeTree tree;
  std::vector<Taken> taken; ///< by offset
};

} // namespace

Placement::Placement(llvm::ArrayRef<Lifetime> buffers,
                     llvm::ArrayRef<int64_t> sizes, int64_t target)
    : buffers(buffers), sizes(sizes), target(target) {
  for (const Lifetime &buffer : buffers)
    start = std::min(start, buffer.begin);
  usesTree = areFewAlive();
}

/// Whether looking at all placed buffers in order costs more than finding those
/// that matter and bringing them in order.
bool Placement::areFewAlive() const {
  constexpr int64_t kOrderCost = 16;
  std::vector<int64_t> begins;
  for (const Lifetime &buffer : buffers)
    begins.push_back(buffer.begin);
  llvm::sort(begins);
  int64_t together = 0, all = buffers.size();
  for (const Lifetime &buffer : buffers)
    together += llvm::upper_bound(begins, buffer.end) -
                llvm::lower_bound(begins, buffer.begin);
  return together * kOrderCost < all * all / 2;
}

void Placement::insert(const Taken &mine) {
  if (usesTree)
    tree.insert(mine);
  else
    taken.insert(llvm::upper_bound(taken, mine), mine);
}

int64_t Placement::findOffset(int index, bool high) {
  const Lifetime &buffer = buffers[index];
  int64_t size = sizes[index], best = kNever, bestGap = kNever, floor = 0;
  if (usesTree)
    tree.findAlive(buffer.begin - start, buffer.end - start, taken);
  numCompared += taken.size();
  for (const Taken &other : taken) {
    if (other.begin > buffer.end - start || other.end < buffer.begin - start)
      continue;
    int64_t gap = other.bottom - floor;
    if (gap >= size && gap < bestGap) {
      bestGap = gap;
      best = high ? other.bottom - size : floor;
    }
    floor = std::max(floor, other.top);
  }
  if (best != kNever)
    return best;
  return high ? std::max(floor, target - size) : floor;
}

GreedyResult Placement::run(llvm::ArrayRef<int> order, Side side) {
  GreedyResult result{std::vector<int64_t>(buffers.size()), 0};
  int64_t total = 0;
  for (const Lifetime &buffer : buffers)
    total += buffer.end - buffer.begin;
  int64_t mean = total / std::max<int64_t>(buffers.size(), 1);
  taken.clear();
  tree.clear();
  for (int index : order) {
    const Lifetime &buffer = buffers[index];
    bool high = side == Side::Both && buffer.end - buffer.begin <= mean;
    int64_t offset = findOffset(index, high);
    int64_t top = offset + sizes[index];
    insert({buffer.begin - start, buffer.end - start, offset, top});
    result.offsets[index] = offset;
    result.height = std::max(result.height, top);
  }
  return result;
}

/// Bytes alive at the fullest moment of each buffer's life.
static std::vector<int64_t> findPressure(llvm::ArrayRef<Lifetime> buffers,
                                         llvm::ArrayRef<int64_t> sizes) {
  std::vector<int64_t> moments;
  for (const Lifetime &buffer : buffers)
    moments.push_back(buffer.begin);
  llvm::sort(moments);
  moments.erase(std::unique(moments.begin(), moments.end()), moments.end());
  auto indexOf = [&](int64_t moment) {
    return llvm::lower_bound(moments, moment) - moments.begin();
  };
  std::vector<int64_t> live(moments.size() + 1);
  for (auto [buffer, size] : llvm::zip_equal(buffers, sizes)) {
    live[indexOf(buffer.begin)] += size;
    live[indexOf(buffer.end + 1)] -= size;
  }
  std::partial_sum(live.begin(), live.end(), live.begin());
  std::vector<int64_t> result;
  for (const Lifetime &buffer : buffers)
    result.push_back(*std::max_element(live.begin() + indexOf(buffer.begin),
                                       live.begin() + indexOf(buffer.end + 1)));
  return result;
}

/// The orders that compete, the most promising first.
static std::vector<std::vector<int>>
makeOrders(llvm::ArrayRef<Lifetime> buffers, llvm::ArrayRef<int64_t> sizes) {
  std::vector<int64_t> pressure = findPressure(buffers, sizes);
  auto duration = [&](int i) {
    return double(buffers[i].end - buffers[i].begin + 1);
  };
  using Key = std::pair<double, double>;
  const std::function<Key(int)> keys[] = {
      // In program order where sizes are equal, which reads best.
      [&](int i) { return Key(sizes[i], 0); },
      [&](int i) { return Key(sizes[i], duration(i)); },
      [&](int i) { return Key(duration(i) * sizes[i], sizes[i]); },
      [&](int i) { return Key(duration(i), sizes[i]); },
      [&](int i) { return Key(pressure[i], sizes[i]); },
      [&](int i) { return Key(pressure[i], duration(i)); },
      [&](int i) { return Key(-double(buffers[i].begin), duration(i)); },
      [&](int i) { return Key(buffers[i].end, duration(i)); }};
  std::vector<std::vector<int>> orders;
  for (const auto &key : keys) {
    std::vector<int> order(buffers.size());
    std::iota(order.begin(), order.end(), 0);
    llvm::sort(order, [&](int a, int b) {
      return std::pair(key(b), a) < std::pair(key(a), b);
    });
    orders.push_back(std::move(order));
  }
  return orders;
}

GreedyResult mlir::zero::allocateGreedily(llvm::ArrayRef<Lifetime> buffers,
                                          llvm::ArrayRef<int64_t> sizes,
                                          int64_t target) {
  // A placement looks at most at all pairs; about a nanosecond each.
  constexpr int64_t kPairs = 150'000'000;
  int64_t pairs = int64_t(buffers.size()) * buffers.size() / 2 + 1;
  int64_t rounds = std::max<int64_t>(2, kPairs / pairs);
  GreedyResult best;
  best.height = kNever;
  Placement placement(buffers, sizes, target);
  for (const std::vector<int> &order : makeOrders(buffers, sizes))
    for (Side side : {Side::Low, Side::Both}) {
      if (best.height <= target || rounds-- == 0)
        return best;
      GreedyResult result = placement.run(order, side);
      if (result.height < best.height)
        best = std::move(result);
    }
  return best;
}
