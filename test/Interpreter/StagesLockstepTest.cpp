//===- StagesLockstepTest.cpp - the stages of a pipeline are the model ----===//
//
// Cuts models into stages, beside other axes and in several groups of layers a
// stage, and evaluates all ranks of all stages side by side in f64. Loss,
// outputs and the gradient of every parameter are those of the model that was
// not cut.
//
//===----------------------------------------------------------------------===//

#include "CutModel.h"

#include "llvm/Support/FileSystem.h"

#include "gtest/gtest.h"

using namespace mlir;
using namespace mlir::zero;
using namespace mlir::zero::test;

namespace {

class StagedModel : public Model {
public:
  /// Cuts a copy of the model at `path` over `axes`, of which one is `pipe`.
  bool cutStages(const std::string &path, AxesAttr axes, int64_t chunks) {
    if (!cutOnly(path, axes))
      return false;
    PassManager passes(&context);
    CutPipelineOptions options;
    options.order = chunks > 1 ? "interleaved" : "1f1b";
    options.chunks = chunks;
    passes.addPass(createCutPipeline(options));
    if (failed(passes.run(*local)))
      return false;
    stages = llvm::to_vector(local->getOps<ModuleOp>());
    inner = mesh.without(mesh.getStageAxes());
    return llvm::all_of(stages, [&](ModuleOp stage) {
      return differentiate(stage, /*chunkBytes=*/0);
    });
  }

  /// What each rank of a stage gives, with the gradients of all stages.
  std::vector<Results> runStages(bool evaluating) {
    std::vector<std::vector<InterpreterContext>> contexts(stages.size());
    std::vector<Arrays> arguments;
    std::vector<RankBlock> blocks;
    for (int64_t rank = 0; rank < inner.getSize(); ++rank)
      arguments.push_back(inputs[sampleIn(rank)]);
    for (auto [stage, states] : llvm::zip_equal(stages, contexts)) {
      for (int64_t rank = 0; rank < inner.getSize(); ++rank) {
        states.push_back(contextFor(sampleIn(rank), evaluating));
        for (ParameterOp parameter : stage.getOps<ParameterOp>())
          states.back().parameters[parameter.getSymName()] = partIn(
              parameter, inner, parameters[parameter.getSymName()], rank);
      }
      StepOp step = stepOf(stage);
      blocks.push_back({&bodyOf(step, evaluating),
                        step.getBody().getArguments(), arguments, states});
    }
    auto values = Lockstep(interpreter, inner).runStages(blocks);
    if (failed(values))
      return {};
    std::vector<Results> all(inner.getSize());
    for (auto [stage, states, given] :
         llvm::zip_equal(stages, contexts, *values)) {
      std::vector<Results> ranks;
      for (auto [state, results] : llvm::zip_equal(states, given))
        ranks.push_back({results, state.gradients});
      addUp(stage, inner, ranks);
      for (auto [sum, rank] : llvm::zip_equal(all, ranks))
        join(sum, rank);
    }
    return all;
  }

  int64_t sampleIn(int64_t rank) {
    return inner.getIndexIn(inner.getBatchAxes(), rank);
  }

  /// What the rank at a place of each stage should have of a gradient.
  Array gradientPart(const Array &whole, StringRef name, int64_t rank) {
    for (ModuleOp stage : stages)
      if (auto parameter = stage.lookupSymbol<ParameterOp>(name))
        return partIn(parameter, inner, whole, rank);
    return whole;
  }

  SmallVector<ModuleOp> stages;
  AxesAttr inner;

private:
  /// The last stage has values; of a parameter that several stages have, the
  /// gradient is the sum of theirs.
  static void join(Results &sum, const Results &stage) {
    if (!stage.values.empty())
      sum.values = stage.values;
    for (const auto &entry : stage.gradients) {
      auto [known, isNew] =
          sum.gradients.try_emplace(entry.first(), entry.second);
      if (isNew)
        continue;
      for (auto [to, from] :
           llvm::zip_equal(known->second.reals, entry.second.reals))
        to += from;
    }
  }
};

void compareStages(StagedModel &model, bool evaluating) {
  std::vector<Results> ranks = model.runStages(evaluating);
  ASSERT_EQ(ranks.size(), size_t(model.inner.getSize()));
  for (auto [rank, found] : llvm::enumerate(ranks)) {
    auto index = static_cast<int64_t>(rank);
    auto wanted = model.runWhole(model.sampleIn(index), evaluating);
    ASSERT_TRUE(wanted);
    expectNear(found, *wanted, index, [&](const Array &whole, StringRef name) {
      return model.gradientPart(whole, name, index);
    });
  }
}

void checkStages(const std::string &path,
                 ArrayRef<std::pair<StringRef, int64_t>> axes,
                 int64_t chunks = 1) {
  SCOPED_TRACE(path + ", " + std::to_string(chunks) + " chunks");
  StagedModel model;
  ASSERT_TRUE(model.read(path));
  AxesAttr mesh = model.makeMesh(axes);
  model.fill(/*samples=*/mesh.getBatchAxes().getSize());
  ASSERT_TRUE(model.cutStages(path, mesh, chunks));
  ASSERT_EQ(int64_t(model.stages.size()), mesh.getStageAxes().getSize());
  compareStages(model, /*evaluating=*/false);
  compareStages(model, /*evaluating=*/true);
}

/// Of all models, tied and untied, with dropout and experts.
TEST(StagesLockstepTest, StagesAreTheModel) {
  std::error_code error;
  int64_t models = 0;
  for (llvm::sys::fs::directory_iterator file(ZERO_CUT_MODELS, error), end;
       file != end && !error; file.increment(error)) {
    if (!StringRef(file->path()).ends_with(".mlir"))
      continue;
    ++models;
    checkStages(file->path(), {{"pipe", 2}, {"data", 1}});
    checkStages(file->path(), {{"data", 2}, {"pipe", 2}});
  }
  EXPECT_GE(models, 8);
}

TEST(StagesLockstepTest, StagesHaveSeveralGroupsOfLayers) {
  for (StringRef name : {"gpt2", "gpt2-dropout", "llama", "mixtral"})
    checkStages((ZERO_CUT_MODELS "/" + name + ".mlir").str(),
                {{"pipe", 2}, {"data", 1}}, /*chunks=*/2);
}

TEST(StagesLockstepTest, StagesAreCutOverOtherAxes) {
  for (StringRef name : {"gpt2", "gpt2-dropout", "llama"}) {
    const std::string path = (ZERO_CUT_MODELS "/" + name + ".mlir").str();
    for (int64_t chunks : {1, 2}) {
      checkStages(path, {{"data", 1}, {"tensor", 2}, {"pipe", 2}}, chunks);
      checkStages(path, {{"pipe", 2}, {"data", 1}, {"sequence", 2}}, chunks);
    }
  }
}

} // namespace
