//===- OffloadReader.cpp - What is not kept on the device -------*- C++ -*-===//
#include "ConfigReader.h"

#include "llvm/ADT/Twine.h"

using namespace mlir::zero;
using llvm::StringRef;
using llvm::Twine;

static constexpr StringRef kBlock = "zero_optimization.offload_optimizer";
static constexpr StringRef kOldKey = "zero_optimization.cpu_offload";
static constexpr StringRef kParameters = "zero_optimization.offload_param";
static constexpr StringRef kOldParameters =
    "zero_optimization.cpu_offload_param";

static std::string pathOf(StringRef name) {
  return (kBlock + "." + name).str();
}

/// The tier that the file asks for in `block`, or by its old name: "none",
/// "cpu" or "nvme".
static std::string readDevice(const ConfigValues &values, StringRef block,
                              StringRef oldKey, Reporter &reporter) {
  std::string device = values.text((block + ".device").str());
  if (!values.boolean(oldKey))
    return device;
  if (values.has(block))
    reporter.error(oldKey, "is the old name of " + block.split('.').second +
                               ", which is given as well; leave it out");
  return "cpu";
}

/// Faults between the offload of optimizer states and other keys.
static void verifyOffload(const TrainConfig &config, StringRef path,
                          Reporter &reporter) {
  if (config.stage == 0)
    reporter.error(path, "stage 0 keeps all optimizer states on every rank's "
                         "device; give a stage of 1 to 3, or leave it out");
  if (!config.stateTiers.empty())
    reporter.error("zero.state_tiers",
                   "says where states are, and so does offload_optimizer; "
                   "leave one of them out");
}

/// Sharded parameters in host memory.
static void readParameters(const ConfigValues &values, Reporter &reporter,
                           TrainConfig &config) {
  const std::string device =
      readDevice(values, kParameters, kOldParameters, reporter);
  const std::string path = values.has(kParameters)
                               ? (kParameters + ".device").str()
                               : kOldParameters.str();
  if (device == "nvme")
    reporter.error(path, "parameters cannot be kept in files; give \"cpu\"");
  if (device != "cpu")
    return;
  if (config.stage != 3)
    reporter.error(path, "stage " + Twine(config.stage) +
                             " keeps whole parameters on every rank's device; "
                             "give stage 3, or leave it out");
  else if (!config.offloadOptimizer && values.text(pathOf("device")) == "none")
    reporter.error(path, "parameters in host memory are updated there; give "
                         "offload_optimizer with the device \"cpu\" or "
                         "\"nvme\", too");
  else if (!config.offloadOptimizer && values.text(pathOf("device")) != "none")
    reporter.error(pathOf("ratio"), "found 0, wanted 1 with offload_param: "
                                    "only the host updates parameters that it "
                                    "keeps");
  else if (!config.offloadOptimizer)
    return; // Another error says why.
  else if (config.offloadOptimizer->ratio != 1)
    reporter.error(pathOf("ratio"),
                   "found " +
                       Twine(std::to_string(config.offloadOptimizer->ratio)) +
                       ", wanted 1 with offload_param: only the host updates "
                       "parameters that it keeps");
  if (config.offloadOptimizer)
    config.offloadOptimizer->parameters = true;
}

static void readFiles(const ConfigValues &values, Reporter &reporter,
                      FilesConfig &files) {
  const std::string folder = pathOf("nvme_path");
  if (values.has(folder))
    files.folder = values.text(folder);
  files.blockBytes = values.integer("aio.block_size");
  files.queueDepth = values.integer("aio.queue_depth");
  files.leastBytes = values.integer("zero.offload_nvme_min_bytes");
  if (files.folder.empty())
    reporter.error(values.has(folder) ? folder : pathOf("device"),
                   "states in files need an existing folder for them; give "
                   "nvme_path");
  if (files.blockBytes % FilesConfig::diskBlock ||
      files.blockBytes < FilesConfig::diskBlock ||
      files.blockBytes > FilesConfig::mostBlockBytes)
    reporter.error("aio.block_size", "found " + Twine(files.blockBytes) +
                                         ", wanted a multiple of " +
                                         Twine(FilesConfig::diskBlock) +
                                         ", the block of a disk, up to " +
                                         Twine(FilesConfig::mostBlockBytes));
  if (files.queueDepth > FilesConfig::mostQueueDepth)
    reporter.error("aio.queue_depth", "found " + Twine(files.queueDepth) +
                                          ", wanted at most " +
                                          Twine(FilesConfig::mostQueueDepth));
}

/// Optimizer states in host memory or in files.
static void readStates(const ConfigValues &values, Reporter &reporter,
                       TrainConfig &config) {
  const std::string device = readDevice(values, kBlock, kOldKey, reporter);
  const double ratio = values.number(pathOf("ratio"));
  if (ratio > 1)
    reporter.error(pathOf("ratio"), "found " + Twine(std::to_string(ratio)) +
                                        ", wanted a number from 0 to 1");
  if (device == "none" || ratio == 0)
    return;
  verifyOffload(config, values.has(kBlock) ? pathOf("device") : kOldKey.str(),
                reporter);
  const bool isPipelined = values.boolean(pathOf("pipeline"));
  OffloadConfig &offload = config.offloadOptimizer.emplace();
  offload.ratio = ratio;
  offload.subGroupSize = values.integer("zero_optimization.sub_group_size");
  offload.pipelineRead = isPipelined || values.boolean(pathOf("pipeline_read"));
  offload.pipelineWrite =
      isPipelined || values.boolean(pathOf("pipeline_write"));
  if (device == "nvme")
    readFiles(values, reporter, offload.files.emplace());
}

void mlir::zero::readOffload(const ConfigValues &values, Reporter &reporter,
                             TrainConfig &config) {
  readStates(values, reporter, config);
  readParameters(values, reporter, config);
}
