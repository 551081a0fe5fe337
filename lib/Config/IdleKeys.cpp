//===- IdleKeys.cpp - Keys that change nothing in a run ---------*- C++ -*-===//
#include "zero/Config/Config.h"

#include "llvm/ADT/Twine.h"

using namespace mlir::zero;
using llvm::StringRef;
using llvm::Twine;

/// Why nothing is quantized whatever the key says; null where something is.
static const char *describeQuantization(StringRef path,
                                        const TrainConfig &config) {
  bool isOfGradients = path == "zero_optimization.zero_quantized_gradients" ||
                       path.starts_with("zero_optimization.zeropp_loco_param");
  if (path == "zero_optimization.zero_quantized_nontrainable_weights")
    return config.stage != 3 ? "only stage 3 stores slices of parameters"
                             : nullptr;
  if (path != "zero_optimization.zero_quantized_weights" && !isOfGradients)
    return nullptr;
  if (config.stage != 3)
    return isOfGradients ? "only gradients of stage 3 are quantized"
                         : "only stage 3 gathers parameters for their uses";
  return config.slices() == 1 ? "states are partitioned over one rank"
                              : nullptr;
}

/// The stage at which alone a key counts, and why; null where stages do not
/// decide.
static const char *describeStage(StringRef path, const TrainConfig &config) {
  bool gathers = config.stage == 3;
  if (path.starts_with("zero_optimization.stage3_") ||
      path == "zero.gathers_in_flight")
    return gathers ? nullptr : "only stage 3 gathers parameters for their uses";
  if (path == "zero_optimization.zero_hpz_partition_size")
    return !gathers ? "only stage 3 gathers parameters for their uses"
           : config.secondaryAxes.empty()
               ? "the ranks that states are partitioned over are one node"
               : nullptr;
  if (const char *reason = describeQuantization(path, config))
    return reason;
  if (path == "zero.quantized_weights_bits")
    return config.quantizedWeightBits ? nullptr : "no weights are quantized";
  if (path == "zero.quantized_nontrainable_weights_bits")
    return config.quantizedFrozenBits
               ? nullptr
               : "no weights that are not trained are quantized";
  if (path == "zero.quantized_gradients_bits" ||
      path == "zero.quantized_gradients_within")
    return config.quantizedGradientBits ? nullptr
                                        : "no gradients are quantized";
  if (path == "zero.quantization_block")
    return config.quantizes() ? nullptr : "nothing is quantized";
  if (path == "zero.alignment")
    return gathers ? "parameters that are gathered are padded to 16 bytes a "
                     "rank"
                   : nullptr;
  if (path == "zero_optimization.allgather_bucket_size")
    return config.stage == 1 || config.stage == 2
               ? nullptr
               : "only stages 1 and 2 gather updated parameters in buckets";
  if (path == "zero.layout")
    return config.stage == 2 || config.layout == Layout::Bucketed
               ? nullptr
               : "only stage 2 cuts groups in one way or the other";
  if (path == "zero_optimization.offload_optimizer.pipeline_write" &&
      config.offloadOptimizer && config.offloadOptimizer->parameters &&
      !config.offloadOptimizer->files)
    return "parameters are updated in host memory, and not copied back";
  if (path == "zero_optimization.offload_param.buffer_count")
    return config.offloadOptimizer && config.offloadOptimizer->parameters
               ? nullptr
               : "parameters are not kept in host memory";
  if (path == "zero_optimization.offload_param.nvme_path" ||
      path == "zero_optimization.offload_param.buffer_size" ||
      path == "zero_optimization.offload_param.max_in_cpu")
    return config.offloadOptimizer && config.offloadOptimizer->parameterFiles
               ? nullptr
               : "parameters are not kept in files";
  if (path.starts_with("aio.") || path == "zero.offload_nvme_min_bytes" ||
      path == "zero_optimization.offload_optimizer.nvme_path")
    return config.offloadOptimizer && config.offloadOptimizer->files
               ? nullptr
               : "nothing is kept in files";
  if (path.starts_with("zero_optimization.offload_optimizer.") ||
      path == "zero_optimization.sub_group_size")
    return config.offloadOptimizer ? nullptr : "nothing is offloaded";
  return nullptr;
}

std::string mlir::zero::describeIdleKey(StringRef path,
                                        const TrainConfig &config) {
  const char *reason = describeStage(path, config);
  if (!reason)
    return "";
  return ("changes nothing at stage " + Twine(config.stage) + ": " + reason)
      .str();
}
