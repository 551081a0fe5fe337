//===- ShardModel.cpp - what one rank computes of a model -----------------===//

#include "RankRanges.h"

#include "zero/Analysis/Mesh.h"
#include "zero/Analysis/Sharding.h"
#include "zero/Dialect/NN/Counts.h"
#include "zero/Dialect/NN/NN.h"
#include "zero/Dialect/NN/TensorForms.h"
#include "zero/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

namespace mlir::zero {
#define GEN_PASS_DEF_SHARDMODEL
#include "zero/Transforms/Passes.h.inc"
} // namespace mlir::zero

using namespace mlir;
using namespace mlir::zero;

namespace {

/// A value that is the sum of what the ranks have, plus what each of them has
/// of it, which counts once.
struct Terms {
  Value term;
  Value once; ///< null: nothing
};

/// What has been built of a value of the model.
struct Local {
  Value whole, replicated, once;
  /// Whether ranks give its gradient terms, which ZeRO adds up: of parameters
  /// over `sequence`, and of what is computed of nothing else.
  bool addsUp = false;
  /// What ranks have that are cut, by how.
  SmallVector<std::pair<CutAttr, Value>, 1> parts;
  std::optional<Terms> terms;
};

/// Rewrites the body of a model to what one rank computes.
class Rewriter {
public:
  Rewriter(StepOp model, const Sharding &sharding)
      : model(model), sharding(sharding), builder(model.getContext()) {}

  void run();

private:
  void visit(Operation *op);
  bool addsUp(Operation *op);
  void visitWhole(Operation *op);
  void visitPart(Operation *op);
  void visitRange(Operation *op);
  Operation *clonePart(Operation *op, ValueRange operands);
  void setSizes(Operation *op, Operation *part);
  Value operandOfPart(Operation *op, unsigned index);
  SmallVector<Value> operandsOfPart(Operation *op);
  Value addendsOf(Operation *op);
  Value broadcast(Value addend, const zrt::FactoredTensor &from,
                  const zrt::FactoredTensor &to, RankedTensorType type);
  std::optional<SmallVector<unsigned>> findTerms(Operation *op);
  void visitTerms(Operation *op, ArrayRef<unsigned> terms);
  Value clone(Operation *op,
              llvm::function_ref<Value(unsigned operand)> choose);

  Value wholeOf(Value value);
  Value partOf(Value value, CutAttr cut);
  Value buildPart(Value value, CutAttr cut);
  Value replicatedOf(Value value);
  Value zerosLike(Value value);

  StepOp model;
  const Sharding &sharding;
  OpBuilder builder;
  DenseMap<Value, Local> locals;
};

} // namespace

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// What operations read that are whole: each rank gives it all of the gradient.
Value Rewriter::wholeOf(Value value) {
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

Value Rewriter::buildPart(Value value, CutAttr cut) {
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

Value Rewriter::partOf(Value value, CutAttr cut) {
  for (auto [known, part] : locals[value].parts)
    if (known == cut)
      return part;
  Value part = buildPart(value, cut);
  locals[value].parts.push_back({cut, part});
  return part;
}

/// What operations read that are cut, while the value is not: each rank gives
/// it another gradient.
Value Rewriter::replicatedOf(Value value) {
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

Value Rewriter::zerosLike(Value value) {
  return arith::ConstantOp::create(builder, value.getLoc(),
                                   builder.getZeroAttr(value.getType()));
}

//===----------------------------------------------------------------------===//
// Operations that are cut
//===----------------------------------------------------------------------===//

/// Attributes that hold sizes of factors hold those of one rank.
void Rewriter::setSizes(Operation *op, Operation *part) {
  for (auto [index, factor] : llvm::enumerate(sharding.factorsOf(op).factors)) {
    int64_t size = sharding.partOf(op, index);
    if (factor.attribute.empty() || size == factor.size)
      continue;
    if (factor.index < 0) {
      part->setAttr(factor.attribute, builder.getI64IntegerAttr(size));
      continue;
    }
    auto list = part->getAttrOfType<DenseI64ArrayAttr>(factor.attribute);
    SmallVector<int64_t> sizes(list.asArrayRef());
    sizes[factor.index] = size;
    part->setAttr(factor.attribute, builder.getDenseI64ArrayAttr(sizes));
  }
}

Operation *Rewriter::clonePart(Operation *op, ValueRange operands) {
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
  setSizes(op, part);
  return part;
}

/// Addends of a sum count once, behind it.
Value Rewriter::operandOfPart(Operation *op, unsigned index) {
  Value operand = op->getOperand(index);
  if (!isa<RankedTensorType>(operand.getType()))
    return wholeOf(operand);
  if (CutAttr cut = sharding.cutOf(operand, op))
    return partOf(operand, cut);
  if (sharding.isSum(op) && sharding.factorsOf(op).operands[index].isAddend)
    return zerosLike(operand);
  return replicatedOf(operand);
}

SmallVector<Value> Rewriter::operandsOfPart(Operation *op) {
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
Value Rewriter::broadcast(Value addend, const zrt::FactoredTensor &from,
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
Value Rewriter::addendsOf(Operation *op) {
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

void Rewriter::visitPart(Operation *op) {
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
void Rewriter::visitRange(Operation *op) {
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
std::optional<SmallVector<unsigned>> Rewriter::findTerms(Operation *op) {
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

Value Rewriter::clone(Operation *op,
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
void Rewriter::visitTerms(Operation *op, ArrayRef<unsigned> terms) {
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
bool Rewriter::addsUp(Operation *op) {
  return sharding.isOfSequence() &&
         llvm::any_of(
             op->getResults(),
             [&](Value result) { return sharding.isTrained(result); }) &&
         llvm::all_of(op->getOperands(), [&](Value operand) {
           return !sharding.isTrained(operand) || locals[operand].addsUp;
         });
}

void Rewriter::visitWhole(Operation *op) {
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

void Rewriter::visit(Operation *op) {
  builder.setInsertionPoint(op);
  if (sharding.isCombined(op))
    return visitRange(op);
  if (sharding.isCut(op))
    return visitPart(op);
  if (std::optional<SmallVector<unsigned>> terms = findTerms(op))
    return visitTerms(op, *terms);
  visitWhole(op);
}

void Rewriter::run() {
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

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct ShardModel : public zero::impl::ShardModelBase<ShardModel> {
  using ShardModelBase::ShardModelBase;

  void runOnOperation() override {
    SmallVector<AxesAttr> axes = listModelAxes(getOperation());
    if (axes.empty())
      return;
    if (axes.size() > 1) {
      emitError(getOperation().getLoc())
          << "cannot cut a model over " << axes[0] << " and over " << axes[1]
          << " at once; give one of them 1 rank";
      return signalPassFailure();
    }
    for (StepOp step : getOperation().getOps<StepOp>())
      if (step.isModel() && failed(shard(step, axes.front())))
        return signalPassFailure();
  }

private:
  LogicalResult shard(StepOp step, AxesAttr over);
};
} // namespace

/// Cuts the parameters themselves, once all that reads them is rewritten.
static void cutParameters(ModuleOp module, const Sharding &sharding) {
  for (ParameterOp parameter : module.getOps<ParameterOp>())
    if (CutAttr cut = sharding.cutOf(parameter)) {
      parameter.setType(cut.getPartType(parameter.getTensorType()));
      parameter.setCutAttr(cut);
    }
}

static void reportParameters(StepOp step, const Sharding &sharding) {
  int64_t parameters = 0, cut = 0, elements = 0, cutElements = 0;
  for (ParameterOp parameter :
       step->getParentOfType<ModuleOp>().getOps<ParameterOp>()) {
    ++parameters;
    elements += parameter.getElements();
    if (!sharding.cutOf(parameter))
      continue;
    ++cut;
    cutElements += parameter.getElements();
  }
  emitRemark(step.getLoc())
      << "over " << sharding.getOver() << ' ' << cut << " of " << parameters
      << " parameters are cut, with " << cutElements << " of " << elements
      << " elements; what is left is whole on every rank of the "
         "axis";
}

/// What is whole costs each rank the memory and the time of all positions.
static void reportPositions(const Sharding &sharding) {
  for (Operation *op : sharding.getWhole())
    emitRemark(op->getLoc())
        << "over " << sharding.getOver() << " every rank computes '"
        << op->getName()
        << "' of all positions: it needs them, and none of its other "
           "dimensions can be cut, or the "
        << sharding.getOver().getSize() << " ranks do not divide it";
}

/// Averages are means over samples, and not over positions.
static LogicalResult verifyTracked(StepOp step, AxesAttr over) {
  for (auto track : step.getBody().getOps<TrackOp>())
    return track.emitOpError("moves an average, which ")
           << over << " would count once a rank; leave the axis out";
  return success();
}

/// Means over elements that count become sums, over the number of those of all
/// ranks.
static void divideByCounts(StepOp step) {
  SmallVector<CountedMeanOpInterface> means;
  for (auto mean : step.getBody().getOps<CountedMeanOpInterface>())
    if (!mean.isSum())
      means.push_back(mean);
  for (CountedMeanOpInterface mean : means) {
    OpBuilder builder(mean);
    Value loss = mean->getResult(0);
    Value count = nn::buildCount(builder, mean.getLoc(), mean.getCounted(),
                                 cast<RankedTensorType>(loss.getType()));
    builder.setInsertionPointAfter(mean);
    auto quotient = arith::DivFOp::create(builder, mean.getLoc(), loss, count);
    loss.replaceAllUsesExcept(quotient, quotient);
    mean.makeSum();
  }
}

LogicalResult ShardModel::shard(StepOp step, AxesAttr over) {
  for (ParameterOp parameter : getOperation().getOps<ParameterOp>())
    if (parameter.getCutAttr())
      return parameter.emitOpError("is cut already; give the model as it was "
                                   "before zero-shard-model");
  if (zrt::cutsPositions(over.getNames().front().str())) {
    if (failed(verifyTracked(step, over)))
      return failure();
    divideByCounts(step);
  }
  Sharding sharding(step, over);
  if (failed(sharding.verify()))
    return failure();
  if (sharding.isOfSequence())
    reportPositions(sharding);
  else
    reportParameters(step, sharding);
  Rewriter(step, sharding).run();
  cutParameters(getOperation(), sharding);
  return success();
}
