//===- PrecisionReader.cpp - Types of values and of gradients ---*- C++ -*-===//
#include "ConfigReader.h"

#include "program/Program.h"

#include "llvm/ADT/Twine.h"

#include <cmath>

using namespace mlir::zero;
using llvm::StringRef;
using llvm::Twine;

/// The type that the key names; nothing where it is absent.
static std::optional<zrt::DataType> readType(StringRef path,
                                             const ConfigValues &values) {
  std::optional<std::string> text = values.optionalText(path);
  return text ? parseFloatType(*text) : std::nullopt;
}

void mlir::zero::readPrecision(const ConfigValues &values, Reporter &reporter,
                               TrainConfig &config) {
  bool half = values.boolean("fp16.enabled");
  bool brain =
      values.boolean("bf16.enabled") || values.boolean("bfloat16.enabled");
  if (values.has("bf16.enabled") && values.has("bfloat16.enabled") &&
      values.boolean("bf16.enabled") != values.boolean("bfloat16.enabled"))
    reporter.error("bfloat16.enabled",
                   "bfloat16 is the old name of bf16, which says otherwise; "
                   "leave it out");
  if (half && brain)
    reporter.error("fp16.enabled",
                   "fp16 and bf16 are both enabled; enable one of them");
  config.precision = half    ? zrt::DataType::F16
                     : brain ? zrt::DataType::BF16
                             : zrt::DataType::F32;
}

void mlir::zero::readGradientType(const ConfigValues &values,
                                  Reporter &reporter, TrainConfig &config) {
  constexpr StringRef key = "data_types.grad_accum_dtype";
  std::optional<zrt::DataType> type = readType(key, values);
  if (!type)
    return;
  if (config.accumulation > 1) {
    if (*type != zrt::DataType::F32)
      reporter.error(key, Twine(config.accumulation) +
                              " micro-batches are added up in f32; give "
                              "\"fp32\" or leave it out");
    return;
  }
  if (*type == config.precision ||
      readType("communication_data_type", values) == zrt::DataType::F32)
    return;
  if (*type != zrt::DataType::F32)
    reporter.error(key, Twine("gradients are stored in ") +
                            nameOf(config.precision) +
                            ", the compute type; leave it out");
  else
    reporter.remark(
        key, Twine("changes nothing here: one micro-batch leaves "
                   "nothing to add up, and its gradients are stored in ") +
                 nameOf(config.precision));
}

void mlir::zero::readLossScale(const ConfigValues &values, Reporter &reporter,
                               TrainConfig &config) {
  constexpr StringRef key = "fp16.loss_scale";
  if (config.precision != zrt::DataType::F16) {
    if (reporter.isOption(key))
      reporter.error(key, Twine("is given, but the compute type is ") +
                              nameOf(config.precision) +
                              ", which needs none; leave it out, or compute "
                              "in f16");
    return;
  }
  LossScaleConfig &scale = config.lossScale;
  scale.enabled = true;
  values.readFields(config, {"fp16."});
  double fixed = values.number(key);
  int64_t power = values.integer("fp16.initial_scale_power");
  if (power > 126)
    reporter.error("fp16.initial_scale_power",
                   "found " + Twine(power) +
                       ", wanted at most 126: the scale is an f32, which is "
                       "less than 2^128, and has to have room to double");
  scale.dynamic = fixed == 0;
  if (!scale.dynamic)
    for (StringRef other :
         {"fp16.initial_scale_power", "fp16.loss_scale_window",
          "fp16.hysteresis", "fp16.consecutive_hysteresis",
          "fp16.min_loss_scale"})
      if (values.has(other))
        reporter.remark(other, "changes nothing here: fp16.loss_scale has a "
                               "fixed scale");
  scale.initial =
      scale.dynamic ? std::ldexp(1.0, static_cast<int>(power)) : fixed;
  const double least = scale.dynamic ? scale.minimum : scale.initial;
  if (least < zrt::kSmallestLossScale)
    reporter.error(scale.dynamic ? StringRef("fp16.min_loss_scale") : key,
                   "found " + print(llvm::json::Value(least)) +
                       ", wanted 2^-64 or more: what is left of the gradients "
                       "in f16 is 0");
  if (scale.dynamic && scale.minimum > scale.initial)
    reporter.error("fp16.min_loss_scale",
                   "the lowest scale is above the first one, 2^" +
                       Twine(power) + "; lower it");
}

/// Gradients that travel once a micro-batch do so as they are computed, or in
/// f32.
static void readMicroBatchType(const ConfigValues &values, Reporter &reporter,
                               const TrainConfig &config) {
  constexpr StringRef key = "communication_data_type";
  const zrt::DataType type = *config.communicationType;
  if (type != config.precision && type != zrt::DataType::F32)
    reporter.error(
        key,
        "found \"" + values.text(key) + "\", wanted \"" +
            stringifyFloatType(config.precision) + "\"" +
            (config.precision == zrt::DataType::F32 ? "" : " or \"fp32\"") +
            ": gradients of a micro-batch travel as they are "
            "computed, or in f32");
  if (config.widensGradients() && config.quantizedGradientBits)
    reporter.error(key, "asks for gradients in f32, and "
                        "zero_optimization.zero_quantized_gradients for " +
                            Twine(config.quantizedGradientBits) +
                            " bits; leave one of them out");
}

void mlir::zero::readCommunicationType(const ConfigValues &values,
                                       Reporter &reporter,
                                       TrainConfig &config) {
  constexpr StringRef key = "communication_data_type";
  config.communicationType = readType(key, values);
  if (!config.communicationType)
    return;
  if (config.worldRanks() == 1) {
    config.communicationType.reset();
    reporter.remark(key, "changes nothing here: with one rank no gradients "
                         "travel");
  } else if (config.reducesEveryMicroBatch()) {
    readMicroBatchType(values, reporter, config);
  } else if (*config.communicationType != zrt::DataType::F32) {
    reporter.error(key, "the gradients of " + Twine(config.accumulation) +
                            " micro-batches are added up before they travel "
                            "at stage " +
                            Twine(config.stage) +
                            ", and travel as the f32 sum; give \"fp32\", or "
                            "leave it out");
  }
}
