//===- VectorizeKernels.cpp - elementwise kernels to vector loops ---------===//
//
// A kernel is a function around one linalg.generic. Here it becomes a function
// on raw buffers that computes any range of elements with explicit vectors.
// Loops are not left to LLVM's vectoriser: it keeps transcendental functions
// scalar, and its remainder loops are other code than the vector body.
//
//===----------------------------------------------------------------------===//

#include "zero/Transforms/Passes.h"

#include "KernelLoopNest.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::zero {
#define GEN_PASS_DEF_VECTORIZEKERNELS
#include "zero/Transforms/Passes.h.inc"
} // namespace mlir::zero

using namespace mlir;
using namespace mlir::zero;

namespace {

/// Writes the vector loops of one kernel.
class KernelWriter {
public:
  KernelWriter(ImplicitLocOpBuilder &b, linalg::GenericOp generic,
               LoopNest &nest, int64_t width)
      : b(b), generic(generic), nest(nest), width(width),
        inputs(generic.getNumDpsInputs()) {}

  void write(Value begin, Value end);

private:
  Value constant(int64_t value) {
    return arith::ConstantOp::create(b, b.getI64IntegerAttr(value));
  }
  VectorType vectorOf(Type type, int64_t lanes) {
    return VectorType::get({lanes}, type);
  }
  Value addressOf(const Buffer &buffer, Value element) {
    return LLVM::GEPOp::create(b, buffer.pointer.getType(),
                               memoryType(buffer.elementType), buffer.pointer,
                               ValueRange{element});
  }

  Value fromMemory(Value value, Type elementType);
  Value toMemory(Value value, Type elementType);
  Value rowOffset(const Buffer &buffer, Value row);
  Value load(const Buffer &buffer, Value element, int64_t lanes, Value mask);
  void store(const Buffer &buffer, Value value, Value element, Value mask);

  /// Computes elements [low, high), all of row `row` when there are rows.
  void writeRow(Value row, Value low, Value high);
  /// Computes `lanes` elements from flat element `element` on.
  void writeVector(Value element, int64_t lanes, Value mask);
  void writeTail(Value low, Value high);

  ImplicitLocOpBuilder &b;
  linalg::GenericOp generic;
  LoopNest &nest;
  int64_t width;
  unsigned inputs;
  /// Of the row being written: what to add to a flat element to get the
  /// element of a contiguous input (null: nothing), and the scalar of an input
  /// that is constant along the row, as it is in memory: x86 without AVX-512
  /// has no bf16 scalars, and calls a function that is in no library of
  /// Debian 12.
  SmallVector<Value> shift, scalar;
};

Value KernelWriter::fromMemory(Value value, Type elementType) {
  Type type = elementType;
  auto vector = dyn_cast<VectorType>(value.getType());
  if (vector)
    type = vector.clone(elementType);
  if (elementType.isInteger(1)) {
    Value zero = arith::ConstantOp::create(b, b.getZeroAttr(value.getType()));
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, value, zero);
  }
  return type == value.getType() ? value
                                 : arith::BitcastOp::create(b, type, value);
}

Value KernelWriter::toMemory(Value value, Type elementType) {
  Type type = cast<VectorType>(value.getType()).clone(memoryType(elementType));
  if (elementType.isInteger(1))
    return arith::ExtUIOp::create(b, type, value);
  return type == value.getType() ? value
                                 : arith::BitcastOp::create(b, type, value);
}

/// The element of `buffer` at which row `row` begins.
Value KernelWriter::rowOffset(const Buffer &buffer, Value row) {
  unsigned rank = nest.shape.size();
  int64_t stride = 1;
  Value offset = constant(0);
  for (unsigned dim : llvm::reverse(buffer.dims)) {
    if (dim + 1 != rank) {
      int64_t below = 1;
      for (unsigned other = dim + 1; other + 1 < rank; ++other)
        below *= nest.shape[other];
      Value index = arith::DivUIOp::create(b, row, constant(below));
      index = arith::RemUIOp::create(b, index, constant(nest.shape[dim]));
      index = arith::MulIOp::create(b, index, constant(stride));
      offset = arith::AddIOp::create(b, offset, index);
    }
    stride *= nest.shape[dim];
  }
  return offset;
}

Value KernelWriter::load(const Buffer &buffer, Value element, int64_t lanes,
                         Value mask) {
  VectorType type = vectorOf(memoryType(buffer.elementType), lanes);
  Value address = addressOf(buffer, element);
  unsigned alignment = memoryBytes(buffer.elementType);
  Value value;
  if (mask) {
    Value zeros = arith::ConstantOp::create(b, b.getZeroAttr(type));
    value =
        LLVM::MaskedLoadOp::create(b, type, address, mask, zeros, alignment);
  } else {
    value = LLVM::LoadOp::create(b, type, address, alignment);
  }
  return fromMemory(value, buffer.elementType);
}

void KernelWriter::store(const Buffer &buffer, Value value, Value element,
                         Value mask) {
  value = toMemory(value, buffer.elementType);
  Value address = addressOf(buffer, element);
  unsigned alignment = memoryBytes(buffer.elementType);
  if (mask)
    LLVM::MaskedStoreOp::create(b, value, address, mask, alignment);
  else
    LLVM::StoreOp::create(b, value, address, alignment);
}

void KernelWriter::writeVector(Value element, int64_t lanes, Value mask) {
  IRMapping mapping;
  Block *body = generic.getBody();
  for (unsigned i = 0; i < inputs; ++i) {
    const Buffer &buffer = nest.buffers[i];
    Value value;
    if (scalar[i]) {
      value = vector::BroadcastOp::create(
          b, vectorOf(memoryType(buffer.elementType), lanes), scalar[i]);
      value = fromMemory(value, buffer.elementType);
    } else {
      Value at =
          shift[i] ? arith::AddIOp::create(b, element, shift[i]) : element;
      value = load(buffer, at, lanes, mask);
    }
    mapping.map(body->getArgument(i), value);
  }
  for (Operation &op : body->without_terminator()) {
    if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      auto type = vectorOf(constant.getType(), lanes);
      auto splat = DenseElementsAttr::get(type, constant.getValue());
      mapping.map(constant.getResult(), arith::ConstantOp::create(b, splat));
      continue;
    }
    Operation *clone = b.clone(op, mapping);
    for (Value result : clone->getResults())
      result.setType(vectorOf(result.getType(), lanes));
  }
  for (auto [i, value] :
       llvm::enumerate(body->getTerminator()->getOperands())) {
    Value result = mapping.lookupOrDefault(value);
    if (!isa<VectorType>(result.getType()))
      result = vector::BroadcastOp::create(b, vectorOf(result.getType(), lanes),
                                           result);
    store(nest.buffers[inputs + i], result, element, mask);
  }
}

/// The last elements of a row: the same vector code under a mask, so that an
/// element's bits do not depend on where a range ends. An integer division
/// would trap on the lanes that are off, so these go one by one.
void KernelWriter::writeTail(Value low, Value high) {
  bool divides = llvm::any_of(*generic.getBody(), [](Operation &op) {
    return isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp,
               arith::CeilDivSIOp, arith::CeilDivUIOp, arith::FloorDivSIOp>(op);
  });
  if (divides) {
    auto loop = scf::ForOp::create(b, low, high, constant(1));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    writeVector(loop.getInductionVar(), 1, nullptr);
    return;
  }
  Value some = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, low, high);
  auto branch = scf::IfOp::create(b, some, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  auto lanes = llvm::to_vector(llvm::seq<int32_t>(0, width));
  Value steps = arith::ConstantOp::create(b, b.getI32VectorAttr(lanes));
  Value count = arith::SubIOp::create(b, high, low);
  count = arith::TruncIOp::create(b, b.getI32Type(), count);
  count = vector::BroadcastOp::create(b, steps.getType(), count);
  Value mask =
      arith::CmpIOp::create(b, arith::CmpIPredicate::slt, steps, count);
  writeVector(low, width, mask);
}

void KernelWriter::writeRow(Value row, Value low, Value high) {
  shift.assign(inputs, nullptr);
  scalar.assign(inputs, nullptr);
  for (unsigned i = 0; i < inputs; ++i) {
    const Buffer &buffer = nest.buffers[i];
    if (nest.isFull(buffer) && !nest.shape.empty())
      continue;
    Value offset = row ? rowOffset(buffer, row) : constant(0);
    if (nest.isContiguous(buffer)) {
      Value start = arith::MulIOp::create(b, row, constant(nest.inner()));
      shift[i] = arith::SubIOp::create(b, offset, start);
      continue;
    }
    scalar[i] = LLVM::LoadOp::create(b, memoryType(buffer.elementType),
                                     addressOf(buffer, offset),
                                     memoryBytes(buffer.elementType));
  }
  Value count = arith::SubIOp::create(b, high, low);
  Value whole = arith::AndIOp::create(b, count, constant(-width));
  Value middle = arith::AddIOp::create(b, low, whole);
  auto loop = scf::ForOp::create(b, low, middle, constant(width));
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    writeVector(loop.getInductionVar(), width, nullptr);
  }
  writeTail(middle, high);
}

void KernelWriter::write(Value begin, Value end) {
  if (nest.shape.size() <= 1)
    return writeRow(nullptr, begin, end);
  Value inner = constant(nest.inner());
  Value first = arith::DivUIOp::create(b, begin, inner);
  Value last = arith::CeilDivUIOp::create(b, end, inner);
  auto rows = scf::ForOp::create(b, first, last, constant(1));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(rows.getBody());
  Value row = rows.getInductionVar();
  Value low = arith::MulIOp::create(b, row, inner);
  Value high = arith::AddIOp::create(b, low, inner);
  low = arith::MaxUIOp::create(b, low, begin);
  high = arith::MinUIOp::create(b, high, end);
  writeRow(row, low, high);
}

/// Elements that are worth waking a thread for: about 20 us of work, by a
/// rough price of 1 a byte moved, 2 an operation and 16 a transcendental one.
int64_t grainOf(linalg::GenericOp generic, const LoopNest &nest) {
  int64_t cost = 1;
  for (const Buffer &buffer : nest.buffers)
    cost += nest.isContiguous(buffer) ? memoryBytes(buffer.elementType) : 0;
  for (Operation &op : *generic.getBody())
    cost += isa_and_present<math::MathDialect>(op.getDialect()) ? 16 : 2;
  return llvm::alignTo(std::max<int64_t>((int64_t{1} << 19) / cost, 1024), 64);
}

LogicalResult vectorize(func::FuncOp kernel, int64_t width) {
  FailureOr<linalg::GenericOp> generic = findKernelGeneric(kernel);
  if (failed(generic))
    return failure();
  FailureOr<LoopNest> nest = readLoopNest(*generic);
  if (failed(nest))
    return failure();

  MLIRContext *context = kernel.getContext();
  auto pointer = LLVM::LLVMPointerType::get(context);
  Type i64 = IntegerType::get(context, 64);
  ImplicitLocOpBuilder b(kernel.getLoc(), context);
  b.setInsertionPoint(kernel);
  auto function = func::FuncOp::create(
      b, kernel.getName(), b.getFunctionType({pointer, i64, i64}, {}));
  function->setAttr("extent", b.getI64IntegerAttr(nest->elements()));
  function->setAttr("grain", b.getI64IntegerAttr(grainOf(*generic, *nest)));
  Block *entry = function.addEntryBlock();
  b.setInsertionPointToStart(entry);
  for (auto [i, buffer] : llvm::enumerate(nest->buffers)) {
    Value slot = LLVM::GEPOp::create(b, pointer, pointer, entry->getArgument(0),
                                     ArrayRef<LLVM::GEPArg>{int32_t(i)});
    buffer.pointer = LLVM::LoadOp::create(b, pointer, slot);
  }
  KernelWriter(b, *generic, *nest, width)
      .write(entry->getArgument(1), entry->getArgument(2));
  func::ReturnOp::create(b);
  kernel.erase();
  return success();
}

struct VectorizeKernels
    : mlir::zero::impl::VectorizeKernelsBase<VectorizeKernels> {
  using VectorizeKernelsBase::VectorizeKernelsBase;
  void runOnOperation() override {
    if (vectorWidth < 1 || !llvm::isPowerOf2_64(vectorWidth)) {
      emitError(getOperation().getLoc())
          << "vector-width is " << vectorWidth.getValue()
          << "; wanted a power of two";
      return signalPassFailure();
    }
    for (auto kernel :
         llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      if (!kernel.isExternal() && failed(vectorize(kernel, vectorWidth)))
        return signalPassFailure();
  }
};

} // namespace
