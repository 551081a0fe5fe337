//===- Allocation.cpp - offsets for buffers with lifetimes ----------------===//

#include "zero/Analysis/Allocation.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/MathExtras.h"

#include <limits>
#include <map>

using namespace mlir::zero;
using llvm::SmallVector;

namespace {

/// Buffers that have their offsets, in order of offset.
class Placed {
public:
  /// The offset of the smallest gap that holds `buffer` beside all placed
  /// buffers that are alive with it.
  int64_t findGap(const Lifetime &buffer, int64_t alignment) const {
    int64_t bestOffset = 0, bestGap = std::numeric_limits<int64_t>::max();
    int64_t freeFrom = 0;
    for (const Lifetime *other : byOffset) {
      if (other->begin > buffer.end || other->end < buffer.begin)
        continue;
      int64_t start = llvm::alignTo(freeFrom, alignment);
      int64_t gap = other->offset - start;
      if (gap >= buffer.bytes && gap < bestGap) {
        bestGap = gap;
        bestOffset = start;
      }
      freeFrom = std::max(freeFrom, other->offset + other->bytes);
    }
    return bestGap == std::numeric_limits<int64_t>::max()
               ? llvm::alignTo(freeFrom, alignment)
               : bestOffset;
  }

  void insert(const Lifetime &buffer) {
    auto place = llvm::upper_bound(byOffset, &buffer, [](auto *a, auto *b) {
      return a->offset < b->offset;
    });
    byOffset.insert(place, &buffer);
  }

private:
  SmallVector<const Lifetime *> byOffset;
};

} // namespace

int64_t mlir::zero::allocate(llvm::MutableArrayRef<Lifetime> buffers,
                             int64_t alignment) {
  SmallVector<Lifetime *> order;
  for (Lifetime &buffer : buffers)
    order.push_back(&buffer);
  llvm::stable_sort(order, [](const Lifetime *a, const Lifetime *b) {
    return a->bytes > b->bytes;
  });
  Placed placed;
  int64_t needed = 0;
  for (Lifetime *buffer : order) {
    buffer->offset = placed.findGap(*buffer, alignment);
    if (buffer->bytes > 0)
      placed.insert(*buffer);
    needed = std::max(needed, buffer->offset + buffer->bytes);
  }
  return llvm::alignTo(needed, alignment);
}

int64_t mlir::zero::liveBytes(llvm::ArrayRef<Lifetime> buffers) {
  std::map<int64_t, int64_t> changes;
  for (const Lifetime &buffer : buffers) {
    changes[buffer.begin] += buffer.bytes;
    changes[buffer.end + 1] -= buffer.bytes;
  }
  int64_t live = 0, most = 0;
  for (auto [position, change] : changes)
    most = std::max(most, live += change);
  return most;
}
