//===- Carry.cpp - let another region wait --------------------------------===//

#include "Carry.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::zero;

FailureOr<WaitOp> mlir::zero::findOwnWait(Operation *start) {
  for (Operation *user : start->getUsers()) {
    if (auto wait = dyn_cast<WaitOp>(user))
      return wait;
    if (isa<CarryOp>(user))
      return WaitOp();
  }
  return start->emitOpError("is never waited for; wanted a 'zero.wait' or a "
                            "'zero.carry' of what it starts");
}

void mlir::zero::carryToWait(AsyncOpInterface start, WaitOp wait) {
  OpBuilder builder(start->getContext());
  StringAttr name = builder.getStringAttr(start.getHandleName());
  builder.setInsertionPointAfter(start);
  CarryOp::create(builder, start->getLoc(), start.getPending(), name);
  builder.setInsertionPoint(wait);
  auto carried = CarriedOp::create(builder, wait.getLoc(),
                                   start.getPending().getType(), name);
  wait->setOperand(0, carried.getPending());
}
