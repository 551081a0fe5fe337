//===- PartitionLayout.cpp - how a flat group is cut ----------------------===//

#include "zero/Analysis/PartitionLayout.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir::zero;
using llvm::ArrayRef;
using llvm::SmallVector;

static int64_t roundUp(int64_t value, int64_t multiple) {
  return llvm::divideCeil(value, multiple) * multiple;
}

SmallVector<size_t> mlir::zero::cutIntoBuckets(ArrayRef<int64_t> sizes,
                                               int64_t bucketElements,
                                               ArrayRef<bool> alone) {
  SmallVector<size_t> ends;
  int64_t filled = 0;
  auto isAlone = [&](size_t index) { return !alone.empty() && alone[index]; };
  for (auto [index, size] : llvm::enumerate(sizes)) {
    if (index > 0 && (filled + size > bucketElements || isAlone(index) ||
                      isAlone(index - 1))) {
      ends.push_back(index);
      filled = 0;
    }
    filled += size;
  }
  if (!sizes.empty())
    ends.push_back(sizes.size());
  return ends;
}

/// Rows of a block are a multiple of this where little is lost by it: kernels
/// work through rows in such steps.
static constexpr int64_t kMostRowStep = 1024;

SmallVector<int64_t> mlir::zero::cutIntoBlocks(int64_t rows,
                                               int64_t rowElements,
                                               const BlockOptions &options) {
  int64_t most = options.bucketElements / rowElements;
  for (int64_t unit : options.units) {
    int64_t step = unit / std::gcd(unit, rowElements);
    if (step > most)
      continue;
    int64_t block = most / step * step;
    for (int64_t wide = kMostRowStep; wide > 1; wide /= 2) {
      int64_t both = std::lcm(step, wide);
      if (most / both * both < block - block / 4)
        continue;
      block = most / both * both;
      break;
    }
    SmallVector<int64_t> ends;
    for (int64_t end = block; end < rows; end += block)
      ends.push_back(end);
    ends.push_back(rows);
    return ends;
  }
  return {};
}

/// Puts `sizes` one after the other in `order` and returns the end.
static int64_t placeAll(FlatLayout &layout, ArrayRef<int64_t> sizes) {
  int64_t end = 0;
  for (unsigned index : layout.order) {
    layout.offsets.push_back(end);
    end += sizes[index];
  }
  return end;
}

namespace {
/// A unit that lies in one bucket: a parameter, or a block of one.
struct Unit {
  unsigned index;
  int64_t begin, end;
  bool isLast;
};
} // namespace

/// The units of the sizes in `order`, and whether each is a block.
static SmallVector<Unit> listUnits(ArrayRef<int64_t> sizes,
                                   ArrayRef<unsigned> order, BlockEnds blocks,
                                   llvm::SmallVectorImpl<bool> &isBlock) {
  SmallVector<Unit> units;
  for (unsigned index : order) {
    SmallVector<int64_t> ends = {sizes[index]};
    bool isCut = !blocks.empty() && !blocks[index].empty();
    if (isCut)
      ends = blocks[index];
    int64_t begin = 0;
    for (int64_t end : ends) {
      units.push_back({index, begin, end, end == sizes[index]});
      isBlock.push_back(isCut);
      begin = end;
    }
  }
  return units;
}

FlatLayout mlir::zero::layOutBuckets(ArrayRef<int64_t> sizes,
                                     ArrayRef<unsigned> ready,
                                     const LayoutOptions &options, bool owned,
                                     BlockEnds blocks) {
  FlatLayout layout;
  layout.order.assign(ready.begin(), ready.end());
  layout.segments.push_back(0);
  SmallVector<bool> alone;
  SmallVector<Unit> units = listUnits(sizes, ready, blocks, alone);
  SmallVector<int64_t> ordered;
  for (const Unit &unit : units)
    ordered.push_back(unit.end - unit.begin);
  int64_t padTo =
      owned ? options.slices * options.alignment : options.alignment;
  size_t next = 0;
  for (size_t bucketEnd :
       cutIntoBuckets(ordered, options.bucketElements, alone)) {
    int64_t end = layout.segments.back();
    for (; next < bucketEnd; ++next) {
      if (units[next].begin == 0)
        layout.offsets.push_back(end);
      end += ordered[next];
    }
    // Between blocks of one parameter nothing may lie.
    layout.segments.push_back(units[next - 1].isLast ? roundUp(end, padTo)
                                                     : end);
  }
  return layout;
}

FlatLayout mlir::zero::layOutIntervals(ArrayRef<int64_t> sizes,
                                       const LayoutOptions &options) {
  FlatLayout layout;
  llvm::append_range(layout.order, llvm::seq<unsigned>(0, sizes.size()));
  int64_t unit = options.slices * options.alignment;
  int64_t padded = roundUp(placeAll(layout, sizes), unit);
  int64_t largest = std::max(unit, options.bucketElements / unit * unit);
  int64_t interval = std::min(padded, largest);
  layout.segments.push_back(0);
  while (layout.segments.back() < padded)
    layout.segments.push_back(layout.segments.back() + interval);
  return layout;
}

FlatLayout mlir::zero::layOutContiguous(ArrayRef<int64_t> sizes,
                                        const LayoutOptions &options) {
  FlatLayout layout;
  llvm::append_range(layout.order, llvm::seq<unsigned>(0, sizes.size()));
  int64_t end = placeAll(layout, sizes);
  layout.segments = {0, roundUp(end, options.slices * options.alignment)};
  return layout;
}

FlatLayout mlir::zero::layOutParameters(ArrayRef<int64_t> sizes,
                                        ArrayRef<unsigned> order,
                                        int64_t slices, int64_t sliceAlignment,
                                        BlockEnds blocks) {
  FlatLayout layout;
  layout.order.assign(order.begin(), order.end());
  layout.segments.push_back(0);
  SmallVector<bool> isBlock;
  for (const Unit &unit : listUnits(sizes, order, blocks, isBlock)) {
    if (unit.begin == 0)
      layout.offsets.push_back(layout.segments.back());
    int64_t end = layout.offsets.back() + unit.end;
    layout.segments.push_back(
        unit.isLast ? layout.offsets.back() +
                          roundUp(sizes[unit.index], slices * sliceAlignment)
                    : end);
  }
  return layout;
}
