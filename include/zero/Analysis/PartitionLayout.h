//===- PartitionLayout.h - how a flat group is cut ------------------------===//
//
// Pure arithmetic: offsets, padding and owners from sizes. Passes ask it and
// write what it says into `zero.partition`.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_ANALYSIS_PARTITIONLAYOUT_H
#define ZERO_ANALYSIS_PARTITIONLAYOUT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>

namespace mlir::zero {

struct LayoutOptions {
  int64_t slices = 1;
  /// Elements that each rank's slice of a segment is a multiple of.
  int64_t alignment = 128;
  /// Most elements of a bucket or interval; a larger gradient goes by itself.
  int64_t bucketElements = 4 << 20;
};

/// The places of the parameters of a group. `order[k]` is the index (in the
/// sizes given) of the k-th member in the flat space, `offsets[k]` its first
/// element; `segments` are the boundaries of the units of ownership, the last
/// one the padded size.
struct FlatLayout {
  llvm::SmallVector<unsigned> order;
  llvm::SmallVector<int64_t> offsets;
  llvm::SmallVector<int64_t> segments;
};

/// For each size, the ends of the blocks in which its gradient is made; empty
/// where it is made whole.
using BlockEnds = llvm::ArrayRef<llvm::SmallVector<int64_t>>;

/// Stages 0 and 2: members in the order in which gradients become ready
/// (`ready`, indices into `sizes`), cut into buckets; each is a segment padded
/// to slices x alignment (`owned`) or to the alignment. A block is a bucket by
/// itself, and padding follows the last one.
FlatLayout layOutBuckets(llvm::ArrayRef<int64_t> sizes,
                         llvm::ArrayRef<unsigned> ready,
                         const LayoutOptions &options, bool owned,
                         BlockEnds blocks = {});

/// Stage 1: members in declaration order; intervals of at most the bucket size
/// rounded down to slices x alignment; the whole is padded so that intervals
/// are whole.
FlatLayout layOutIntervals(llvm::ArrayRef<int64_t> sizes,
                           const LayoutOptions &options);

/// Stage 2 as DeepSpeed has it: declaration order, one segment.
FlatLayout layOutContiguous(llvm::ArrayRef<int64_t> sizes,
                            const LayoutOptions &options);

/// Stage 3: one segment a parameter or block, padded after the last block so
/// that a rank's slice is a multiple of `sliceAlignment` elements.
FlatLayout layOutParameters(llvm::ArrayRef<int64_t> sizes,
                            llvm::ArrayRef<unsigned> order, int64_t slices,
                            int64_t sliceAlignment, BlockEnds blocks = {});

/// Cuts `sizes`, in order, into runs of at most `bucketElements`; a larger size
/// is a run by itself, and so is one that is `alone`. Returns the index after
/// the last of each run.
llvm::SmallVector<size_t> cutIntoBuckets(llvm::ArrayRef<int64_t> sizes,
                                         int64_t bucketElements,
                                         llvm::ArrayRef<bool> alone = {});

/// Most buckets of one gradient, and most intervals of one partition: a plan
/// has operations for each, and must not grow with the elements of a parameter.
inline constexpr int64_t kMostBuckets = 1 << 16;

/// How a gradient of `rows` rows of `rowElements` is cut into blocks.
struct BlockOptions {
  /// Most elements of a block.
  int64_t bucketElements = 4 << 20;
  /// Elements that a block, but for the last, is a multiple of: the first of
  /// these for which a block fits a bucket.
  llvm::SmallVector<int64_t, 2> units = {1};
};

/// The end row of each block, or none where no cut keeps the units.
llvm::SmallVector<int64_t> cutIntoBlocks(int64_t rows, int64_t rowElements,
                                         const BlockOptions &options);

} // namespace mlir::zero

#endif // ZERO_ANALYSIS_PARTITIONLAYOUT_H
