//===- Carry.cpp - let another region wait --------------------------------===//

#include "Carry.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::zero;

template <typename RangeOp> static std::string nameRange(RangeOp op) {
  return (op.getPartition() + "[" + Twine(op.getBegin()) + " to " +
          Twine(op.getEnd()) + "]")
      .str();
}

static std::string nameOf(Operation *start) {
  return TypeSwitch<Operation *, std::string>(start)
      .Case<AllReduceOp, ReduceScatterOp>(
          [](auto reduce) { return "gradients of " + nameRange(reduce); })
      .Case([](BucketedReduceOp reduce) {
        return ("gradients of " + reduce.getPartition() + " from " +
                cast<FlatSymbolRefAttr>(reduce.getParameters()[0]).getValue())
            .str();
      })
      .Case([](RefreshOp refresh) {
        return "parameters of " + nameRange(refresh);
      })
      .Default([](Operation *) { return "resident parameters"; });
}

void mlir::zero::carryToWait(Operation *start, WaitOp wait) {
  OpBuilder builder(start->getContext());
  StringAttr name = builder.getStringAttr(nameOf(start));
  builder.setInsertionPointAfter(start);
  CarryOp::create(builder, start->getLoc(), start->getResult(0), name);
  builder.setInsertionPoint(wait);
  auto carried = CarriedOp::create(builder, wait.getLoc(),
                                   start->getResult(0).getType(), name);
  wait->setOperand(0, carried.getPending());
}
