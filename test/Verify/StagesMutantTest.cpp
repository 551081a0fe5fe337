// The proof of the stages of a pipeline, judged by an interpreter of their
// tables: what it refuses and what it lets pass, of programs and their mutants.
#include "CompilerTesting.h"

#include "Verify/StageMutants.h"
#include "Verify/StagesInterpreter.h"
#include "Verify/StagesTesting.h"

#include "zero/Conversion/Translate.h"
#include "zero/Conversion/VerifyStages.h"

#include "gtest/gtest.h"

#include <iostream>

using namespace mlir;
using namespace mlir::zero;
using namespace zrt::test;

namespace {

struct StagesCase {
  const char *name, *options;
  std::string model;
};

void PrintTo(const StagesCase &stages, std::ostream *out) {
  *out << stages.name;
}

class StagesMutants : public ::testing::TestWithParam<StagesCase>,
                      protected Compiler {
protected:
  void SetUp() override {
    const StagesCase &given = GetParam();
    OwningOpRef<ModuleOp> module =
        parseSourceString<ModuleOp>(given.model, &context);
    ASSERT_TRUE(module);
    ASSERT_TRUE(runPipeline(
        *module, std::string("mesh=pipe=3,data=1 stage=0 ") + given.options))
        << message;
    auto programs = translateStages(*module);
    ASSERT_TRUE(succeeded(programs)) << message;
    stages = *programs;
    wanted = zrt::test::runInTurn(stages);
    ASSERT_EQ(wanted.failure, "");
    ASSERT_GT(wanted.states.size(), 2 * stages.size());
  }

  /// What goes wrong in any of `seeds` runs; "" where nothing does.
  std::string interpret(const std::vector<zrt::Program> &programs,
                        unsigned seeds) {
    for (unsigned seed = 0; seed < seeds; ++seed)
      if (std::string fault = compare(runStages(programs, seed), wanted);
          !fault.empty())
        return fault;
    return "";
  }

  /// What is wrong has to be refused. The proof may be stricter than a run.
  void judge(const StageMutant &mutant) {
    const std::string fault = interpret(mutant.stages, /*seeds=*/9);
    const std::string refusal = zrt::findStageFault(mutant.stages);
    EXPECT_TRUE(fault.empty() || !refusal.empty())
        << mutant.what << " goes wrong and is not refused: " << fault;
    ++(fault.empty() ? refusal.empty() ? harmless : stricter : wrong);
  }

  /// Of what is refused, most goes wrong.
  void expect(size_t leastWrong) {
    EXPECT_GE(wrong, leastWrong);
    EXPECT_LE(3 * stricter, wrong);
    std::cout << wrong << " go wrong, " << stricter << " are refused besides, "
              << harmless << " change nothing\n";
  }

  /// How many mutants do the wrong thing, are refused all the same, or change
  /// nothing.
  size_t wrong = 0, stricter = 0, harmless = 0;
  std::vector<zrt::Program> stages;
  StagesResult wanted;
};

INSTANTIATE_TEST_SUITE_P(
    All, StagesMutants,
    ::testing::Values(
        StagesCase{"1f1b", "accumulation=4", kThreeStages},
        StagesCase{"gpipe", "accumulation=3 pipeline-schedule=gpipe",
                   kThreeStages},
        StagesCase{"tied", "accumulation=3", makeTied(kThreeStages)},
        StagesCase{"interleaved",
                   "accumulation=4 pipeline-schedule=interleaved",
                   makeChain(6)},
        StagesCase{"chunks",
                   "accumulation=5 pipeline-schedule=interleaved "
                   "pipeline-chunks=3",
                   makeChain(9)}),
    [](const auto &info) {
      const std::string name = info.param.name;
      return name == "1f1b" ? "OneForwardOneBackward" : name;
    });

} // namespace

namespace {
class StagesOfModels : public ::testing::Test, protected Compiler {};
} // namespace

/// Of transformers, with ranks that reduce gradients, and a table that is in
/// two stages.
TEST_F(StagesOfModels, AreRunAlike) {
  for (const char *model : {"tiny-gpt.mlir", "tiny-llama.mlir"})
    for (const char *options :
         {"stage=0 accumulation=3", "stage=1 accumulation=4 precision=bf16",
          "stage=0 accumulation=3 checkpoint-activations=1",
          "stage=0 accumulation=4 pipeline-schedule=interleaved"}) {
      SCOPED_TRACE(std::string(model) + ", " + options);
      OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(
          ZERO_MODELS + ("/" + std::string(model)), &context);
      ASSERT_TRUE(module);
      ASSERT_TRUE(
          runPipeline(*module, std::string("mesh=data=2,pipe=2 ") + options))
          << message;
      auto stages = translateStages(*module);
      ASSERT_TRUE(succeeded(stages)) << message;
      const StagesResult wanted = zrt::test::runInTurn(*stages);
      EXPECT_EQ(wanted.failure, "");
      for (unsigned seed : {1u, 2u})
        EXPECT_EQ(compare(runStages(*stages, seed), wanted), "");
    }
}

/// However stages go on beside each other, gradients are those of one
/// micro-batch after the other.
TEST_P(StagesMutants, AreRunAlike) { EXPECT_EQ(interpret(stages, 60), ""); }

TEST_P(StagesMutants, OfTables) {
  forEachOrderMutant(stages, [&](const auto &mutant) { judge(mutant); });
  expect(80);
}

TEST_P(StagesMutants, OfShuffledTables) {
  forEachShuffledMutant(stages, 150,
                        [&](const auto &mutant) { judge(mutant); });
  expect(90);
}

TEST_P(StagesMutants, OfAllStagesAlike) {
  forEachJointMutant(stages, [&](const auto &mutant) { judge(mutant); });
  expect(2);
}

TEST_P(StagesMutants, OfTheStash) {
  forEachStashMutant(stages, [&](const auto &mutant) { judge(mutant); });
  expect(3);
}

/// Another name of a value is refused, and changes nothing that is computed.
TEST_P(StagesMutants, OfTransfers) {
  forEachTransferMutant(stages, [&](const auto &mutant) { judge(mutant); });
  expect(100);
}

/// Messages of one lane come in their order, so that to wait for one is to wait
/// for those before it; not all communicators say so.
TEST_P(StagesMutants, OfWaits) {
  forEachWaitMutant(stages, [&](const auto &mutant) { judge(mutant); });
  expect(20);
}

TEST_P(StagesMutants, OfCollectives) {
  forEachCollectiveMutant(stages, [&](const auto &mutant) { judge(mutant); });
  expect(5);
}
