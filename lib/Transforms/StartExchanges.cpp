//===- StartExchanges.cpp - exchanges of values, started and waited for ---===//

#include "CutMoves.h"

#include "zero/Dialect/NN/TensorForms.h"
#include "zero/Dialect/Zero/Zero.h"
#include "zero/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace mlir::zero {
#define GEN_PASS_DEF_STARTEXCHANGES
#include "zero/Transforms/Passes.h.inc"
} // namespace mlir::zero

using namespace mlir;
using namespace mlir::zero;

/// The first operation of `block` that reads `value`, or its last operation.
static Operation *findFirstUse(Value value, Block &block) {
  Operation *first = &block.back();
  for (Operation *user : value.getUsers()) {
    Operation *here = block.findAncestorOpInBlock(*user);
    if (here && here->isBeforeInBlock(first))
      first = here;
  }
  return first;
}

/// Starts what `op` does with `value`, which gives `type`, and waits for it
/// where the first operation reads it.
template <typename StartOp>
static Value startAndWait(OpBuilder &builder, Operation *op, Value value,
                          AxesAttr over, RankedTensorType type) {
  auto start = StartOp::create(builder, op->getLoc(),
                               PendingType::get(op->getContext(), {type}),
                               value, over, StreamKind::Exchange);
  builder.setInsertionPoint(findFirstUse(op->getResult(0), *op->getBlock()));
  return WaitOp::create(builder, op->getLoc(), start.getPending()).getResult(0);
}

static void start(AllReduceValueOp op) {
  OpBuilder builder(op);
  op.replaceAllUsesWith(
      startAndWait<StartAllReduceOp>(builder, op, op.getValue(), op.getOver(),
                                     cast<RankedTensorType>(op.getType())));
  op.erase();
}

/// What arrives is brought into the order of the whole where that is read.
static void start(GatherValueOp op) {
  OpBuilder builder(op);
  auto part = cast<RankedTensorType>(op.getValue().getType());
  AxesAttr over = op.getCut().getOver();
  SmallVector<int64_t> shape = {over.getSize()};
  llvm::append_range(shape, part.getShape());
  ImplicitLocOpBuilder b(op.getLoc(), builder);
  Value parts = startAndWait<StartAllGatherOp>(b, op, op.getValue(), over,
                                               part.clone(shape));
  op.replaceAllUsesWith(
      buildWhole(b, op.getCut(), cast<RankedTensorType>(op.getType()), parts));
  op.erase();
}

/// Each rank sends the others what is theirs of the dimension that becomes cut,
/// and brings what arrives into the order of the one that was.
static void start(ExchangeValueOp op) {
  ImplicitLocOpBuilder b(op.getLoc(), OpBuilder(op));
  Value rows = buildParts(b, op.getTo(), op.getValue());
  Value parts =
      startAndWait<AllToAllOp>(b, op, rows, op.getFrom().getOver(),
                               cast<RankedTensorType>(rows.getType()));
  op.replaceAllUsesWith(
      buildWhole(b, op.getFrom(), cast<RankedTensorType>(op.getType()), parts));
  op.erase();
}

/// Each rank gets what all have of its part, and adds it up.
static void start(ScatterValueOp op) {
  ImplicitLocOpBuilder b(op.getLoc(), OpBuilder(op));
  Value rows = buildParts(b, op.getCut(), op.getValue());
  Value parts =
      startAndWait<AllToAllOp>(b, op, rows, op.getCut().getOver(),
                               cast<RankedTensorType>(rows.getType()));
  op.replaceAllUsesWith(nn::buildReshape(b, nn::buildSum(b, parts, /*dim=*/0),
                                         cast<RankedTensorType>(op.getType())));
  op.erase();
}

/// The product of a row [1, 0, 0, ...] with rows that are all the value, of
/// which each rank computes a part of the sum. Two numbers a rank, so that they
/// are parts and not its own.
static void build(TermValueOp op) {
  ImplicitLocOpBuilder b(op.getLoc(), OpBuilder(op));
  auto type = cast<RankedTensorType>(op.getType());
  Type element = type.getElementType();
  int64_t numbers = 2 * op.getOver().getSize();
  SmallVector<Attribute> values(numbers, b.getFloatAttr(element, 0.0));
  values.front() = b.getFloatAttr(element, 1.0);
  auto rowType = RankedTensorType::get({numbers}, element);
  Value row =
      arith::ConstantOp::create(b, DenseElementsAttr::get(rowType, values));
  auto cut = CutAttr::get(op.getContext(), /*dim=*/0, /*repeats=*/1, {numbers},
                          op.getOver());
  Value own = nn::buildReshape(
      b, SliceValueOp::create(b, cut.getPartType(rowType), row, cut),
      RankedTensorType::get({1, 2}, element));
  int64_t elements = type.getNumElements();
  Value flat = nn::buildReshape(b, op.getValue(),
                                RankedTensorType::get({elements}, element));
  Value rows = nn::buildBroadcast(
      b, op.getLoc(), flat, {1}, RankedTensorType::get({2, elements}, element));
  Value product = nn::buildProduct(b, own, rows);
  op.replaceAllUsesWith(nn::buildReshape(b, product, type));
  op.erase();
}

/// What is sent is waited for at the end of the region, when all others are on
/// their way: the next stage takes them in an order of its own.
/// zero-split-forward lets a later pass wait.
static void start(SendValueOp op) {
  OpBuilder builder(op);
  auto start = StartSendOp::create(
      builder, op.getLoc(), PendingType::get(op.getContext(), {}),
      op.getValue(), op.getNameAttr(), op.getBackAttr(), op.getCutsAttr());
  Block &block = *op->getBlock();
  builder.setInsertionPointToEnd(&block);
  if (!block.empty() && block.back().hasTrait<OpTrait::IsTerminator>())
    builder.setInsertionPoint(&block.back());
  WaitOp::create(builder, op.getLoc(), start.getPending());
  op.erase();
}

static void start(ReceiveValueOp op) {
  OpBuilder builder(op);
  auto start = StartReceiveOp::create(
      builder, op.getLoc(), PendingType::get(op.getContext(), {op.getType()}),
      op.getNameAttr(), op.getBackAttr(), op.getCutsAttr());
  builder.setInsertionPoint(findFirstUse(op.getResult(), *op->getBlock()));
  auto wait = WaitOp::create(builder, op.getLoc(), start.getPending());
  op.replaceAllUsesWith(wait.getResult(0));
  op.erase();
}

static void cutRows(SliceValueOp op) {
  if (cutsRows(op))
    return;
  OpBuilder builder(op);
  op.replaceAllUsesWith(buildFromRows(builder, op));
  op.erase();
}

namespace {
struct StartExchanges : public zero::impl::StartExchangesBase<StartExchanges> {
  using StartExchangesBase::StartExchangesBase;

  void runOnOperation() override {
    getOperation().walk([](TermValueOp op) { build(op); });
    getOperation().walk([](SliceValueOp op) { cutRows(op); });
    getOperation().walk([](AllReduceValueOp op) { start(op); });
    getOperation().walk([](GatherValueOp op) { start(op); });
    getOperation().walk([](ScatterValueOp op) { start(op); });
    getOperation().walk([](ExchangeValueOp op) { start(op); });
    getOperation().walk([](SendValueOp op) { start(op); });
    getOperation().walk([](ReceiveValueOp op) { start(op); });
  }
};
} // namespace
