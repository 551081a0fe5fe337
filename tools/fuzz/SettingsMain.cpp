// Targets: what a compiler reads beside a model, as text.
#include "Target.h"

#include "zero/Config/Config.h"
#include "zero/Cost/Machine.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace fuzz;
using namespace mlir::zero;

namespace {

//===----------------------------------------------------------------------===//
// Configurations
//===----------------------------------------------------------------------===//

constexpr const char *kConfigs[] = {
    R"({
  "train_micro_batch_size_per_gpu": 2,
  "gradient_accumulation_steps": 3,
  "gradient_clipping": 1.0,
  "bf16": {"enabled": true},
  "optimizer": {
    "type": "AdamW",
    "params": {"lr": 3e-4, "betas": [0.9, 0.95], "eps": 1e-8,
               "weight_decay": 0.1}
  },
  "scheduler": {
    "type": "WarmupDecayLR",
    "params": {"warmup_min_lr": 0, "warmup_max_lr": 3e-4,
               "warmup_num_steps": 10, "total_num_steps": 100}
  },
  "zero_optimization": {
    "stage": 3,
    "reduce_bucket_size": 5e5,
    "stage3_prefetch_bucket_size": 5e4,
    "stage3_param_persistence_threshold": 100,
    "stage3_max_live_parameters": 1e6,
    "stage3_max_reuse_distance": 1e6,
    "overlap_comm": true,
    "contiguous_gradients": true
  }
})",
    R"({
  "train_micro_batch_size_per_gpu": 2,
  "fp16": {"enabled": true, "loss_scale": 0, "initial_scale_power": 12,
           "loss_scale_window": 100, "hysteresis": 2, "min_loss_scale": 1},
  "optimizer": {"type": "SGD", "params": {"lr": 0.1, "momentum": 0.9,
                "nesterov": true}},
  "zero_optimization": {
    "stage": 2,
    "allgather_bucket_size": 200000000,
    "offload_optimizer": {"device": "cpu", "pin_memory": true, "ratio": 0.5},
    "sub_group_size": 1000
  },
  "activation_checkpointing": {"number_checkpoints": 2},
  "zero": {"layout": "contiguous", "alignment": 2, "deterministic": true,
           "mesh": {"replica": 2, "shard": 2}, "shard_axes": "shard",
           "parameter_groups": {"no_decay": {"weight_decay": 0, "lr": 1e-3}},
           "machine": "host", "gathers_in_flight": 2}
})",
    R"({
  "train_micro_batch_size_per_gpu": 2,
  "zero_optimization": {"stage": 3, "zero_hpz_partition_size": 2,
                        "zero_quantized_weights": true,
                        "zero_quantized_nontrainable_weights": true,
                        "mics_shard_size": 4},
  "zero": {"quantized_weights_bits": 4, "quantization_block": 64,
           "quantized_nontrainable_weights_bits": 8}
})",
    R"({
  "zero_optimization": {"stage": 3, "zero_quantized_gradients": true,
                        "zeropp_loco_param": {"err_beta": 0.5, "reset_T": 9}},
  "zero": {"quantized_gradients_bits": 8, "quantized_gradients_within": 2,
           "mesh": {"node": 2, "local": 2}}
})",
    R"({
  // As DeepSpeed reads it.
  'train_batch_size': 12
  optimizer: {
    type: SGD
    params: {'lr': 1e-2, momentum: 0.5,}
  }
  zero_optimization: {stage: 1, /* no more */ reduce_bucket_size: 5e5}
})", "{\"train_batch_size\": 12}", "{}"};

std::vector<std::string> configSeeds() {
  return {std::begin(kConfigs), std::end(kConfigs)};
}

/// The context, as a command line gives it, is a function of the text's size.
ConfigContext contextOf(const std::string &input) {
  ConfigContext context;
  if (input.size() % 4)
    context.ranks = 4;
  if (input.size() % 3 == 1)
    context.modelMicroBatch = 2;
  if (input.size() % 5 == 1)
    context.options = {{"stage", "1"}};
  return context;
}

std::string print(const TrainConfig &config) {
  std::string text;
  llvm::raw_string_ostream os(text);
  writeTrainConfig(os, config);
  return text;
}

/// What is accepted can be written, and means the same when it is read again,
/// which checks every range.
void checkRoundTrip(const TrainConfig &config) {
  ConfigContext context;
  context.ranks = config.ranks;
  llvm::SmallVector<ConfigDiagnostic> diagnostics;
  const std::string written = print(config);
  const auto again = parseTrainConfig(written, context, diagnostics);
  std::string messages;
  llvm::raw_string_ostream os(messages);
  printConfigDiagnostics(os, "written.json", diagnostics);
  require(again.has_value(),
          "what was written is refused: " + messages + "\n" + written);
  require(print(*again) == written,
          "a configuration changes: " + written + "\n" + print(*again));
}

bool runConfig(const std::string &input) {
  llvm::SmallVector<ConfigDiagnostic> diagnostics;
  const auto config = parseTrainConfig(input, contextOf(input), diagnostics);
  bool hasError = false;
  for (const ConfigDiagnostic &diagnostic : diagnostics) {
    hasError |= diagnostic.severity == ConfigSeverity::Error;
    require(!diagnostic.message.empty(), "a message is empty");
    require(diagnostic.key.empty() || !diagnostic.key.front() ||
                diagnostic.key.front() != '.',
            "a key has no name: " + diagnostic.key);
  }
  require(config.has_value() != hasError,
          hasError ? "a configuration with errors is accepted"
                   : "a configuration is refused without a word");
  if (!config)
    return false;
  checkRoundTrip(*config);
  return true;
}

//===----------------------------------------------------------------------===//
// Machines
//===----------------------------------------------------------------------===//

std::string print(const Machine &machine) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::json::OStream json(os, 1);
  writeMachine(json, machine);
  return text;
}

std::vector<std::string> machineSeeds() {
  std::vector<std::string> seeds;
  for (llvm::StringRef name : builtInMachineNames())
    seeds.push_back(print(*detail::findBuiltInMachine(name)));
  Machine measured = *detail::findBuiltInMachine("host");
  MeasuredKernel kernel;
  kernel.key = "nn.linear(2x3,f32)";
  kernel.family = "nn.linear";
  kernel.ranks = 2;
  kernel.flops = 12;
  kernel.bytes = 100;
  kernel.seconds = 1e-6;
  measured.kernels.push_back(kernel);
  MeasuredCollective collective;
  collective.ranks = 2;
  collective.bytes = 4096;
  collective.seconds = 1e-5;
  measured.collectives.push_back(collective);
  seeds.push_back(print(measured));
  return seeds;
}

bool runMachine(const std::string &input) {
  std::string error;
  const auto machine = detail::parseMachine(input, error);
  if (mlir::failed(machine)) {
    require(!error.empty(), "a machine is refused without a word");
    return false;
  }
  for (int64_t ranks : {1, 3, 1 << 20}) {
    const double seconds = machine->roofline(1e9, 1e9, zrt::DataType::F32,
                                             machine->localRanks(ranks));
    require(std::isfinite(seconds) && seconds >= 0,
            "a time is no number: " + std::to_string(seconds));
  }
  const std::string written = print(*machine);
  const auto again = detail::parseMachine(written, error);
  require(mlir::succeeded(again), "what was written is refused: " + error);
  require(print(*again) == written, "a machine changes when it is written");
  return true;
}

} // namespace

const std::vector<Target> &fuzz::targets() {
  static const std::vector<Target> all = {
      {"config", configSeeds, makeText, runConfig},
      {"machine", machineSeeds, makeText, runMachine}};
  return all;
}
