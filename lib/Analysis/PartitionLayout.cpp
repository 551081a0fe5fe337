//===- PartitionLayout.cpp - how a flat group is cut ----------------------===//

#include "zero/Analysis/PartitionLayout.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir::zero;
using llvm::ArrayRef;
using llvm::SmallVector;

static int64_t roundUp(int64_t value, int64_t multiple) {
  return llvm::divideCeil(value, multiple) * multiple;
}

SmallVector<size_t> mlir::zero::cutIntoBuckets(ArrayRef<int64_t> sizes,
                                               int64_t bucketElements) {
  SmallVector<size_t> ends;
  int64_t filled = 0;
  for (auto [index, size] : llvm::enumerate(sizes)) {
    if (index > 0 && filled + size > bucketElements) {
      ends.push_back(index);
      filled = 0;
    }
    filled += size;
  }
  if (!sizes.empty())
    ends.push_back(sizes.size());
  return ends;
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

FlatLayout mlir::zero::layOutBuckets(ArrayRef<int64_t> sizes,
                                     ArrayRef<unsigned> ready,
                                     const LayoutOptions &options, bool owned) {
  FlatLayout layout;
  layout.order.assign(ready.begin(), ready.end());
  layout.segments.push_back(0);
  SmallVector<int64_t> ordered;
  for (unsigned index : ready)
    ordered.push_back(sizes[index]);
  int64_t padTo = owned ? options.ranks * options.alignment : options.alignment;
  size_t member = 0;
  for (size_t bucketEnd : cutIntoBuckets(ordered, options.bucketElements)) {
    int64_t end = layout.segments.back();
    for (; member < bucketEnd; ++member) {
      layout.offsets.push_back(end);
      end += ordered[member];
    }
    layout.segments.push_back(roundUp(end, padTo));
  }
  return layout;
}

FlatLayout mlir::zero::layOutIntervals(ArrayRef<int64_t> sizes,
                                       const LayoutOptions &options) {
  FlatLayout layout;
  llvm::append_range(layout.order, llvm::seq<unsigned>(0, sizes.size()));
  int64_t unit = options.ranks * options.alignment;
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
  layout.segments = {0, roundUp(end, options.ranks * options.alignment)};
  return layout;
}

FlatLayout mlir::zero::layOutParameters(ArrayRef<int64_t> sizes,
                                        ArrayRef<unsigned> order, int64_t ranks,
                                        int64_t sliceAlignment) {
  FlatLayout layout;
  layout.order.assign(order.begin(), order.end());
  layout.segments.push_back(0);
  for (unsigned index : order) {
    layout.offsets.push_back(layout.segments.back());
    layout.segments.push_back(layout.segments.back() +
                              roundUp(sizes[index], ranks * sliceAlignment));
  }
  return layout;
}
