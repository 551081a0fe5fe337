//===- GreedyAllocation.cpp - offsets by best fit -------------------------===//
//
// Buffers are placed one after the other, each into the smallest gap beside the
// placed ones that are alive with it. Which order is best differs from model to
// model, so several compete.
//
//===----------------------------------------------------------------------===//

#include "GreedyAllocation.h"

#include "llvm/ADT/STLExtras.h"

#include <functional>
#include <limits>
#include <numeric>

using namespace mlir::zero;

static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

namespace {

/// Where in its gap a buffer is placed.
enum class Side {
  Low,
  /// Buffers of more than the mean lifetime low, the others high: what comes
  /// and goes then does not lie between what stays.
  Both
};

/// One greedy placement.
class Placement {
public:
  Placement(llvm::ArrayRef<Lifetime> buffers, llvm::ArrayRef<int64_t> sizes,
            int64_t target)
      : buffers(buffers), sizes(sizes), target(target) {}

  GreedyResult run(llvm::ArrayRef<int> order, Side side);

private:
  struct Taken {
    int64_t begin, end, bottom, top;
  };
  int64_t findOffset(int buffer, bool high) const;

  llvm::ArrayRef<Lifetime> buffers;
  llvm::ArrayRef<int64_t> sizes;
  int64_t target;
  std::vector<Taken> taken; ///< by offset
};

} // namespace

int64_t Placement::findOffset(int index, bool high) const {
  const Lifetime &buffer = buffers[index];
  int64_t size = sizes[index], best = kNever, bestGap = kNever, floor = 0;
  for (const Taken &other : taken) {
    if (other.begin > buffer.end || other.end < buffer.begin)
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
  for (int index : order) {
    const Lifetime &buffer = buffers[index];
    bool high = side == Side::Both && buffer.end - buffer.begin <= mean;
    int64_t offset = findOffset(index, high);
    Taken mine = {buffer.begin, buffer.end, offset, offset + sizes[index]};
    taken.insert(llvm::upper_bound(taken, mine,
                                   [](const Taken &a, const Taken &b) {
                                     return a.bottom < b.bottom;
                                   }),
                 mine);
    result.offsets[index] = offset;
    result.height = std::max(result.height, mine.top);
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
