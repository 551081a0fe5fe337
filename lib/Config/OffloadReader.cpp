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

namespace {
class OffloadReader {
public:
  OffloadReader(const ConfigValues &values, const OffloadOverrides &overrides,
                Reporter &reporter, TrainConfig &config)
      : values(values), overrides(overrides), reporter(reporter),
        config(config) {}

  void run() {
    readStates();
    readParameters();
  }

private:
  std::string readDevice(StringRef block, StringRef oldKey);
  void verifyStates(StringRef path);
  void readStates();
  void readFiles(FilesConfig &files);
  void readParameters();
  void verifyParameters(StringRef path, bool inFiles);
  void readParameterFiles(StringRef path);

  const ConfigValues &values;
  const OffloadOverrides &overrides;
  Reporter &reporter;
  TrainConfig &config;
};
} // namespace

/// The tier that the file asks for in `block`, or by its old name: "none",
/// "cpu" or "nvme".
std::string OffloadReader::readDevice(StringRef block, StringRef oldKey) {
  std::string device = values.text((block + ".device").str());
  if (!values.boolean(oldKey))
    return device;
  if (values.has(block))
    reporter.error(oldKey, "is the old name of " + block.split('.').second +
                               ", which is given as well; leave it out");
  return "cpu";
}

/// Faults between the offload of optimizer states and other keys.
void OffloadReader::verifyStates(StringRef path) {
  const OffloadConfig &offload = *config.offloadOptimizer;
  if (config.stage == 0)
    reporter.error(path, "stage 0 keeps all optimizer states on every rank's "
                         "device; give a stage of 1 to 3, or leave it out");
  if (!config.stateTiers.empty())
    reporter.error("zero.state_tiers",
                   "says where states are, and so does offload_optimizer; "
                   "leave one of them out");
  if (offload.subGroupSize < 1) // A file's is checked by its type.
    reporter.error("", "found sub-groups of " + Twine(offload.subGroupSize) +
                           " elements, wanted at least 1");
}

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

void OffloadReader::readFiles(FilesConfig &files) {
  const std::string folder = pathOf("nvme_path");
  if (values.has(folder))
    files.folder = values.text(folder);
  files.folder = overrides.folder.value_or(files.folder);
  files.blockBytes = values.integer("aio.block_size");
  files.queueDepth = values.integer("aio.queue_depth");
  files.leastBytes = overrides.leastBytes.value_or(
      values.integer("zero.offload_nvme_min_bytes"));
  if (files.folder.empty())
    reporter.error(overrides.states || overrides.folder ? ""
                   : values.has(folder)                 ? folder
                                                        : pathOf("device"),
                   "states in files need an existing folder for them; give "
                   "nvme_path");
  if (files.leastBytes < 0)
    reporter.error("", "found states of at least " + Twine(files.leastBytes) +
                           " bytes in files, wanted 0 or more");
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
void OffloadReader::readStates() {
  const std::string device =
      overrides.states.value_or(readDevice(kBlock, kOldKey));
  const double ratio = overrides.ratio.value_or(values.number(pathOf("ratio")));
  if (!(ratio >= 0 && ratio <= 1))
    reporter.error(overrides.ratio ? "" : pathOf("ratio"),
                   "found a ratio of " + Twine(std::to_string(ratio)) +
                       ", wanted a number from 0 to 1");
  if (device == "none" || ratio == 0)
    return;
  const bool isPipelined = values.boolean(pathOf("pipeline"));
  OffloadConfig &offload = config.offloadOptimizer.emplace();
  offload.ratio = ratio;
  offload.subGroupSize = overrides.subGroupSize.value_or(
      values.integer("zero_optimization.sub_group_size"));
  offload.pipelineRead = overrides.pipeline.value_or(
      isPipelined || values.boolean(pathOf("pipeline_read")));
  offload.pipelineWrite = overrides.pipeline.value_or(
      isPipelined || values.boolean(pathOf("pipeline_write")));
  verifyStates(overrides.states     ? ""
               : values.has(kBlock) ? pathOf("device")
                                    : kOldKey.str());
  if (device == "nvme")
    readFiles(offload.files.emplace());
}

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

/// Faults between the offload of parameters and other keys.
void OffloadReader::verifyParameters(StringRef path, bool inFiles) {
  const std::optional<OffloadConfig> &offload = config.offloadOptimizer;
  const double ratio = overrides.ratio.value_or(values.number(pathOf("ratio")));
  if (config.stage != 3)
    reporter.error(path, "stage " + Twine(config.stage) +
                             " keeps whole parameters on every rank's device; "
                             "give stage 3, or leave it out");
  else if (offload ? offload->ratio != 1 : ratio == 0)
    reporter.error(overrides.ratio ? "" : pathOf("ratio"),
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
void OffloadReader::readParameterFiles(StringRef path) {
  OffloadConfig &offload = *config.offloadOptimizer;
  if (!offload.files)
    return;
  const std::string folder = (kParameters + ".nvme_path").str();
  // Where the states have no folder, that is the fault.
  if (values.has(folder) && !overrides.folder &&
      !offload.files->folder.empty() &&
      values.text(folder) != offload.files->folder)
    reporter.error(folder, "found \"" + values.text(folder) + "\", wanted \"" +
                               offload.files->folder +
                               "\", the folder of offload_optimizer: a rank "
                               "has one file");
  ParameterFilesConfig &files = offload.parameterFiles.emplace();
  files.inHost = overrides.inHost.value_or(
      values.integer((kParameters + ".max_in_cpu").str()));
  files.bufferSize = overrides.bufferSize.value_or(
      values.integer((kParameters + ".buffer_size").str()));
  if (files.inHost < 0 || files.bufferSize < 0) // A file's is checked by type.
    reporter.error(path, "found " +
                             Twine(std::min(files.inHost, files.bufferSize)) +
                             " elements for parameters in files, wanted 0 or "
                             "more");
}

/// Sharded parameters in host memory or in files.
void OffloadReader::readParameters() {
  const std::string device =
      overrides.parameters.value_or(readDevice(kParameters, kOldParameters));
  const std::string path = overrides.parameters ? ""
                           : values.has(kParameters)
                               ? (kParameters + ".device").str()
                               : kOldParameters.str();
  if (device == "none")
    return;
  verifyParameters(path, device == "nvme");
  if (!config.offloadOptimizer)
    return;
  config.offloadOptimizer->parameters = true;
  const int64_t buffers = overrides.uploadBuffers.value_or(
      values.integer((kParameters + ".buffer_count").str()));
  if (buffers < 1) // A file's is checked by its type.
    reporter.error("", "found " + Twine(buffers) +
                           " buffers for copies of parameters, wanted at "
                           "least 1");
  config.offloadOptimizer->uploadBuffers = buffers;
  if (device == "nvme")
    readParameterFiles(path);
}

void mlir::zero::readOffload(const ConfigValues &values,
                             const OffloadOverrides &overrides,
                             Reporter &reporter, TrainConfig &config) {
  OffloadReader(values, overrides, reporter, config).run();
}
