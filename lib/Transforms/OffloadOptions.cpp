//===- OffloadOptions.cpp - options of what is not on the device ----------===//

#include "OffloadOptions.h"

using namespace mlir;
using namespace mlir::zero;

static LogicalResult checkWord(StringRef option, StringRef found,
                               ArrayRef<StringRef> wanted,
                               function_ref<InFlightDiagnostic()> emitError) {
  if (llvm::is_contained(wanted, found))
    return success();
  InFlightDiagnostic error = emitError();
  error << option << " is '" << found << "', wanted ";
  llvm::interleave(
      wanted.drop_back(), [&](StringRef word) { error << word; },
      [&] { error << ", "; });
  return error << " or " << wanted.back();
}

FailureOr<OffloadOverrides>
mlir::zero::readOffloadOverrides(const ZeroPipelineOptions &options,
                                 function_ref<InFlightDiagnostic()> emitError) {
  OffloadOverrides overrides;
  auto read = [](auto &option, auto &field) {
    if (option.getNumOccurrences())
      field = option.getValue();
  };
  read(options.offloadOptimizer, overrides.states);
  read(options.offloadParameters, overrides.parameters);
  read(options.offloadRatio, overrides.ratio);
  read(options.subGroupSize, overrides.subGroupSize);
  read(options.pipelineUpdates, overrides.pipeline);
  read(options.uploadBuffers, overrides.uploadBuffers);
  read(options.nvmePath, overrides.folder);
  read(options.nvmeMinBytes, overrides.leastBytes);
  read(options.maxInCpu, overrides.inHost);
  read(options.readBufferSize, overrides.bufferSize);
  if (failed(checkWord("offload-optimizer", overrides.states.value_or("none"),
                       {"none", "cpu", "nvme"}, emitError)) ||
      failed(checkWord("offload-param", overrides.parameters.value_or("none"),
                       {"none", "cpu", "nvme"}, emitError)))
    return failure();
  if (overrides.ratio && !(*overrides.ratio > 0 && *overrides.ratio <= 1))
    return emitError() << "offload-ratio is " << *overrides.ratio
                       << ", wanted more than 0 and at most 1";
  return overrides;
}

LogicalResult
mlir::zero::verifyOffloadOptions(const OffloadOverrides &overrides,
                                 const TrainConfig &config,
                                 function_ref<InFlightDiagnostic()> emitError) {
  const std::optional<OffloadConfig> &offload = config.offloadOptimizer;
  if (!offload &&
      (overrides.ratio || overrides.subGroupSize || overrides.pipeline))
    return emitError() << "nothing is offloaded, but offload-ratio, "
                          "sub-group-size or pipeline-updates is given; give "
                          "offload-optimizer=cpu";
  if (!(offload && offload->files) &&
      (overrides.folder || overrides.leastBytes))
    return emitError() << "nothing is kept in files, but nvme-path or "
                          "nvme-min-bytes is given; give "
                          "offload-optimizer=nvme";
  if (!(offload && offload->parameters) && overrides.uploadBuffers)
    return emitError() << "upload-buffers is given, but parameters are not "
                          "kept in host memory; give offload-param=cpu";
  if (!(offload && offload->parameterFiles) &&
      (overrides.inHost || overrides.bufferSize))
    return emitError() << "no parameters are kept in files, but max-in-cpu or "
                          "read-buffer-size is given; give offload-param=nvme";
  if (offload && !config.stateTiers.empty())
    return emitError() << "state-tiers says where states are, and so does "
                          "offload-optimizer; wanted one of them";
  return success();
}
