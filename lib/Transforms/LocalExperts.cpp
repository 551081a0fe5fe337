//===- LocalExperts.cpp - what one rank computes of experts ---------------===//

#include "LocalExperts.h"
#include "RankRanges.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::zero;
using Role = ExpertSharding::Role;

static CutAttr rowsOfAll(int64_t dim, int64_t size, AxesAttr over) {
  return CutAttr::get(over.getContext(), dim, /*repeats=*/1,
                      {size * over.getSize()}, over);
}

/// What the ranks have of `value`, one behind the other along `dim`.
Value LocalExperts::allOf(Value value, int64_t dim) {
  Value &all = gathered[{value, dim}];
  if (!all) {
    auto type = cast<RankedTensorType>(value.getType());
    CutAttr cut = rowsOfAll(dim, type.getDimSize(dim), sharding.getOver());
    auto gather = GatherValueOp::create(builder, value.getLoc(),
                                        cut.getWholeType(type), value, cut);
    gather.setReplicated(isTrained(value));
    all = gather;
  }
  return all;
}

/// The dimension that has a factor of those that `isIn` takes.
static std::optional<int64_t>
findDim(const zrt::FactoredTensor &tensor,
        llvm::function_ref<bool(size_t factor)> isIn) {
  for (auto [index, dim] : llvm::enumerate(tensor.dimensions))
    if (std::optional<size_t> factor = factorOf(dim); factor && isIn(*factor))
      return static_cast<int64_t>(index);
  return std::nullopt;
}

/// Rows of all ranks, of which this one keeps those of its experts.
void LocalExperts::visitSort(Operation *op) {
  const zrt::Factors &factors = sharding.factorsOf(op);
  SmallVector<Value> operands;
  for (auto [operand, tensor] :
       llvm::zip_equal(op->getOperands(), factors.operands)) {
    std::optional<int64_t> dim = findDim(tensor, [&](size_t factor) {
      return factors.factors[factor].kind == zrt::FactorKind::OwnOrder;
    });
    operands.push_back(dim ? allOf(operand, *dim) : operand);
  }
  AxisRange range(builder, op->getLoc(), sharding.countExperts(op),
                  sharding.getOver(),
                  SmallVector<int64_t>(operands.size(), -1));
  SmallVector<Value> results =
      cast<CombinedOpInterface>(op).buildOfRange(builder, operands, range);
  for (auto [result, local] : llvm::zip_equal(op->getResults(), results))
    locals[result] = local;
}

/// `op` with the sizes that its factors have on one rank.
Operation *LocalExperts::clone(Operation *op, ValueRange operands) {
  SplatElementsAttr splat;
  if (matchPattern(op, m_Constant(&splat)))
    return arith::ConstantOp::create(
        builder, op->getLoc(),
        splat.resizeSplat(sharding.typeOf(op->getResult(0))));
  Operation *local = builder.clone(*op);
  local->setOperands(operands);
  if (auto ranged = dyn_cast<RangedOpInterface>(local))
    ranged.setRangeCount(sharding.getOver().getSize());
  setSizes(local, sharding.factorsOf(op),
           [&](size_t factor) { return sharding.sizeOf(op, factor); });
  return local;
}

void LocalExperts::visitBetween(Operation *op) {
  // A parameter is cut itself, once the model is rewritten.
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    Value local = locals.lookup(operand);
    operands.push_back(local ? local : operand);
  }
  Operation *local = clone(op, operands);
  for (auto [whole, part] :
       llvm::zip_equal(op->getResults(), local->getResults())) {
    part.setType(sharding.typeOf(whole));
    locals[whole] = part;
  }
}

/// What goes with places of the rows of all ranks is that of all ranks, and so
/// is what comes back: the terms of their sum.
void LocalExperts::visitReturn(Operation *op) {
  const zrt::Factors &factors = sharding.factorsOf(op);
  DenseMap<size_t, int64_t> sizes;
  for (auto [operand, tensor] :
       llvm::zip_equal(op->getOperands(), factors.operands)) {
    Value local = locals.lookup(operand);
    if (!local)
      continue;
    auto whole = cast<RankedTensorType>(operand.getType());
    auto part = cast<RankedTensorType>(local.getType());
    for (auto [dim, factored] : llvm::enumerate(tensor.dimensions))
      if (std::optional<size_t> factor = factorOf(factored);
          factor && part.getDimSize(dim) > whole.getDimSize(dim))
        sizes[*factor] = part.getDimSize(dim);
  }
  auto isOfAll = [&](size_t factor) { return sizes.contains(factor); };
  SmallVector<Value> operands;
  for (auto [operand, tensor] :
       llvm::zip_equal(op->getOperands(), factors.operands)) {
    Value local = locals.lookup(operand);
    std::optional<int64_t> dim = findDim(tensor, isOfAll);
    operands.push_back(local ? local : dim ? allOf(operand, *dim) : operand);
  }
  Operation *terms = clone(op, operands);
  for (auto [whole, term, tensor] : llvm::zip_equal(
           op->getResults(), terms->getResults(), factors.results)) {
    auto type = cast<RankedTensorType>(whole.getType());
    std::optional<int64_t> dim = findDim(tensor, isOfAll);
    CutAttr cut = rowsOfAll(*dim, type.getDimSize(*dim), sharding.getOver());
    term.setType(cut.getWholeType(type));
    auto scatter =
        ScatterValueOp::create(builder, op->getLoc(), type, term, cut);
    if (isTrained(whole))
      trained.insert(scatter);
    whole.replaceAllUsesWith(scatter);
  }
}

void LocalExperts::run() {
  SmallVector<Operation *> rewritten;
  for (Operation &op : model.getBody().front())
    if (sharding.roleOf(&op) != Role::Own)
      rewritten.push_back(&op);
  for (Operation *op : rewritten) {
    builder.setInsertionPoint(op);
    switch (sharding.roleOf(op)) {
    case Role::Own:
      break;
    case Role::Sorts:
      visitSort(op);
      break;
    case Role::Between:
      visitBetween(op);
      break;
    case Role::Returns:
      visitReturn(op);
      break;
    }
  }
  for (Operation *op : llvm::reverse(rewritten))
    op->erase();
}
