//===- OffloadReader.cpp - What is kept in host memory ----------*- C++ -*-===//
#include "ConfigReader.h"

#include "llvm/ADT/Twine.h"

using namespace mlir::zero;
using llvm::StringRef;
using llvm::Twine;

static constexpr StringRef kBlock = "zero_optimization.offload_optimizer";
static constexpr StringRef kOldKey = "zero_optimization.cpu_offload";

static std::string pathOf(StringRef name) {
  return (kBlock + "." + name).str();
}

/// The tier that the file asks for: "none", "cpu" or "nvme".
static std::string readDevice(const ConfigValues &values, Reporter &reporter) {
  std::string device = values.text(pathOf("device"));
  if (!values.boolean(kOldKey))
    return device;
  if (values.has(kBlock))
    reporter.error(kOldKey, "is the old name of offload_optimizer, which is "
                            "given as well; leave it out");
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

void mlir::zero::readOffload(const ConfigValues &values, Reporter &reporter,
                             TrainConfig &config) {
  const std::string device = readDevice(values, reporter);
  if (device == "nvme")
    reporter.error(pathOf("device"),
                   "optimizer states cannot be kept in files; give \"cpu\"");
  const double ratio = values.number(pathOf("ratio"));
  if (ratio > 1)
    reporter.error(pathOf("ratio"), "found " + Twine(std::to_string(ratio)) +
                                        ", wanted a number from 0 to 1");
  if (device != "cpu" || ratio == 0)
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
}
