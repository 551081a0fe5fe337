//===- Collectives.h - what collectives tell of themselves ----------------===//
//
// What the answers of collectives to AsyncOpInterface and CollectiveOpInterface
// are made of. Only the files beside this one know collectives one by one:
// everything else asks the interfaces.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_LIB_DIALECT_ZERO_COLLECTIVES_H
#define ZERO_LIB_DIALECT_ZERO_COLLECTIVES_H

#include "zero/Dialect/Zero/PartitionTable.h"
#include "zero/Dialect/Zero/Zero.h"

#include "program/Collective.h"

namespace mlir::zero {

/// A buffer that is neither read nor written yet.
AsyncBuffer makeBuffer(const Twine &name, AsyncBuffer::Memory memory, Type type,
                       int64_t elements);

/// Elements [begin, end) of `state`, in the form in which `buffer` holds them.
AsyncBuffer holdRange(AsyncBuffer buffer, PartitionOp partition,
                      StringRef state, int64_t begin, int64_t end,
                      AccumulateForm form = AccumulateForm::Whole);

/// What this rank has of segments [begin, end) of `partition`, of each of which
/// each of `ranks` ranks has a slice.
AsyncBuffer ownSlice(const Twine &name, PartitionOp partition, int64_t begin,
                     int64_t end, int64_t ranks);

/// The same of a parameter, in the form in which the partition stores it:
/// where that is quantized, the bytes of the packed slice.
AsyncBuffer storedSlice(const Twine &name, PartitionOp partition, int64_t begin,
                        int64_t end);

/// For each parameter of a quantized gather: what this rank has of it, or the
/// copy of that in `slices`; the packed slices of all ranks; this rank's; and
/// the whole. What is stored packed has no other packed slice.
SmallVector<AsyncBuffer> makeQuantizedBuffers(ArrayAttr parameters,
                                              ValueRange slices,
                                              QuantizationAttr quantization,
                                              const PartitionTable &partitions);
/// What travels between them.
SmallVector<CollectivePart> makeQuantizedParts(ArrayRef<AsyncBuffer> buffers);

/// All elements of buffer `index`.
BufferSlice wholeOf(ArrayRef<AsyncBuffer> buffers, unsigned index);

/// The element type and the bytes of what a handle gives; null and 0 where that
/// is nothing.
Type elementTypeOf(Type pending);
int64_t bytesOf(Type pending);

/// "all_gather w b", "reduce_scatter @p0 stored".
std::string makeLabel(Operation *op, StringRef partition, ArrayAttr parameters);

/// "gradients of p0[0 to 8]".
std::string nameRange(StringRef what, StringRef partition, int64_t begin,
                      int64_t end);

inline zrt::Reduction reductionOf(bool isPrescaled) {
  return isPrescaled ? zrt::Reduction::PrescaledSum : zrt::Reduction::Sum;
}

} // namespace mlir::zero

#endif // ZERO_LIB_DIALECT_ZERO_COLLECTIVES_H
