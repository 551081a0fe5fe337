//===- Allocation.cpp - offsets for buffers with lifetimes ----------------===//

#include "zero/Memory/Allocation.h"

#include "CanonicalSearch.h"
#include "GreedyAllocation.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <map>
#include <optional>

using namespace mlir::zero;

namespace {

/// The buffers that need memory, with sizes rounded up to the alignment, and
/// the best offsets found so far.
class Allocator {
public:
  Allocator(llvm::MutableArrayRef<Lifetime> buffers, int64_t alignment);

  int64_t lowerBound() const { return bound; }
  int64_t height() const { return best.height; }
  /// Stops early at the lower bound or at `limit` bytes.
  void placeGreedily(int64_t limit);
  /// Looks for a packing of at most `capacity` bytes.
  CanonicalSearch::Outcome search(int64_t capacity, SearchLimit limit);
  /// Lowers the height as far as `work` steps allow.
  void lower(int64_t work);
  /// Writes the best offsets to the buffers.
  void finish();

private:
  llvm::MutableArrayRef<Lifetime> buffers;
  int64_t alignment, bound = 0;
  std::vector<size_t> used;
  std::vector<Lifetime> lifetimes;
  std::vector<int64_t> sizes;
  GreedyResult best;
  std::optional<CanonicalSearch> searcher;
};

} // namespace

Allocator::Allocator(llvm::MutableArrayRef<Lifetime> buffers, int64_t alignment)
    : buffers(buffers), alignment(alignment),
      bound(liveBytes(buffers, alignment)) {
  for (auto [index, buffer] : llvm::enumerate(buffers)) {
    buffer.offset = 0;
    if (buffer.bytes == 0)
      continue;
    used.push_back(index);
    lifetimes.push_back(buffer);
    sizes.push_back(llvm::alignTo(buffer.bytes, alignment));
  }
}

void Allocator::placeGreedily(int64_t limit) {
  best = allocateGreedily(lifetimes, sizes, std::max(limit, bound));
}

CanonicalSearch::Outcome Allocator::search(int64_t capacity,
                                           SearchLimit limit) {
  if (!searcher)
    searcher.emplace(lifetimes, sizes);
  CanonicalSearch::Outcome outcome = searcher->solve(capacity, limit);
  if (outcome != CanonicalSearch::Outcome::Found)
    return outcome;
  best.offsets = searcher->offsets().vec();
  best.height = 0;
  for (auto [offset, size] : llvm::zip_equal(best.offsets, sizes))
    best.height = std::max(best.height, offset + size);
  return outcome;
}

void Allocator::lower(int64_t work) {
  // First the bound itself, then halfway between what is known to be hard and
  // the best, until that pays no more.
  constexpr int64_t kTries = 6, kWorthwhile = 1000;
  int64_t hard = bound - alignment;
  for (int64_t target = bound, i = 0; i < kTries; ++i) {
    if (height() - hard <= std::max(alignment, bound / kWorthwhile))
      return;
    if (search(target, {work / kTries, 0}) != CanonicalSearch::Outcome::Found)
      hard = target;
    target = llvm::alignTo(hard + (height() - hard) / 2, alignment);
    if (target >= height())
      return;
  }
}

void Allocator::finish() {
  for (auto [index, offset] : llvm::zip_equal(used, best.offsets))
    buffers[index].offset = offset;
}

/// What searches of one `allocate` may cost, some tenths of a second; and how
/// many buffers are too many for a search to reach its end at all.
static constexpr int64_t kSearchWork = 8'000'000;
static constexpr size_t kSearchBuffers = 2000;

int64_t mlir::zero::allocate(llvm::MutableArrayRef<Lifetime> buffers,
                             int64_t alignment) {
  Allocator allocator(buffers, alignment);
  allocator.placeGreedily(allocator.lowerBound());
  if (allocator.height() > allocator.lowerBound() &&
      buffers.size() <= kSearchBuffers)
    allocator.lower(kSearchWork);
  allocator.finish();
  return allocator.height();
}

Fit mlir::zero::allocateWithin(llvm::MutableArrayRef<Lifetime> buffers,
                               int64_t alignment, int64_t capacity,
                               std::chrono::duration<double> seconds,
                               int64_t &height) {
  Allocator allocator(buffers, alignment);
  allocator.placeGreedily(capacity);
  auto outcome = CanonicalSearch::Outcome::Impossible;
  if (allocator.height() > capacity && allocator.lowerBound() <= capacity)
    outcome = allocator.search(capacity, {0, seconds.count()});
  if (allocator.height() > capacity && buffers.size() <= kSearchBuffers)
    allocator.lower(kSearchWork);
  allocator.finish();
  height = allocator.height();
  if (height <= capacity)
    return Fit::Fits;
  return outcome == CanonicalSearch::Outcome::Impossible ? Fit::Impossible
                                                         : Fit::NotFound;
}

int64_t mlir::zero::liveBytes(llvm::ArrayRef<Lifetime> buffers,
                              int64_t alignment) {
  std::map<int64_t, int64_t> changes;
  for (const Lifetime &buffer : buffers) {
    int64_t bytes = llvm::alignTo(buffer.bytes, alignment);
    changes[buffer.begin] += bytes;
    changes[buffer.end + 1] -= bytes;
  }
  int64_t live = 0, most = 0;
  for (auto [position, change] : changes)
    most = std::max(most, live += change);
  return most;
}
