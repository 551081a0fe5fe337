//===- FuseAdditions.cpp - additions join the kernels beside them ---------===//

#include "zero/Analysis/Views.h"
#include "zero/Dialect/NN/TensorForms.h"
#include "zero/Dialect/Zero/Zero.h"
#include "zero/Kernels/Additions.h"
#include "zero/Transforms/Passes.h"

namespace mlir::zero {
#define GEN_PASS_DEF_FUSEADDITIONS
#include "zero/Transforms/Passes.h.inc"
} // namespace mlir::zero

using namespace mlir;
using namespace mlir::zero;

namespace {

struct FuseAdditions : public zero::impl::FuseAdditionsBase<FuseAdditions> {
  using FuseAdditionsBase::FuseAdditionsBase;
  void runOnOperation() override;
};

} // namespace

/// Brings the reshapes of `value` that stand before `place` behind it.
static void moveReshapes(Value value, Operation *place) {
  for (Operation *user : llvm::make_early_inc_range(value.getUsers()))
    if (user->getBlock() == place->getBlock() && user->isBeforeInBlock(place)) {
      user->moveAfter(place);
      moveReshapes(user->getResult(0), user);
    }
}

/// Erases the reshapes that make `value`, as far as nothing reads them.
static void eraseReshapes(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!movesNothing(op) || !op->use_empty())
      return;
    value = op->getOperand(0);
    op->erase();
  }
}

/// Lets what reads the sum, in the shape that `by` reads or in its own, read
/// the last result of `fused`, and erases both.
static void replaceWithSum(FusableAddition fusable, Operation *fused) {
  auto [addition, by, shared] = fusable;
  Value sum = fused->getResults().back(), read = by.getSummed();
  by->replaceAllUsesWith(fused->getResults().drop_back());
  by->erase();
  if (read != shared)
    read.replaceAllUsesWith(sum);
  eraseReshapes(read);
  ImplicitLocOpBuilder builder(fused->getLoc(), fused->getContext());
  builder.setInsertionPointAfter(fused);
  Value own =
      nn::buildReshape(builder, sum, cast<RankedTensorType>(shared.getType()));
  shared.replaceAllUsesWith(own);
  moveReshapes(sum, fused);
  moveReshapes(own, own.getDefiningOp());
  eraseReshapes(own);
  addition->erase();
}

/// The same where what the addition had of `by` is the sum, in whatever shape.
static void replaceAddend(FusableAddition fusable, Operation *fused) {
  auto [addition, by, shared] = fusable;
  addition.getResult(0).replaceAllUsesWith(shared);
  addition->erase();
  by->replaceAllUsesWith(fused->getResults());
  by->erase();
}

/// Puts one operation in the place of `fusable.by`.
static void fuse(FusableAddition fusable) {
  AddendOpInterface by = fusable.by;
  Location locs[] = {fusable.addition.getLoc(), by.getLoc()};
  ImplicitLocOpBuilder builder(FusedLoc::get(by->getContext(), locs), by);
  auto type = cast<RankedTensorType>(by.getSummed().getType());
  SmallVector<Value> addends;
  for (Value addend : fusable.getAddends())
    addends.push_back(nn::buildReshape(builder, addend, type));
  Operation *fused = by.buildWithAddends(builder, addends);
  fused->setLoc(builder.getLoc());
  SmallVector<Value> operands(fusable.addition.getOperands());
  llvm::erase(operands, fusable.shared);
  if (fusable.isBefore())
    replaceWithSum(fusable, fused);
  else
    replaceAddend(fusable, fused);
  for (Value operand : operands)
    eraseReshapes(operand);
}

/// Puts operations that add in the places of those of `chain`.
static void fuse(AdditionChain chain) {
  Value sum = chain.first;
  for (AddendOpInterface link : chain.links) {
    Location locs[] = {chain.sum.getLoc(), link.getLoc()};
    ImplicitLocOpBuilder builder(FusedLoc::get(link->getContext(), locs), link);
    auto type = cast<RankedTensorType>(link.getSummed().getType());
    Operation *fused =
        link.buildWithAddends(builder, nn::buildReshape(builder, sum, type));
    fused->setLoc(builder.getLoc());
    sum = fused->getResult(0);
    link->replaceAllUsesWith(fused->getResults());
    link->erase();
  }
  ImplicitLocOpBuilder builder(chain.sum.getLoc(), chain.sum);
  SmallVector<Value> addends(chain.sum.getOperands());
  Value result = chain.sum.getResult(0);
  result.replaceAllUsesWith(
      nn::buildReshape(builder, sum, cast<RankedTensorType>(result.getType())));
  chain.sum->erase();
  for (Value addend : addends)
    eraseReshapes(addend);
}

void FuseAdditions::runOnOperation() {
  SmallVector<AddendOpInterface> candidates;
  for (StepOp step : getOperation().getOps<StepOp>())
    step->walk([&](AddendOpInterface by) {
      if (by.keepsBits())
        candidates.push_back(by);
    });
  Additions additions;
  llvm::SetVector<Attribute> kernels;
  // One by one: a sum that was fused lies at another place, and one that became
  // an addend has another reader.
  for (AddendOpInterface by : candidates)
    if (std::optional<FusableAddition> fusable = additions.find(by)) {
      kernels.insert(fusable->addition.getKernelAttr());
      fuse(*fusable);
    }
  SmallVector<LaunchOp> sums;
  if (products)
    for (StepOp step : getOperation().getOps<StepOp>())
      step->walk([&](LaunchOp launch) { sums.push_back(launch); });
  for (LaunchOp launch : sums)
    if (std::optional<AdditionChain> chain = additions.findChain(launch)) {
      kernels.insert(launch.getKernelAttr());
      fuse(*chain);
    }
  SymbolTable symbols(getOperation());
  for (Attribute name : kernels) {
    Operation *kernel = symbols.lookup(cast<FlatSymbolRefAttr>(name).getAttr());
    if (SymbolTable::symbolKnownUseEmpty(kernel, getOperation()))
      symbols.erase(kernel);
  }
}
