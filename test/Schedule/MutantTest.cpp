//===- MutantTest.cpp - the verifier, judged by what schedules do ---------===//
//
// What the verifier accepts runs clean and trains as stage 0 on one rank does;
// what it rejects fails when it runs, or is of a class that is listed with its
// reason.
//
//===----------------------------------------------------------------------===//

#include "CompilerTesting.h"
#include "Mutants.h"
#include "Sanitized.h"
#include "ScheduleInterpreter.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Transforms/Passes.h"

#include "gtest/gtest.h"

#include <cmath>
#include <map>
#include <regex>
#include <tuple>

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

/// Rejected, and yet a run shows nothing: how it was made (empty: in any way),
/// what was said, why it is rejected all the same.
struct Harmless {
  const char *kind, *message, *reason;
};
static constexpr const char *kNoFact =
    "facts change nothing that runs; without one, nothing is proved";
static constexpr const char *kOtherFact =
    "two facts that differ prove nothing, whichever of them is right";
static constexpr Harmless kHarmless[] = {
    {"double", "stored as a gradient more than once",
     "the first micro-batch overwrites, so a second store of one value shows "
     "with the second micro-batch only"},
    {"double", "'zero.grad_stats' op runs a second time",
     "reads all gradients once more"},
    {"double", "'zero.judge' op runs a second time", "computes what is known"},
    {"double", "'zero.grad_stats' op does not add",
     "reads a range once more, and what it found is not used"},
    {"operand", "judges what this rank alone has found",
     "at stage 0 every rank has found the same"},
    {"double", "'zero.carried' op is waited for 0 times",
     "takes what is not in flight any more"},
    {"range", "'zero.refresh' op gathers", "sends what every rank has"},
    {"parameters", "'zero.refresh_resident' op gathers",
     "sends what every rank has"},
    {"range", "what was reduced for another place",
     "'owned' stores what the named members have in the range; beyond them it "
     "may end anywhere"},
    {"move", "before their own gradients are reduced",
     "one stream runs both, in their order, which the proof does not use"},
    {"swap", "before their own gradients are reduced", "as above"},
    {"move", "while this rank's own update of it is on its way",
     "whether it reads too early is up to chance"},
    {"move", "before they are reduced and complete", "as above"},
    {"move", "while an update of it is in flight", "as above"},
    {"swap", "before they are reduced and complete", "as above"},
    {"axes", "is reduced over",
     "what travels in one group must be cut alike, so all partitions have the "
     "mesh's axes"},
    {"", "no 'zero.gradient' says whose gradient it is", kNoFact},
    {"", "is neither reduced nor stored", kNoFact},
    {"", "no 'zero.load' says which parameter it wants", kNoFact},
    {"", "; it is that of @", kOtherFact},
    {"", "that have a gradient already", kOtherFact},
    {"", "'zero.load' op wants @", kOtherFact},
    {"parameters", "is given what is not a copy of its slice", kOtherFact},
    {"parameters", "takes sums of other gradients", kOtherFact},
    {"parameters", "is given what was not read of it", kOtherFact},
    {"parameters", "wanted no 'from'", kOtherFact},
    {"parameters", "copies the slice of", kOtherFact},
    {"quantization", "is planned",
     "what is sent is near what was asked for, and rounding is left out"},
    {"feedback", "is planned", "what is lost is left out, as rounding is"},
    {"feedback", "are planned", "as above"},
    {"feedback", "errors", "as above"},
};

namespace {

struct Settings {
  int64_t stage, ranks, accumulation = 1;
  bool deterministic = false, contiguous = false;
  int64_t persistence = 0, reuse = 0;
  bool overlap = false;
  /// Operations recomputed together; 0: none.
  int64_t recompute = 0;
  /// Whether gradients are larger than a bucket, and cut.
  bool blocks = false;
  /// Groups of so many ranks hold whole states, and `ranks` are in all groups;
  /// 0: no mesh.
  int64_t shards = 0;
  /// Nodes of so many ranks have a secondary partition; 0: there is none.
  int64_t local = 0;
  /// Whether weights travel quantized, in blocks of two.
  bool quantized = false;
  /// Whether what is not trained is stored so.
  bool quantizedFrozen = false;
  /// Whether gradients travel quantized, added up first within nodes of `local`
  /// ranks.
  bool exchanged = false;
  /// Whether what these lose is fed back.
  bool feedback = false;
  /// The part of the optimizer's states that the host keeps; 0: none.
  double offload = 0;
  /// Whether the model is `kLayers`, and activations between recomputed spans
  /// wait on the host.
  bool offloadActivations = false;
  /// Whether the host keeps sharded parameters, with all states.
  bool offloadParameters = false;
  /// Whether states that the device does not keep are in files.
  bool files = false;
  /// Whether parameters are in them, too, but for the first one and small ones.
  bool parameterFiles = false;
};

class MutantTest : public ::testing::Test, protected Compiler {
protected:
  OwningOpRef<ModuleOp> schedule(const Settings &settings);
  static std::vector<Array> data(int64_t width, uint64_t sample);
  RunResult train(ModuleOp module, Completion completion, bool clips);
  /// Why the module does not train as stage 0 does; empty where it does.
  std::string judge(ModuleOp module, int64_t batches);
  /// A schedule that is accepted, and trains as stage 0 does.
  OwningOpRef<ModuleOp> expectTrains(const Settings &settings);
  /// Judges every mutant of the schedule, under a sanitizer a share of them;
  /// returns how many.
  size_t judgeMutants(const Settings &settings);
  void judgeMutant(ModuleOp original, const Mutant &mutant,
                   const Settings &settings);
  /// Judges every mutant of the partitions; returns how many.
  size_t judgePartitions(const Settings &settings);

  Interpreter interpreter;
  /// Of stage 0 on one rank, by features, whether it is `kLayers`,
  /// micro-batches of an update and clipping.
  std::map<std::tuple<int64_t, bool, int64_t, bool>, RunResult> references;
  int64_t width = 3;
  bool hasLayers = false;
  std::map<std::string, size_t> classes;
  size_t accepted = 0, malformed = 0, rejected = 0;
};

} // namespace

OwningOpRef<ModuleOp> MutantTest::schedule(const Settings &settings) {
  width = settings.blocks ? 4 : 3;
  hasLayers = settings.offloadActivations;
  std::string model = hasLayers ? kLayers : kModel;
  if (settings.blocks)
    model = std::regex_replace(model, std::regex("3x"), "4x");
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
  config.layout = settings.contiguous ? Layout::Contiguous : Layout::Bucketed;
  config.parameterPersistenceThreshold = settings.persistence;
  config.maxReuseDistance = settings.reuse;
  config.gathersInFlight = 2;
  if (settings.offload > 0)
    config.offloadOptimizer = OffloadConfig{settings.offload,
                                            6,
                                            settings.overlap,
                                            settings.overlap,
                                            settings.offloadParameters,
                                            std::nullopt,
                                            settings.persistence ? 1 : 3,
                                            std::nullopt};
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

std::vector<Array> MutantTest::data(int64_t width, uint64_t sample) {
  std::vector<Array> arguments;
  for (int argument = 0; argument < 2; ++argument) {
    Array &array = arguments.emplace_back();
    array.shape = {2, width};
    for (int64_t i = 0; i < 2 * width; ++i)
      array.reals.push_back(std::sin(1.7 * (sample * 3 + i) + argument));
  }
  return arguments;
}

RunResult MutantTest::train(ModuleOp module, Completion completion,
                            bool clips) {
  auto samples = [width = width](uint64_t sample) {
    return data(width, sample);
  };
  return ScheduleInterpreter(module, interpreter, samples, {completion, clips})
      .run();
}

static std::string compare(const std::vector<double> &found,
                           const std::vector<double> &wanted, StringRef what) {
  bool isEqual = found.size() == wanted.size();
  for (size_t i = 0; isEqual && i < found.size(); ++i)
    isEqual =
        std::fabs(found[i] - wanted[i]) <= 1e-9 * (1 + std::fabs(wanted[i]));
  return isEqual ? "" : (what + " differs").str();
}

std::string MutantTest::judge(ModuleOp module, int64_t batches) {
  for (auto [completion, clips] :
       {std::pair(Completion::Early, true), std::pair(Completion::Late, true),
        std::pair(Completion::Late, false),
        std::pair(Completion::Random, true)}) {
    auto known = references.find({width, hasLayers, batches, clips});
    if (known == references.end()) {
      Settings stageZero{/*stage=*/0, /*ranks=*/1, batches};
      stageZero.blocks = width == 4;
      stageZero.offloadActivations = hasLayers;
      OwningOpRef<ModuleOp> plain = schedule(stageZero);
      known = references
                  .insert({{width, hasLayers, batches, clips},
                           train(*plain, Completion::Early, clips)})
                  .first;
      EXPECT_EQ(known->second.failure, "");
    }
    RunResult result = train(module, completion, clips);
    if (!result.failure.empty())
      return result.failure;
    std::string difference =
        compare(result.losses, known->second.losses, "the loss");
    for (auto &entry : known->second.parameters)
      if (difference.empty())
        difference = compare(result.parameters[entry.first()], entry.second,
                             entry.first());
    if (!difference.empty())
      return difference;
  }
  return "";
}

void MutantTest::judgeMutant(ModuleOp original, const Mutant &mutant,
                             const Settings &settings) {
  OwningOpRef<ModuleOp> module = original.clone();
  mutant.apply(listOperations(*module)[mutant.operation]);
  message.clear();
  if (failed(verify(*module))) {
    ++malformed;
    return;
  }
  bool isAccepted = verifies(*module);
  std::string why = message;
  std::string failure = judge(*module, settings.accumulation * settings.ranks);
  if (isAccepted) {
    ++accepted;
    EXPECT_EQ(failure, "") << "accepted: " << mutant.text;
    return;
  }
  ++rejected;
  if (!failure.empty())
    return;
  bool isListed = llvm::any_of(kHarmless, [&](const Harmless &known) {
    return (!*known.kind || mutant.kind == known.kind) &&
           why.find(known.message) != std::string::npos;
  });
  ++classes[mutant.kind + ": " + why];
  EXPECT_TRUE(isListed) << "runs clean, and is rejected: " << mutant.text
                        << ": " << why;
}

OwningOpRef<ModuleOp> MutantTest::expectTrains(const Settings &settings) {
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

size_t MutantTest::judgeMutants(const Settings &settings) {
  OwningOpRef<ModuleOp> module = expectTrains(settings);
  std::vector<Mutant> mutants = generateMutants(*module);
  // Prime, so that it picks all kinds of what the generator makes in turn.
  const size_t step = kIsSanitized ? 11 : 1;
  size_t judged = 0;
  for (size_t i = 0; i < mutants.size(); i += step, ++judged)
    judgeMutant(*module, mutants[i], settings);
  return judged;
}

/// A run is laid out by its partitions: one that contradicts them cannot be
/// run, so what is rejected is not.
size_t MutantTest::judgePartitions(const Settings &settings) {
  OwningOpRef<ModuleOp> original = schedule(settings);
  std::vector<Mutant> mutants = generatePartitionMutants(*original);
  for (const Mutant &mutant : mutants) {
    OwningOpRef<ModuleOp> module = original->clone();
    mutant.apply(listPartitions(*module)[mutant.operation]);
    message.clear();
    if (failed(verify(*module))) {
      ++malformed;
    } else if (!verifies(*module)) {
      ++rejected;
    } else {
      ++accepted;
      EXPECT_EQ(judge(*module, settings.accumulation * settings.ranks), "")
          << "accepted: " << mutant.text;
    }
  }
  return mutants.size();
}

TEST_F(MutantTest, CorrectSchedulesTrainAsStageZeroDoes) {
  for (int64_t stage = 0; stage <= 3; ++stage)
    for (int64_t ranks = 1; ranks <= 5; ++ranks)
      for (int64_t accumulation : {1, 3})
        for (int variant = 0; variant < 7; ++variant) {
          bool contiguous = variant == 2 || variant == 5;
          Settings settings{stage,
                            ranks,
                            accumulation,
                            variant == 1 || variant == 6,
                            contiguous,
                            variant == 2 ? 3 : 0,
                            variant == 1 ? 12 : 0,
                            variant != 0,
                            variant == 3 ? 2 : 0,
                            variant >= 4};
          expectTrains(settings);
        }
}

TEST_F(MutantTest, MeshesTrainAsStageZeroDoes) {
  for (int64_t stage = 0; stage <= 3; ++stage)
    for (auto [ranks, shards] :
         {std::pair(4, 2), std::pair(6, 2), std::pair(6, 3), std::pair(3, 1)})
      for (int variant = 0; variant < 4; ++variant) {
        Settings settings{stage, ranks, /*accumulation=*/2};
        settings.deterministic = variant == 1;
        settings.contiguous = variant == 2;
        settings.persistence = variant == 2 ? 3 : 0;
        settings.overlap = variant != 0;
        settings.blocks = variant == 3;
        settings.shards = shards;
        expectTrains(settings);
      }
}

TEST_F(MutantTest, SecondaryPartitionsTrainAsStageZeroDoes) {
  for (auto [ranks, local] :
       {std::pair(4, 2), std::pair(6, 2), std::pair(6, 3), std::pair(3, 1)})
    for (int variant = 0; variant < 5; ++variant) {
      Settings settings{/*stage=*/3, ranks, /*accumulation=*/2};
      settings.persistence = variant == 1 ? 3 : 0;
      settings.reuse = variant == 2 ? 12 : 0;
      settings.overlap = variant > 0;
      settings.blocks = variant == 3;
      settings.local = local;
      settings.offload = settings.offloadParameters = variant == 4;
      OwningOpRef<ModuleOp> module = expectTrains(settings);
      size_t slices = 0;
      module->walk([&](SecondarySliceOp) { ++slices; });
      EXPECT_GT(slices, 0u);
    }
}

/// But for rounding, which the interpreter leaves out.
TEST_F(MutantTest, QuantizedWeightsTrainAsStageZeroDoes) {
  for (int64_t ranks : {2, 3, 4, 6})
    for (int variant = 0; variant < 4; ++variant) {
      Settings settings{/*stage=*/3, ranks, /*accumulation=*/2};
      settings.overlap = variant > 0;
      settings.blocks = variant == 2;
      settings.local = variant == 3 && ranks > 3 ? 2 : 0;
      settings.quantized = variant != 1;
      settings.quantizedFrozen = variant != 0;
      OwningOpRef<ModuleOp> module = expectTrains(settings);
      size_t gathers = 0;
      module->walk([&](AllGatherOp op) {
        gathers += op.getQuantized() != std::nullopt;
      });
      EXPECT_GT(gathers, 0u);
      size_t stored = 0;
      for (PartitionOp partition : module->getOps<PartitionOp>())
        stored += partition.getQuantized() != std::nullopt;
      // A block is two elements, and a slice is padded to four.
      EXPECT_EQ(stored, variant != 0 ? 1u : 0u);
    }
}

TEST_F(MutantTest, QuantizedGradientsTrainAsStageZeroDoes) {
  for (int64_t ranks : {2, 3, 4, 6})
    for (int64_t local : {0, 2, 3})
      for (int variant = 0; variant < 4; ++variant) {
        Settings settings{/*stage=*/3, ranks, /*accumulation=*/2};
        if (local && (ranks % local || ranks == local))
          continue;
        settings.overlap = variant > 0;
        settings.blocks = variant == 2;
        settings.persistence = variant == 3 ? 3 : 0;
        settings.local = local;
        settings.exchanged = true;
        settings.feedback = variant % 2;
        OwningOpRef<ModuleOp> module = expectTrains(settings);
        size_t steps[3] = {};
        module->walk([&](ExchangeGradientsOp op) {
          ++steps[static_cast<int>(op.getStep())];
        });
        EXPECT_EQ(steps[0] > 0, local == 0);
        EXPECT_EQ(steps[1] > 0, local > 0);
        EXPECT_EQ(steps[1], steps[2]);
      }
}

TEST_F(MutantTest, OffloadedUpdatesTrainAsStageZeroDoes) {
  for (int64_t stage = 1; stage <= 3; ++stage)
    for (int64_t ranks : {1, 2, 3, 5})
      for (double part : {0.4, 1.0})
        for (bool overlap : {false, true}) {
          Settings settings{stage, ranks, /*accumulation=*/2};
          settings.overlap = overlap;
          settings.persistence = overlap ? 3 : 0;
          settings.offload = part;
          expectTrains(settings);
        }
}

TEST_F(MutantTest, StatesInFilesTrainAsStageZeroDoes) {
  for (int64_t stage = 1; stage <= 3; ++stage)
    for (int64_t ranks : {1, 2, 3, 5})
      for (int variant = 0; variant < 3; ++variant) {
        Settings settings{stage, ranks, /*accumulation=*/2};
        settings.overlap = variant > 0;
        settings.offload = variant == 1 ? 0.4 : 1.0;
        settings.offloadParameters = stage == 3 && variant == 2;
        settings.files = true;
        OwningOpRef<ModuleOp> module = expectTrains(settings);
        size_t reads = 0;
        module->walk([&](ReadStatesOp) { ++reads; });
        EXPECT_GT(reads, 0u);
      }
}

TEST_F(MutantTest, OffloadedParametersTrainAsStageZeroDoes) {
  for (int64_t ranks : {1, 2, 3, 5})
    for (int64_t persistence : {0, 3})
      for (bool overlap : {false, true}) {
        Settings settings{/*stage=*/3, ranks, /*accumulation=*/2};
        settings.overlap = overlap;
        settings.persistence = persistence;
        settings.offload = 1;
        settings.offloadParameters = true;
        OwningOpRef<ModuleOp> module = expectTrains(settings);
        size_t uploads = 0;
        module->walk([&](UploadOp) { ++uploads; });
        EXPECT_GT(uploads, 0u);
      }
}

TEST_F(MutantTest, OffloadedParametersOfMeshesTrainAsStageZeroDoes) {
  for (auto [ranks, shards] :
       {std::pair(4, 2), std::pair(6, 3), std::pair(3, 1)})
    for (bool overlap : {false, true}) {
      Settings settings{/*stage=*/3, ranks, /*accumulation=*/2};
      settings.overlap = overlap;
      settings.persistence = overlap ? 3 : 0;
      settings.shards = shards;
      settings.offload = 1;
      settings.offloadParameters = true;
      expectTrains(settings);
    }
}

TEST_F(MutantTest, ParametersInFilesTrainAsStageZeroDoes) {
  for (int64_t ranks : {1, 2, 3, 5})
    for (int64_t persistence : {0, 3})
      for (bool overlap : {false, true})
        for (int variant = 0; variant < 3; ++variant) {
          Settings settings{/*stage=*/3, ranks, /*accumulation=*/2};
          settings.overlap = overlap;
          settings.persistence = persistence;
          settings.blocks = variant == 1;
          if (variant == 2 && ranks < 5) {
            settings.ranks = 2 * ranks;
            settings.shards = ranks > 1 ? ranks : 2;
          }
          settings.offload = 1;
          settings.offloadParameters = settings.files = true;
          settings.parameterFiles = true;
          OwningOpRef<ModuleOp> module = expectTrains(settings);
          size_t reads = 0;
          module->walk([&](ReadParametersOp) { ++reads; });
          EXPECT_GT(reads, 0u);
        }
}

TEST_F(MutantTest, OffloadedActivationsTrainAsStageZeroDoes) {
  for (int64_t stage = 0; stage <= 3; ++stage)
    for (int64_t ranks : {1, 2, 3, 5})
      for (bool overlap : {false, true}) {
        Settings settings{stage, ranks, /*accumulation=*/2};
        settings.overlap = overlap;
        settings.recompute = 1;
        settings.offloadActivations = true;
        OwningOpRef<ModuleOp> module = expectTrains(settings);
        size_t fetches = 0;
        module->walk([&](FetchOp) { ++fetches; });
        EXPECT_GT(fetches, 0u);
      }
}

class StageMutants : public MutantTest,
                     public ::testing::WithParamInterface<int64_t> {};

TEST_P(StageMutants, AreJudgedAsTheyRun) {
  int64_t stage = GetParam();
  size_t mutants = judgeMutants({stage, 2});
  mutants += judgeMutants({stage, 2, 2});
  mutants +=
      judgeMutants({stage, 3, 2, /*deterministic=*/true, /*contiguous=*/true,
                    /*persistence=*/3, /*reuse=*/12});
  mutants += judgeMutants({stage, 2, 2, false, false, 0, 0, /*overlap=*/true});
  mutants += judgeMutants({stage, 2, 2, false, false, 0, 0, false,
                           /*recompute=*/3});
  Settings activations{stage, /*ranks=*/2, /*accumulation=*/2};
  activations.recompute = 1;
  activations.offloadActivations = true;
  mutants += judgeMutants(activations);
  Settings mesh{stage, /*ranks=*/4, /*accumulation=*/2};
  mesh.shards = 2;
  mutants += judgeMutants(mesh);
  mesh.overlap = true;
  mutants += judgeMutants(mesh);
  Settings nodes{stage, /*ranks=*/4, /*accumulation=*/2};
  nodes.local = 2;
  if (stage == 3)
    mutants += judgeMutants(nodes);
  nodes.overlap = true;
  if (stage == 3)
    mutants += judgeMutants(nodes);
  Settings packed{stage, /*ranks=*/2, /*accumulation=*/2};
  packed.overlap = packed.quantized = true;
  if (stage == 3)
    mutants += judgeMutants(packed);
  packed.quantizedFrozen = true;
  if (stage == 3)
    mutants += judgeMutants(packed);
  packed.exchanged = true;
  if (stage == 3)
    mutants += judgeMutants(packed);
  Settings inNodes{stage, /*ranks=*/4, /*accumulation=*/2};
  inNodes.local = 2;
  inNodes.overlap = inNodes.exchanged = true;
  if (stage == 3)
    mutants += judgeMutants(inNodes);
  inNodes.feedback = true;
  if (stage == 3)
    mutants += judgeMutants(inNodes);
  Settings offload{stage, /*ranks=*/2, /*accumulation=*/2};
  offload.offload = 0.4;
  offload.overlap = true;
  if (stage >= 1)
    mutants += judgeMutants(offload);
  offload.files = true;
  offload.offload = 1;
  if (stage >= 1)
    mutants += judgeMutants(offload);
  offload.files = false;
  offload.persistence = 3;
  offload.offloadParameters = true;
  if (stage == 3)
    mutants += judgeMutants(offload);
  offload.files = offload.parameterFiles = true;
  if (stage == 3)
    mutants += judgeMutants(offload);
  offload.persistence = 0;
  if (stage == 3)
    mutants += judgeMutants(offload);
  offload.quantizedFrozen = true;
  if (stage == 3)
    mutants += judgeMutants(offload);
  if (stage >= 1)
    mutants += judgeMutants({stage, 2, 2, /*deterministic=*/stage == 1, false,
                             0, 0, /*overlap=*/true, 0, /*blocks=*/true});
  if (stage >= 2) {
    mutants += judgeMutants({stage, 3, 1, false, true, 0, 0, false, 0, true});
  }
  EXPECT_GE(mutants, kIsSanitized ? 90u : 1000u);
  RecordProperty("mutants", static_cast<int>(mutants));
  llvm::outs() << "stage " << stage << ": " << mutants << " mutants, "
               << malformed << " malformed, " << rejected << " rejected, "
               << accepted << " accepted\n";
  for (auto &[name, count] : classes)
    llvm::outs() << "  harmless but rejected: " << count << " x " << name
                 << "\n";
}

TEST_P(StageMutants, OfPartitionsAreJudgedAsTheyRun) {
  int64_t stage = GetParam();
  size_t mutants = judgePartitions({stage, 2});
  mutants += judgePartitions({stage, 3, 2});
  mutants += judgePartitions({stage, 2, 2, /*deterministic=*/true,
                              /*contiguous=*/true, /*persistence=*/3,
                              /*reuse=*/12, /*overlap=*/true});
  Settings packed{stage, 2};
  packed.quantizedFrozen = true;
  if (stage == 3)
    mutants += judgePartitions(packed);
  EXPECT_GE(mutants, 100u);
  llvm::outs() << "stage " << stage << ": " << mutants << " mutants, "
               << malformed << " malformed, " << rejected << " rejected, "
               << accepted << " accepted\n";
}

INSTANTIATE_TEST_SUITE_P(Stages, StageMutants, ::testing::Values(0, 1, 2, 3));
