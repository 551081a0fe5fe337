//===- QuantizationReader.cpp - What is packed ------------------*- C++ -*-===//
#include "ConfigReader.h"

#include "program/Quantization.h"

#include "llvm/ADT/Twine.h"

using namespace mlir::zero;
using llvm::StringRef;
using llvm::Twine;

static constexpr StringRef kWeightBitsKey = "zero.quantized_weights_bits";
static constexpr StringRef kFrozenBitsKey =
    "zero.quantized_nontrainable_weights_bits";
static constexpr StringRef kGradientBitsKey = "zero.quantized_gradients_bits";
static constexpr StringRef kBlockKey = "zero.quantization_block";
static constexpr StringRef kFeedbackKey = "zero_optimization.zeropp_loco_param";

/// The bits of what is quantized, if it is `enabled`; 0: it is not.
static int64_t readBits(StringRef key, StringRef enabled, StringRef what,
                        const ConfigValues &values, Reporter &reporter,
                        const TrainConfig &config) {
  const int64_t bits = values.integer(key);
  if (bits != 8 && bits != 4)
    reporter.error(key, "found quantized " + what + " of " + Twine(bits) +
                            " bits, wanted 8 or 4");
  return config.stage == 3 && values.boolean(enabled) ? bits : 0;
}

/// What quantized gradients lose.
static void readFeedback(const ConfigValues &values, Reporter &reporter,
                         TrainConfig &config) {
  if (!values.has(kFeedbackKey))
    return;
  if (config.quantizedGradientBits) {
    config.errorFeedback.emplace();
    values.readFields(config, {kFeedbackKey});
  } else if (config.stage == 3) {
    reporter.error(kFeedbackKey,
                   "what quantized gradients lose is fed back, and no "
                   "gradients are quantized; set zero_quantized_gradients, or "
                   "leave it out");
  }
}

/// Of weights that stage 3 gathers or stores, and of gradients that it reduces.
void mlir::zero::readQuantization(const ConfigValues &values,
                                  Reporter &reporter, TrainConfig &config) {
  auto read = [&](StringRef key, StringRef enabled, StringRef what) {
    return readBits(key, ("zero_optimization." + enabled).str(), what, values,
                    reporter, config);
  };
  config.quantizedWeightBits =
      read(kWeightBitsKey, "zero_quantized_weights", "weights");
  config.quantizedFrozenBits =
      read(kFrozenBitsKey, "zero_quantized_nontrainable_weights", "weights");
  config.quantizedGradientBits =
      read(kGradientBitsKey, "zero_quantized_gradients", "gradients");
  const int64_t block = config.quantizationBlock;
  if (!zrt::Quantization{/*bits=*/8, block}.isValid())
    reporter.error(kBlockKey, "found blocks of " + Twine(block) +
                                  " quantized elements, wanted an even number "
                                  "of at least 2 and at most 2^30");
  readGradientAxes(values, reporter, config);
  readFeedback(values, reporter, config);
}
