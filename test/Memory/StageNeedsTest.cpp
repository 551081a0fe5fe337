// What stages of a pipeline are expected to need where a model is cut, beside
// what is planned for them in the end.
#include "CompilerTesting.h"

#include "zero/Conversion/Translate.h"
#include "zero/Plan/PlanSummary.h"

#include "gtest/gtest.h"

#include <regex>

using namespace mlir;
using namespace mlir::zero;

namespace {

class StageNeeds : public ::testing::Test, protected Compiler {
protected:
  StageNeeds()
      : remarks(&context, [this](Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() != DiagnosticSeverity::Remark)
            return failure();
          text += diagnostic.str() + "\n";
          return success();
        }) {}

  /// Plans a model of `stages` stages; the bytes of each by the plan.
  std::vector<int64_t> plan(const std::string &model, int stages,
                            const std::string &options) {
    text.clear();
    OwningOpRef<ModuleOp> module =
        parseSourceFile<ModuleOp>(ZERO_MODELS + ("/" + model), &context);
    EXPECT_TRUE(module) << model;
    std::vector<int64_t> bytes;
    if (!module ||
        !runPipeline(*module, "mesh=data=2,pipe=" + std::to_string(stages) +
                                  " " + options))
      return bytes;
    for (ModuleOp stage : listStages(*module))
      bytes.push_back(summarizePlan(stage).totalBytes());
    return bytes;
  }

  /// "they need about 12 and 13 bytes"
  std::vector<int64_t> readExpected() const {
    std::vector<int64_t> bytes;
    std::smatch found;
    if (!std::regex_search(text, found,
                           std::regex("they need about ([^b]*) bytes")))
      return bytes;
    const std::string list = found[1];
    const std::regex number("[0-9]+");
    for (std::sregex_iterator i(list.begin(), list.end(), number), end;
         i != end; ++i)
      bytes.push_back(std::stoll(i->str()));
    return bytes;
  }

  std::string text;

private:
  ScopedDiagnosticHandler remarks;
};

struct Case {
  const char *model, *options;
  int stages = 2;
  /// How far the estimate may be from the plan, in percent.
  double most = 4;
};

class Estimates : public StageNeeds,
                  public ::testing::WithParamInterface<Case> {};

/// A layer that is recomputed is alive as a whole, and measured in halves,
/// between which it may be cut.
constexpr double kMostOfRecomputed = 10;

} // namespace

TEST_P(Estimates, AreNearThePlan) {
  const auto [model, options, stages, most] = GetParam();
  const std::vector<int64_t> planned = plan(model, stages, options);
  const std::vector<int64_t> expected = readExpected();
  ASSERT_EQ(planned.size(), size_t(stages)) << message;
  ASSERT_EQ(expected.size(), planned.size()) << text;
  for (size_t stage = 0; stage < planned.size(); ++stage) {
    const double error =
        100.0 * double(expected[stage] - planned[stage]) / planned[stage];
    EXPECT_LE(std::abs(error), most)
        << model << ", " << options << ": stage " << stage
        << " is planned with " << planned[stage]
        << " bytes, and was expected to need " << expected[stage];
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, Estimates,
    ::testing::Values(
        Case{"gpt-small.mlir", "stage=0 accumulation=4"},
        Case{"gpt-small.mlir", "stage=1 accumulation=4 precision=bf16"},
        Case{"gpt-small.mlir", "stage=0 accumulation=8", 3},
        Case{"gpt-small.mlir",
             "stage=0 accumulation=4 pipeline-schedule=gpipe"},
        Case{"gpt-small.mlir", "stage=0 accumulation=4 "
                               "pipeline-schedule=interleaved"},
        Case{"gpt-small.mlir",
             "stage=0 accumulation=4 "
             "checkpoint-activations=1",
             2, kMostOfRecomputed},
        Case{"llama-small.mlir", "stage=0 accumulation=4"},
        Case{"llama-small.mlir", "stage=1 accumulation=4 precision=bf16"},
        Case{"llama-small.mlir", "stage=0 accumulation=8", 3},
        Case{"llama-small.mlir", "stage=1 accumulation=4 precision=bf16 "
                                 "pipeline-schedule=interleaved"},
        Case{"llama-small.mlir",
             "stage=0 accumulation=4 "
             "checkpoint-activations=1",
             2, kMostOfRecomputed},
        Case{"llama-small.mlir", "stage=0 accumulation=4 "
                                 "fuse-cross-entropy=true"}));

/// The cut whose stages are equally fast needs more than there is, and the one
/// that is made for this memory fits.
TEST_F(StageNeeds, DecideWhereThereIsLess) {
  for (const char *model : {"gpt-small.mlir", "llama-small.mlir"}) {
    const std::string options = "stage=0 accumulation=8";
    const std::vector<int64_t> fastest = plan(model, 3, options);
    ASSERT_EQ(fastest.size(), 3u) << message;
    const int64_t largest = *std::max_element(fastest.begin(), fastest.end());
    const int64_t budget = largest - 1;
    const std::vector<int64_t> fitting =
        plan(model, 3, options + " memory-budget=" + std::to_string(budget));
    ASSERT_EQ(fitting.size(), 3u) << message;
    EXPECT_LE(*std::max_element(fitting.begin(), fitting.end()), budget);
  }
}

/// Where no cut fits, a remark says by how much, and the plan fails.
TEST_F(StageNeeds, AreSaidWhereNoCutFits) {
  EXPECT_TRUE(
      plan("llama-small.mlir", 2, "stage=0 accumulation=4 memory-budget=1MiB")
          .empty());
  EXPECT_NE(text.find("no cut of the model fits"), std::string::npos) << text;
  EXPECT_NE(message.find("budget"), std::string::npos) << message;
}
