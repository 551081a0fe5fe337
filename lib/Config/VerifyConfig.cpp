//===- VerifyConfig.cpp - What no pass or kernel could carry out ----------===//
#include "zero/Config/Config.h"

#include "llvm/ADT/Twine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace mlir::zero;
using llvm::StringRef;
using llvm::Twine;

static std::string print(double value) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%g", value);
  return text;
}

namespace {
class Verifier {
public:
  explicit Verifier(llvm::SmallVectorImpl<ConfigDiagnostic> &out) : out(out) {}

  void run(const TrainConfig &config) {
    if (config.stage < 0 || config.stage > 3)
      error("stage " + Twine(config.stage) + " is none of 0, 1, 2, 3");
    checkInteger("ranks", config.ranks, 1, kMaxCount);
    checkInteger("accumulation", config.accumulation, 1, kMaxCount);
    checkSizes(config);
    if (config.splitMaster && config.precision != Precision::BF16)
      error("split-master is for bf16 only, whose values are prefixes of f32 "
            "ones; the precision is " +
            stringify(config.precision));
    checkOptimizer(config.optimizer);
    checkNonNegative("clip", config.gradientClipping);
    if (config.lossScale.enabled)
      checkLossScale(config.lossScale);
    if (config.errorFeedback)
      checkFeedback(*config.errorFeedback);
  }

private:
  void error(const Twine &message) {
    out.push_back({ConfigSeverity::Error, "", 0, message.str()});
  }

  void checkInteger(StringRef name, int64_t value, int64_t least,
                    int64_t most = std::numeric_limits<int64_t>::max()) {
    if (value < least || value > most)
      error(name + " is " + Twine(value) + ", wanted " + Twine(least) +
            (most == std::numeric_limits<int64_t>::max()
                 ? std::string(" or more")
                 : " to " + std::to_string(most)));
  }

  /// Kernels compute with f32, so a value must stay finite there.
  void checkNonNegative(StringRef name, double value) {
    if (!(value >= 0) || !std::isfinite(static_cast<float>(value)))
      error(name + " is " + print(value) +
            ", wanted a number from 0 to 3.4e38");
  }

  void checkSizes(const TrainConfig &config) {
    checkInteger("reduce-bucket-size", config.reduceBucketSize, 1);
    checkInteger("allgather-bucket-size", config.allgatherBucketSize, 1);
    checkInteger("alignment", config.alignment, 1, kMaxCount);
    checkInteger("vocabulary-multiple", config.vocabularyMultiple, 1,
                 kMaxCount);
    checkInteger("max-reuse-distance", config.maxReuseDistance, 0);
    checkInteger("prefetch-bucket-size", config.prefetchBucketSize, 0);
    checkInteger("max-live-parameters", config.maxLiveParameters, 0);
    checkInteger("param-persistence-threshold",
                 config.parameterPersistenceThreshold, 0);
    checkInteger("model-persistence-threshold",
                 config.modelPersistenceThreshold, 0);
    checkInteger("gathers-in-flight", config.gathersInFlight, 0);
    checkInteger("checkpoint-activations", config.checkpoint.every, 0);
  }

  void checkOptimizer(const OptimizerConfig &optimizer) {
    checkNonNegative("lr", optimizer.learningRate);
    checkNonNegative("weight-decay", optimizer.weightDecay);
    if (!(optimizer.momentum >= 0 && optimizer.momentum < 1))
      error("momentum is " + print(optimizer.momentum) +
            ", wanted a number from 0 to below 1");
    if (optimizer.nesterov && optimizer.momentum == 0)
      error("nesterov needs a momentum above 0; give one or switch it off");
  }

  void checkLossScale(const LossScaleConfig &scale) {
    float initial = static_cast<float>(scale.initial);
    if (!(initial > 0) || !std::isfinite(initial))
      error("loss-scale is " + print(scale.initial) +
            ", wanted 0 for a dynamic scale, or a positive number that f32 "
            "can hold");
  }

  void checkFeedback(const FeedbackConfig &feedback) {
    if (!(feedback.beta >= 0 && feedback.beta < 1))
      error("error-feedback is " + print(feedback.beta) +
            ", wanted a number from 0 to below 1, or 1 for none");
    checkInteger("error-reset", feedback.reset, 1);
  }

  llvm::SmallVectorImpl<ConfigDiagnostic> &out;
};
} // namespace

void mlir::zero::verifyTrainConfig(
    const TrainConfig &config,
    llvm::SmallVectorImpl<ConfigDiagnostic> &diagnostics) {
  Verifier(diagnostics).run(config);
}
