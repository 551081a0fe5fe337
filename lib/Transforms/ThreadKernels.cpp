//===- ThreadKernels.cpp - elementwise kernels to code of threads ---------===//
//
// The twin of VectorizeKernels for a GPU: the same body, one element a thread
// at a time. Neighbouring threads take neighbouring elements, so their loads
// and stores lie side by side.
//
//===----------------------------------------------------------------------===//

#include "zero/Transforms/Passes.h"

#include "KernelLoopNest.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::zero {
#define GEN_PASS_DEF_THREADKERNELS
#include "zero/Transforms/Passes.h.inc"
} // namespace mlir::zero

using namespace mlir;
using namespace mlir::zero;

namespace {

/// Writes what one thread does.
class ThreadWriter {
public:
  ThreadWriter(ImplicitLocOpBuilder &b, linalg::GenericOp generic,
               const LoopNest &nest)
      : b(b), generic(generic), nest(nest), inputs(generic.getNumDpsInputs()) {}

  void write();

private:
  Value constant(int64_t value) {
    return arith::ConstantOp::create(b, b.getI64IntegerAttr(value));
  }
  /// A special register, which holds 32 bits.
  template <typename Register> Value read() {
    Value value = Register::create(b, b.getI32Type());
    return arith::ExtUIOp::create(b, b.getI64Type(), value);
  }
  Value addressOf(const Buffer &buffer, Value element) {
    return LLVM::GEPOp::create(b, buffer.pointer.getType(),
                               memoryType(buffer.elementType), buffer.pointer,
                               ValueRange{element});
  }
  Value placeIn(const Buffer &buffer, Value element);
  Value load(const Buffer &buffer, Value element);
  void store(const Buffer &buffer, Value value, Value element);
  void writeElement(Value element);

  ImplicitLocOpBuilder &b;
  linalg::GenericOp generic;
  const LoopNest &nest;
  unsigned inputs;
};

/// The element of `buffer` that belongs to flat element `element` of the loops.
Value ThreadWriter::placeIn(const Buffer &buffer, Value element) {
  if (nest.isFull(buffer))
    return element;
  int64_t stride = 1;
  Value place = constant(0);
  for (unsigned dim : llvm::reverse(buffer.dims)) {
    int64_t below = 1;
    for (unsigned other = dim + 1; other < nest.shape.size(); ++other)
      below *= nest.shape[other];
    Value index = arith::DivUIOp::create(b, element, constant(below));
    index = arith::RemUIOp::create(b, index, constant(nest.shape[dim]));
    index = arith::MulIOp::create(b, index, constant(stride));
    place = arith::AddIOp::create(b, place, index);
    stride *= nest.shape[dim];
  }
  return place;
}

Value ThreadWriter::load(const Buffer &buffer, Value element) {
  Value value = LLVM::LoadOp::create(b, memoryType(buffer.elementType),
                                     addressOf(buffer, element),
                                     memoryBytes(buffer.elementType));
  if (buffer.elementType.isInteger(1)) {
    Value zero = arith::ConstantOp::create(b, b.getZeroAttr(value.getType()));
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, value, zero);
  }
  return buffer.elementType == value.getType()
             ? value
             : arith::BitcastOp::create(b, buffer.elementType, value);
}

void ThreadWriter::store(const Buffer &buffer, Value value, Value element) {
  Type type = memoryType(buffer.elementType);
  if (buffer.elementType.isInteger(1))
    value = arith::ExtUIOp::create(b, type, value);
  else if (type != value.getType())
    value = arith::BitcastOp::create(b, type, value);
  LLVM::StoreOp::create(b, value, addressOf(buffer, element),
                        memoryBytes(buffer.elementType));
}

void ThreadWriter::writeElement(Value element) {
  IRMapping mapping;
  Block *body = generic.getBody();
  for (unsigned i = 0; i < inputs; ++i)
    mapping.map(body->getArgument(i),
                load(nest.buffers[i], placeIn(nest.buffers[i], element)));
  for (Operation &op : body->without_terminator())
    b.clone(op, mapping);
  for (auto [i, value] : llvm::enumerate(body->getTerminator()->getOperands()))
    store(nest.buffers[inputs + i], mapping.lookupOrDefault(value), element);
}

void ThreadWriter::write() {
  Value threads = read<NVVM::BlockDimXOp>();
  Value first = arith::MulIOp::create(b, read<NVVM::BlockIdXOp>(), threads);
  first = arith::AddIOp::create(b, first, read<NVVM::ThreadIdXOp>());
  Value step = arith::MulIOp::create(b, read<NVVM::GridDimXOp>(), threads);
  auto loop = scf::ForOp::create(b, first, constant(nest.elements()), step);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  writeElement(loop.getInductionVar());
}

LogicalResult thread(func::FuncOp kernel) {
  FailureOr<linalg::GenericOp> generic = findKernelGeneric(kernel);
  if (failed(generic))
    return failure();
  FailureOr<LoopNest> nest = readLoopNest(*generic);
  if (failed(nest))
    return failure();

  auto pointer = LLVM::LLVMPointerType::get(kernel.getContext());
  ImplicitLocOpBuilder b(kernel.getLoc(), kernel.getContext());
  b.setInsertionPoint(kernel);
  SmallVector<Type> pointers(nest->buffers.size(), pointer);
  auto function = func::FuncOp::create(b, kernel.getName(),
                                       b.getFunctionType(pointers, {}));
  function->setAttr("extent", b.getI64IntegerAttr(nest->elements()));
  Block *entry = function.addEntryBlock();
  b.setInsertionPointToStart(entry);
  for (auto [buffer, argument] :
       llvm::zip_equal(nest->buffers, entry->getArguments()))
    buffer.pointer = argument;
  ThreadWriter(b, *generic, *nest).write();
  func::ReturnOp::create(b);
  kernel.erase();
  return success();
}

struct ThreadKernels : mlir::zero::impl::ThreadKernelsBase<ThreadKernels> {
  void runOnOperation() override {
    for (auto kernel :
         llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      if (!kernel.isExternal() && failed(thread(kernel)))
        return signalPassFailure();
  }
};

} // namespace
