//===- StageValues.cpp - what ranks have of values between stages ---------===//

#include "zero/Verify/StageValues.h"

#include "ValueRules.h"
#include "Values.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::zero;
using namespace mlir::zero::verify;

//===----------------------------------------------------------------------===//
// Before the model is cut into stages
//===----------------------------------------------------------------------===//

struct StageValues::Axis {
  AxesAttr axis;
  std::unique_ptr<Values> values;
};

StageValues::StageValues() = default;
StageValues::~StageValues() = default;

LogicalResult StageValues::run(ModuleOp module, StepOp model) {
  for (AxesAttr axis : listModelAxes(module)) {
    axes.push_back({axis, std::make_unique<Values>(module, model, axis)});
    if (failed(axes.back().values->run()))
      return failure();
  }
  return success();
}

/// The cut that gives ranks such parts of `value`; null where no equal parts of
/// one piece are these.
static CutAttr cutOf(Value value, const State &state, AxesAttr axis) {
  auto type = cast<RankedTensorType>(value.getType());
  for (const Layout &layout : state.layouts) {
    int64_t whole = type.getDimSize(layout.dim) * axis.getSize();
    auto cut = CutAttr::get(axis.getContext(), layout.dim, /*repeats=*/1,
                            {whole}, axis);
    if (blocksOf(cut) == layout.blocks)
      return cut;
  }
  return {};
}

std::optional<SmallVector<CutAttr, 2>> StageValues::cutsOf(Value value) const {
  SmallVector<CutAttr, 2> cuts;
  for (const Axis &each : axes) {
    const State state = each.values->stateOf(value);
    if (state.kind == State::Cut && state.samples == 0 && !state.isOwn)
      cuts.push_back(cutOf(value, state, each.axis));
    if (!cuts.empty() && !cuts.back())
      return std::nullopt;
    const bool isSame = state.kind == State::Same && !state.isOfAll;
    // Gradients of what all have the same come back the same.
    if (isSame && state.isTrained && cutsPositions(each.axis))
      return std::nullopt;
    if (state.kind != State::Cut && !(isSame && !state.isReplicated) &&
        state.kind != State::Own)
      return std::nullopt;
    if (state.kind == State::Cut && (state.samples != 0 || state.isOwn))
      return std::nullopt;
  }
  return cuts;
}

//===----------------------------------------------------------------------===//
// In a stage
//===----------------------------------------------------------------------===//

/// The state over this axis that `cuts` declare for a value between stages.
State Values::declared(std::optional<ArrayAttr> cuts) const {
  for (Attribute each :
       cuts.value_or(ArrayAttr()) ? cuts->getValue() : ArrayRef<Attribute>())
    if (auto cut = cast<CutAttr>(each); cut.getOver() == axis)
      return State::cut({static_cast<unsigned>(cut.getDim()), blocksOf(cut)});
  return State::of(isOfSamples() ? State::Own : State::Same);
}

LogicalResult Values::visitReceived(Operation *op,
                                    std::optional<ArrayAttr> cuts,
                                    bool isTrained) {
  State state = declared(cuts);
  state.isTrained = isModel && isTrained;
  give(op->getResult(0), state);
  return success();
}

/// Checks that a value sent to another stage has the state that its cuts
/// declare, which the other stage takes it for.
LogicalResult Values::visitSent(Operation *op, std::optional<ArrayAttr> cuts) {
  const State found = statesOf(op->getOperand(0)).front(),
              wanted = declared(cuts);
  bool fits = wanted.kind == State::Cut
                  ? found.isCutBy(wanted.layouts.front(), !isOfSamples())
                  : found.kind == wanted.kind;
  fits &= found.samples == 0 && !found.isOfAll && !found.isReplicated;
  // A value that is equal on all ranks may be read as each rank's own.
  fits |= wanted.kind == State::Own && found.kind == State::Same;
  for (Value result : op->getResults())
    give(result, State::none());
  if (fits)
    return success();
  return op->emitOpError("over ")
         << axis << " sends what is " << describe(found) << ", wanted "
         << describe(wanted) << ", as the other stage takes it";
}

/// Remembers the state of a stashed value for its `zero.unstash`.
LogicalResult Values::visitStash(StashOp op) {
  const State state = statesOf(op.getValue()).front();
  give(op.getResult(), state);
  stash[op.getNameAttr()] = state;
  return success();
}

LogicalResult Values::visitUnstash(UnstashOp op) {
  auto known = stash.find(op.getNameAttr());
  give(op.getResult(), known == stash.end() ? State::none() : known->second);
  return success();
}
