//===- OffloadOptions.cpp - options of what is not kept on the device
//------===//

#include "OffloadOptions.h"

using namespace mlir;
using namespace mlir::zero;

static LogicalResult
applyOffloadedStates(const ZeroPipelineOptions &options, TrainConfig &config,
                     function_ref<InFlightDiagnostic()> emitError) {
  StringRef states = options.offloadOptimizer;
  StringRef wholes = options.offloadParameters;
  if (states != "none" && states != "cpu" && states != "nvme")
    return emitError() << "offload-optimizer is '" << states
                       << "', wanted none, cpu or nvme";
  if (wholes != "none" && wholes != "cpu")
    return emitError() << "offload-param is '" << wholes
                       << "', wanted none or cpu";
  std::optional<OffloadConfig> &offload = config.offloadOptimizer;
  if (options.offloadOptimizer.getNumOccurrences()) {
    const bool parameters = offload && offload->parameters;
    std::optional<FilesConfig> files = offload ? offload->files : std::nullopt;
    offload.reset();
    if (states != "none")
      offload.emplace().parameters = parameters;
    if (states == "nvme")
      offload->files = files ? *files : FilesConfig();
    if (states == "none" && parameters &&
        !options.offloadParameters.getNumOccurrences())
      return emitError() << "offload-optimizer=none is given, but the "
                            "configuration keeps parameters in host memory "
                            "(offload_param), where they are updated; give "
                            "offload-param=none, too";
  }
  if (!options.offloadParameters.getNumOccurrences())
    return success();
  const bool parameters = options.offloadParameters == "cpu";
  if (parameters && !offload)
    return emitError() << "offload-param is given without offload-optimizer: "
                          "parameters in host memory are updated there; give "
                          "offload-optimizer=cpu, too";
  if (offload)
    offload->parameters = parameters;
  return success();
}

static LogicalResult applyFiles(const ZeroPipelineOptions &options,
                                TrainConfig &config,
                                function_ref<InFlightDiagnostic()> emitError) {
  const bool isGiven = options.nvmePath.getNumOccurrences() ||
                       options.nvmeMinBytes.getNumOccurrences();
  if (!config.offloadOptimizer || !config.offloadOptimizer->files)
    return isGiven ? emitError()
                         << "nothing is kept in files, but nvme-path or "
                            "nvme-min-bytes is given; give "
                            "offload-optimizer=nvme"
                   : success();
  FilesConfig &files = *config.offloadOptimizer->files;
  if (options.nvmePath.getNumOccurrences())
    files.folder = options.nvmePath;
  if (options.nvmeMinBytes.getNumOccurrences())
    files.leastBytes = options.nvmeMinBytes;
  if (files.folder.empty())
    return emitError() << "offload-optimizer is nvme, and no folder is given "
                          "for files of states; give nvme-path";
  return files.leastBytes >= 0 ? success()
                               : emitError()
                                     << "nvme-min-bytes is " << files.leastBytes
                                     << ", wanted at least 0";
}

/// Faults between what is offloaded and the rest.
static LogicalResult
verifyOffload(const TrainConfig &config,
              function_ref<InFlightDiagnostic()> emitError) {
  const OffloadConfig &offload = *config.offloadOptimizer;
  if (config.stage == 0)
    return emitError() << "offload-optimizer is given at stage 0, which keeps "
                          "all states on every rank's device; wanted a stage "
                          "of 1 to 3";
  if (!config.stateTiers.empty())
    return emitError() << "state-tiers says where states are, and so does "
                          "offload-optimizer; wanted one of them";
  if (!(offload.ratio > 0 && offload.ratio <= 1))
    return emitError() << "offload-ratio is " << offload.ratio
                       << ", wanted more than 0 and at most 1";
  if (offload.subGroupSize < 1)
    return emitError() << "sub-group-size is " << offload.subGroupSize
                       << ", wanted at least 1";
  if (!offload.parameters)
    return success();
  if (config.stage != 3)
    return emitError() << "parameters are to be in host memory (offload_param) "
                          "at stage "
                       << config.stage
                       << ", which keeps whole parameters on every rank's "
                          "device; wanted stage 3";
  if (offload.ratio != 1)
    return emitError() << "parameters are to be in host memory (offload_param) "
                          "with a ratio of "
                       << std::to_string(offload.ratio)
                       << "; wanted 1, since only the host updates them";
  return success();
}

LogicalResult
mlir::zero::applyOffload(const ZeroPipelineOptions &options,
                         TrainConfig &config,
                         function_ref<InFlightDiagnostic()> emitError) {
  if (failed(applyOffloadedStates(options, config, emitError)) ||
      failed(applyFiles(options, config, emitError)))
    return failure();
  std::optional<OffloadConfig> &offload = config.offloadOptimizer;
  bool isTuned = options.offloadRatio.getNumOccurrences() ||
                 options.subGroupSize.getNumOccurrences() ||
                 options.pipelineUpdates.getNumOccurrences();
  if (!offload)
    return isTuned ? emitError() << "nothing is offloaded, but offload-ratio, "
                                    "sub-group-size or pipeline-updates is "
                                    "given; give offload-optimizer=cpu"
                   : success();
  if (options.offloadRatio.getNumOccurrences())
    offload->ratio = options.offloadRatio;
  if (options.subGroupSize.getNumOccurrences())
    offload->subGroupSize = options.subGroupSize;
  if (options.pipelineUpdates.getNumOccurrences())
    offload->pipelineRead = offload->pipelineWrite = options.pipelineUpdates;
  return verifyOffload(config, emitError);
}
