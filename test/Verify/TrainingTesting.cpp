//===- TrainingTesting.cpp - schedules that must train as stage 0 does ----===//

#include "TrainingTesting.h"

#include "mlir/Transforms/Passes.h"

#include <cmath>
#include <regex>

using namespace mlir;
using namespace mlir::zero;

/// Two groups, a weight used twice, a frozen one, two of one shape; sizes that
/// need padding. For blocks, with 4 for 3: rows that split over ranks.
static constexpr const char *kModel = R"(
  zero.parameter @a : tensor<3x3xf32> = #zero.ones
  zero.parameter @bias : tensor<3xf32> = #zero.ones group "no_decay"
  zero.parameter @frozen : tensor<3xf32> = #zero.ones frozen
  zero.parameter @c : tensor<3x3xf32> = #zero.ones
  zero.step @train(%x: tensor<2x3xf32> {zero.input = "x"}, %y: tensor<2x3xf32> {zero.input = "y"}) {
    %a = zero.load @a : tensor<3x3xf32>
    %b = zero.load @bias : tensor<3xf32>
    %c = zero.load @c : tensor<3x3xf32>
    %f = zero.load @frozen : tensor<3xf32>
    %h = nn.linear %x, %a bias %b : (tensor<2x3xf32>, tensor<3x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    %g = nn.gelu tanh %h : tensor<2x3xf32>
    %i = nn.linear %g, %c bias %f : (tensor<2x3xf32>, tensor<3x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    %j = nn.linear %i, %a : (tensor<2x3xf32>, tensor<3x3xf32>) -> tensor<2x3xf32>
    %d = arith.subf %j, %y : tensor<2x3xf32>
    %s = arith.mulf %d, %d : tensor<2x3xf32>
    %loss = nn.reduce mean %s dims [0, 1] : (tensor<2x3xf32>) -> tensor<f32>
    zero.yield %loss : tensor<f32>
  }
)";

/// Three layers of one form, whose inputs are what is kept of them.
static constexpr const char *kLayers = R"(
  zero.parameter @a : tensor<3x3xf32> = #zero.ones
  zero.parameter @b : tensor<3x3xf32> = #zero.ones
  zero.parameter @c : tensor<3x3xf32> = #zero.ones
  zero.step @train(%x: tensor<2x3xf32> {zero.input = "x"}, %y: tensor<2x3xf32> {zero.input = "y"}) {
    %a = zero.load @a : tensor<3x3xf32>
    %b = zero.load @b : tensor<3x3xf32>
    %c = zero.load @c : tensor<3x3xf32>
    %i = nn.linear %x, %a : (tensor<2x3xf32>, tensor<3x3xf32>) -> tensor<2x3xf32>
    %d = nn.gelu tanh %i : tensor<2x3xf32>
    %e = nn.linear %d, %b : (tensor<2x3xf32>, tensor<3x3xf32>) -> tensor<2x3xf32>
    %j = arith.addf %i, %e : tensor<2x3xf32>
    %f = nn.gelu tanh %j : tensor<2x3xf32>
    %g = nn.linear %f, %c : (tensor<2x3xf32>, tensor<3x3xf32>) -> tensor<2x3xf32>
    %k = arith.addf %j, %g : tensor<2x3xf32>
    %h = nn.gelu tanh %k : tensor<2x3xf32>
    %l = nn.linear %h, %b : (tensor<2x3xf32>, tensor<3x3xf32>) -> tensor<2x3xf32>
    %m = arith.addf %k, %l : tensor<2x3xf32>
    %n = arith.subf %m, %y : tensor<2x3xf32>
    %s = arith.mulf %n, %n : tensor<2x3xf32>
    %loss = nn.reduce mean %s dims [0, 1] : (tensor<2x3xf32>) -> tensor<f32>
    zero.yield %loss : tensor<f32>
  }
)";

OwningOpRef<ModuleOp> TrainingTest::schedule(const Settings &settings) {
  width = settings.blocks ? 4 : 3;
  hasLayers = settings.offloadActivations;
  isWeighted = settings.weighted;
  std::string model = hasLayers ? kLayers : kModel;
  if (settings.blocks)
    model = std::regex_replace(model, std::regex("3x"), "4x");
  if (settings.weighted)
    model = std::regex_replace(
        model, std::regex("zero.yield %loss"),
        "%q = arith.mulf %y, %y : tensor<2x3xf32>\n"
        "%share = nn.reduce mean %q dims [0, 1] : (tensor<2x3xf32>) -> "
        "tensor<f32>\nzero.yield %loss weight %share");
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(model, &context);
  TrainConfig config;
  config.stage = settings.stage;
  config.ranks = settings.ranks;
  if (settings.shards) {
    config.mesh = {{"replica", settings.ranks / settings.shards},
                   {"shard", settings.shards}};
    config.shardAxes = {"shard"};
  }
  if (settings.local) {
    config.mesh = {{"node", settings.ranks / settings.local},
                   {"local", settings.local}};
    config.shardAxes = {"node", "local"};
    config.secondaryAxes = {"local"};
  }
  config.quantizedWeightBits = settings.quantized ? 8 : 0;
  config.quantizedFrozenBits = settings.quantizedFrozen ? 4 : 0;
  if (settings.exchanged) {
    config.quantizedGradientBits = 4;
    config.gradientAxes = config.secondaryAxes;
    if (settings.feedback)
      config.errorFeedback = FeedbackConfig();
  }
  config.quantizationBlock = 2;
  config.accumulation = settings.accumulation;
  config.deterministic = settings.deterministic;
  config.gradientClipping = 0.01;
  config.reduceBucketSize = 10;
  config.allgatherBucketSize = 12;
  config.alignment = 2;
  config.layout =
      settings.contiguous ? zrt::Layout::Contiguous : zrt::Layout::Bucketed;
  config.parameterPersistenceThreshold = settings.persistence;
  config.maxReuseDistance = settings.reuse;
  config.gathersInFlight = 2;
  if (settings.offload > 0) {
    OffloadConfig &offload = config.offloadOptimizer.emplace();
    offload.ratio = settings.offload;
    offload.subGroupSize = 6;
    offload.pipelineRead = offload.pipelineWrite = settings.overlap;
    offload.parameters = settings.offloadParameters;
    offload.uploadBuffers = settings.persistence ? 1 : 3;
  }
  if (settings.files) {
    config.offloadOptimizer->files.emplace().folder = "/states";
    config.offloadOptimizer->files->leastBytes = 8;
  }
  if (settings.parameterFiles)
    config.offloadOptimizer->parameterFiles.emplace().inHost =
        llvm::divideCeil(3 * width, config.slices());
  PassManager passes(&context);
  passes.addPass(createConfigurePass(config));
  passes.addPass(createDifferentiate());
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  if (settings.recompute) {
    CheckpointActivationsOptions checkpoint;
    checkpoint.every = settings.recompute;
    checkpoint.offload = settings.offloadActivations;
    checkpoint.offloadBytes = 0;
    passes.addPass(createCheckpointActivations(checkpoint));
  }
  if (settings.blocks)
    passes.addPass(createSplitGradients());
  passes.addPass(createPartition());
  passes.addPass(createInsertReductions());
  passes.addPass(createInsertGathers());
  passes.addPass(createInsertUpdates());
  if (settings.overlap) {
    passes.addPass(createPeelLastMicro());
    passes.addPass(createReduceEarly());
    passes.addPass(createOverlapReductions());
    passes.addPass(createSplitStatistics());
    passes.addPass(createOverlapGathers());
  }
  passes.addPass(createOverlapUpdates());
  if (settings.overlap)
    passes.addPass(createPrefetch());
  passes.addPass(createUploadParameters());
  passes.addPass(createFree());
  EXPECT_TRUE(run(passes, *module)) << message;
  return module;
}

static std::vector<Array> data(int64_t width, uint64_t sample) {
  std::vector<Array> arguments;
  for (int argument = 0; argument < 2; ++argument) {
    Array &array = arguments.emplace_back();
    array.shape = {2, width};
    for (int64_t i = 0; i < 2 * width; ++i)
      array.reals.push_back(std::sin(1.7 * (sample * 3 + i) + argument));
  }
  return arguments;
}

RunResult TrainingTest::train(ModuleOp module, Completion completion,
                              bool clips) {
  auto samples = [width = width](uint64_t sample) {
    return data(width, sample);
  };
  return ScheduleInterpreter(module, interpreter, samples, {completion, clips})
      .run();
}

std::string TrainingTest::judge(ModuleOp module, int64_t batches) {
  for (auto [completion, clips] :
       {std::pair(Completion::Early, true), std::pair(Completion::Late, true),
        std::pair(Completion::Late, false),
        std::pair(Completion::Random, true)}) {
    auto known =
        references.find({width, hasLayers, isWeighted, batches, clips});
    if (known == references.end()) {
      Settings stageZero{/*stage=*/0, /*ranks=*/1, batches};
      stageZero.blocks = width == 4;
      stageZero.offloadActivations = hasLayers;
      stageZero.weighted = isWeighted;
      OwningOpRef<ModuleOp> plain = schedule(stageZero);
      known = references
                  .insert({{width, hasLayers, isWeighted, batches, clips},
                           train(*plain, Completion::Early, clips)})
                  .first;
      EXPECT_EQ(known->second.failure, "");
    }
    RunResult result = train(module, completion, clips);
    if (!result.failure.empty())
      return result.failure;
    const std::string difference = differenceOf(result, known->second);
    if (!difference.empty())
      return difference;
  }
  return "";
}

OwningOpRef<ModuleOp> TrainingTest::expectTrains(const Settings &settings) {
  SCOPED_TRACE(
      ("stage " + Twine(settings.stage) + ", " + Twine(settings.ranks) +
       " ranks in groups of " + Twine(settings.shards) +
       (settings.deterministic ? ", deterministic" : "") +
       (settings.contiguous ? ", contiguous" : "") + ", persistence " +
       Twine(settings.persistence) + (settings.overlap ? ", overlapped" : "") +
       (settings.blocks ? ", blocks" : "") + ", offloaded part " +
       Twine(int(settings.offload * 100)) + " %")
          .str());
  OwningOpRef<ModuleOp> module = schedule(settings);
  message.clear();
  EXPECT_TRUE(verifies(*module)) << message;
  EXPECT_EQ(judge(*module, settings.accumulation * settings.ranks), "");
  return module;
}
