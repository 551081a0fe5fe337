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

/// What is whole over an axis of parameters costs each rank memory, and what is
/// sent. Outputs are read in an evaluation only.
void LocalModel::reportWhole(Value value, CutAttr cut) {
  if (sharding.isOfSequence() || reader->hasTrait<OpTrait::IsTerminator>())
    return;
  emitRemark(reader->getLoc())
      << "over " << sharding.getOver() << " every rank computes '"
      << reader->getName() << "' of all of " << value.getType()
      << ", which it gathers: dimension " << cut.getDim()
      << " is cut, and the operation needs all of it";
}

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
  if (local.terms && local.parts.empty()) {
    Value whole = AllReduceValueOp::create(builder, loc, value.getType(),
                                           local.terms->term, over);
    if (auto once = local.terms->once)
      whole = arith::AddFOp::create(builder, loc, whole, once(CutAttr()));
    locals[value].whole = whole;
    return whole;
  }
  if (!local.parts.empty()) {
    auto [cut, part] = local.parts.front();
    reportWhole(value, cut);
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

/// A rank's rows of a sum.
Value LocalModel::scatteredOf(Value value, CutAttr rows) {
  Terms terms = *locals[value].terms;
  Value part = ScatterValueOp::create(
      builder, value.getLoc(),
      rows.getPartType(cast<RankedTensorType>(value.getType())), terms.term,
      rows);
  if (terms.once)
    part =
        arith::AddFOp::create(builder, value.getLoc(), part, terms.once(rows));
  return part;
}

/// The dimension of `tensor` that is `factor` and nothing else; -1 where it has
/// none of it, nothing where it has it otherwise.
static std::optional<int64_t> findDim(const zrt::FactoredTensor &tensor,
                                      size_t factor) {
  int64_t found = -1;
  for (auto [index, dim] : llvm::enumerate(tensor.dimensions)) {
    std::optional<size_t> only = factorOf(dim);
    if (!only || (only == factor && found >= 0))
      return std::nullopt;
    if (only == factor)
      found = static_cast<int64_t>(index);
  }
  return found;
}

/// A part of what is computed by element of constants and inputs, of parts of
/// these: masks of all positions and classes are larger than what they are made
/// of. Null where a part needs more.
Value LocalModel::computePart(Value value, CutAttr cut) {
  Operation *op = value.getDefiningOp();
  const Local &local = locals[value];
  bool isByElement = op && op->getNumResults() == 1 &&
                     op->getNumOperands() > 0 &&
                     (op->hasTrait<OpTrait::Elementwise>() ||
                      isa<ElementwiseOpInterface, BroadcastingOpInterface>(op));
  if (!isByElement || !sharding.isOfModel(op) || !isMemoryEffectFree(op) ||
      sharding.isTrained(value) || !local.parts.empty() || local.terms)
    return {};
  const zrt::Factors &factors = sharding.factorsOf(op);
  std::optional<size_t> factor =
      factorOf(factors.results[0].dimensions[cut.getDim()]);
  if (!factor || factors.factors[*factor].kind != zrt::FactorKind::Parallel)
    return {};
  SmallVector<int64_t> dims;
  for (const zrt::FactoredTensor &tensor : factors.operands) {
    std::optional<int64_t> dim = findDim(tensor, *factor);
    if (!dim)
      return {};
    dims.push_back(*dim);
  }
  SmallVector<Value> operands;
  for (auto [operand, dim] : llvm::zip_equal(op->getOperands(), dims))
    operands.push_back(
        dim < 0 ? wholeOf(operand)
                : partOf(operand,
                         CutAttr::get(cut.getContext(), dim, cut.getRepeats(),
                                      cut.getPieces(), cut.getOver())));
  Operation *part = builder.clone(*op);
  part->setOperands(operands);
  part->getResult(0).setType(
      cut.getPartType(cast<RankedTensorType>(value.getType())));
  return part->getResult(0);
}

Value LocalModel::buildPart(Value value, CutAttr cut) {
  Location loc = value.getLoc();
  RankedTensorType type =
      cut.getPartType(cast<RankedTensorType>(value.getType()));
  SplatElementsAttr splat;
  if (matchPattern(value, m_Constant(&splat)))
    return arith::ConstantOp::create(builder, loc, splat.resizeSplat(type));
  if (locals[value].terms && !locals[value].whole &&
      cut == sharding.rowsOf(value))
    return scatteredOf(value, cut);
  for (auto [known, part] : locals[value].parts)
    if (canExchange(known, cut))
      return ExchangeValueOp::create(builder, loc, type, part, known, cut);
  if (Value part = computePart(value, cut))
    return part;
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
  if (!sharding.isTrained(value))
    return wholeOf(value);
  if (Value known = locals[value].replicated)
    return known;
  CutAttr rows = sharding.rowsOf(value);
  for (auto [cut, part] : locals[value].parts)
    if (cut == rows && !locals[value].whole)
      return locals[value].replicated =
                 GatherValueOp::create(builder, value.getLoc(), value.getType(),
                                       part, cut, /*replicated=*/true);
  Value whole = wholeOf(value);
  Local &local = locals[value];
  return local.replicated =
             ReplicateOp::create(builder, value.getLoc(), whole.getType(),
                                 whole, sharding.getOver());
}

/// What an operation on rows reads.
Value LocalModel::rowsOrReplicated(Value value) {
  CutAttr rows = sharding.rowsOf(value);
  return rows ? partOf(value, rows) : replicatedOf(value);
}

/// Zeros for `value`, or for a rank's rows of it.
Value LocalModel::zerosLike(Value value, CutAttr rows) {
  Type type = value.getType();
  if (rows)
    type = rows.getPartType(cast<RankedTensorType>(type));
  return arith::ConstantOp::create(builder, value.getLoc(),
                                   builder.getZeroAttr(type));
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

/// Whether `index` is an addend of `op` that all ranks have.
static bool isShared(const Sharding &sharding, Operation *op, unsigned index) {
  return sharding.factorsOf(op).operands[index].isAddend &&
         !sharding.cutOf(op->getOperand(index), op);
}

static bool hasShared(const Sharding &sharding, Operation *op) {
  return llvm::any_of(llvm::seq(0u, op->getNumOperands()), [&](unsigned index) {
    return isShared(sharding, op, index);
  });
}

/// The sum of the addends of `op` that all ranks have, or of `rows` of it.
Value LocalModel::addendsOf(Operation *op, CutAttr rows) {
  Value sum;
  const zrt::Factors &factors = sharding.factorsOf(op);
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  if (rows)
    type = rows.getPartType(type);
  for (unsigned index = 0; index < op->getNumOperands(); ++index) {
    if (!isShared(sharding, op, index))
      continue;
    Value operand = op->getOperand(index);
    Value addend =
        broadcast(rows ? rowsOrReplicated(operand) : wholeOf(operand),
                  factors.operands[index], factors.results[0], type);
    sum = sum ? Value(arith::AddFOp::create(builder, op->getLoc(), sum, addend))
              : addend;
  }
  return sum;
}

void LocalModel::visitPart(Operation *op) {
  SmallVector<Value> operands = operandsOfPart(op);
  bool isSum = sharding.isSum(op);
  Operation *part = clonePart(op, operands);
  // A zero addend goes where the operation can do without it.
  SmallVector<OpFoldResult> folded;
  if (isSum)
    (void)part->fold(folded);
  std::function<Value(CutAttr)> once;
  if (isSum && hasShared(sharding, op))
    once = [this, op](CutAttr rows) { return addendsOf(op, rows); };
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
      locals[result].terms = Terms{local, nullptr};
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

/// Whether ranks have rows of what `op`, of which they can have rows, reads
/// beside `terms`: those would be gathered for a term of all rows.
bool LocalModel::readsRows(Operation *op, ArrayRef<unsigned> terms) {
  return sharding.isOfRows(op) &&
         llvm::any_of(llvm::seq(0u, op->getNumOperands()), [&](unsigned index) {
           const Local &local = locals[op->getOperand(index)];
           return !llvm::is_contained(terms, index) && !local.whole &&
                  !local.parts.empty();
         });
}

Value LocalModel::clone(Operation *op, ValueRange operands) {
  Operation *copy = builder.clone(*op);
  copy->setOperands(operands);
  return copy->getResult(0);
}

/// `op` on what counts once of its operands, of which some are `terms`; with
/// `rows` a rank's rows of it.
Value LocalModel::buildOnce(Operation *op, ArrayRef<unsigned> terms,
                            CutAttr rows) {
  if (rows && !sharding.isOfRows(op)) {
    Value whole = buildOnce(op, terms, CutAttr());
    return SliceValueOp::create(
        builder, op->getLoc(),
        rows.getPartType(cast<RankedTensorType>(whole.getType())), whole, rows);
  }
  auto choose = [&](unsigned index) -> Value {
    Value operand = op->getOperand(index);
    if (!llvm::is_contained(terms, index))
      return rows ? rowsOrReplicated(operand) : wholeOf(operand);
    CutAttr cut = rows ? sharding.rowsOf(operand) : CutAttr();
    auto once = locals[operand].terms->once;
    return once ? once(cut) : zerosLike(operand, cut);
  };
  SmallVector<Value> operands;
  for (unsigned index = 0; index < op->getNumOperands(); ++index)
    operands.push_back(choose(index));
  return rows ? clonePart(op, operands)->getResult(0) : clone(op, operands);
}

/// The operation on the terms, and on what counts once. With terms each rank
/// gives another gradient to the operands that are none.
void LocalModel::visitTerms(Operation *op, ArrayRef<unsigned> terms) {
  Terms result;
  SmallVector<Value> operands;
  for (auto [index, operand] : llvm::enumerate(op->getOperands()))
    operands.push_back(llvm::is_contained(terms, index)
                           ? locals[operand].terms->term
                           : replicatedOf(operand));
  result.term = clone(op, operands);
  bool hasOnce = llvm::any_of(terms, [&](unsigned index) {
    return locals[op->getOperand(index)].terms->once != nullptr;
  });
  if (hasOnce)
    result.once = [this, op, terms = llvm::to_vector(terms)](CutAttr rows) {
      return buildOnce(op, terms, rows);
    };
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
  reader = op;
  if (sharding.isCombined(op))
    return visitRange(op);
  if (sharding.isCut(op) && !sharding.isOfRows(op))
    return visitPart(op);
  if (std::optional<SmallVector<unsigned>> terms = findTerms(op);
      terms && !readsRows(op, *terms))
    return visitTerms(op, *terms);
  if (sharding.isOfRows(op))
    return visitPart(op);
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
