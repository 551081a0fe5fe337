//===- Modes.cpp - what of a model is for training or evaluation ----------===//

#include "Modes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

#include <cmath>

using namespace mlir;
using namespace mlir::zero;

/// Erases what computes `value`, as far as nothing else uses it.
static void eraseDead(Value value) {
  llvm::SetVector<Operation *> candidates;
  auto add = [&](Value used) {
    if (Operation *op = used.getDefiningOp())
      candidates.insert(op);
  };
  add(value);
  while (!candidates.empty()) {
    Operation *op = candidates.pop_back_val();
    if (!isOpTriviallyDead(op))
      continue;
    llvm::for_each(op->getOperands(), add);
    op->erase();
  }
}

static void selectMode(Block &block, bool training) {
  for (auto select : llvm::make_early_inc_range(block.getOps<SelectModeOp>())) {
    Value kept = training ? select.getTraining() : select.getEvaluation();
    Value other = training ? select.getEvaluation() : select.getTraining();
    select.getResult().replaceAllUsesWith(kept);
    select.erase();
    eraseDead(other);
  }
}

void mlir::zero::keepTraining(Block &block) { selectMode(block, true); }

void mlir::zero::keepEvaluation(Block &block) {
  for (auto track : llvm::make_early_inc_range(block.getOps<TrackOp>())) {
    Value value = track.getValue();
    track.erase();
    eraseDead(value);
  }
  selectMode(block, false);
}

SmallVector<TrackedAverage> mlir::zero::takeTracked(Block &block,
                                                    SymbolTable &symbols) {
  llvm::MapVector<Attribute, TrackedAverage> tracked;
  for (auto track : llvm::make_early_inc_range(block.getOps<TrackOp>())) {
    TrackedAverage &average = tracked[track.getParameterAttr()];
    average.parameter = symbols.lookup<ParameterOp>(track.getParameter());
    average.values.push_back(track.getValue());
    track.erase();
  }
  return llvm::to_vector(llvm::make_second_range(tracked));
}

double TrackedAverage::getWeight() {
  const double weight = parameter.getAverage()->convertToDouble();
  if (values.size() == 1)
    return weight;
  return 1 - std::pow(1 - weight, static_cast<double>(values.size()));
}

Value TrackedAverage::buildTarget(OpBuilder &builder) {
  if (values.size() == 1)
    return values.front();
  const double weight = parameter.getAverage()->convertToDouble();
  auto type = cast<RankedTensorType>(values.front().getType());
  Location loc = values.back().getLoc();
  Value target;
  for (auto [index, value] : llvm::enumerate(values)) {
    const auto later = static_cast<double>(values.size() - 1 - index);
    const double part = weight * std::pow(1 - weight, later) / getWeight();
    Value scale = arith::ConstantOp::create(
        builder, loc,
        DenseElementsAttr::get(
            type, builder.getFloatAttr(type.getElementType(), part)));
    Value term = arith::MulFOp::create(builder, loc, value, scale);
    target = target ? arith::AddFOp::create(builder, loc, target, term) : term;
  }
  return target;
}
