//===- SetPrecision.cpp - from an f32 model to a 16-bit one ---------------===//

#include "zero/Transforms/Passes.h"

#include "zero/Dialect/Zero/Zero.h"
#include "zero/Interfaces/Factors.h"
#include "zero/Interfaces/KernelSpec.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/SymbolTable.h"

#include "llvm/ADT/StringSwitch.h"

namespace mlir::zero {
#define GEN_PASS_DEF_SETPRECISION
#include "zero/Transforms/Passes.h.inc"
} // namespace mlir::zero

using namespace mlir;
using namespace mlir::zero;

static bool isFloat32(Type type) { return getElementTypeOrSelf(type).isF32(); }

/// `type`, a float or a tensor of floats, with another element type.
static Type withElement(Type type, Type element) {
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return tensor.clone(element);
  return element;
}

//===----------------------------------------------------------------------===//
// Which operations stay f32
//===----------------------------------------------------------------------===//

static bool isByElement(Operation *op) {
  return op->hasTrait<OpTrait::Elementwise>() ||
         isa<ElementwiseOpInterface>(op);
}

/// Whether `op` gives elements another place.
static bool moves(Operation *op) {
  return isa<MoveOpInterface>(op) ||
         isa_and_nonnull<tensor::TensorDialect>(op->getDialect());
}

/// Whether `op` may stay f32 where nothing but the loss, or a sum, depends on
/// it: arithmetic on elements, and what reduces, normalises or moves them; no
/// matrix products.
static bool isCheapInFloat32(Operation *op) {
  return isByElement(op) || op->hasTrait<CheapInFloat32>() || moves(op);
}

/// Takes the moves and exchanges out of `tail` whose one operand is computed
/// outside of it, and read there once: their results are extended instead, so
/// that half as much moves. Of what is read again the gradients are added, in
/// f32; beside another operand there may be one that is f32.
static void leaveFirstMoves(Block &body, DenseSet<Operation *> &tail) {
  auto isNeeded = [&](Value value) {
    auto isOfTail = [&](Operation *user) { return tail.contains(user); };
    return isOfTail(value.getDefiningOp()) ||
           llvm::count_if(value.getUsers(), isOfTail) > 1;
  };
  for (Operation &op : body)
    if ((moves(&op) || isa_and_nonnull<ZeroDialect>(op.getDialect())) &&
        op.getNumOperands() == 1 && !isNeeded(op.getOperand(0)))
      tail.erase(&op);
}

/// The operations between the network and the loss: cheap ones of which
/// nothing but the loss, or another of them, depends.
static DenseSet<Operation *> findLossTail(Block &body, YieldOp yield) {
  DenseSet<Operation *> tail;
  auto leadsToLoss = [&](OpOperand &use) {
    return tail.contains(use.getOwner()) ||
           (use.getOwner() == yield &&
            (use.get() == yield.getValues().front() ||
             use.get() == yield.getWeight()));
  };
  auto isAllowed = [&](OpOperand &use) {
    return tail.contains(use.getOwner()) || use.getOwner() == yield;
  };
  for (Operation &op : llvm::reverse(body))
    if (isCheapInFloat32(&op) && llvm::any_of(op.getUses(), leadsToLoss) &&
        llvm::all_of(op.getUses(), isAllowed))
      tail.insert(&op);
  leaveFirstMoves(body, tail);
  return tail;
}

/// Whether `op` gives sums or means of elements of its operand.
static bool addsUp(Operation *op) {
  if (!op->hasTrait<CheapInFloat32>())
    return false;
  if (op->hasTrait<AddsUp>())
    return true;
  if (auto combined = dyn_cast<CombinedOpInterface>(op);
      combined && combined.givesTerms())
    return true;
  return llvm::any_of(getFactors(op).factors, [](const zrt::Factor &factor) {
    return factor.kind == zrt::FactorKind::Sum;
  });
}

/// Whether all elements of the operand of `op` are, perhaps repeated, in its
/// results. What is left out, as by the largest of a window, is no addend; and
/// ranks send each other 16-bit values.
static bool keepsElements(Operation *op) {
  if (isByElement(op) || op->getNumOperands() == 0)
    return true;
  auto countOf = [](Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    return type && type.hasStaticShape() ? type.getNumElements() : 0;
  };
  int64_t kept = 0;
  for (Value result : op->getResults())
    kept += countOf(result);
  return !isa_and_nonnull<ZeroDialect>(op->getDialect()) &&
         kept >= countOf(op->getOperand(0));
}

/// The operations that compute what is added up, and nothing else: squares of
/// a norm, differences of a variance and the mean in these. In f16 a square
/// overflows where a norm does not.
static DenseSet<Operation *> findAddends(Block &body) {
  DenseSet<Operation *> addends;
  // Addends, and what leads to them or to sums without arithmetic.
  DenseSet<Operation *> leading;
  auto leadsToSum = [&](Operation *user) {
    return leading.contains(user) || addsUp(user);
  };
  auto isLeading = [&](Operation *user) { return leading.contains(user); };
  for (Operation &op : llvm::reverse(body)) {
    if (!isCheapInFloat32(&op) || op.use_empty())
      continue;
    const bool isSum = addsUp(&op);
    if (!isSum && !keepsElements(&op))
      continue;
    if (isSum ? !llvm::all_of(op.getUsers(), isLeading)
              : !llvm::all_of(op.getUsers(), leadsToSum))
      continue;
    leading.insert(&op);
    if (isSum || isByElement(&op))
      addends.insert(&op);
  }
  return addends;
}

namespace {

//===----------------------------------------------------------------------===//
// The rewrite of one step
//===----------------------------------------------------------------------===//

/// How a value that was f32 in the model is computed; of the operands of an
/// operation, the later kind decides.
enum class Precision {
  /// As f32; rounded where it meets a 16-bit value. Constants and inputs, what
  /// is computed from these and integers alone, and sums of addends.
  Neutral,
  /// In 16 bits.
  Narrow,
  /// As f32, and so are the operations that use it, up to a sum. Addends.
  Added,
  /// As f32, and so are the operations that use it. Statistics, the loss, what
  /// the model itself extends to f32.
  Wide,
};

/// Goes through a step's operations in order and gives each its precision.
class StepRewriter {
public:
  StepRewriter(StepOp step, SymbolTable &symbols, Type narrowElement)
      : body(step.getBody().front()), symbols(symbols),
        builder(step.getContext()), narrowElement(narrowElement) {}

  void run();

private:
  void rewrite(Operation &op);
  void rewriteLoad(LoadOp load);
  void rewriteSelection(SelectModeOp select);

  void computeWide(Operation &op, Precision resultPrecision);
  void computeNarrow(Operation &op);
  bool canComputeNarrow(Operation &op);
  bool isRoundedAfter(Operation &op);
  void roundResults(Operation &op);
  Precision precisionOf(Operation &op);
  void removeRoundTrips();

  /// `value`, of the model's f32, in 16 bits or in f32.
  Value narrow(Value value);
  Value widen(Value value);

  Block &body;
  SymbolTable &symbols;
  OpBuilder builder;
  Type narrowElement;
  DenseSet<Operation *> lossTail, addends;
  /// The operation that is being rewritten.
  Operation *current = nullptr;
  /// Values that were f32 in the model; all others keep their type.
  DenseMap<Value, Precision> precisions;
  /// The other form of a value that has both.
  DenseMap<Value, Value> narrowed, widened;
  /// The truncations that the model itself asks for. Their results are 16-bit
  /// in the model already, so they stay values of their own until the end.
  SmallVector<arith::TruncFOp> truncations;
};

struct SetPrecision : public zero::impl::SetPrecisionBase<SetPrecision> {
  using SetPrecisionBase::SetPrecisionBase;

  void runOnOperation() override {
    Builder builder(&getContext());
    Type element = llvm::StringSwitch<Type>(compute)
                       .Case("f32", builder.getF32Type())
                       .Case("bf16", builder.getBF16Type())
                       .Case("f16", builder.getF16Type())
                       .Default(Type());
    if (!element) {
      emitError(getOperation().getLoc())
          << "the option 'compute' of zero-set-precision is '"
          << compute.getValue() << "', wanted f32, bf16 or f16";
      return signalPassFailure();
    }
    if (element.isF32())
      return;
    SymbolTable symbols(getOperation());
    for (auto step : getOperation().getOps<StepOp>())
      if (step.isModel())
        StepRewriter(step, symbols, element).run();
  }
};

} // namespace

//===----------------------------------------------------------------------===//
// Casts
//===----------------------------------------------------------------------===//

/// A copy of `constant`, floats, rounded to `element`; null if it has a form
/// whose elements are not at hand.
static Value roundConstant(OpBuilder &builder, arith::ConstantOp constant,
                           FloatType element) {
  auto round = [&](APFloat value) {
    bool losesInfo;
    value.convert(element.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                  &losesInfo);
    return value;
  };
  TypedAttr rounded;
  if (auto scalar = dyn_cast<FloatAttr>(constant.getValue()))
    rounded = builder.getFloatAttr(element, round(scalar.getValue()));
  else if (auto dense = dyn_cast<DenseFPElementsAttr>(constant.getValue()))
    rounded =
        cast<TypedAttr>(dense.mapValues(element, [&](const APFloat &value) {
          return round(value).bitcastToAPInt();
        }));
  else
    return Value();
  return arith::ConstantOp::create(builder, constant.getLoc(), rounded);
}

Value StepRewriter::narrow(Value value) {
  if (precisions.lookup(value) == Precision::Narrow)
    return value;
  Value &other = narrowed[value];
  if (other)
    return other;
  builder.setInsertionPointAfterValue(value);
  if (auto constant = value.getDefiningOp<arith::ConstantOp>())
    other = roundConstant(builder, constant, cast<FloatType>(narrowElement));
  if (!other)
    other = arith::TruncFOp::create(builder, value.getLoc(),
                                    withElement(value.getType(), narrowElement),
                                    value);
  return other;
}

Value StepRewriter::widen(Value value) {
  auto found = precisions.find(value);
  if (found == precisions.end() || found->second != Precision::Narrow)
    return value;
  Value &other = widened[value];
  if (other)
    return other;
  // At the first use: a copy twice as large should not live for longer.
  builder.setInsertionPoint(current);
  other = arith::ExtFOp::create(
      builder, value.getLoc(),
      withElement(value.getType(), builder.getF32Type()), value);
  return other;
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

static bool isStatisticOperand(OpOperand &operand) {
  return isStatistic(operand.getOwner(), operand.getOperandNumber());
}

static bool isStatisticResult(OpResult result) {
  Operation *op = result.getOwner();
  return isStatistic(op, op->getNumOperands() + result.getResultNumber());
}

/// The precision that the operands ask for: f32 wins over 16 bits, as in the
/// arithmetic of every language that promotes.
Precision StepRewriter::precisionOf(Operation &op) {
  if (lossTail.contains(&op))
    return Precision::Wide;
  Precision precision = Precision::Neutral;
  for (OpOperand &operand : op.getOpOperands()) {
    auto found = precisions.find(operand.get());
    if (found != precisions.end() && !isStatisticOperand(operand))
      precision = std::max(precision, found->second);
  }
  if (precision == Precision::Narrow && addends.contains(&op))
    return Precision::Added;
  return precision;
}

/// Whether `op` has a meaning in 16 bits that is its own, rounded.
bool StepRewriter::canComputeNarrow(Operation &op) {
  if (auto pad = dyn_cast<tensor::PadOp>(op)) {
    Value value = pad.getConstantPaddingValue();
    return value && value.getDefiningOp<arith::ConstantOp>();
  }
  return op.getNumRegions() == 0 && !isa<arith::BitcastOp>(op);
}

/// Leaves `op` f32: its operands, and what its regions use, are extended.
void StepRewriter::computeWide(Operation &op, Precision resultPrecision) {
  op.walk([&](Operation *nested) {
    for (OpOperand &operand : nested->getOpOperands())
      operand.set(widen(operand.get()));
  });
  for (OpResult result : op.getResults())
    if (isFloat32(result.getType()))
      precisions[result] =
          isStatisticResult(result) ? Precision::Wide : resultPrecision;
}

/// Turns `op` into a 16-bit one, but for its statistics.
void StepRewriter::computeNarrow(Operation &op) {
  if (auto pad = dyn_cast<tensor::PadOp>(op)) {
    auto yield = cast<tensor::YieldOp>(pad.getBody()->getTerminator());
    Value value = pad.getConstantPaddingValue();
    auto constant = value.getDefiningOp<arith::ConstantOp>();
    builder.setInsertionPoint(&op);
    yield.getValueMutable().assign(
        roundConstant(builder, constant, cast<FloatType>(narrowElement)));
  }
  for (OpOperand &operand : op.getOpOperands()) {
    if (!precisions.contains(operand.get()))
      continue;
    operand.set(isStatisticOperand(operand) ? widen(operand.get())
                                            : narrow(operand.get()));
  }
  for (OpResult result : op.getResults()) {
    if (!isFloat32(result.getType()))
      continue;
    if (isStatisticResult(result)) {
      precisions[result] = Precision::Wide;
      continue;
    }
    result.setType(withElement(result.getType(), narrowElement));
    precisions[result] = Precision::Narrow;
  }
}

/// Whether `value`, a constant, is the same in 16 bits.
static bool isExact(Value value, const llvm::fltSemantics &narrow) {
  auto isSame = [&](APFloat number) {
    bool losesInfo = false;
    number.convert(narrow, APFloat::rmNearestTiesToEven, &losesInfo);
    return !losesInfo;
  };
  FloatAttr scalar;
  if (matchPattern(value, m_Constant(&scalar)))
    return isSame(scalar.getValue());
  DenseFPElementsAttr elements;
  if (!matchPattern(value, m_Constant(&elements)))
    return false;
  if (elements.isSplat())
    return isSame(elements.getSplatValue<APFloat>());
  return llvm::all_of(elements.getValues<APFloat>(), isSame);
}

/// Whether `op`, on elements of which some are 16-bit, reads f32 numbers that
/// 16 bits do not hold: only its result is rounded.
bool StepRewriter::isRoundedAfter(Operation &op) {
  if (!isByElement(&op) || isa<arith::SelectOp>(op))
    return false;
  const auto &semantics = cast<FloatType>(narrowElement).getFloatSemantics();
  return llvm::any_of(op.getOperands(), [&](Value operand) {
    auto found = precisions.find(operand);
    return found != precisions.end() && found->second == Precision::Neutral &&
           !isExact(operand, semantics);
  });
}

void StepRewriter::roundResults(Operation &op) {
  builder.setInsertionPointAfter(&op);
  for (Value result : op.getResults()) {
    if (!isFloat32(result.getType()))
      continue;
    Value rounded = arith::TruncFOp::create(
        builder, op.getLoc(), withElement(result.getType(), narrowElement),
        result);
    result.replaceAllUsesExcept(rounded, rounded.getDefiningOp());
    precisions[rounded] = Precision::Narrow;
  }
}

void StepRewriter::removeRoundTrips() {
  for (arith::TruncFOp truncation : truncations) {
    auto extension = truncation.getIn().getDefiningOp<arith::ExtFOp>();
    if (!extension || extension.getIn().getType() != truncation.getType())
      continue;
    truncation.replaceAllUsesWith(extension.getIn());
    truncation.erase();
    if (extension.use_empty())
      extension.erase();
  }
}

/// Averages are statistics.
void StepRewriter::rewriteLoad(LoadOp load) {
  if (!isFloat32(load.getType()))
    return;
  auto parameter = symbols.lookup<ParameterOp>(load.getParameter());
  if (parameter && parameter.getAverage()) {
    precisions[load.getResult()] = Precision::Wide;
    return;
  }
  load->getResult(0).setType(withElement(load.getType(), narrowElement));
  precisions[load.getResult()] = Precision::Narrow;
}

/// What training computes says how the model goes on.
void StepRewriter::rewriteSelection(SelectModeOp select) {
  auto found = precisions.find(select.getTraining());
  if (found == precisions.end())
    return;
  const Precision precision = found->second;
  OpOperand &other = select.getEvaluationMutable();
  other.set(precision == Precision::Narrow ? narrow(other.get())
                                           : widen(other.get()));
  select.getResult().setType(select.getTraining().getType());
  precisions[select.getResult()] = precision;
}

void StepRewriter::rewrite(Operation &op) {
  if (auto load = dyn_cast<LoadOp>(op))
    return rewriteLoad(load);
  if (auto select = dyn_cast<SelectModeOp>(op))
    return rewriteSelection(select);
  if (auto truncation = dyn_cast<arith::TruncFOp>(op))
    truncations.push_back(truncation);
  if (isa<arith::TruncFOp, arith::ExtFOp, TrackOp>(op))
    return computeWide(op, Precision::Wide);
  if (auto yield = dyn_cast<YieldOp>(op)) {
    OpOperand &loss = yield->getOpOperand(0);
    loss.set(widen(loss.get()));
    if (Value weight = yield.getWeight())
      yield.getWeightMutable().assign(widen(weight));
    return;
  }
  Precision precision = precisionOf(op);
  if (precision == Precision::Narrow && canComputeNarrow(op)) {
    if (!isRoundedAfter(op))
      return computeNarrow(op);
    computeWide(op, Precision::Neutral);
    return roundResults(op);
  }
  // What cannot be narrow is f32 by itself, not for its users; so is a sum.
  if (precision == Precision::Narrow ||
      (precision == Precision::Added && !addends.contains(&op) && addsUp(&op)))
    precision = Precision::Neutral;
  computeWide(op, precision);
}

void StepRewriter::run() {
  lossTail = findLossTail(body, cast<YieldOp>(body.getTerminator()));
  // bf16 has the range of f32, and half the bytes.
  if (narrowElement.isF16())
    addends = findAddends(body);
  SmallVector<Operation *> operations;
  for (Operation &op : body)
    operations.push_back(&op);
  for (BlockArgument argument : body.getArguments())
    if (isFloat32(argument.getType()))
      precisions[argument] = Precision::Neutral;
  for (Operation *op : operations) {
    current = op;
    rewrite(*op);
  }
  removeRoundTrips();
}
