//===- Optimizers.cpp - what each optimizer keeps and computes ------------===//

#include "zero/Dialect/Zero/Zero.h"

#include "AttrBounds.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::zero;

#include "zero/Dialect/Zero/OptimizerAttrInterface.cpp.inc"

/// Whether 0 / (0 + eps) is 0 and no NaN, in the kernels' f32.
static bool isDivisor(double eps) { return static_cast<float>(eps) != 0; }

//===----------------------------------------------------------------------===//
// Adam and AdamW
//===----------------------------------------------------------------------===//

StringRef AdamAttr::getTitle() const {
  return getDecoupled() ? "AdamW" : "Adam";
}
StringRef AdamAttr::getKernel() const {
  return getDecoupled() ? "zero.adamw" : "zero.adam";
}
int64_t AdamAttr::getOperations() const { return 14; }
bool AdamAttr::keepsZeros() const { return isDivisor(getEps()); }

SmallVector<OptimizerState> AdamAttr::getStates() const {
  Type f32 = Float32Type::get(getContext());
  return {{"exp_avg", f32}, {"exp_avg_sq", f32}};
}

SmallVector<OptimizerSetting> AdamAttr::getSettings() const {
  return {{"beta1", getBeta1()},
          {"beta2", getBeta2()},
          {"epsilon", getEps()},
          {"weight_decay", getWeightDecay()},
          {"bias_correction", double(getBiasCorrection()), /*isFlag=*/true}};
}

LogicalResult AdamAttr::verify(EmitError emitError, Real lr, Real beta1,
                               Real beta2, Real eps, Real weightDecay, bool,
                               bool) {
  return success(
      succeeded(expectNonNegative(emitError, "lr", lr)) &&
      succeeded(expectFraction(emitError, "beta1", beta1)) &&
      succeeded(expectFraction(emitError, "beta2", beta2)) &&
      succeeded(expectNonNegative(emitError, "eps", eps)) &&
      succeeded(expectNonNegative(emitError, "weight_decay", weightDecay)));
}

//===----------------------------------------------------------------------===//
// SGD
//===----------------------------------------------------------------------===//

StringRef SgdAttr::getTitle() const { return "SGD"; }
StringRef SgdAttr::getKernel() const { return "zero.sgd"; }
int64_t SgdAttr::getOperations() const { return 6; }
bool SgdAttr::keepsZeros() const { return true; }

SmallVector<OptimizerState> SgdAttr::getStates() const {
  if (getMomentum() == 0)
    return {};
  return {{"momentum_buffer", Float32Type::get(getContext())}};
}

SmallVector<OptimizerSetting> SgdAttr::getSettings() const {
  return {{"weight_decay", getWeightDecay()},
          {"momentum", getMomentum()},
          {"nesterov", double(getNesterov()), /*isFlag=*/true}};
}

LogicalResult SgdAttr::verify(EmitError emitError, Real lr, Real momentum,
                              Real weightDecay, bool nesterov) {
  if (failed(expectNonNegative(emitError, "lr", lr)) ||
      failed(expectFraction(emitError, "momentum", momentum)) ||
      failed(expectNonNegative(emitError, "weight_decay", weightDecay)))
    return failure();
  if (nesterov && momentum.value == 0)
    return emitError() << "nesterov needs a momentum above 0; give one or "
                          "leave it out";
  return success();
}

//===----------------------------------------------------------------------===//
// Lion
//===----------------------------------------------------------------------===//

StringRef LionAttr::getTitle() const { return "Lion"; }
StringRef LionAttr::getKernel() const { return "zero.lion"; }
int64_t LionAttr::getOperations() const { return 11; }
bool LionAttr::keepsZeros() const { return true; }

SmallVector<OptimizerState> LionAttr::getStates() const {
  return {{"exp_avg", Float32Type::get(getContext())}};
}

SmallVector<OptimizerSetting> LionAttr::getSettings() const {
  return {{"beta1", getBeta1()},
          {"beta2", getBeta2()},
          {"weight_decay", getWeightDecay()}};
}

LogicalResult LionAttr::verify(EmitError emitError, Real lr, Real beta1,
                               Real beta2, Real weightDecay) {
  return success(
      succeeded(expectNonNegative(emitError, "lr", lr)) &&
      succeeded(expectFraction(emitError, "beta1", beta1)) &&
      succeeded(expectFraction(emitError, "beta2", beta2)) &&
      succeeded(expectNonNegative(emitError, "weight_decay", weightDecay)));
}

//===----------------------------------------------------------------------===//
// Adagrad
//===----------------------------------------------------------------------===//

StringRef AdagradAttr::getTitle() const { return "Adagrad"; }
StringRef AdagradAttr::getKernel() const { return "zero.adagrad"; }
int64_t AdagradAttr::getOperations() const { return 9; }
bool AdagradAttr::keepsZeros() const { return isDivisor(getEps()); }

SmallVector<OptimizerState> AdagradAttr::getStates() const {
  return {{"sum", Float32Type::get(getContext())}};
}

SmallVector<OptimizerSetting> AdagradAttr::getSettings() const {
  return {{"epsilon", getEps()}, {"weight_decay", getWeightDecay()}};
}

LogicalResult AdagradAttr::verify(EmitError emitError, Real lr, Real eps,
                                  Real weightDecay) {
  return success(
      succeeded(expectNonNegative(emitError, "lr", lr)) &&
      succeeded(expectNonNegative(emitError, "eps", eps)) &&
      succeeded(expectNonNegative(emitError, "weight_decay", weightDecay)));
}

//===----------------------------------------------------------------------===//
// Moving averages
//===----------------------------------------------------------------------===//

StringRef MovingAverageAttr::getTitle() const { return "moving average"; }
StringRef MovingAverageAttr::getKernel() const { return "zero.moving_average"; }
int64_t MovingAverageAttr::getOperations() const { return 3; }
bool MovingAverageAttr::keepsZeros() const { return true; }
SmallVector<OptimizerState> MovingAverageAttr::getStates() const { return {}; }

SmallVector<OptimizerSetting> MovingAverageAttr::getSettings() const {
  return {{"weight", getWeight()}};
}

LogicalResult MovingAverageAttr::verify(EmitError emitError, Real weight) {
  return expectWeight(emitError, "weight", weight);
}

//===----------------------------------------------------------------------===//
// From a configuration
//===----------------------------------------------------------------------===//

using Settings = function_ref<double(StringRef)>;

static Attribute makeAdam(MLIRContext *context, Settings get, bool decoupled) {
  return AdamAttr::get(context, get("lr"), get("beta1"), get("beta2"),
                       get("eps"), get("weight_decay"), decoupled,
                       get("bias_correction") != 0);
}

Attribute mlir::zero::makeOptimizer(MLIRContext *context, StringRef name,
                                    Settings get) {
  if (name == "adamw" || name == "adam")
    return makeAdam(context, get, /*decoupled=*/name == "adamw");
  if (name == "sgd")
    return SgdAttr::get(context, get("lr"), get("momentum"),
                        get("weight_decay"), get("nesterov") != 0);
  if (name == "lion")
    return LionAttr::get(context, get("lr"), get("beta1"), get("beta2"),
                         get("weight_decay"));
  if (name == "adagrad")
    return AdagradAttr::get(context, get("lr"), get("eps"),
                            get("weight_decay"));
  return {};
}
