//===- QuantizationReader.cpp - What is packed ------------------*- C++ -*-===//
#include "ConfigReader.h"

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

namespace {
class QuantizationReader {
public:
  QuantizationReader(const ConfigValues &values, const ConfigContext &context,
                     Reporter &reporter, TrainConfig &config)
      : values(values), context(context), overrides(context.overrides),
        reporter(reporter), config(config) {}

  void run();

private:
  int64_t readBits(std::optional<int64_t> given, StringRef key,
                   StringRef enabled, StringRef what);
  void readFeedback();

  const ConfigValues &values;
  const ConfigContext &context;
  const ConfigOverrides &overrides;
  Reporter &reporter;
  TrainConfig &config;
};
} // namespace

/// The bits of what is quantized: `given` ones, or those of `key` if it is
/// `enabled`; 0: it is not.
int64_t QuantizationReader::readBits(std::optional<int64_t> given,
                                     StringRef key, StringRef enabled,
                                     StringRef what) {
  const int64_t bits = given.value_or(values.integer(key));
  const bool isOff = given && bits == 0;
  if (bits != 8 && bits != 4 && !isOff)
    reporter.error(given ? "" : key, "found quantized " + what + " of " +
                                         Twine(bits) + " bits, wanted 8 or 4");
  return config.stage == 3 && (given || values.boolean(enabled)) ? bits : 0;
}

/// Of weights that stage 3 gathers or stores, and of gradients that it reduces.
void QuantizationReader::run() {
  config.quantizedWeightBits =
      readBits(overrides.quantizedWeightBits, kWeightBitsKey,
               "zero_optimization.zero_quantized_weights", "weights");
  config.quantizedFrozenBits = readBits(
      overrides.quantizedFrozenBits, kFrozenBitsKey,
      "zero_optimization.zero_quantized_nontrainable_weights", "weights");
  config.quantizedGradientBits =
      readBits(overrides.quantizedGradientBits, kGradientBitsKey,
               "zero_optimization.zero_quantized_gradients", "gradients");
  const int64_t block =
      overrides.quantizationBlock.value_or(values.integer(kBlockKey));
  if (block < 2 || block % 2 || block > int64_t(1) << 30)
    reporter.error(overrides.quantizationBlock ? "" : kBlockKey,
                   "found blocks of " + Twine(block) +
                       " quantized elements, wanted an even number of at "
                       "least 2 and at most 2^30");
  config.quantizationBlock = block;
  readGradientAxes(values, context, reporter, config);
  readFeedback();
}

/// What quantized gradients lose.
void QuantizationReader::readFeedback() {
  const bool isGiven = overrides.errorBeta ? *overrides.errorBeta != 1
                                           : values.has(kFeedbackKey);
  if (!isGiven && overrides.errorReset)
    reporter.error("", "error-reset is given, and nothing is fed back; give "
                       "error-feedback, or leave it out");
  if (!isGiven)
    return;
  FeedbackConfig feedback;
  feedback.beta = overrides.errorBeta.value_or(
      values.number((kFeedbackKey + ".err_beta").str()));
  feedback.reset = overrides.errorReset.value_or(
      values.integer((kFeedbackKey + ".reset_T").str()));
  if (config.quantizedGradientBits)
    config.errorFeedback = feedback;
  else if (config.stage == 3)
    reporter.error(overrides.errorBeta ? "" : kFeedbackKey,
                   "what quantized gradients lose is fed back, and no "
                   "gradients are quantized; set zero_quantized_gradients, or "
                   "leave it out");
}

void mlir::zero::readQuantization(const ConfigValues &values,
                                  const ConfigContext &context,
                                  Reporter &reporter, TrainConfig &config) {
  QuantizationReader(values, context, reporter, config).run();
}
