//===- ZeroAttrs.cpp - the values that attributes may have ----------------===//

#include "zero/Dialect/Zero/Zero.h"

#include "llvm/Support/Format.h"

#include <cmath>
#include <limits>
#include <string>

using namespace mlir;
using namespace mlir::zero;

using EmitError = function_ref<InFlightDiagnostic()>;

/// Counts that the runtime keeps in 32 bits.
static constexpr int64_t kMostCount = std::numeric_limits<int32_t>::max();

//===----------------------------------------------------------------------===//
// Bounds
//===----------------------------------------------------------------------===//

static std::string toText(double value) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%g", value);
  return text;
}

static LogicalResult expectAtLeast(EmitError emitError, StringRef name,
                                   int64_t value, int64_t least) {
  if (value >= least)
    return success();
  return emitError() << name << " is " << value << ", wanted " << least
                     << " or more";
}

static LogicalResult expectCount(EmitError emitError, StringRef name,
                                 int64_t value) {
  if (value >= 1 && value <= kMostCount)
    return success();
  return emitError() << name << " is " << value << ", wanted 1 to "
                     << kMostCount;
}

/// Kernels compute in f32, so a value must be finite there.
static bool isFinite(double value) {
  return std::isfinite(static_cast<float>(value));
}

static LogicalResult expectFinite(EmitError emitError, StringRef name,
                                  double value) {
  if (isFinite(value))
    return success();
  return emitError() << name << " is " << toText(value)
                     << ", wanted a number that f32 can hold";
}

static LogicalResult expectNonNegative(EmitError emitError, StringRef name,
                                       double value) {
  if (value >= 0 && isFinite(value))
    return success();
  return emitError() << name << " is " << toText(value)
                     << ", wanted a number from 0 to 3.4e38";
}

static LogicalResult expectPositive(EmitError emitError, StringRef name,
                                    double value) {
  if (static_cast<float>(value) > 0 && isFinite(value))
    return success();
  return emitError() << name << " is " << toText(value)
                     << ", wanted a number above 0 that f32 can hold";
}

static LogicalResult expectFraction(EmitError emitError, StringRef name,
                                    double value) {
  if (value >= 0 && value < 1)
    return success();
  return emitError() << name << " is " << toText(value)
                     << ", wanted a number from 0 to below 1";
}

//===----------------------------------------------------------------------===//
// Initial values
//===----------------------------------------------------------------------===//

LogicalResult ConstantAttr::verify(EmitError emitError, Real value) {
  return expectFinite(emitError, "the constant", value);
}

LogicalResult NormalAttr::verify(EmitError emitError, Real mean, Real std) {
  return success(succeeded(expectFinite(emitError, "mean", mean)) &&
                 succeeded(expectNonNegative(emitError, "std", std)));
}

LogicalResult UniformAttr::verify(EmitError emitError, Real low, Real high) {
  if (failed(expectFinite(emitError, "low", low)) ||
      failed(expectFinite(emitError, "high", high)))
    return failure();
  if (low.value <= high.value)
    return success();
  return emitError() << "low is " << toText(low) << " and high is "
                     << toText(high) << ", wanted low below high";
}

//===----------------------------------------------------------------------===//
// Optimizers
//===----------------------------------------------------------------------===//

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
// Training
//===----------------------------------------------------------------------===//

LogicalResult LossScaleAttr::verify(EmitError emitError, Real initial,
                                    bool dynamic, Real minimum, int64_t window,
                                    int64_t hysteresis, bool) {
  if (failed(expectPositive(emitError, "initial", initial)) ||
      failed(expectPositive(emitError, "minimum", minimum)) ||
      failed(expectAtLeast(emitError, "window", window, 1)) ||
      failed(expectAtLeast(emitError, "hysteresis", hysteresis, 1)))
    return failure();
  if (dynamic && minimum.value > initial.value)
    return emitError() << "minimum is " << toText(minimum)
                       << ", above the first scale, " << toText(initial);
  return success();
}

LogicalResult ScheduleAttr::verify(EmitError emitError, ScheduleKind type,
                                   Real min, Real max, int64_t warmup,
                                   int64_t total, bool, Real warmupMinRatio,
                                   Real cosMinRatio) {
  if (failed(expectNonNegative(emitError, "min", min)) ||
      failed(expectAtLeast(emitError, "warmup", warmup, 0)) ||
      failed(expectAtLeast(emitError, "total", total, 0)) ||
      failed(
          expectNonNegative(emitError, "warmup_min_ratio", warmupMinRatio)) ||
      failed(expectNonNegative(emitError, "cos_min_ratio", cosMinRatio)))
    return failure();
  if (max.value != -1 && failed(expectNonNegative(emitError, "max", max)))
    return failure();
  bool decays = type == ScheduleKind::WarmupDecayLR ||
                type == ScheduleKind::WarmupCosineLR;
  if (decays && total < 1)
    return emitError() << stringifyScheduleKind(type)
                       << " needs total, the updates of the whole run; wanted "
                          "1 or more";
  return success();
}

PlanningAttr PlanningAttr::getDefault(MLIRContext *context) {
  using Defaults = PlanningDefaults;
  return get(context, Defaults::reduceBucketSize, Defaults::allgatherBucketSize,
             Defaults::alignment, /*contiguous=*/false, /*split_master=*/false,
             Defaults::maxReuseDistance,
             Defaults::parameterPersistenceThreshold,
             Defaults::modelPersistenceThreshold, Defaults::prefetchBucketSize,
             Defaults::maxLiveParameters, Defaults::gathersInFlight,
             Defaults::machine);
}

LogicalResult PlanningAttr::verify(
    EmitError emitError, int64_t reduceBucketSize, int64_t allgatherBucketSize,
    int64_t alignment, bool, bool, int64_t maxReuseDistance,
    int64_t paramPersistenceThreshold, int64_t modelPersistenceThreshold,
    int64_t prefetchBucketSize, int64_t maxLiveParameters,
    int64_t gathersInFlight, StringRef machine) {
  struct {
    StringRef name;
    int64_t value, least;
  } bounds[] = {
      {"reduce_bucket_size", reduceBucketSize, 1},
      {"allgather_bucket_size", allgatherBucketSize, 1},
      {"max_reuse_distance", maxReuseDistance, 0},
      {"param_persistence_threshold", paramPersistenceThreshold, 0},
      {"model_persistence_threshold", modelPersistenceThreshold, 0},
      {"prefetch_bucket_size", prefetchBucketSize, 0},
      {"max_live_parameters", maxLiveParameters, 0},
      {"gathers_in_flight", gathersInFlight, 0},
  };
  for (auto [name, value, least] : bounds)
    if (failed(expectAtLeast(emitError, name, value, least)))
      return failure();
  if (machine.empty())
    return emitError() << "machine is empty, wanted a name or a file";
  return expectCount(emitError, "alignment", alignment);
}

LogicalResult TrainingAttr::verify(EmitError emitError, int64_t stage,
                                   int64_t ranks, int64_t accumulation,
                                   Real clip, bool, LossScaleAttr, ScheduleAttr,
                                   bool, PlanningAttr) {
  if (stage < 0 || stage > 3)
    return emitError() << "stage " << stage << " is none of 0, 1, 2, 3";
  return success(
      succeeded(expectCount(emitError, "ranks", ranks)) &&
      succeeded(expectCount(emitError, "accumulation", accumulation)) &&
      succeeded(expectNonNegative(emitError, "clip", clip)));
}

//===----------------------------------------------------------------------===//
// Layout and placement
//===----------------------------------------------------------------------===//

LogicalResult MemberAttr::verify(EmitError emitError,
                                 FlatSymbolRefAttr parameter, int64_t offset,
                                 int64_t size) {
  if (offset >= 0 && size >= 0 &&
      size <= std::numeric_limits<int64_t>::max() - offset)
    return success();
  return emitError() << parameter << " has " << size << " elements at "
                     << offset << ", wanted 0 or more at 0 or behind";
}

LogicalResult BlockAttr::verify(EmitError emitError,
                                FlatSymbolRefAttr parameter, int64_t begin,
                                int64_t end) {
  if (begin >= 0 && begin < end)
    return success();
  return emitError() << "elements [" << begin << " to " << end << "] of "
                     << parameter << " are none; wanted a range from 0 on";
}

LogicalResult AtAttr::verify(EmitError emitError, ArenaKind, int64_t offset,
                             int64_t bytes, int64_t stride) {
  return success(succeeded(expectAtLeast(emitError, "offset", offset, 0)) &&
                 succeeded(expectAtLeast(emitError, "bytes", bytes, 0)) &&
                 succeeded(expectAtLeast(emitError, "stride", stride, 0)));
}
