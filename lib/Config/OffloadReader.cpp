//===- OffloadReader.cpp - What is not kept on the device -------*- C++ -*-===//
#include "ConfigReader.h"

#include "program/Bounds.h"

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

namespace {
class OffloadReader {
public:
  OffloadReader(const ConfigValues &values, Reporter &reporter,
                TrainConfig &config)
      : values(values), reporter(reporter), config(config) {}

  void run() {
    readStates();
    readParameters();
  }

private:
  std::string readDevice(StringRef block, StringRef oldKey);
  void verifyStates(StringRef path);
  void readStates();
  void readFiles();
  void readParameters();
  void verifyParameters(StringRef path, bool inFiles);
  void readParameterFiles();

  const ConfigValues &values;
  Reporter &reporter;
  TrainConfig &config;
};
} // namespace

/// The tier that is asked for in `block`, or by its old name: "none", "cpu" or
/// "nvme".
std::string OffloadReader::readDevice(StringRef block, StringRef oldKey) {
  const std::string path = (block + ".device").str();
  std::string device = values.text(path);
  if (!values.boolean(oldKey) || reporter.isOption(path))
    return device;
  if (reporter.isInFile(block))
    reporter.error(oldKey, "is the old name of " + block.split('.').second +
                               ", which is given as well; leave it out");
  return "cpu";
}

std::string mlir::zero::findOffloadKey(const ConfigValues &values,
                                       bool ofParameters) {
  const StringRef block = ofParameters ? kParameters : kBlock;
  if (values.has(block))
    return (block + ".device").str();
  return (ofParameters ? kOldParameters : kOldKey).str();
}

/// Faults between the offload of optimizer states and other keys.
void OffloadReader::verifyStates(StringRef path) {
  if (config.stage == 0)
    reporter.error(path, "stage 0 keeps all optimizer states on every rank's "
                         "device; give a stage of 1 to 3, or leave it out");
  if (!config.stateTiers.empty())
    reporter.error("zero.state_tiers",
                   "says where states are, and so does offload_optimizer; "
                   "leave one of them out");
}

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

void OffloadReader::readFiles() {
  const FilesConfig &files = config.offloadOptimizer->files.emplace();
  values.readFields(
      config, {pathOf("nvme_path"), "zero.offload_nvme_min_bytes", "aio."});
  const std::string folder = pathOf("nvme_path");
  if (files.folder.empty())
    reporter.error(values.has(folder) ? folder : pathOf("device"),
                   "states in files need an existing folder for them; give "
                   "nvme_path");
  if (!zrt::isFileBlock(files.blockBytes))
    reporter.error("aio.block_size", "found " + Twine(files.blockBytes) +
                                         ", wanted a multiple of " +
                                         Twine(zrt::kDiskBlock) +
                                         ", the block of a disk, up to " +
                                         Twine(zrt::kMostFileBlock));
}

/// Optimizer states in host memory or in files.
void OffloadReader::readStates() {
  const std::string device = readDevice(kBlock, kOldKey);
  if (device == "none" || values.number(pathOf("ratio")) == 0)
    return;
  OffloadConfig &offload = config.offloadOptimizer.emplace();
  values.readFields(config, {kBlock, "zero_optimization.sub_group_size"});
  // No segment is smaller.
  offload.subGroupSize = std::max<int64_t>(offload.subGroupSize, 1);
  if (values.boolean(pathOf("pipeline")))
    offload.pipelineRead = offload.pipelineWrite = true;
  verifyStates(findOffloadKey(values, /*ofParameters=*/false));
  if (device == "nvme")
    readFiles();
}

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

/// Faults between the offload of parameters and other keys.
void OffloadReader::verifyParameters(StringRef path, bool inFiles) {
  const std::optional<OffloadConfig> &offload = config.offloadOptimizer;
  const double ratio = values.number(pathOf("ratio"));
  if (config.stage != 3)
    reporter.error(path, "stage " + Twine(config.stage) +
                             " keeps whole parameters on every rank's device; "
                             "give stage 3, or leave it out");
  else if (offload ? offload->ratio != 1 : ratio == 0)
    reporter.error(pathOf("ratio"),
                   "found a ratio of " + Twine(std::to_string(ratio)) +
                       ", wanted 1 with offload_param: only the host updates "
                       "parameters that it keeps");
  else if (!offload && !inFiles)
    reporter.error(path, "parameters in host memory are updated there; give "
                         "offload_optimizer with the device \"cpu\" or "
                         "\"nvme\", too, or leave it out");
  else if (inFiles && !(offload && offload->files))
    reporter.error(path, "parameters in files are in those of the optimizer's "
                         "states; give offload_optimizer with the device "
                         "\"nvme\", too, or the device \"cpu\"");
}

/// Sharded parameters in files: beside the states, which have the folder.
void OffloadReader::readParameterFiles() {
  OffloadConfig &offload = *config.offloadOptimizer;
  if (!offload.files)
    return;
  const std::string folder = (kParameters + ".nvme_path").str();
  // Where the states have no folder, that is the fault.
  if (values.has(folder) && !reporter.isOption(pathOf("nvme_path")) &&
      !offload.files->folder.empty() &&
      values.text(folder) != offload.files->folder)
    reporter.error(folder, "found \"" + values.text(folder) + "\", wanted \"" +
                               offload.files->folder +
                               "\", the folder of offload_optimizer: a rank "
                               "has one file");
  offload.parameterFiles.emplace();
}

/// Sharded parameters in host memory or in files.
void OffloadReader::readParameters() {
  const std::string device = readDevice(kParameters, kOldParameters);
  const std::string path = findOffloadKey(values, /*ofParameters=*/true);
  if (device == "none")
    return;
  verifyParameters(path, device == "nvme");
  if (!config.offloadOptimizer)
    return;
  config.offloadOptimizer->parameters = true;
  if (device == "nvme")
    readParameterFiles();
  values.readFields(config, {kParameters});
}

void mlir::zero::readOffload(const ConfigValues &values, Reporter &reporter,
                             TrainConfig &config) {
  OffloadReader(values, reporter, config).run();
}
