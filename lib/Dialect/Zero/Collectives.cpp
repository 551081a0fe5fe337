//===- Collectives.cpp - what collectives tell of themselves --------------===//

#include "Collectives.h"

using namespace mlir;
using namespace mlir::zero;

using Memory = AsyncBuffer::Memory;

AsyncBuffer mlir::zero::makeBuffer(const Twine &name, Memory memory, Type type,
                                   int64_t elements) {
  AsyncBuffer buffer;
  buffer.name = name.str();
  buffer.memory = memory;
  buffer.type = type;
  buffer.elements = elements;
  return buffer;
}

AsyncBuffer mlir::zero::holdRange(AsyncBuffer buffer, PartitionOp partition,
                                  StringRef state, int64_t begin, int64_t end,
                                  AccumulateForm form) {
  buffer.partition = FlatSymbolRefAttr::get(partition.getSymNameAttr());
  buffer.state = state;
  buffer.begin = begin;
  buffer.end = end;
  buffer.form = form;
  return buffer;
}

BufferSlice mlir::zero::wholeOf(ArrayRef<AsyncBuffer> buffers, unsigned index) {
  return {index, 0, buffers[index].elements};
}

Type mlir::zero::elementTypeOf(Type pending) {
  ArrayRef<Type> types = cast<PendingType>(pending).getTypes();
  return types.empty() ? Type()
                       : cast<RankedTensorType>(types[0]).getElementType();
}

int64_t mlir::zero::bytesOf(Type pending) {
  int64_t bytes = 0;
  for (Type type : cast<PendingType>(pending).getTypes()) {
    auto tensor = cast<RankedTensorType>(type);
    bytes += tensor.getNumElements() * elementBytes(tensor.getElementType());
  }
  return bytes;
}

std::string mlir::zero::makeLabel(Operation *op, StringRef partition,
                                  ArrayAttr parameters) {
  std::string label = op->getName().stripDialect().str();
  if (!partition.empty())
    label += (" @" + partition).str();
  if (parameters)
    for (auto name : parameters.getAsRange<FlatSymbolRefAttr>())
      label += (" " + name.getValue()).str();
  return label;
}

std::string mlir::zero::nameRange(StringRef what, StringRef partition,
                                  int64_t begin, int64_t end) {
  return (what + " of " + partition + "[" + Twine(begin) + " to " + Twine(end) +
          "]")
      .str();
}

#include "zero/Dialect/Zero/AsyncOpInterface.cpp.inc"
