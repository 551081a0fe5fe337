//===- ZeroAttrs.cpp - the values that attributes may have ----------------===//

#include "zero/Dialect/Zero/Zero.h"

#include "AttrBounds.h"

#include "program/Bounds.h"
#include "program/Program.h"
#include "program/Quantization.h"

#include <limits>

using namespace mlir;
using namespace mlir::zero;

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
  for (auto [name, scale] : {std::pair("initial", initial.value),
                             std::pair("minimum", minimum.value)})
    if (scale < zrt::kSmallestLossScale)
      return emitError() << name << " is " << toText(scale)
                         << ", wanted 2^-64 or more";
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
  if (decays && total < warmup)
    return emitError() << stringifyScheduleKind(type)
                       << " has total = " << total
                       << ", fewer updates than its warmup of " << warmup
                       << ": wanted the updates of the whole run";
  return success();
}

PlanningAttr PlanningAttr::get(MLIRContext *context,
                               const PlanningSettings &settings) {
  return get(context,
#define PLANNED(type, name, ...) settings.name,
#include "zero/Config/PlannedSettings.inc"
             settings.contiguous, settings.stateTiers, settings.offload,
             settings.quantizedWeights, settings.quantizedFrozen,
             settings.quantizedGradients, settings.gradientsWithin,
             settings.errorFeedback);
}

MemoryTier PlanningAttr::getStateTier(StringRef state) const {
  auto tier =
      getStateTiers() ? getStateTiers().getAs<StringAttr>(state) : StringAttr();
  return tier ? *symbolizeMemoryTier(tier.getValue()) : MemoryTier::Device;
}

static LogicalResult verifyStateTiers(EmitError emitError,
                                      DictionaryAttr tiers) {
  if (!tiers)
    return success();
  for (NamedAttribute entry : tiers) {
    auto tier = dyn_cast<StringAttr>(entry.getValue());
    if (!tier || !symbolizeMemoryTier(tier.getValue()))
      return emitError() << "state_tiers has " << entry.getName().getValue()
                         << " = " << entry.getValue()
                         << ", wanted one of \"device\", \"host\", \"file\"";
  }
  return success();
}

/// The range of the key that is planned with.
static LogicalResult verifyPlanned(EmitError emitError, StringRef name,
                                   int64_t value, int64_t least, int64_t most) {
  if ((value < least || value > most) &&
      most != std::numeric_limits<int64_t>::max())
    return emitError() << name << " is " << value << ", wanted " << least
                       << " to " << most;
  return expectAtLeast(emitError, name, value, least);
}
static LogicalResult verifyPlanned(EmitError, StringRef, bool, int64_t,
                                   int64_t) {
  return success();
}
static LogicalResult verifyPlanned(EmitError emitError, StringRef name,
                                   StringRef value, int64_t, int64_t) {
  if (!value.empty())
    return success();
  return emitError() << name << " is empty, wanted a name or a file";
}

LogicalResult PlanningAttr::verify(EmitError emitError,
#define PLANNED(type, name, ...) type name,
#include "zero/Config/PlannedSettings.inc"
                                   bool, DictionaryAttr stateTiers, OffloadAttr,
                                   QuantizationAttr, QuantizationAttr,
                                   QuantizationAttr quantizedGradients,
                                   AxesAttr gradientsWithin,
                                   FeedbackAttr errorFeedback) {
#define PLANNED(type, name, parameter, initial, least, most, field)            \
  if (failed(verifyPlanned(emitError, parameter, name, least, most)))          \
    return failure();
#include "zero/Config/PlannedSettings.inc"
  if (gradientsWithin && !quantizedGradients)
    return emitError() << "gradients_within is " << gradientsWithin
                       << ", and there are no quantized_gradients";
  if (errorFeedback && !quantizedGradients)
    return emitError() << "error_feedback is " << errorFeedback
                       << ", and there are no quantized_gradients";
  return verifyStateTiers(emitError, stateTiers);
}

LogicalResult OffloadAttr::verify(EmitError emitError, Real ratio,
                                  int64_t subGroupSize, bool, bool,
                                  bool parameters, FilesAttr files,
                                  int64_t uploadBuffers,
                                  ParameterFilesAttr parameterFiles) {
  if (!(ratio > 0 && ratio <= 1))
    return emitError() << "ratio is " << double(ratio)
                       << ", wanted more than 0 and at most 1";
  if (parameters && ratio != Real(1))
    return emitError() << "ratio is " << double(ratio)
                       << ", wanted 1 with 'parameters', which only the host "
                          "updates";
  if (parameterFiles && !(parameters && files))
    return emitError() << "parameter_files is given without "
                       << (parameters ? "'files', which says where they are"
                                      : "'parameters'");
  if (failed(expectAtLeast(emitError, "upload_buffers", uploadBuffers, 1)))
    return failure();
  return expectAtLeast(emitError, "sub_group_size", subGroupSize, 1);
}

LogicalResult ParameterFilesAttr::verify(EmitError emitError, int64_t inHost,
                                         int64_t bufferSize) {
  if (failed(expectAtLeast(emitError, "in_host", inHost, 0)))
    return failure();
  return expectAtLeast(emitError, "buffer_size", bufferSize, 0);
}

LogicalResult FilesAttr::verify(EmitError emitError, StringRef folder,
                                int64_t blockBytes, int64_t queueDepth,
                                int64_t leastBytes) {
  if (folder.empty())
    return emitError() << "folder is empty, wanted the one for files of states";
  if (!zrt::isFileBlock(blockBytes))
    return emitError() << "block_bytes is " << blockBytes
                       << ", wanted a multiple of " << zrt::kDiskBlock
                       << " up to " << zrt::kMostFileBlock;
  if (queueDepth < 1 || queueDepth > zrt::kMostInFlight)
    return emitError() << "queue_depth is " << queueDepth << ", wanted 1 to "
                       << zrt::kMostInFlight;
  return expectAtLeast(emitError, "least_bytes", leastBytes, 0);
}

LogicalResult QuantizationAttr::verify(EmitError emitError, int64_t bits,
                                       int64_t block) {
  if (zrt::Quantization{bits, block}.isValid())
    return success();
  return emitError() << "bits are " << bits << " and block is " << block
                     << ", wanted 8 or 4 bits and an even block of at "
                        "least 2 and at most 2^30";
}

int64_t QuantizationAttr::getPackedBytes(int64_t elements) const {
  return zrt::Quantization{getBits(), getBlock()}.packedBytes(elements);
}

LogicalResult FeedbackAttr::verify(EmitError emitError, Real beta,
                                   int64_t reset) {
  if (!(beta >= 0 && beta < 1))
    return emitError() << "beta is " << double(beta)
                       << ", wanted a number from 0 to below 1";
  return expectAtLeast(emitError, "reset", reset, 1);
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
                             int64_t bytes, int64_t stride, MemoryTier,
                             AxesAttr over) {
  if (over && stride == 0)
    return emitError() << "is over " << over
                       << " without a stride, wanted both or none";
  return success(succeeded(expectAtLeast(emitError, "offset", offset, 0)) &&
                 succeeded(expectAtLeast(emitError, "bytes", bytes, 0)) &&
                 succeeded(expectAtLeast(emitError, "stride", stride, 0)));
}
