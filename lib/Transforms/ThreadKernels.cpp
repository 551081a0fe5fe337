//===- ThreadKernels.cpp - elementwise kernels to code of threads ---------===//
//
// The twin of VectorizeKernels for a GPU: the same body, for as many neighbours
// at once as 16 bytes of the narrowest buffer hold, and at most 8. Neighbouring
// threads take neighbouring vectors, so their loads and stores lie side by
// side. Buffers that are not aligned to 16 bytes, as slices of buckets may be,
// take one element at a time; so does what remains of the elements.
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

/// The most elements that a thread computes at once, and the bytes that it
/// loads or stores at once.
constexpr int64_t kMostLanes = 8, kWidestBytes = 16;

/// Elements up to which their numbers have 32 bits, those of a step further
/// included: divisions are then cheap.
constexpr int64_t kMostNarrow = int64_t(1) << 30;

/// How a buffer's elements of one vector lie: side by side, or one for all.
enum class Run { Contiguous, Constant };

/// Writes what one thread does.
class ThreadWriter {
public:
  ThreadWriter(ImplicitLocOpBuilder &b, linalg::GenericOp generic,
               const LoopNest &nest, int64_t lanes)
      : b(b), generic(generic), nest(nest), inputs(generic.getNumDpsInputs()),
        lanes(lanes),
        index(nest.elements() < kMostNarrow ? b.getI32Type() : b.getI64Type()) {
  }

  void write();

private:
  Value constant(int64_t value) {
    return arith::ConstantOp::create(b, b.getIntegerAttr(index, value));
  }
  /// A special register, which holds 32 bits.
  template <typename Register> Value read() {
    Value value = Register::create(b, b.getI32Type());
    return index.isInteger(32) ? value
                               : arith::ExtUIOp::create(b, index, value);
  }
  Value addressOf(const Buffer &buffer, Value element) {
    return LLVM::GEPOp::create(b, buffer.pointer.getType(),
                               memoryType(buffer.elementType), buffer.pointer,
                               ValueRange{element});
  }
  Value placeIn(const Buffer &buffer, Value element);
  Run runOf(const Buffer &buffer) const {
    return nest.isContiguous(buffer) ? Run::Contiguous : Run::Constant;
  }
  Value fromMemory(const Buffer &buffer, Value value);
  Value toMemory(const Buffer &buffer, Value value);
  Value areAligned();
  /// `count` elements from `element` on, in vectors of at most 16 bytes.
  SmallVector<Value> load(const Buffer &buffer, Value element, int64_t count);
  void store(const Buffer &buffer, ArrayRef<Value> values, Value element);
  void writeElements(Value element, int64_t count);
  /// Elements [begin, end), `count` at once, of which a thread takes its share.
  void writeLoop(Value begin, int64_t end, int64_t count);

  ImplicitLocOpBuilder &b;
  linalg::GenericOp generic;
  const LoopNest &nest;
  unsigned inputs;
  int64_t lanes;
  Type index;
  Value thread, threads;
};

/// Elements that one thread computes at once: 1 where a vector of them would
/// reach over the end of the innermost loop.
int64_t lanesOf(const LoopNest &nest) {
  int64_t narrowest = kWidestBytes;
  bool areFull = true;
  for (const Buffer &buffer : nest.buffers) {
    narrowest = std::min<int64_t>(narrowest, memoryBytes(buffer.elementType));
    areFull &= nest.isFull(buffer);
  }
  const int64_t lanes = std::min(kMostLanes, kWidestBytes / narrowest);
  return areFull || nest.inner() % lanes == 0 ? lanes : 1;
}

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
    Value number = arith::DivUIOp::create(b, element, constant(below));
    number = arith::RemUIOp::create(b, number, constant(nest.shape[dim]));
    number = arith::MulIOp::create(b, number, constant(stride));
    place = arith::AddIOp::create(b, place, number);
    stride *= nest.shape[dim];
  }
  return place;
}

Value ThreadWriter::fromMemory(const Buffer &buffer, Value value) {
  if (buffer.elementType.isInteger(1)) {
    Value zero = arith::ConstantOp::create(b, b.getZeroAttr(value.getType()));
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, value, zero);
  }
  return buffer.elementType == value.getType()
             ? value
             : arith::BitcastOp::create(b, buffer.elementType, value);
}

Value ThreadWriter::toMemory(const Buffer &buffer, Value value) {
  Type type = memoryType(buffer.elementType);
  if (buffer.elementType.isInteger(1))
    return arith::ExtUIOp::create(b, type, value);
  return type == value.getType() ? value
                                 : arith::BitcastOp::create(b, type, value);
}

SmallVector<Value> ThreadWriter::load(const Buffer &buffer, Value element,
                                      int64_t count) {
  Type type = memoryType(buffer.elementType);
  const int64_t bytes = memoryBytes(buffer.elementType);
  Value place = placeIn(buffer, element);
  if (count == 1 || runOf(buffer) == Run::Constant) {
    Value value =
        LLVM::LoadOp::create(b, type, addressOf(buffer, place), bytes);
    return SmallVector<Value>(count, fromMemory(buffer, value));
  }
  const int64_t atOnce = std::min(count, kWidestBytes / bytes);
  SmallVector<Value> values;
  for (int64_t first = 0; first < count; first += atOnce) {
    Value at = arith::AddIOp::create(b, place, constant(first));
    Value vector = LLVM::LoadOp::create(b, VectorType::get({atOnce}, type),
                                        addressOf(buffer, at), atOnce * bytes);
    for (int64_t lane = 0; lane < atOnce; ++lane) {
      Value number = arith::ConstantOp::create(b, b.getI32IntegerAttr(lane));
      values.push_back(fromMemory(
          buffer, LLVM::ExtractElementOp::create(b, vector, number)));
    }
  }
  return values;
}

void ThreadWriter::store(const Buffer &buffer, ArrayRef<Value> values,
                         Value element) {
  Type type = memoryType(buffer.elementType);
  const int64_t bytes = memoryBytes(buffer.elementType);
  const int64_t count = values.size();
  if (count == 1) {
    LLVM::StoreOp::create(b, toMemory(buffer, values.front()),
                          addressOf(buffer, element), bytes);
    return;
  }
  const int64_t atOnce = std::min(count, kWidestBytes / bytes);
  for (int64_t first = 0; first < count; first += atOnce) {
    Value vector = LLVM::PoisonOp::create(b, VectorType::get({atOnce}, type));
    for (int64_t lane = 0; lane < atOnce; ++lane) {
      Value number = arith::ConstantOp::create(b, b.getI32IntegerAttr(lane));
      vector = LLVM::InsertElementOp::create(
          b, vector, toMemory(buffer, values[first + lane]), number);
    }
    Value at = arith::AddIOp::create(b, element, constant(first));
    LLVM::StoreOp::create(b, vector, addressOf(buffer, at), atOnce * bytes);
  }
}

/// All loads come before the first store: a result may have the place of an
/// operand.
void ThreadWriter::writeElements(Value element, int64_t count) {
  Block *body = generic.getBody();
  SmallVector<SmallVector<Value>> loaded;
  for (unsigned i = 0; i < inputs; ++i)
    loaded.push_back(load(nest.buffers[i], element, count));
  Operation *last = body->getTerminator();
  SmallVector<SmallVector<Value>> results(last->getNumOperands());
  for (int64_t lane = 0; lane < count; ++lane) {
    IRMapping mapping;
    for (unsigned i = 0; i < inputs; ++i)
      mapping.map(body->getArgument(i), loaded[i][lane]);
    for (Operation &op : body->without_terminator())
      b.clone(op, mapping);
    for (auto [i, value] : llvm::enumerate(last->getOperands()))
      results[i].push_back(mapping.lookupOrDefault(value));
  }
  for (auto [i, values] : llvm::enumerate(results))
    store(nest.buffers[inputs + i], values, element);
}

void ThreadWriter::writeLoop(Value begin, int64_t end, int64_t count) {
  auto times = [&](Value value) -> Value {
    return count == 1 ? value
                      : arith::MulIOp::create(b, value, constant(count));
  };
  Value first = arith::AddIOp::create(b, begin, times(thread));
  auto loop = scf::ForOp::create(b, first, constant(end), times(threads));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  writeElements(loop.getInductionVar(), count);
}

/// Whether vectors of every buffer that has some begin at a multiple of their
/// bytes.
Value ThreadWriter::areAligned() {
  Type i64 = b.getI64Type();
  Value bits;
  for (const Buffer &buffer : nest.buffers) {
    if (runOf(buffer) == Run::Constant)
      continue;
    Value address = LLVM::PtrToIntOp::create(b, i64, buffer.pointer);
    bits = bits ? arith::OrIOp::create(b, bits, address) : address;
  }
  Value low =
      arith::ConstantOp::create(b, b.getI64IntegerAttr(kWidestBytes - 1));
  Value zero = arith::ConstantOp::create(b, b.getI64IntegerAttr(0));
  return arith::CmpIOp::create(b, arith::CmpIPredicate::eq,
                               arith::AndIOp::create(b, bits, low), zero);
}

void ThreadWriter::write() {
  threads = read<NVVM::BlockDimXOp>();
  thread = arith::MulIOp::create(b, read<NVVM::BlockIdXOp>(), threads);
  thread = arith::AddIOp::create(b, thread, read<NVVM::ThreadIdXOp>());
  threads = arith::MulIOp::create(b, read<NVVM::GridDimXOp>(), threads);
  const int64_t elements = nest.elements();
  const int64_t whole = lanes == 1 ? 0 : elements / lanes * lanes;
  if (whole == 0)
    return writeLoop(constant(0), elements, 1);
  auto choice = scf::IfOp::create(b, areAligned(), /*withElseRegion=*/true);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(choice.thenBlock());
    writeLoop(constant(0), whole, lanes);
    if (whole < elements)
      writeLoop(constant(whole), elements, 1);
  }
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(choice.elseBlock());
  writeLoop(constant(0), elements, 1);
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
  const int64_t lanes = lanesOf(*nest);
  function->setAttr("extent", b.getI64IntegerAttr(nest->elements()));
  function->setAttr("grain", b.getI64IntegerAttr(lanes));
  Block *entry = function.addEntryBlock();
  b.setInsertionPointToStart(entry);
  for (auto [buffer, argument] :
       llvm::zip_equal(nest->buffers, entry->getArguments()))
    buffer.pointer = argument;
  ThreadWriter(b, *generic, *nest, lanes).write();
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
