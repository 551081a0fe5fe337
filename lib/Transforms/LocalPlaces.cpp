//===- LocalPlaces.cpp - what one rank computes of experts' places --------===//

#include "LocalPlaces.h"
#include "RankRanges.h"

#include "zero/Dialect/NN/TensorForms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::zero;
using Places = PlaceSharding::Places;

/// `shape` with experts and places in a dimension each.
static SmallVector<int64_t> withPlaces(ArrayRef<int64_t> shape,
                                       const Places &places, int64_t experts,
                                       int64_t capacity) {
  SmallVector<int64_t> result(shape);
  result[places.expertDim] = experts;
  if (places.isFlat())
    result.insert(result.begin() + places.expertDim + 1, capacity);
  else
    result[places.placeDim] = capacity;
  return result;
}

/// Every rank has the places of all experts for its own rows, or, where they
/// are, those of its experts for the rows of all ranks.
Value LocalPlaces::exchange(Value value, Places places, bool isHome) {
  ImplicitLocOpBuilder b(value.getLoc(), builder);
  AxesAttr over = sharding.getOver();
  auto type = cast<RankedTensorType>(value.getType());
  int64_t placeDim = places.placeDim + (places.isFlat() ? 1 : 0);
  auto experts = CutAttr::get(b.getContext(), places.expertDim, /*repeats=*/1,
                              {places.experts}, over);
  auto rows = CutAttr::get(b.getContext(), placeDim, /*repeats=*/1,
                           {places.capacity * over.getSize()}, over);
  RankedTensorType at = type.clone(
      withPlaces(type.getShape(), places, places.experts, places.capacity));
  RankedTensorType away = type.clone(
      withPlaces(type.getShape(), places, places.experts / over.getSize(),
                 places.capacity * over.getSize()));
  if (isHome)
    std::swap(at, away);
  Value exchanged =
      ExchangeValueOp::create(b, away, nn::buildReshape(b, value, at),
                              isHome ? experts : rows, isHome ? rows : experts);
  return places.isFlat() ? nn::buildReshape(b, exchanged, type) : exchanged;
}

/// What the ranks of the experts have of an operand.
Value LocalPlaces::partOf(Operation *op, OpOperand &operand) {
  Value value = operand.get();
  if (Value known = moved.lookup(value))
    return known;
  if (std::optional<Places> places = sharding.placesOf(value))
    return moved[value] = exchange(value, *places, /*isHome=*/false);
  SplatElementsAttr splat;
  RankedTensorType type =
      sharding.typeOfOperand(op, operand.getOperandNumber());
  if (type != value.getType() && matchPattern(value, m_Constant(&splat)))
    return arith::ConstantOp::create(builder, value.getLoc(),
                                     splat.resizeSplat(type));
  // A parameter is cut itself, once the model is rewritten.
  return value;
}

void LocalPlaces::visitMoved(Operation *op) {
  SmallVector<Value> operands;
  for (OpOperand &operand : op->getOpOperands())
    operands.push_back(partOf(op, operand));
  Operation *part = builder.clone(*op);
  part->setOperands(operands);
  setSizes(part, sharding.factorsOf(op),
           [&](size_t factor) { return sharding.sizeOf(op, factor); });
  for (OpResult result : op->getResults()) {
    Value local = part->getResult(result.getResultNumber());
    local.setType(sharding.typeOf(result));
    moved[result] = local;
  }
}

void LocalPlaces::bringHome(Operation *op) {
  for (OpOperand &operand : op->getOpOperands()) {
    Value value = operand.get();
    Operation *maker = value.getDefiningOp();
    if (!maker || !sharding.isMoved(maker))
      continue;
    Value &own = home[value];
    if (!own)
      own = exchange(moved.lookup(value), *sharding.placesOf(value),
                     /*isHome=*/true);
    operand.set(own);
  }
}

void LocalPlaces::run() {
  SmallVector<Operation *> rewritten;
  for (Operation &op : llvm::make_early_inc_range(model.getBody().front())) {
    builder.setInsertionPoint(&op);
    if (auto load = dyn_cast<LoadOp>(op))
      load.getResult().setType(sharding.typeOf(load));
    if (!sharding.isMoved(&op)) {
      bringHome(&op);
      continue;
    }
    visitMoved(&op);
    rewritten.push_back(&op);
  }
  for (Operation *op : llvm::reverse(rewritten))
    op->erase();
}
