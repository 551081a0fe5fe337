//===- StagesLockstepTest.cpp - the stages of a pipeline are the model ----===//
//
// Cuts models into stages, beside other axes and in several groups of layers a
// stage, and evaluates all ranks of all stages side by side in f64. Loss,
// outputs and the gradient of every parameter are those of the model that was
// not cut.
//
//===----------------------------------------------------------------------===//

#include "StagedModel.h"

#include "llvm/Support/FileSystem.h"

#include "gtest/gtest.h"

using namespace mlir;
using namespace mlir::zero;
using namespace mlir::zero::test;

namespace {

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

/// Of two stages without the other: the second waits for what the first sends.
TEST(StagesLockstepTest, StagesNeedEachOther) {
  const std::string path = ZERO_CUT_MODELS "/gpt2.mlir";
  for (size_t one : {0, 1}) {
    StagedModel model;
    ASSERT_TRUE(model.read(path));
    AxesAttr mesh = model.makeMesh({{"pipe", 2}, {"data", 1}});
    model.fill(/*samples=*/1);
    ASSERT_TRUE(model.cutStages(path, mesh, /*chunks=*/1));
    ASSERT_EQ(model.stages.size(), 2u);
    model.stages = {model.stages[one]};
    std::string message;
    ScopedDiagnosticHandler handler(&model.context, [&](Diagnostic &found) {
      message = found.str();
      return success();
    });
    EXPECT_TRUE(model.runStages(/*evaluating=*/true).empty());
    EXPECT_NE(message.find(one ? "is sent by no stage"
                               : "' among others, which no stage receives"),
              std::string::npos)
        << message;
  }
}

} // namespace
