//===- OverrideOptions.cpp - options that a configuration follows ---------===//

#include "OverrideOptions.h"

#include "OffloadOptions.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace mlir::zero;

static std::optional<Precision> parsePrecision(StringRef name) {
  return llvm::StringSwitch<std::optional<Precision>>(name)
      .Case("f32", Precision::F32)
      .Cases({"f16", "fp16"}, Precision::F16)
      .Case("bf16", Precision::BF16)
      .Default(std::nullopt);
}

FailureOr<ConfigOverrides>
mlir::zero::readOverrides(const ZeroPipelineOptions &options,
                          function_ref<InFlightDiagnostic()> emitError) {
  ConfigOverrides overrides;
  if (options.stage.getNumOccurrences())
    overrides.stage = options.stage;
  if (options.accumulation.getNumOccurrences())
    overrides.accumulation = options.accumulation;
  if (options.lossScale.getNumOccurrences())
    overrides.lossScale = options.lossScale;
  if (options.deterministic.getNumOccurrences())
    overrides.deterministic = options.deterministic;
  if (options.mesh.getNumOccurrences()) {
    std::string error;
    overrides.mesh = parseMesh(options.mesh, error);
    if (!overrides.mesh)
      return emitError() << "mesh: " << error;
  }
  if (options.shardAxes.getNumOccurrences())
    overrides.shardAxes = options.shardAxes;
  if (options.hpzPartitionSize.getNumOccurrences())
    overrides.hpzPartitionSize = options.hpzPartitionSize;
  if (options.quantizedWeights.getNumOccurrences())
    overrides.quantizedWeightBits = options.quantizedWeights;
  if (options.quantizedFrozenWeights.getNumOccurrences())
    overrides.quantizedFrozenBits = options.quantizedFrozenWeights;
  if (options.quantizedGradients.getNumOccurrences())
    overrides.quantizedGradientBits = options.quantizedGradients;
  if (options.quantizedGradientsWithin.getNumOccurrences())
    overrides.quantizedGradientsWithin = options.quantizedGradientsWithin;
  if (options.quantizationBlock.getNumOccurrences())
    overrides.quantizationBlock = options.quantizationBlock;
  if (options.errorFeedback.getNumOccurrences())
    overrides.errorBeta = options.errorFeedback;
  if (options.errorReset.getNumOccurrences())
    overrides.errorReset = options.errorReset;
  if (options.precision.getNumOccurrences()) {
    overrides.precision = parsePrecision(options.precision);
    if (!overrides.precision)
      return emitError() << "precision '" << options.precision.getValue()
                         << "' is none of f32, bf16, f16";
  }
  if (options.optimizer.getNumOccurrences()) {
    if (!findOptimizerRule(options.optimizer))
      return emitError() << "optimizer '" << options.optimizer.getValue()
                         << "' is none of " << listOptimizerRules();
    overrides.optimizer = options.optimizer;
  }
  FailureOr<OffloadOverrides> offload =
      readOffloadOverrides(options, emitError);
  if (failed(offload))
    return failure();
  overrides.offload = *offload;
  return overrides;
}
