//===- FusedMoves.cpp - moves that kernels make unnecessary ---------------===//

#include "zero/Kernels/FusedMoves.h"

#include "zero/Analysis/Views.h"
#include "zero/Kernels/KernelSpecs.h"

#include "program/KernelSchema.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::zero;

static ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

static bool areTensors(TypeRange types) {
  return llvm::all_of(types, [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.hasStaticShape();
  });
}

/// Whether kernels can read and write such a part: rows that lie in one piece,
/// each at a multiple of `kStrideBytes`.
static bool isAligned(const TensorLayout &layout, Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  const int64_t bits = type.getElementTypeBitWidth();
  auto fits = [&](int64_t elements) {
    return elements * bits % (8 * zrt::kStrideBytes) == 0;
  };
  if (type.getRank() == 0 || bits < 8 || !fits(layout.offset))
    return false;
  for (auto [dim, size, stride] :
       llvm::enumerate(type.getShape(), layout.strides)) {
    bool isLast = static_cast<int64_t>(dim) + 1 == type.getRank();
    if (size != 1 && (isLast ? stride != 1 : !fits(stride)))
      return false;
  }
  return true;
}

/// Whether `op` is a kernel of tensors alone, without effects.
static bool isPlain(Operation *op) {
  return op->getNumRegions() == 0 && isMemoryEffectFree(op) &&
         areTensors(op->getOperandTypes()) && areTensors(op->getResultTypes());
}

FusedMoves::FusedMoves(Block &block) {
  // Reads of a move take those of the moves behind it along, and what is
  // joined those before it.
  for (Operation &op : block)
    if (auto move = dyn_cast<MoveOpInterface>(op); move && !getView(move))
      fuseReads(move);
  for (Operation &op : llvm::reverse(block))
    if (auto move = dyn_cast<MoveOpInterface>(op); move && !getView(move))
      fuseWrites(move);
  for (Operation &op : block)
    collect(&op);
}

const std::optional<zrt::KernelSpec> &FusedMoves::specOf(Operation *op) {
  auto [found, isNew] = specs.try_emplace(op);
  if (isNew)
    found->second = describeKernel(op, &symbols);
  return found->second;
}

bool FusedMoves::takes(Operation *op, size_t tensor, Value value,
                       const TensorLayout &layout) {
  if (isPlain(op) && isAligned(layout, value))
    if (const std::optional<zrt::KernelSpec> &spec = specOf(op);
        spec && zrt::takesStrides(*spec, tensor))
      return isTaken = true;
  if (!refusing)
    refusing = op;
  return false;
}

//===----------------------------------------------------------------------===//
// Reads
//===----------------------------------------------------------------------===//

bool FusedMoves::isReadBy(OpOperand &use, const TensorLayout &layout) {
  Operation *reader = use.getOwner();
  auto move = dyn_cast<MoveOpInterface>(reader);
  if (!move || reader->getNumOperands() != 1)
    return takes(reader, use.getOperandNumber(), use.get(), layout);
  bool isRead = true;
  for (OpResult result : reader->getResults()) {
    std::optional<TensorLayout> part =
        move.getResultLayout(result.getResultNumber(), layout);
    if (!part && !refusing)
      refusing = reader;
    isRead &= part && this->isRead(result, *part);
  }
  return isRead;
}

/// Whether all that reads `value`, a result of a move, can read it in place.
bool FusedMoves::isRead(Value value, const TensorLayout &layout) {
  // All are asked: a remark is about a move that some could do without.
  bool isRead = true;
  for (OpOperand &use : value.getUses())
    isRead &= isReadBy(use, layout);
  return isRead;
}

void FusedMoves::markRead(Operation *move, Value source) {
  fused.insert(move);
  for (Value result : move->getResults()) {
    sources[result] = source;
    for (Operation *user : result.getUsers())
      if (isa<MoveOpInterface>(user))
        markRead(user, source);
  }
}

void FusedMoves::note(Operation *move) {
  if (isTaken && refusing)
    kept.push_back({move, refusing, isShared});
}

void FusedMoves::fuseReads(MoveOpInterface move) {
  if (fused.contains(move) || move->getNumOperands() != 1 ||
      !areTensors(move->getOperandTypes()) || move->use_empty())
    return;
  // Parameters and inputs may begin at any address.
  Value source = move->getOperand(0);
  Operation *maker = getRoot(source).getDefiningOp();
  if (!maker || !specOf(maker))
    return;
  refusing = nullptr;
  isTaken = isShared = false;
  TensorLayout whole = getDenseLayout(shapeOf(source));
  bool canFuse = true;
  for (OpResult result : move->getResults()) {
    std::optional<TensorLayout> part =
        move.getResultLayout(result.getResultNumber(), whole);
    if (!part)
      return;
    canFuse &= isRead(result, *part);
  }
  if (canFuse)
    markRead(move, source);
  else
    note(move);
}

//===----------------------------------------------------------------------===//
// Writes
//===----------------------------------------------------------------------===//

/// Whether one kernel makes all of `value`, and can where it lies.
bool FusedMoves::isMade(Value value, const TensorLayout &layout,
                        Operation *&kernel) {
  auto result = dyn_cast<OpResult>(value);
  if (!result || sources.contains(value))
    return false;
  Operation *maker = result.getOwner();
  if (auto move = dyn_cast<MoveOpInterface>(maker);
      move && maker->getNumResults() == 1) {
    bool isMade = true;
    for (OpOperand &operand : maker->getOpOperands()) {
      std::optional<TensorLayout> part =
          move.getOperandLayout(operand.getOperandNumber(), layout);
      isMade &= part && operand.get().hasOneUse() &&
                this->isMade(operand.get(), *part, kernel);
    }
    return isMade;
  }
  if (!takes(maker, maker->getNumOperands() + result.getResultNumber(), value,
             layout))
    return false;
  if (!kernel)
    kernel = maker;
  if (kernel != maker && !refusing) {
    refusing = maker;
    isShared = true;
  }
  return kernel == maker;
}

void FusedMoves::markMade(Value value) {
  SmallVector<Value> pending = {value};
  while (!pending.empty()) {
    Value part = pending.pop_back_val();
    Operation *maker = part.getDefiningOp();
    if (!isa<MoveOpInterface>(maker)) {
      targets[part] = value;
      continue;
    }
    fused.insert(maker);
    llvm::append_range(pending, maker->getOperands());
  }
}

void FusedMoves::fuseWrites(MoveOpInterface move) {
  if (fused.contains(move) || move->getNumResults() != 1 ||
      !areTensors(move->getResultTypes()) || move->use_empty())
    return;
  refusing = nullptr;
  isTaken = isShared = false;
  Operation *kernel = nullptr;
  Value whole = move->getResult(0);
  if (isMade(whole, getDenseLayout(shapeOf(whole)), kernel))
    markMade(whole);
  else
    note(move);
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

void FusedMoves::collect(Operation *op) {
  if (isa<MoveOpInterface>(op))
    return;
  FusedKernel kernel;
  kernel.op = op;
  llvm::SetVector<Operation *> before, after;
  for (Value operand : op->getOperands()) {
    Value source = sources.lookup(operand);
    kernel.sources.push_back(source ? source : operand);
    for (Value part = operand; part != kernel.sources.back();
         part = part.getDefiningOp()->getOperand(0))
      before.insert(part.getDefiningOp());
  }
  for (Value result : op->getResults()) {
    Value target = targets.lookup(result);
    if (!llvm::is_contained(kernel.outputs, target ? target : result))
      kernel.outputs.push_back(target ? target : result);
    for (Value part = result; target && part != target;
         part = part.getUsers().begin()->getResult(0))
      after.insert(*part.getUsers().begin());
  }
  if (before.empty() && after.empty())
    return;
  auto isEarlier = [](Operation *a, Operation *b) {
    return a->isBeforeInBlock(b);
  };
  kernel.before = before.takeVector();
  kernel.after = after.takeVector();
  llvm::sort(kernel.before, isEarlier);
  llvm::sort(kernel.after, isEarlier);
  kernels.push_back(std::move(kernel));
}
