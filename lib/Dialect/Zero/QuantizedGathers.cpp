//===- QuantizedGathers.cpp - parameters that travel packed ---------------===//

#include "Collectives.h"

using namespace mlir;
using namespace mlir::zero;

using Memory = AsyncBuffer::Memory;

/// Packed slices of all ranks, one after the other: each rank packs its own
/// where it is to arrive.
static AsyncBuffer makePacked(StringRef name, MLIRContext *context,
                              int64_t sliceBytes, int64_t ranks) {
  AsyncBuffer packed =
      makeBuffer("packed " + name, Memory::Own, IntegerType::get(context, 8),
                 sliceBytes * ranks);
  packed.isWritten = packed.isPlaced = true;
  return packed;
}

static AsyncBuffer makePackedSlice(StringRef name, MLIRContext *context,
                                   int64_t bytes) {
  AsyncBuffer slice = makeBuffer("packed slice of " + name, Memory::Part,
                                 IntegerType::get(context, 8), bytes);
  slice.stride = bytes;
  slice.isRead = slice.isPlaced = true;
  return slice;
}

/// The buffer of a whole parameter, unpacked at the wait from buffer `packed`.
static AsyncBuffer makeUnpacked(FlatSymbolRefAttr name, PartitionOp partition,
                                int64_t begin, int64_t end, int packed,
                                QuantizationAttr quantization) {
  AsyncBuffer whole =
      makeBuffer(name.getValue(), Memory::Own,
                 partition ? partition.getComputeType() : Type(), end - begin);
  whole.isWritten = whole.isPlaced = true;
  whole.parameter = name;
  whole.unpacks = packed;
  whole.quantization = quantization;
  return partition
             ? holdRange(std::move(whole), partition, "parameters", begin, end)
             : whole;
}

SmallVector<AsyncBuffer>
mlir::zero::makeQuantizedBuffers(ArrayAttr parameters, ValueRange slices,
                                 QuantizationAttr quantization,
                                 const PartitionTable &partitions) {
  MLIRContext *context = parameters.getContext();
  SmallVector<AsyncBuffer> buffers;
  for (auto [number, name] :
       llvm::enumerate(parameters.getAsRange<FlatSymbolRefAttr>())) {
    PartitionOp partition = partitions.getPartition(name.getAttr());
    auto [begin, end] = partitions.getSegmentsOf(name.getAttr());
    int64_t ranks = partition ? partition.getSlices() : 1;
    const bool isStored = partition && partition.getQuantized();
    AsyncBuffer slice =
        storedSlice("slice of " + name.getValue(), partition, begin, end);
    if (!slices.empty()) {
      slice.memory = Memory::Operand;
      slice.index = number;
    }
    const int64_t bytes =
        isStored ? slice.elements : quantization.getPackedBytes(slice.elements);
    if (!isStored)
      buffers.push_back(slice);
    const int packed = buffers.size();
    buffers.push_back(makePacked(name.getValue(), context, bytes, ranks));
    if (isStored) {
      buffers.push_back(slice);
    } else {
      AsyncBuffer own = makePackedSlice(name.getValue(), context, bytes);
      own.index = packed;
      own.packs = packed - 1;
      own.quantization = quantization;
      buffers.push_back(std::move(own));
    }
    buffers.push_back(
        makeUnpacked(name, partition, begin, end, packed, quantization));
  }
  return buffers;
}

SmallVector<CollectivePart>
mlir::zero::makeQuantizedParts(ArrayRef<AsyncBuffer> buffers) {
  SmallVector<CollectivePart> parts;
  for (const AsyncBuffer &whole : buffers) {
    if (whole.unpacks < 0)
      continue;
    // This rank's packed slice comes after those of all.
    const unsigned packed = whole.unpacks, own = packed + 1;
    parts.push_back({wholeOf(buffers, own), wholeOf(buffers, packed),
                     buffers[own].elements});
  }
  return parts;
}
