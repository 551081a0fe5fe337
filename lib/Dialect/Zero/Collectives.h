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

/// The buffer of this rank's slices of the segments [begin, end) of
/// `partition`, each of which is cut into slices for `ranks` ranks.
AsyncBuffer ownSlice(const Twine &name, PartitionOp partition, int64_t begin,
                     int64_t end, int64_t ranks);

/// The buffer of this rank's slice of a parameter, as the partition stores it:
/// the bytes of the packed slice if that is quantized.
AsyncBuffer storedSlice(const Twine &name, PartitionOp partition, int64_t begin,
                        int64_t end);

/// The buffers of each parameter of a quantized gather: this rank's slice, or
/// its copy in `slices`; the packed slices of all ranks; this rank's packed
/// slice; and the whole. A slice that is stored packed has no other packed one.
SmallVector<AsyncBuffer> makeQuantizedBuffers(ArrayAttr parameters,
                                              ValueRange slices,
                                              QuantizationAttr quantization,
                                              const PartitionTable &partitions);
/// The transfers between the buffers of `makeQuantizedBuffers`.
SmallVector<CollectivePart> makeQuantizedParts(ArrayRef<AsyncBuffer> buffers);

/// All elements of buffer `index`.
BufferSlice wholeOf(ArrayRef<AsyncBuffer> buffers, unsigned index);

/// The element type and the bytes of the tensors of a handle; null and 0 if
/// there are none.
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
