//===- Differentiate.cpp - the backward of a step -------------------------===//

#include "zero/Transforms/Passes.h"

#include "Modes.h"

#include "zero/Dialect/NN/NN.h"
#include "zero/Dialect/NN/TensorForms.h"
#include "zero/Dialect/Zero/Zero.h"
#include "zero/Transforms/Differentiation.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

#include "llvm/ADT/MapVector.h"

namespace mlir::zero {
#define GEN_PASS_DEF_DIFFERENTIATE
#include "zero/Transforms/Passes.h.inc"
} // namespace mlir::zero

using namespace mlir;
using namespace mlir::zero;

namespace {

/// Trainable parameters in the order of their first load, with their loads.
using Trained = llvm::MapVector<ParameterOp, GradientVariable>;

struct Differentiate : public zero::impl::DifferentiateBase<Differentiate> {
  using DifferentiateBase::DifferentiateBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    for (auto step : module.getOps<StepOp>())
      if (step.isModel() && failed(differentiateStep(step, symbols)))
        return signalPassFailure();
    // Another step may use what one does not.
    module.walk([&](GradientOp gradient) {
      symbols.lookup<ParameterOp>(gradient.getParameter()).setUnused(false);
    });
  }

private:
  LogicalResult differentiateStep(StepOp step, SymbolTable &symbols);
  LogicalResult reportUnused(StepOp step,
                             const DenseSet<Operation *> &withGradient);
};

} // namespace

static FailureOr<Trained> collectTrained(Block &forward, SymbolTable &symbols) {
  Trained trained;
  for (auto load : forward.getOps<LoadOp>()) {
    auto parameter = symbols.lookup<ParameterOp>(load.getParameter());
    if (!parameter || parameter.getFrozen() || parameter.getAverage())
      continue;
    GradientVariable &variable = trained[parameter];
    if (!variable.values.empty() &&
        variable.values.front().getType() != load.getType())
      return load.emitOpError()
             << "reads @" << load.getParameter() << " as " << load.getType()
             << ", and an earlier one as " << variable.values.front().getType()
             << ": load it with one type, and convert with arith.extf or "
                "arith.truncf";
    variable.values.push_back(load.getResult());
  }
  return trained;
}

/// Moves the model's operations, all but the yield, into a new `zero.micro`,
/// and clones them, with the yield, into a new `zero.evaluate`.
static MicroOp splitStep(StepOp step, YieldOp yield) {
  Block &body = step.getBody().front();
  OpBuilder builder = OpBuilder::atBlockEnd(&body);
  Location loc = step.getLoc();
  auto micro = MicroOp::create(builder, loc);
  auto apply = ApplyOp::create(builder, loc);
  auto evaluate = EvaluateOp::create(builder, loc);
  Block &forward = micro.getBody().emplaceBlock();
  apply.getBody().emplaceBlock();
  Block &evaluation = evaluate.getBody().emplaceBlock();

  OpBuilder clones = OpBuilder::atBlockEnd(&evaluation);
  IRMapping mapping;
  for (Operation &op :
       llvm::make_range(body.begin(), std::next(yield->getIterator())))
    if (!isa<StageBoundaryOp>(op))
      clones.clone(op, mapping);
  forward.getOperations().splice(forward.end(), body.getOperations(),
                                 body.begin(), yield->getIterator());
  keepEvaluation(evaluation);
  return micro;
}

namespace {
/// What a chunk of a stage of a pipeline gets from its neighbours and gives
/// them.
struct ChunkTransfers {
  SmallVector<ReceiveValueOp> received; ///< trained values
  SmallVector<SendValueOp> sent;        ///< all values
  SmallVector<ReceiveValueOp> back;     ///< gradients of what was sent
  /// By received value; null where the loss does not depend on it.
  SmallVector<Value> gradients;
};

/// What all chunks of a stage do. A model that is not cut is one chunk without
/// any.
class Transfers {
public:
  explicit Transfers(Block &forward);

  /// The values whose gradients go back, chunk after chunk.
  SmallVector<ReceiveValueOp> getReceived() const;
  void receiveGradients(OpBuilder &builder,
                        SmallVectorImpl<GradientSeed> &seeds);
  /// Sets the gradient of a value of `getReceived`.
  void setGradient(size_t index, Value gradient);
  /// Puts all where they belong, once the backward pass is there.
  void place(OpBuilder &builder);

private:
  void placeChunk(OpBuilder &builder, size_t chunk,
                  ArrayRef<StageBoundaryOp> boundaries);
  void sendGradients(OpBuilder &builder, ChunkTransfers &chunk);

  SmallVector<ChunkTransfers> chunks;
  Block &block;
  Operation *last = nullptr; ///< of the forward pass; null: it has none
};
} // namespace

/// Takes the sends out of the forward pass: what is differentiated gives its
/// results back to nobody else.
Transfers::Transfers(Block &forward) : chunks(1), block(forward) {
  for (Operation &op : llvm::make_early_inc_range(forward)) {
    if (isa<StageBoundaryOp>(op)) {
      chunks.emplace_back();
    } else if (auto receive = dyn_cast<ReceiveValueOp>(op);
               receive && receive.getTrained()) {
      chunks.back().received.push_back(receive);
    } else if (auto send = dyn_cast<SendValueOp>(op)) {
      send->remove();
      chunks.back().sent.push_back(send);
    }
  }
  for (ChunkTransfers &chunk : chunks)
    chunk.gradients.resize(chunk.received.size());
  if (!forward.empty())
    last = &forward.back();
}

SmallVector<ReceiveValueOp> Transfers::getReceived() const {
  SmallVector<ReceiveValueOp> all;
  for (const ChunkTransfers &chunk : chunks)
    llvm::append_range(all, chunk.received);
  return all;
}

void Transfers::setGradient(size_t index, Value gradient) {
  for (ChunkTransfers &chunk : chunks) {
    if (index < chunk.gradients.size()) {
      chunk.gradients[index] = gradient;
      return;
    }
    index -= chunk.gradients.size();
  }
}

/// The gradients of what was sent come back from the next stage.
void Transfers::receiveGradients(OpBuilder &builder,
                                 SmallVectorImpl<GradientSeed> &seeds) {
  for (ChunkTransfers &chunk : chunks)
    for (SendValueOp send : chunk.sent) {
      if (!send.getTrained())
        continue;
      chunk.back.push_back(ReceiveValueOp::create(
          builder, send.getLoc(), send.getValue().getType(), send.getNameAttr(),
          builder.getUnitAttr(), send.getCutsAttr()));
      seeds.push_back({send.getValue(), chunk.back.back()});
    }
}

/// Sends the stage before the gradients of what it gave, in the order in which
/// it gets them: zeros, made at the builder, where the loss does not depend on
/// a value.
void Transfers::sendGradients(OpBuilder &builder, ChunkTransfers &chunk) {
  OpBuilder::InsertionGuard guard(builder);
  Operation *before = nullptr;
  for (auto [receive, gradient] :
       llvm::zip_equal(chunk.received, chunk.gradients)) {
    if (!gradient)
      gradient = arith::ConstantOp::create(
          builder, receive.getLoc(), builder.getZeroAttr(receive.getType()));
    builder.setInsertionPointAfterValue(gradient);
    if (before && builder.getInsertionPoint() != builder.getBlock()->end() &&
        !before->isBeforeInBlock(&*builder.getInsertionPoint()))
      builder.setInsertionPointAfter(before);
    before = SendValueOp::create(builder, receive.getLoc(), gradient,
                                 receive.getNameAttr(), builder.getUnitAttr(),
                                 receive.getCutsAttr());
  }
}

/// Of n chunks, n - 1 boundaries are between the forward passes, and then as
/// many between the backward passes, of the last chunk first.
void Transfers::placeChunk(OpBuilder &builder, size_t chunk,
                           ArrayRef<StageBoundaryOp> boundaries) {
  const size_t between = chunks.size() - 1, behind = between - chunk;
  OpBuilder::InsertionGuard guard(builder);
  ChunkTransfers &transfers = chunks[chunk];
  if (behind > 0)
    for (ReceiveValueOp receive : llvm::reverse(transfers.back))
      receive->moveAfter(boundaries[between + behind - 1]);
  if (chunk > 0)
    builder.setInsertionPoint(boundaries[between + behind]);
  sendGradients(builder, transfers);
  builder.setInsertionPointToStart(&block);
  if (behind > 0)
    builder.setInsertionPoint(boundaries[chunk]);
  else if (last)
    builder.setInsertionPointAfter(last);
  for (SendValueOp send : transfers.sent)
    builder.insert(send);
}

void Transfers::place(OpBuilder &builder) {
  const SmallVector<StageBoundaryOp> boundaries =
      llvm::to_vector(block.getOps<StageBoundaryOp>());
  for (size_t chunk = 0; chunk < chunks.size(); ++chunk)
    placeChunk(builder, chunk, boundaries);
}

/// What an update makes an average move towards comes as its gradient: so it is
/// multiplied by the loss's, as gradients are, and divided by it in the update.
static void trackAverages(OpBuilder &builder, ArrayRef<TrackedAverage> tracked,
                          Value seed, DenseSet<Operation *> &withGradient) {
  for (TrackedAverage average : tracked) {
    ParameterOp parameter = average.parameter;
    Location loc = average.values.back().getLoc();
    Value target = average.buildTarget(builder);
    Value scale = seed;
    auto type = cast<RankedTensorType>(target.getType());
    auto scalar = RankedTensorType::get({}, type.getElementType());
    if (scale.getType() != scalar)
      scale = arith::TruncFOp::create(builder, loc, scalar, scale);
    Value gradient = arith::MulFOp::create(
        builder, loc, target, nn::buildSplat(builder, loc, scale, type));
    GradientOp::create(builder, loc, type, parameter.getSymName(),
                       /*begin=*/IntegerAttr(), /*end=*/IntegerAttr(),
                       gradient);
    parameter.setAverage(APFloat(average.getWeight()));
    withGradient.insert(parameter);
  }
}

LogicalResult Differentiate::differentiateStep(StepOp step,
                                               SymbolTable &symbols) {
  auto yield = cast<YieldOp>(step.getBody().front().back());
  MicroOp micro = splitStep(step, yield);
  Block &forward = micro.getBody().front();
  keepTraining(forward);
  // A stage of a pipeline before the last has no loss.
  Value loss = yield.getValues().empty() ? Value() : yield.getValues().front();
  Value weight = yield.getWeight();
  yield.erase();
  SmallVector<TrackedAverage> tracked = takeTracked(forward, symbols);
  FailureOr<Trained> trained = collectTrained(forward, symbols);
  if (failed(trained))
    return failure();

  Transfers transfers(forward);
  OpBuilder builder = OpBuilder::atBlockEnd(&forward);
  Location loc = loss ? loss.getLoc() : step.getLoc();
  SmallVector<GradientSeed> seeds;
  transfers.receiveGradients(builder, seeds);
  Type scalar = RankedTensorType::get({}, builder.getF32Type());
  Value seed;
  if (loss)
    seeds.push_back({loss, seed = LossSeedOp::create(builder, loc,
                                                     loss.getType(), weight)});
  SmallVector<GradientVariable> variables;
  for (auto &[parameter, variable] : *trained)
    variables.push_back(variable);
  for (ReceiveValueOp receive : transfers.getReceived())
    variables.push_back({{receive.getResult()}});
  DenseSet<Operation *> withGradient;
  // Averages follow micro-batches, which are the same to them.
  if (!tracked.empty() && (weight || !loss))
    seed = LossSeedOp::create(builder, loc, loss ? loss.getType() : scalar,
                              Value());
  trackAverages(builder, tracked, seed, withGradient);
  auto complete = [&](unsigned index, Value gradient) {
    if (index >= trained->size())
      transfers.setGradient(index - trained->size(), gradient);
    if (index >= trained->size() || !gradient)
      return;
    ParameterOp parameter = (trained->begin() + index)->first;
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointAfterValue(gradient);
    GradientOp::create(
        builder, gradient.getLoc(), gradient.getType(), parameter.getSymName(),
        /*begin=*/IntegerAttr(), /*end=*/IntegerAttr(), gradient);
    withGradient.insert(parameter);
  };
  if (failed(differentiate(builder, forward, seeds, variables, complete)))
    return failure();
  transfers.place(builder);
  YieldOp::create(builder, loc, loss ? ValueRange(loss) : ValueRange(), weight,
                  /*outputs=*/ArrayAttr());
  return reportUnused(step, withGradient);
}

LogicalResult
Differentiate::reportUnused(StepOp step,
                            const DenseSet<Operation *> &withGradient) {
  bool unused = false;
  for (auto parameter : getOperation().getOps<ParameterOp>()) {
    if (parameter.getFrozen() || withGradient.contains(parameter))
      continue;
    if (parameter.getAverage())
      return parameter.emitError()
             << "parameter @" << parameter.getSymName()
             << " is an average, and @" << step.getSymName()
             << " does not track it: add a 'zero.track', or make it frozen "
                "instead of an average";
    unused = true;
    parameter.setUnused(true);
    if (ignoreUnusedParameters)
      parameter.emitRemark()
          << "parameter @" << parameter.getSymName()
          << " is trainable, and no gradient of the loss of @"
          << step.getSymName() << " reaches it: it is left untouched";
    else
      parameter.emitError()
          << "parameter @" << parameter.getSymName()
          << " is trainable, and the loss of @" << step.getSymName()
          << " does not depend on it: use it, mark it frozen, or set "
             "ignore-unused-parameters";
  }
  if (unused && !ignoreUnusedParameters)
    return failure();
  if (!withGradient.empty())
    return success();
  return emitError(step.getLoc())
         << "'zero.step' trains nothing: no parameter is left that is not "
            "frozen and that a gradient of the loss reaches";
}
