//===- WriteConfig.cpp - A configuration as a DeepSpeed file ----*- C++ -*-===//
#include "zero/Config/Config.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace mlir::zero;
using llvm::json::OStream;

static void writeOptimizer(OStream &json, const OptimizerConfig &optimizer) {
  json.attribute("type", findOptimizerRule(optimizer.type)->type);
  json.attributeObject("params", [&] {
    json.attribute("lr", optimizer.learningRate);
    json.attribute("weight_decay", optimizer.weightDecay);
    auto number = [&](llvm::StringRef key) {
      if (optimizer.hasKey(key))
        json.attribute(key, optimizer.getSetting(key));
    };
    auto flag = [&](llvm::StringRef key) {
      if (optimizer.hasKey(key))
        json.attribute(key, optimizer.getSetting(key) != 0);
    };
    number("momentum");
    flag("nesterov");
    if (optimizer.hasKey("betas"))
      json.attributeArray("betas", [&] {
        json.value(optimizer.beta1);
        json.value(optimizer.beta2);
      });
    number("eps");
    flag("bias_correction");
    if (optimizer.type == "adam")
      json.attribute("adam_w_mode", false);
  });
}

static void writeScheduler(OStream &json, const SchedulerConfig &scheduler) {
  json.attribute("type", nameOf(scheduler.type));
  json.attributeObject("params", [&] {
    json.attribute("warmup_num_steps", scheduler.warmupSteps);
    json.attribute("warmup_type", scheduler.logWarmup ? "log" : "linear");
    if (scheduler.type != SchedulerType::WarmupLR)
      json.attribute("total_num_steps", scheduler.totalSteps);
    if (scheduler.type == SchedulerType::WarmupCosineLR) {
      json.attribute("warmup_min_ratio", scheduler.warmupMinRatio);
      json.attribute("cos_min_ratio", scheduler.cosineMinRatio);
      return;
    }
    json.attribute("warmup_min_lr", scheduler.warmupMinLearningRate);
    // An absent rate has a default in one of the two schedules, "auto" in none.
    if (scheduler.warmupMaxLearningRate)
      json.attribute("warmup_max_lr", *scheduler.warmupMaxLearningRate);
    else
      json.attribute("warmup_max_lr", "auto");
  });
}

static void writeHalf(OStream &json, const LossScaleConfig &scale) {
  json.attribute("enabled", true);
  json.attribute("loss_scale", scale.dynamic ? 0.0 : scale.initial);
  if (scale.dynamic)
    json.attribute("initial_scale_power",
                   static_cast<int64_t>(std::log2(scale.initial)));
  json.attribute("min_loss_scale", scale.minimum);
  json.attribute("loss_scale_window", scale.window);
  json.attribute("hysteresis", scale.hysteresis);
  json.attribute("consecutive_hysteresis", scale.consecutiveHysteresis);
}

static void writePrecision(OStream &json, const TrainConfig &config) {
  if (config.precision == Precision::F16)
    json.attributeObject("fp16", [&] { writeHalf(json, config.lossScale); });
  if (config.precision == Precision::BF16)
    json.attributeObject("bf16", [&] { json.attribute("enabled", true); });
  if (config.communicationType)
    json.attribute("communication_data_type",
                   *config.communicationType == Precision::F32   ? "fp32"
                   : *config.communicationType == Precision::F16 ? "fp16"
                                                                 : "bf16");
}

/// Whether something depends on the key, or it was given all the same.
static bool isWorthSaying(llvm::StringRef path, const TrainConfig &config,
                          int64_t TrainConfig::*field) {
  return describeIdleKey(path, config).empty() ||
         config.*field != TrainConfig().*field;
}

static void writeOffload(OStream &json, const OffloadConfig &offload) {
  json.attributeObject("offload_optimizer", [&] {
    json.attribute("device", offload.files ? "nvme" : "cpu");
    if (offload.files)
      json.attribute("nvme_path", offload.files->folder);
    json.attribute("ratio", offload.ratio);
    json.attribute("pipeline_read", offload.pipelineRead);
    json.attribute("pipeline_write", offload.pipelineWrite);
  });
  if (offload.parameters)
    json.attributeObject("offload_param", [&] {
      json.attribute("device", offload.parameterFiles ? "nvme" : "cpu");
      json.attribute("buffer_count", offload.uploadBuffers);
      if (!offload.parameterFiles)
        return;
      json.attribute("max_in_cpu", offload.parameterFiles->inHost);
      json.attribute("buffer_size", offload.parameterFiles->bufferSize);
    });
  json.attribute("sub_group_size", offload.subGroupSize);
}

static void writeZero(OStream &json, const TrainConfig &config) {
  json.attribute("stage", config.stage);
  json.attribute("reduce_bucket_size", config.reduceBucketSize);
  if (isWorthSaying("zero_optimization.allgather_bucket_size", config,
                    &TrainConfig::allgatherBucketSize))
    json.attribute("allgather_bucket_size", config.allgatherBucketSize);
  json.attribute("overlap_comm", config.overlapCommunication);
  json.attribute("ignore_unused_parameters", config.ignoreUnusedParameters);
  if (config.offloadOptimizer)
    writeOffload(json, *config.offloadOptimizer);
  if (config.stage < 3)
    return;
  if (!config.secondaryAxes.empty())
    json.attribute("zero_hpz_partition_size",
                   config.ranksOf(config.secondaryAxes));
  if (config.quantizedWeightBits)
    json.attribute("zero_quantized_weights", true);
  if (config.quantizedFrozenBits)
    json.attribute("zero_quantized_nontrainable_weights", true);
  if (config.quantizedGradientBits)
    json.attribute("zero_quantized_gradients", true);
  if (config.errorFeedback)
    json.attributeObject("zeropp_loco_param", [&] {
      json.attribute("err_beta", config.errorFeedback->beta);
      json.attribute("reset_T", config.errorFeedback->reset);
    });
  json.attribute("stage3_prefetch_bucket_size", config.prefetchBucketSize);
  json.attribute("stage3_max_live_parameters", config.maxLiveParameters);
  json.attribute("stage3_max_reuse_distance", config.maxReuseDistance);
  json.attribute("stage3_param_persistence_threshold",
                 config.parameterPersistenceThreshold);
  json.attribute("stage3_model_persistence_threshold",
                 config.modelPersistenceThreshold);
}

static void writeCheckpoint(OStream &json, const CheckpointConfig &checkpoint) {
  json.attribute("every", checkpoint.every);
  json.attributeArray("layers", [&] {
    for (int64_t layer : checkpoint.layers)
      json.value(layer);
  });
  json.attribute("policy", stringify(checkpoint.policy));
  json.attribute("offload", checkpoint.offload);
}

static void writeMesh(OStream &json, const TrainConfig &config) {
  if (config.mesh.empty())
    return;
  json.attributeObject("mesh", [&] {
    for (const MeshAxisConfig &axis : config.mesh)
      json.attribute(axis.name, axis.size);
  });
  json.attribute("shard_axes", llvm::join(config.shardAxes, ","));
}

static void writeExtension(OStream &json, const TrainConfig &config) {
  json.attribute("deterministic", config.deterministic);
  json.attribute("split_master", config.splitMaster);
  if (!config.stateTiers.empty())
    json.attributeObject("state_tiers", [&] {
      for (const auto &[state, tier] : config.stateTiers)
        json.attribute(state, tier);
    });
  if (config.offloadOptimizer && config.offloadOptimizer->files)
    json.attribute("offload_nvme_min_bytes",
                   config.offloadOptimizer->files->leastBytes);
  writeMesh(json, config);
  if (config.quantizedWeightBits)
    json.attribute("quantized_weights_bits", config.quantizedWeightBits);
  if (config.quantizedFrozenBits)
    json.attribute("quantized_nontrainable_weights_bits",
                   config.quantizedFrozenBits);
  if (config.quantizedGradientBits) {
    json.attribute("quantized_gradients_bits", config.quantizedGradientBits);
    json.attribute("quantized_gradients_within",
                   config.ranksOf(config.gradientAxes));
  }
  if (config.quantizes())
    json.attribute("quantization_block", config.quantizationBlock);
  json.attribute("layout", stringify(config.layout));
  if (config.lossMean)
    json.attribute("loss_mean", stringify(*config.lossMean));
  if (isWorthSaying("zero.alignment", config, &TrainConfig::alignment))
    json.attribute("alignment", config.alignment);
  if (isWorthSaying("zero.gathers_in_flight", config,
                    &TrainConfig::gathersInFlight))
    json.attribute("gathers_in_flight", config.gathersInFlight);
  if (!config.machine.empty())
    json.attribute("machine", config.machine);
  json.attribute("fuse_epilogues", config.fuseEpilogues);
  json.attribute("vocabulary_multiple", config.vocabularyMultiple);
  if (!config.fuseAdditions)
    json.attribute("fuse_additions", false);
  if (config.fuseCrossEntropy)
    json.attribute("fuse_cross_entropy", true);
  if (!config.fuseMoves)
    json.attribute("fuse_moves", false);
  if (config.checkpoint.every > 0)
    json.attributeObject("checkpoint_activations",
                         [&] { writeCheckpoint(json, config.checkpoint); });
  if (config.parameterGroups.empty())
    return;
  json.attributeObject("parameter_groups", [&] {
    for (const ParameterGroupConfig &group : config.parameterGroups)
      json.attributeObject(group.name, [&] {
        if (group.learningRate)
          json.attribute("lr", *group.learningRate);
        if (group.weightDecay)
          json.attribute("weight_decay", *group.weightDecay);
      });
  });
}

void mlir::zero::writeTrainConfig(llvm::raw_ostream &os,
                                  const TrainConfig &config) {
  OStream json(os, /*IndentSize=*/2);
  json.object([&] {
    json.attribute("train_micro_batch_size_per_gpu", config.microBatch);
    json.attribute("gradient_accumulation_steps", config.accumulation);
    json.attribute("gradient_clipping", config.gradientClipping);
    json.attributeObject("optimizer",
                         [&] { writeOptimizer(json, config.optimizer); });
    if (config.scheduler.type != SchedulerType::Constant)
      json.attributeObject("scheduler",
                           [&] { writeScheduler(json, config.scheduler); });
    writePrecision(json, config);
    json.attributeObject("zero_optimization", [&] { writeZero(json, config); });
    if (config.offloadOptimizer && config.offloadOptimizer->files)
      json.attributeObject("aio", [&] {
        json.attribute("block_size",
                       config.offloadOptimizer->files->blockBytes);
        json.attribute("queue_depth",
                       config.offloadOptimizer->files->queueDepth);
      });
    if (config.checkpoint.number > 0)
      json.attributeObject("activation_checkpointing", [&] {
        json.attribute("number_checkpoints", config.checkpoint.number);
        json.attribute("cpu_checkpointing", config.checkpoint.offload);
      });
    json.attributeObject("zero", [&] { writeExtension(json, config); });
  });
  os << "\n";
}
