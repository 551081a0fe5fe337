//===- StageBuilder.cpp - the module of the stages of one place -----------===//

#include "StageBuilder.h"

#include "zero/Analysis/Reads.h"

using namespace mlir;
using namespace mlir::zero;

FailureOr<Crossings> mlir::zero::findCrossings(const PipelineStages &stages,
                                               const StageValues &values) {
  Crossings crossings(stages.getStages());
  int64_t count = 0;
  for (int64_t stage = 1; stage < stages.getStages(); ++stage)
    for (Value value : stages.getIncoming(stage)) {
      Builder builder(value.getContext());
      auto cuts = values.cutsOf(value);
      if (!cuts)
        return value.getDefiningOp()->emitOpError()
               << "gives what " << stages.describe(stage)
               << " has from the stage before, and of which "
                  "ranks that compute one model have terms, or an order of "
                  "their own; move the 'zero.stage_boundary' behind what adds "
                  "it up";
      std::string name = "value " + std::to_string(count++);
      crossings[stage].try_emplace(
          value,
          Crossing{builder.getStringAttr(name),
                   cuts->empty() ? ArrayAttr()
                                 : builder.getArrayAttr(SmallVector<Attribute>(
                                       cuts->begin(), cuts->end()))});
    }
  return crossings;
}

ModuleOp StageBuilder::build(OpBuilder &builder) {
  auto module = ModuleOp::create(builder, model.getLoc(),
                                 "stage" + std::to_string(place));
  OpBuilder inner = OpBuilder::atBlockEnd(module.getBody());
  buildSymbols(inner);
  buildStep(inner);
  return module;
}

/// Everything beside the model that the place has: its own parameters, and all
/// that is not a parameter.
void StageBuilder::buildSymbols(OpBuilder &builder) {
  for (Operation &op : *whole.getBody()) {
    if (isa<StepOp, ModuleOp>(op)) // other stages
      continue;
    SmallVector<int64_t, 2> users;
    if (auto parameter = dyn_cast<ParameterOp>(op)) {
      users = stages.getPlacesOf(FlatSymbolRefAttr::get(parameter));
      if (!llvm::is_contained(users, place))
        continue;
    }
    Operation *copy = builder.clone(op);
    if (users.size() > 1)
      cast<ParameterOp>(copy).setStages(users);
    if (auto mesh = dyn_cast<MeshOp>(copy)) {
      mesh.setStage(place);
      mesh.setOrder(order);
      mesh.setChunks(stages.getChunks());
    }
  }
}

/// Every place has all inputs, so that all of them count samples and positions
/// in one way. Its chunks stand one behind the other, a boundary between each
/// two.
void StageBuilder::buildStep(OpBuilder &builder) {
  auto step = cast<StepOp>(builder.cloneWithoutRegions(*model));
  Block &body = step.getBody().emplaceBlock();
  for (BlockArgument argument : model.getArguments())
    mapping.map(argument,
                body.addArgument(argument.getType(), argument.getLoc()));
  OpBuilder inner = OpBuilder::atBlockEnd(&body);
  for (int64_t chunk = 0; chunk < stages.getChunks(); ++chunk) {
    if (chunk > 0)
      StageBoundaryOp::create(inner, model.getLoc());
    buildChunk(inner, stages.getStageAt(place, chunk));
  }
  auto yield = cast<YieldOp>(model.getBody().front().back());
  if (place + 1 == stages.getPlaces()) {
    add(inner, *yield);
    return;
  }
  YieldOp::create(inner, yield.getLoc(), ValueRange(), /*weight=*/Value(),
                  /*outputs=*/ArrayAttr());
  if (yield.getWeight())
    step->setAttr(StepOp::getWeightedName(), inner.getUnitAttr());
}

void StageBuilder::buildChunk(OpBuilder &builder, int64_t stage) {
  receive(builder, stage);
  for (Operation &op : model.getBody().front())
    if (!stages.isRepeated(&op) && stages.getStage(&op) == stage &&
        !isa<StageBoundaryOp, YieldOp>(op))
      add(builder, op);
  if (stage + 1 < stages.getStages())
    send(builder, stage);
}

void StageBuilder::receive(OpBuilder &builder, int64_t stage) {
  for (Value value : stages.getIncoming(stage)) {
    const Crossing &crossing = crossings[stage].at(value);
    mapping.map(
        value,
        ReceiveValueOp::create(
            builder, value.getLoc(), value.getType(), crossing.name,
            /*back=*/UnitAttr(), crossing.cuts,
            stages.isTrained(value) ? builder.getUnitAttr() : UnitAttr()));
  }
}

void StageBuilder::send(OpBuilder &builder, int64_t stage) {
  for (Value value : stages.getIncoming(stage + 1)) {
    const Crossing &crossing = crossings[stage + 1].at(value);
    SendValueOp::create(
        builder, value.getLoc(), mapping.lookup(value), crossing.name,
        /*back=*/UnitAttr(), crossing.cuts,
        stages.isTrained(value) ? builder.getUnitAttr() : UnitAttr());
  }
}

/// Computes what `op` reads and the place computes for itself.
void StageBuilder::repeat(OpBuilder &builder, Operation &op) {
  for (Value read : getReads(op))
    if (Operation *maker = read.getDefiningOp();
        maker && !mapping.contains(read) && stages.isRepeated(maker))
      add(builder, *maker);
}

void StageBuilder::add(OpBuilder &builder, Operation &op) {
  repeat(builder, op);
  builder.clone(op, mapping);
}
