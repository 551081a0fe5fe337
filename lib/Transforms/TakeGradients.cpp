//===- TakeGradients.cpp - gradients from outside -------------------------===//

#include "zero/Analysis/GivenGradients.h"
#include "zero/Config/Config.h"
#include "zero/Dialect/NN/NN.h"
#include "zero/Dialect/NN/TensorForms.h"
#include "zero/Transforms/Passes.h"

#include "program/Mesh.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace mlir::zero {
#define GEN_PASS_DEF_TAKEGRADIENTS
#include "zero/Transforms/Passes.h.inc"
} // namespace mlir::zero

using namespace mlir;
using namespace mlir::zero;

namespace {
struct TakeGradients : public zero::impl::TakeGradientsBase<TakeGradients> {
  using TakeGradientsBase::TakeGradientsBase;

  void runOnOperation() override {
    std::optional<GivenGradientKind> kind = parseGivenGradientKind(mode);
    if (!kind) {
      emitError(getOperation().getLoc())
          << "the option mode is '" << mode << "', wanted 'instead' or 'add'";
      return signalPassFailure();
    }
    for (StepOp step : getOperation().getOps<StepOp>())
      if (failed(verifyMesh(step)) || failed(take(step, *kind)))
        return signalPassFailure();
  }

private:
  LogicalResult verifyMesh(StepOp step);
  LogicalResult verifyReplaced(StepOp step, MicroOp micro);
  LogicalResult take(StepOp step, GivenGradientKind kind);
};
} // namespace

LogicalResult TakeGradients::verifyMesh(StepOp step) {
  for (MeshOp mesh : getOperation().getOps<MeshOp>())
    for (auto [name, size] :
         llvm::zip_equal(mesh.getAxes().getNames(), mesh.getAxes().getSizes()))
      if (size > 1 &&
          (zrt::cutsModel(name.str()) || zrt::holdsStages(name.str())))
        return step.emitError() << "gradients from outside are of whole "
                                   "models, and the ranks of "
                                   "the axis '"
                                << name.str()
                                << "' have a part each; leave out the axis or "
                                   "zero.given_gradients";
  return success();
}

/// What only a forward pass tells.
LogicalResult TakeGradients::verifyReplaced(StepOp step, MicroOp micro) {
  if (step.hasWeights())
    return step.emitError()
           << "weighs micro-batches by what their losses count, and gradients "
              "instead of those of the loss have no such weight; set "
              "zero.loss_mean to micro_batches, or zero.given_gradients to add";
  for (auto gradient : micro.getBody().getOps<GradientOp>()) {
    auto parameter = SymbolTable::lookupNearestSymbolFrom<ParameterOp>(
        gradient, gradient.getParameterAttr());
    if (parameter.getAverage())
      return parameter.emitError()
             << "parameter @" << parameter.getSymName()
             << " is an average over forward passes of training, of which "
                "there "
                "is none where gradients come from outside; set "
                "zero.given_gradients to add, or make it frozen";
  }
  return success();
}

/// `value` with elements of type `element`.
static Value convertTo(OpBuilder &builder, Location loc, Value value,
                       Type element) {
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getElementType() == element)
    return value;
  RankedTensorType wanted = type.clone(element);
  if (type.getElementTypeBitWidth() < element.getIntOrFloatBitWidth())
    return arith::ExtFOp::create(builder, loc, wanted, value);
  return arith::TruncFOp::create(builder, loc, wanted, value);
}

/// What multiplies the loss, and so what is given, before all gradients: where
/// the loss has a weight, the one seed with that; else one where the backward
/// pass begins, which the loss's own is merged into.
static Value findSeed(MicroOp micro) {
  Block &block = micro.getBody().front();
  OpBuilder builder = OpBuilder::atBlockBegin(&block);
  auto seeds = block.getOps<LossSeedOp>();
  for (auto seed : seeds)
    if (seed.getWeight()) {
      builder.setInsertionPointAfter(seed);
      return convertTo(builder, seed.getLoc(), seed.getResult(),
                       builder.getF32Type());
    }
  if (!seeds.empty())
    builder.setInsertionPoint(*seeds.begin());
  auto type = RankedTensorType::get({}, builder.getF32Type());
  return LossSeedOp::create(builder, micro.getLoc(), type, Value());
}

/// What `gradient` is where `argument` of `step` has what is given.
static void replace(GradientOp gradient, BlockArgument argument, Value seed,
                    GivenGradientKind kind) {
  OpBuilder builder(gradient);
  Location loc = gradient.getLoc();
  auto type = cast<RankedTensorType>(argument.getType());
  Value own = gradient.getValue();
  Value value = arith::MulFOp::create(builder, loc, argument,
                                      nn::buildSplat(builder, loc, seed, type));
  if (kind == GivenGradientKind::Add)
    value = arith::AddFOp::create(
        builder, loc, convertTo(builder, loc, own, type.getElementType()),
        value);
  gradient.getValueMutable().assign(
      convertTo(builder, loc, value,
                cast<RankedTensorType>(own.getType()).getElementType()));
}

LogicalResult TakeGradients::take(StepOp step, GivenGradientKind kind) {
  auto micro = step.getRegionOp<MicroOp>();
  if (!micro)
    return step.emitError("is a model and has no gradients yet; run "
                          "zero-differentiate");
  Block &block = micro.getBody().front();
  auto yield = block.empty() ? YieldOp() : dyn_cast<YieldOp>(block.back());
  if (!yield || yield.getValues().empty())
    return step.emitError("has micro-batches that yield no loss");
  for (unsigned index = 0; index < step.getNumArguments(); ++index)
    if (FlatSymbolRefAttr known = getGradientOf(step, index))
      return step.emitError("takes the gradient of ")
             << known << " from outside already";
  if (kind == GivenGradientKind::Instead && failed(verifyReplaced(step, micro)))
    return failure();
  Value seed = findSeed(micro);
  OpBuilder builder(&getContext());
  for (auto gradient : llvm::to_vector(block.getOps<GradientOp>())) {
    auto parameter = SymbolTable::lookupNearestSymbolFrom<ParameterOp>(
        gradient, gradient.getParameterAttr());
    if (parameter.getAverage())
      continue;
    auto type = cast<RankedTensorType>(gradient.getValue().getType())
                    .clone(builder.getF32Type());
    const unsigned index = step.getNumArguments();
    auto attributes = builder.getDictionaryAttr(
        builder.getNamedAttr(kGradientOf, gradient.getParameterAttr()));
    if (failed(step.insertArgument(index, type, attributes, gradient.getLoc())))
      return failure();
    replace(gradient, step.getArgument(index), seed, kind);
  }
  if (kind == GivenGradientKind::Add)
    return success();
  builder.setInsertionPoint(yield);
  yield.getValuesMutable()[0].assign(arith::ConstantOp::create(
      builder, yield.getLoc(),
      builder.getZeroAttr(yield.getValues().front().getType())));
  return success();
}
