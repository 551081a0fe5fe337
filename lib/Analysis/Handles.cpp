//===- Handles.cpp - starts, waits, and what passes between regions -------===//

#include "zero/Analysis/Handles.h"

using namespace mlir;
using namespace mlir::zero;

Handles::Handles(StepOp step) {
  for (Operation &region : step.getBody().front())
    for (Operation &op : region.getRegion(0).front()) {
      if (auto carry = dyn_cast<CarryOp>(op))
        carries[carry.getHandleAttr()] = carry;
      else if (auto carried = dyn_cast<CarriedOp>(op))
        takes[carried.getHandleAttr()] = carried;
    }
}

Operation *Handles::findStart(Value pending) const {
  Operation *maker = pending.getDefiningOp();
  auto carried = dyn_cast_or_null<CarriedOp>(maker);
  if (!carried)
    return maker;
  auto carry = carries.find(carried.getHandleAttr());
  return carry == carries.end() ? nullptr
                                : carry->second->getOperand(0).getDefiningOp();
}

Operation *Handles::findStartOf(Value value) const {
  auto wait = value.getDefiningOp<WaitOp>();
  return wait ? findStart(wait.getPending()) : nullptr;
}

static WaitOp waitAmong(Value pending) {
  for (Operation *user : pending.getUsers())
    if (auto wait = dyn_cast<WaitOp>(user))
      return wait;
  return {};
}

WaitOp Handles::findWait(Operation *start) const {
  if (start->getNumResults() == 0) // done where it stands
    return {};
  Value pending = start->getResult(0);
  for (Operation *user : pending.getUsers())
    if (auto carry = dyn_cast<CarryOp>(user)) {
      auto carried = takes.find(carry.getHandleAttr());
      return carried == takes.end() ? WaitOp()
                                    : waitAmong(carried->second->getResult(0));
    }
  return waitAmong(pending);
}

SmallVector<SmallVector<Block *>> mlir::zero::getTimelines(StepOp step) {
  SmallVector<SmallVector<Block *>> lines;
  MicroOp last = step.getLastMicro();
  for (Operation &region : step.getBody().front()) {
    Block *block = &region.getRegion(0).front();
    if (isa<ApplyOp>(region))
      continue;
    lines.push_back({block});
    if (&region == last.getOperation())
      lines.back().push_back(&step.getRegionOp<ApplyOp>().getBody().front());
  }
  return lines;
}
