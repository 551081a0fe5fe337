//===- LocalModel.cpp - what one rank computes of a model -----------------===//

#include "LocalModel.h"
#include "RankRanges.h"

#include "zero/Dialect/NN/NN.h"
#include "zero/Dialect/NN/TensorForms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::zero;

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// What operations read that are whole: each rank gives it all of the gradient.
Value LocalModel::wholeOf(Value value) {
  Local &local = locals[value];
  if (local.addsUp) {
    if (!local.once)
      local.once =
          CountOnceOp::create(builder, value.getLoc(), local.whole.getType(),
                              local.whole, sharding.getOver());
    return local.once;
  }
  if (local.whole)
    return local.whole;
  Location loc = value.getLoc();
  AxesAttr over = sharding.getOver();
  if (local.terms) {
    local.whole = AllReduceValueOp::create(builder, loc, value.getType(),
                                           local.terms->term, over);
    if (local.terms->once)
      local.whole =
          arith::AddFOp::create(builder, loc, local.whole, local.terms->once);
  } else if (!local.parts.empty()) {
    auto [cut, part] = local.parts.front();
    local.whole =
        GatherValueOp::create(builder, loc, value.getType(), part, cut);
  } else {
    local.whole = value;
  }
  return local.whole;
}

/// Ranks exchange parts where each dimension is cut in one piece.
static bool canExchange(CutAttr from, CutAttr to) {
  return from.getDim() != to.getDim() && from.getPieces().size() == 1 &&
         to.getPieces().size() == 1;
}

Value LocalModel::buildPart(Value value, CutAttr cut) {
  Location loc = value.getLoc();
  RankedTensorType type =
      cut.getPartType(cast<RankedTensorType>(value.getType()));
  SplatElementsAttr splat;
  if (matchPattern(value, m_Constant(&splat)))
    return arith::ConstantOp::create(builder, loc, splat.resizeSplat(type));
  for (auto [known, part] : locals[value].parts)
    if (canExchange(known, cut))
      return ExchangeValueOp::create(builder, loc, type, part, known, cut);
  return SliceValueOp::create(builder, loc, type, wholeOf(value), cut);
}

Value LocalModel::partOf(Value value, CutAttr cut) {
  for (auto [known, part] : locals[value].parts)
    if (known == cut)
      return part;
  Value part = buildPart(value, cut);
  locals[value].parts.push_back({cut, part});
  return part;
}

/// What operations read that are cut, while the value is not: each rank gives
/// it another gradient.
Value LocalModel::replicatedOf(Value value) {
  if (locals[value].addsUp)
    return locals[value].whole;
  Value whole = wholeOf(value);
  Local &local = locals[value];
  if (!sharding.isTrained(value))
    return whole;
  if (!local.replicated)
    local.replicated = ReplicateOp::create(
        builder, value.getLoc(), whole.getType(), whole, sharding.getOver());
  return local.replicated;
}

Value LocalModel::zerosLike(Value value) {
  return arith::ConstantOp::create(builder, value.getLoc(),
                                   builder.getZeroAttr(value.getType()));
}

//===----------------------------------------------------------------------===//
// Operations that are cut
//===----------------------------------------------------------------------===//

Operation *LocalModel::clonePart(Operation *op, ValueRange operands) {
  SplatElementsAttr splat;
  if (matchPattern(op, m_Constant(&splat))) {
    CutAttr cut = sharding.cutOf(op->getResult(0), op);
    return arith::ConstantOp::create(
        builder, op->getLoc(),
        splat.resizeSplat(
            cut.getPartType(cast<RankedTensorType>(splat.getType()))));
  }
  Operation *part = builder.clone(*op);
  part->setOperands(operands);
  for (Value result : part->getResults()) {
    Value whole = op->getResult(cast<OpResult>(result).getResultNumber());
    if (CutAttr cut = sharding.cutOf(whole, op))
      result.setType(cut.getPartType(cast<RankedTensorType>(whole.getType())));
  }
  setSizes(part, sharding.factorsOf(op),
           [&](size_t factor) { return sharding.partOf(op, factor); });
  return part;
}

/// Addends of a sum count once, behind it.
Value LocalModel::operandOfPart(Operation *op, unsigned index) {
  Value operand = op->getOperand(index);
  if (!isa<RankedTensorType>(operand.getType()))
    return wholeOf(operand);
  if (CutAttr cut = sharding.cutOf(operand, op))
    return partOf(operand, cut);
  if (sharding.isSum(op) && sharding.factorsOf(op).operands[index].isAddend)
    return zerosLike(operand);
  return replicatedOf(operand);
}

SmallVector<Value> LocalModel::operandsOfPart(Operation *op) {
  SmallVector<Value> operands;
  for (unsigned index = 0; index < op->getNumOperands(); ++index)
    operands.push_back(operandOfPart(op, index));
  return operands;
}

static bool isSame(const zrt::FactoredDim &a, const zrt::FactoredDim &b) {
  return a.parts.size() == 1 && b.parts.size() == 1 &&
         a.parts[0].segments.empty() && b.parts[0].segments.empty() &&
         a.parts[0].factor == b.parts[0].factor;
}

/// `addend`, whose dimensions are among those of the result.
Value LocalModel::broadcast(Value addend, const zrt::FactoredTensor &from,
                            const zrt::FactoredTensor &to,
                            RankedTensorType type) {
  if (addend.getType() == type)
    return addend;
  SmallVector<int64_t> dims;
  for (const zrt::FactoredDim &dim : from.dimensions)
    for (auto [index, other] : llvm::enumerate(to.dimensions))
      if (isSame(dim, other))
        dims.push_back(static_cast<int64_t>(index));
  return nn::buildBroadcast(builder, addend.getLoc(), addend, dims, type);
}

/// The sum of the addends of `op` that all ranks have; null where there are
/// none.
Value LocalModel::addendsOf(Operation *op) {
  Value sum;
  const zrt::Factors &factors = sharding.factorsOf(op);
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  for (auto [operand, tensor] :
       llvm::zip_equal(op->getOperands(), factors.operands)) {
    if (!tensor.isAddend || sharding.cutOf(operand, op))
      continue;
    Value addend =
        broadcast(wholeOf(operand), tensor, factors.results[0], type);
    sum = sum ? Value(arith::AddFOp::create(builder, op->getLoc(), sum, addend))
              : addend;
  }
  return sum;
}

void LocalModel::visitPart(Operation *op) {
  SmallVector<Value> operands = operandsOfPart(op);
  bool isSum = sharding.isSum(op);
  Value once = isSum ? addendsOf(op) : Value();
  Operation *part = clonePart(op, operands);
  // A zero addend goes where the operation can do without it.
  SmallVector<OpFoldResult> folded;
  if (isSum)
    (void)part->fold(folded);
  for (auto [result, local] :
       llvm::zip_equal(op->getResults(), part->getResults())) {
    if (CutAttr cut = sharding.cutOf(result, op))
      locals[result].parts.push_back({cut, local});
    else if (isSum)
      locals[result].terms = Terms{local, once};
    else
      locals[result].whole = local;
  }
}

/// A range of a combined factor, with what combines it.
void LocalModel::visitRange(Operation *op) {
  SmallVector<Value> operands = operandsOfPart(op);
  SmallVector<int64_t> dims;
  for (Value operand : op->getOperands()) {
    CutAttr cut = sharding.cutOf(operand, op);
    dims.push_back(cut ? cut.getDim() : -1);
  }
  AxisRange range(builder, op->getLoc(), sharding.wholeSizeOf(op),
                  sharding.getOver(), dims);
  SmallVector<Value> results =
      cast<CombinedOpInterface>(op).buildOfRange(builder, operands, range);
  for (auto [result, local] : llvm::zip_equal(op->getResults(), results))
    if (CutAttr cut = sharding.cutOf(result, op))
      locals[result].parts.push_back({cut, local});
    else if (sharding.isSum(op))
      locals[result].terms = Terms{local, Value()};
    else
      locals[result].whole = local;
}

//===----------------------------------------------------------------------===//
// Operations on terms of sums
//===----------------------------------------------------------------------===//

/// The operands of `op` that are terms, where its result is a term as well:
/// what is sent is then not more, and terms that meet are sent once.
std::optional<SmallVector<unsigned>> LocalModel::findTerms(Operation *op) {
  if (op->getNumResults() != 1 || op->getNumRegions() != 0 ||
      !isMemoryEffectFree(op))
    return std::nullopt;
  const zrt::Factors &factors = sharding.factorsOf(op);
  SmallVector<unsigned> terms;
  bool areAddends = true, hasOther = false;
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    const Local &local = locals[operand];
    bool isAddend = factors.operands[index].isAddend;
    if (!local.terms || local.whole) {
      hasOther |= isAddend;
      continue;
    }
    if (!operand.hasOneUse() || operand.getType() != op->getResult(0).getType())
      return std::nullopt;
    terms.push_back(index);
    areAddends &= isAddend;
  }
  bool isLinear = terms.size() == 1 && factors.operands[terms.front()].isLinear;
  if (terms.empty() || hasOther || !(isLinear || areAddends))
    return std::nullopt;
  return terms;
}

Value LocalModel::clone(Operation *op,
                        llvm::function_ref<Value(unsigned operand)> choose) {
  SmallVector<Value> operands;
  for (unsigned index = 0; index < op->getNumOperands(); ++index)
    operands.push_back(choose(index));
  Operation *copy = builder.clone(*op);
  copy->setOperands(operands);
  return copy->getResult(0);
}

/// The operation on the terms, and on what counts once. With terms each rank
/// gives another gradient to the operands that are none.
void LocalModel::visitTerms(Operation *op, ArrayRef<unsigned> terms) {
  auto isTerm = [&](unsigned index) {
    return llvm::is_contained(terms, index);
  };
  Terms result;
  result.term = clone(op, [&](unsigned index) {
    Value operand = op->getOperand(index);
    return isTerm(index) ? locals[operand].terms->term : replicatedOf(operand);
  });
  bool hasOnce = llvm::any_of(terms, [&](unsigned index) {
    return locals[op->getOperand(index)].terms->once != nullptr;
  });
  if (hasOnce)
    result.once = clone(op, [&](unsigned index) {
      Value operand = op->getOperand(index);
      if (!isTerm(index))
        return wholeOf(operand);
      Value once = locals[operand].terms->once;
      return once ? once : zerosLike(operand);
    });
  locals[op->getResult(0)].terms = result;
}

//===----------------------------------------------------------------------===//
// The body
//===----------------------------------------------------------------------===//

/// Whether `op` computes of parameters alone, whose gradients add up.
bool LocalModel::addsUp(Operation *op) {
  return sharding.isOfSequence() &&
         llvm::any_of(
             op->getResults(),
             [&](Value result) { return sharding.isTrained(result); }) &&
         llvm::all_of(op->getOperands(), [&](Value operand) {
           return !sharding.isTrained(operand) || locals[operand].addsUp;
         });
}

void LocalModel::visitWhole(Operation *op) {
  bool isOfParameters = addsUp(op);
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(isOfParameters ? replicatedOf(operand)
                                      : wholeOf(operand));
  op->setOperands(operands);
  for (Value result : op->getResults()) {
    locals[result].whole = result;
    locals[result].addsUp = isOfParameters && sharding.isTrained(result);
  }
}

void LocalModel::visit(Operation *op) {
  builder.setInsertionPoint(op);
  if (sharding.isCombined(op))
    return visitRange(op);
  if (sharding.isCut(op))
    return visitPart(op);
  if (std::optional<SmallVector<unsigned>> terms = findTerms(op))
    return visitTerms(op, *terms);
  visitWhole(op);
}

void LocalModel::run() {
  Block &body = model.getBody().front();
  SmallVector<Operation *> operations;
  for (Operation &op : body)
    operations.push_back(&op);
  for (Operation *op : operations)
    visit(op);
  for (Operation *op : llvm::reverse(operations))
    if (op->getNumResults() != 0 && op->use_empty() &&
        llvm::none_of(op->getResults(), [&](Value result) {
          return locals[result].whole == result;
        }))
      op->erase();
}
