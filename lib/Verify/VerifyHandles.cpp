//===- VerifyHandles.cpp - every start has its wait -----------------------===//
//
// Within a region, and from one region to the next by name.
//
//===----------------------------------------------------------------------===//

#include "zero/Verify/Verify.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mlir::zero;
using namespace mlir::zero::verify;

namespace {

/// Which names are in flight while the schedule runs.
class InFlight : public Tracker {
public:
  explicit InFlight(const Tables &tables) : tables(tables) {}
  LogicalResult visit(Operation &op) override;
  LogicalResult leave() override;
  LogicalResult drain() override {
    carried.clear();
    return success();
  }

private:
  LogicalResult visitCarry(CarryOp carry);
  LogicalResult visitCarried(CarriedOp taken);

  const Tables &tables;
  DenseMap<StringAttr, CarryOp> carried;
};

} // namespace

LogicalResult InFlight::visitCarry(CarryOp carry) {
  auto [other, isNew] = carried.try_emplace(carry.getHandleAttr(), carry);
  if (isNew)
    return success();
  return carry.emitOpError("carries ")
         << carry.getHandleAttr()
         << " a second time, while what it named before is still in flight";
}

LogicalResult InFlight::visitCarried(CarriedOp taken) {
  bool isInFlight = carried.erase(taken.getHandleAttr());
  if (isInFlight || taken.getPending().getType().getTypes().empty())
    return success();
  return taken.emitOpError("takes ")
         << taken.getHandleAttr()
         << ", which gives tensors, where it is not in flight";
}

LogicalResult InFlight::visit(Operation &op) {
  if (auto carry = dyn_cast<CarryOp>(op))
    return visitCarry(carry);
  if (auto taken = dyn_cast<CarriedOp>(op))
    return visitCarried(taken);
  return success();
}

/// The update needs all gradients.
LogicalResult InFlight::leave() {
  if (!isa<ApplyOp>(now.region))
    return success();
  for (auto micro : tables.step.getBody().getOps<MicroOp>())
    for (auto carry : micro.getBody().getOps<CarryOp>())
      if (carried.count(carry.getHandleAttr()) &&
          isReduction(carry.getPending().getDefiningOp()))
        return carry.emitOpError("leaves ")
               << carry.getHandleAttr() << " in flight after the update";
  return success();
}

/// Each handle is waited for or carried, once, in its region.
static LogicalResult verifyUses(const Tables &tables) {
  WalkResult walk = tables.step->walk([](Operation *op) {
    for (Value result : op->getResults()) {
      if (!isa<PendingType>(result.getType()))
        continue;
      SmallVector<Operation *> ends;
      for (Operation *user : result.getUsers())
        if (isa<WaitOp, CarryOp>(user))
          ends.push_back(user);
      if (ends.size() == 1)
        continue;
      InFlightDiagnostic error = op->emitOpError("is waited for ")
                                 << ends.size() << " times, wanted once";
      for (Operation *end : ends)
        error.attachNote(end->getLoc())
            << (isa<WaitOp>(end) ? "waited for here" : "carried here");
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

/// Each name is carried in one place and taken in one, as the same tensors.
static LogicalResult verifyNames(const Tables &tables) {
  llvm::MapVector<StringAttr, CarryOp> carries;
  llvm::MapVector<StringAttr, CarriedOp> takes;
  auto addOnce = [](auto &known, auto op) -> LogicalResult {
    auto [other, isNew] = known.try_emplace(op.getHandleAttr(), op);
    if (isNew)
      return success();
    InFlightDiagnostic error = op.emitOpError("names ")
                               << op.getHandleAttr() << ", and so does another";
    error.attachNote(other->second.getLoc()) << "the other one";
    return error;
  };
  WalkResult walk = tables.step->walk([&](Operation *op) {
    auto carry = dyn_cast<CarryOp>(op);
    auto taken = dyn_cast<CarriedOp>(op);
    return WalkResult((!carry || succeeded(addOnce(carries, carry))) &&
                              (!taken || succeeded(addOnce(takes, taken)))
                          ? WalkResult::advance()
                          : WalkResult::interrupt());
  });
  if (walk.wasInterrupted())
    return failure();
  for (auto &[name, carry] : carries) {
    CarriedOp taken = takes.lookup(name);
    if (!taken)
      return carry.emitOpError("carries ")
             << name << ", which no region waits for";
    if (taken->getBlock() == carry->getBlock())
      return taken.emitOpError("takes ")
             << name << " in the region that carries it";
    if (taken.getPending().getType() != carry.getPending().getType())
      return taken.emitOpError("takes ")
             << name << " as " << taken.getPending().getType()
             << ", and what is carried is " << carry.getPending().getType();
  }
  for (auto &[name, taken] : takes)
    if (!carries.count(name))
      return taken.emitOpError("takes ") << name << ", which no region carries";
  return success();
}

LogicalResult verify::verifyHandles(const Tables &tables) {
  if (failed(verifyUses(tables)) || failed(verifyNames(tables)))
    return failure();
  InFlight inFlight(tables);
  return simulate(tables, inFlight);
}
