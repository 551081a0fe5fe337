//===- CheckpointReader.cpp - What is computed a second time ----*- C++ -*-===//
#include "ConfigReader.h"

using namespace mlir::zero;
using llvm::StringRef;
namespace json = llvm::json;

static constexpr StringRef kBlock = "activation_checkpointing";
static constexpr StringRef kNumber =
    "activation_checkpointing.number_checkpoints";
static constexpr StringRef kOffloadKey =
    "activation_checkpointing.cpu_checkpointing";
static constexpr StringRef kOwn = "zero.checkpoint_activations";
static constexpr StringRef kEveryOption = "checkpoint-activations";
static constexpr StringRef kLayersOption = "checkpoint-layers";
static constexpr StringRef kPolicyOption = "checkpoint-policy";
static constexpr StringRef kOffloadOption = "checkpoint-offload";

/// What the file says, in DeepSpeed's block or in our own.
static void readFile(const ConfigValues &values, Reporter &reporter,
                     CheckpointConfig &checkpoint, TrainConfig &config) {
  if (std::optional<int64_t> number = values.optionalInteger(kNumber))
    checkpoint.number = *number;
  const bool isOffloaded = values.boolean(kOffloadKey);
  checkpoint.offload = isOffloaded;
  if (!values.has(kOwn))
    return;
  if (checkpoint.isEnabled())
    reporter.error(kOwn, "activation_checkpointing.number_checkpoints says how "
                         "many borders to keep as well; leave one of them out");
  checkpoint.every = values.integer((kOwn + ".every").str());
  values.readFields(config, {kOwn});
  const std::string offload = (kOwn + ".offload").str();
  if (values.has(offload) && isOffloaded && !checkpoint.offload)
    reporter.error(offload,
                   "is false, and activation_checkpointing.cpu_checkpointing "
                   "is true; leave one of them out");
  checkpoint.offload |= isOffloaded;
}

/// Options in place of what the file says, in whichever block.
static void applyOptions(const OtherOptions &options,
                         CheckpointConfig &checkpoint) {
  const auto none = options.end();
  if (auto every = options.find(kEveryOption); every != none) {
    checkpoint.every = *every->second.getAsInteger();
    checkpoint.number = 0;
  } else if (options.count(kLayersOption) && !checkpoint.isEnabled()) {
    checkpoint.every = 1;
  }
  if (auto layers = options.find(kLayersOption); layers != none) {
    checkpoint.layers.clear();
    for (const json::Value &layer : *layers->second.getAsArray())
      checkpoint.layers.push_back(*layer.getAsInteger());
  }
  if (auto policy = options.find(kPolicyOption); policy != none)
    checkpoint.policy = *parseRecomputePolicy(*policy->second.getAsString());
  if (auto offload = options.find(kOffloadOption); offload != none)
    checkpoint.offload = *offload->second.getAsBoolean();
}

/// An error where something is said of what is recomputed, and nothing is.
static void verifyEnabled(const ConfigValues &values,
                          const OtherOptions &options, Reporter &reporter,
                          CheckpointConfig &checkpoint) {
  for (StringRef option : {kLayersOption, kPolicyOption, kOffloadOption})
    if (options.count(option) &&
        (option != kOffloadOption || checkpoint.offload))
      return reporter.error(option, "is given, but all activations are kept; "
                                    "give checkpoint-activations, or leave it "
                                    "out");
  const bool isOff = options.count(kEveryOption);
  if (checkpoint.offload && !isOff)
    return reporter.error(kOffloadKey,
                          "is true, but all activations are kept on the "
                          "device; give number_checkpoints, "
                          "zero.checkpoint_activations or the option "
                          "checkpoint-activations");
  checkpoint.offload = false;
  if (values.has(kBlock) && !isOff)
    reporter.remark(kBlock, "gives no number_checkpoints: all activations are "
                            "kept; give it, or zero.checkpoint_activations");
}

void mlir::zero::readCheckpoint(const ConfigValues &values,
                                const OtherOptions &options, Reporter &reporter,
                                TrainConfig &config) {
  CheckpointConfig &checkpoint = config.checkpoint;
  readFile(values, reporter, checkpoint, config);
  applyOptions(options, checkpoint);
  if (!checkpoint.isEnabled())
    verifyEnabled(values, options, reporter, checkpoint);
}
