//===- QuantizedGathers.cpp - parameters that travel packed ---------------===//

#include "Collectives.h"

#include "program/Quantization.h"

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

SmallVector<AsyncBuffer>
mlir::zero::makeQuantizedBuffers(ArrayAttr parameters, ValueRange slices,
                                 QuantizationAttr quantization,
                                 const PartitionTable &partitions) {
  const zrt::Quantization how{quantization.getBits(), quantization.getBlock()};
  MLIRContext *context = parameters.getContext();
  SmallVector<AsyncBuffer> buffers;
  for (auto [number, name] :
       llvm::enumerate(parameters.getAsRange<FlatSymbolRefAttr>())) {
    const int first = buffers.size();
    PartitionOp partition = partitions.getPartition(name.getAttr());
    auto [begin, end] = partitions.getSegmentsOf(name.getAttr());
    int64_t ranks = partition ? partition.getSlices() : 1;
    AsyncBuffer slice =
        ownSlice("slice of " + name.getValue(), partition, begin, end, ranks);
    if (!slices.empty()) {
      slice.memory = Memory::Operand;
      slice.index = number;
    }
    int64_t bytes = how.packedBytes(slice.elements);
    buffers.push_back(std::move(slice));
    buffers.push_back(makePacked(name.getValue(), context, bytes, ranks));
    AsyncBuffer own = makePackedSlice(name.getValue(), context, bytes);
    own.index = first + 1;
    own.packs = first;
    own.quantization = quantization;
    buffers.push_back(std::move(own));
    AsyncBuffer whole = makeBuffer(
        name.getValue(), Memory::Own,
        partition ? partition.getComputeType() : Type(), end - begin);
    whole.isWritten = whole.isPlaced = true;
    whole.parameter = name;
    whole.unpacks = first + 1;
    whole.quantization = quantization;
    if (partition)
      whole = holdRange(std::move(whole), partition, "parameters", begin, end);
    buffers.push_back(std::move(whole));
  }
  return buffers;
}

SmallVector<CollectivePart>
mlir::zero::makeQuantizedParts(ArrayRef<AsyncBuffer> buffers) {
  SmallVector<CollectivePart> parts;
  for (unsigned i = 2; i < buffers.size(); i += 4)
    parts.push_back(
        {wholeOf(buffers, i), wholeOf(buffers, i - 1), buffers[i].elements});
  return parts;
}
