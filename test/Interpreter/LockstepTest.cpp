//===- LockstepTest.cpp - a cut model is the model ------------------------===//
//
// Cuts models over meshes, differentiates them, and evaluates all ranks side by
// side in f64. Loss, outputs and the gradient of every parameter are those of
// the model that was not cut.
//
//===----------------------------------------------------------------------===//

#include "CutModel.h"
#include "CutMutants.h"
#include "Sanitized.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include "gtest/gtest.h"

using namespace mlir;
using namespace mlir::zero;
using namespace mlir::zero::test;

namespace {

void check(const std::string &path,
           ArrayRef<std::pair<StringRef, int64_t>> axes,
           double capacityFactor = 0) {
  SCOPED_TRACE(path);
  Model model;
  model.capacityFactor = capacityFactor;
  ASSERT_TRUE(model.read(path));
  AxesAttr mesh = model.makeMesh(axes);
  model.fill(/*samples=*/mesh.getBatchAxes().getSize());
  ASSERT_TRUE(model.cut(path, mesh));
  // Over `sequence` all ranks have whole parameters.
  EXPECT_EQ(model.countCut() > 0, llvm::any_of(axes, [](auto axis) {
              return axis.first != "sequence" && axis.first != "data";
            }));
  compareRanks(model, /*evaluating=*/false);
  compareRanks(model, /*evaluating=*/true);
}

/// What has no effect for what operations compute, which no verifier asks: a
/// bias of all keys adds the same to each score of a row, and of a gathered
/// gain an evaluation uses what is sliced again.
constexpr StringRef kWithoutEffect[] = {"attention.self.key", "q_norm",
                                        "k_norm"};

/// Judges all mutants of `cut`, a copy of which `finish` makes ready to run:
/// the verifier rejects exactly those that compute something else, more than
/// `few` of them.
void judgeMutants(Model &model, ModuleOp cut, llvm::function_ref<bool()> finish,
                  int64_t few) {
  AxesAttr other = model.makeMesh({{"data", 2}});
  int64_t rejected = 0;
  for (const CutMutant &mutant : listCutMutants(cut, other)) {
    model.local = cut.clone();
    mutant.change(*model.local);
    bool accepted = isAccepted(model);
    bool isSame = finish() && findDistance(model) <= kNear &&
                  findDistance(model, /*evaluating=*/true) <= kNear;
    rejected += !accepted;
    if (isSame && llvm::any_of(kWithoutEffect, [&](StringRef name) {
          return StringRef(mutant.name).contains(name);
        }))
      continue;
    EXPECT_EQ(accepted, isSame) << mutant.name;
  }
  EXPECT_GT(rejected, few);
}

/// Needless sums that are accepted change nothing.
void judgeSums(Model &model, ModuleOp cut, llvm::function_ref<bool()> finish) {
  int64_t rejected = 0;
  for (const CutMutant &mutant : listNeedlessSums(cut)) {
    model.local = cut.clone();
    mutant.change(*model.local);
    if (!isAccepted(model)) {
      ++rejected;
      continue;
    }
    EXPECT_TRUE(finish() && findDistance(model) <= kNear &&
                findDistance(model, /*evaluating=*/true) <= kNear)
        << mutant.name;
  }
  EXPECT_GT(rejected, 50);
}

/// The verifier rejects exactly the wrong numbers, more than `few` of them.
void judgeNumbers(Model &model, ModuleOp cut, llvm::function_ref<bool()> finish,
                  int64_t few) {
  int64_t rejected = 0;
  for (const CutMutant &mutant : listNumberMutants(cut)) {
    model.local = cut.clone();
    mutant.change(*model.local);
    bool accepted = isAccepted(model);
    bool isSame = finish() && findDistance(model) <= kNear &&
                  findDistance(model, /*evaluating=*/true) <= kNear;
    EXPECT_EQ(accepted, isSame) << mutant.name;
    rejected += !accepted;
  }
  EXPECT_GE(rejected, few);
}

using Judge = llvm::function_ref<void(Model &, ModuleOp cut,
                                      llvm::function_ref<bool()> finish)>;

/// Before and after gradients are made.
void judgeWith(Judge judge, StringRef name,
               ArrayRef<std::pair<StringRef, int64_t>> axes,
               bool cutsRows = false) {
  SCOPED_TRACE(name.str());
  const std::string path = (ZERO_CUT_MODELS "/" + name + ".mlir").str();
  Model model;
  model.cutsRows = cutsRows;
  ASSERT_TRUE(model.read(path));
  AxesAttr mesh = model.makeMesh(axes);
  model.fill(/*samples=*/mesh.getBatchAxes().getSize());
  ASSERT_TRUE(model.cutOnly(path, mesh));
  EXPECT_TRUE(isAccepted(model));
  OwningOpRef<ModuleOp> cut = model.local->clone();
  judge(model, *cut, [&] { return model.finish(); });
  model.local = cut->clone();
  ASSERT_TRUE(model.finish());
  EXPECT_TRUE(isAccepted(model));
  OwningOpRef<ModuleOp> differentiated = model.local->clone();
  judge(model, *differentiated, [] { return true; });
}

void judge(StringRef name, ArrayRef<std::pair<StringRef, int64_t>> axes,
           int64_t few = 10, bool cutsRows = false) {
  judgeWith(
      [=](Model &model, ModuleOp cut, llvm::function_ref<bool()> finish) {
        judgeMutants(model, cut, finish, few);
      },
      name, axes, cutsRows);
}

void judgeAxis(StringRef name, StringRef axis, int64_t size = 2,
               int64_t few = 10) {
  judge(name, {{"data", 2}, {axis, size}}, few);
}

void judgeNumbersOf(StringRef name,
                    ArrayRef<std::pair<StringRef, int64_t>> axes, int64_t few) {
  judgeWith(
      [=](Model &model, ModuleOp cut, llvm::function_ref<bool()> finish) {
        judgeNumbers(model, cut, finish, few);
      },
      name, axes);
}

/// Where ranges begin, segments, and labels that count: of models that have all
/// of them, and with `--all` of all models.
TEST(LockstepTest, TheVerifierAgreesOnNumbers) {
  SmallVector<StringRef> models = {"gpt2-dropout", "phi3"};
  if (shareOfCases() == 1)
    models = {"gpt2-dropout", "weights", "llama",  "olmo2",
              "phi3",         "neox",    "mixtral"};
  for (StringRef name : models) {
    judgeNumbersOf(name, {{"data", 2}, {"tensor", 2}}, /*few=*/3);
    judgeNumbersOf(name, {{"data", 2}, {"sequence", 2}}, /*few=*/3);
  }
  judgeNumbersOf("bert", {{"data", 2}, {"tensor", 2}}, /*few=*/3);
  judgeNumbersOf("mixtral", {{"data", 2}, {"expert", 2}}, /*few=*/3);
  judgeNumbersOf("mixtral", {{"data", 1}, {"tensor", 2}, {"expert", 2}},
                 /*few=*/3);
  judgeNumbersOf("llama", {{"data", 1}, {"tensor", 2}, {"sequence", 2}},
                 /*few=*/3);
}

TEST(LockstepTest, TheVerifierAgreesOnMutants) {
  for (StringRef name : {"gpt2-dropout", "weights", "llama", "olmo2", "bert",
                         "phi3", "neox", "mixtral"})
    judgeAxis(name, "tensor");
}

TEST(LockstepTest, TheVerifierAgreesOnMutantsOfRows) {
  for (StringRef name : {"gpt2-dropout", "llama", "neox"})
    judge(name, {{"data", 2}, {"tensor", 2}}, /*few=*/10, /*cutsRows=*/true);
}

/// Not of BERT: its loss reads one position, so that others may be wrong.
TEST(LockstepTest, TheVerifierAgreesOnMutantsOfPositions) {
  for (StringRef name :
       {"gpt2-dropout", "weights", "llama", "olmo2", "phi3", "neox", "mixtral"})
    judgeAxis(name, "sequence");
}

TEST(LockstepTest, TheVerifierAgreesOnMutantsOfExperts) {
  judgeAxis("mixtral", "expert");
  // Two exchanges; and of one expert a rank fewer of their pieces are halved.
  judgeAxis("places", "expert", /*size=*/2, /*few=*/5);
  judgeAxis("places", "expert", /*size=*/4, /*few=*/2);
}

TEST(LockstepTest, TheVerifierAgreesOnMutantsOfAxesTogether) {
  judge("mixtral", {{"data", 1}, {"tensor", 2}, {"expert", 2}});
  judge("gpt2-dropout", {{"data", 1}, {"tensor", 2}, {"sequence", 2}});
  judge("llama", {{"data", 1}, {"tensor", 2}, {"sequence", 2}});
}

/// Each rank has samples of its own, and some of the experts.
TEST(LockstepTest, RanksHaveSomeOfTheExperts) {
  const std::string path = ZERO_CUT_MODELS "/mixtral.mlir";
  check(path, {{"data", 1}, {"expert", 2}});
  check(path, {{"data", 1}, {"expert", 4}});
  check(path, {{"data", 2}, {"expert", 2}});
  check(path, {{"expert", 2}, {"data", 2}});
}

/// Each axis cuts what the other leaves, whatever their order in the mesh.
TEST(LockstepTest, AxesCutOneModelTogether) {
  const std::string folder = ZERO_CUT_MODELS,
                    mixtral = folder + "/mixtral.mlir";
  check(mixtral, {{"data", 1}, {"tensor", 2}, {"expert", 2}});
  check(mixtral, {{"data", 2}, {"expert", 2}, {"tensor", 2}});
  check(mixtral, {{"expert", 4}, {"data", 1}, {"tensor", 2}});
  for (StringRef name : {"gpt2", "gpt2-dropout", "weights", "llama", "olmo2",
                         "phi3", "neox", "mixtral", "bert"}) {
    const std::string path = folder + "/" + name.str() + ".mlir";
    check(path, {{"data", 1}, {"tensor", 2}, {"sequence", 2}});
    check(path, {{"sequence", 2}, {"data", 2}, {"tensor", 2}});
  }
}

/// Each expert has places for the rows of each rank, which are sent to it: what
/// is dropped of a rank's samples is dropped of them on one rank. So is what a
/// model without places drops that is given some.
TEST(LockstepTest, RowsAreSentToTheirExperts) {
  const std::pair<StringRef, double> cases[] = {{"places", 0},
                                                {"mixtral", 0.625}};
  for (auto [name, capacityFactor] : cases) {
    const std::string path = (ZERO_CUT_MODELS "/" + name + ".mlir").str();
    check(path, {{"data", 1}, {"expert", 2}}, capacityFactor);
    check(path, {{"data", 1}, {"expert", 4}}, capacityFactor);
    check(path, {{"data", 2}, {"expert", 2}}, capacityFactor);
    check(path, {{"expert", 2}, {"data", 2}}, capacityFactor);
  }
}

/// Checks all models, over `axis` beside samples.
void checkAll(StringRef axis) {
  std::error_code error;
  int64_t models = 0;
  for (llvm::sys::fs::directory_iterator file(ZERO_CUT_MODELS, error), end;
       file != end && !error; file.increment(error)) {
    if (!StringRef(file->path()).ends_with(".mlir"))
      continue;
    ++models;
    check(file->path(), {{"data", 1}, {axis, 2}});
    check(file->path(), {{"data", 2}, {axis, 2}});
    check(file->path(), {{axis, 2}, {"data", 2}});
  }
  EXPECT_GE(models, 1);
}

TEST(LockstepTest, ModelsAreTheirParts) { checkAll("tensor"); }

/// With 4 ranks there are more of them than key heads: then all positions are
/// everywhere for attention.
TEST(LockstepTest, SequencesAreTheirPositions) {
  checkAll("sequence");
  for (StringRef name : {"gpt2", "llama"})
    check((ZERO_CUT_MODELS "/" + name + ".mlir").str(),
          {{"data", 1}, {"sequence", 4}});
}

/// A rank that has one position has one index of what is cut, which may be any
/// dimension of one index, and an element of its own. Sums over positions are
/// sums over ranks all the same.
TEST(LockstepTest, RanksHaveOnePosition) {
  for (StringRef name : {"gpt2", "llama"})
    check((ZERO_CUT_MODELS "/" + name + ".mlir").str(),
          {{"data", 1}, {"sequence", 16}});
  for (StringRef name : {"weights", "llama"}) {
    judge(name, {{"data", 1}, {"sequence", 16}}, /*few=*/2);
    judgeWith(judgeSums, name, {{"data", 1}, {"sequence", 16}});
  }
}

/// What attention drops of its weights, nn.dropout drops of a tensor of them.
/// The constant that scales their scores is f32 there.
TEST(LockstepTest, AttentionDropsWhatDropoutDropsOfItsWeights) {
  constexpr double nearF32 = 1e-6;
  Model fused, apart;
  ASSERT_TRUE(fused.read(ZERO_CUT_MODELS "/gpt2-dropout.mlir"));
  ASSERT_TRUE(apart.read(ZERO_CUT_MODELS "/weights.mlir"));
  fused.fill(/*samples=*/2);
  apart.fill(/*samples=*/2);
  for (int64_t sample : {0, 1}) {
    std::optional<Results> found = fused.runWhole(sample, false),
                           wanted = apart.runWhole(sample, false),
                           evaluated = fused.runWhole(sample, true);
    ASSERT_TRUE(found && wanted && evaluated);
    EXPECT_LE(distance(found->values[0], wanted->values[0]), nearF32);
    EXPECT_GT(distance(found->values[0], evaluated->values[0]), 1e2 * nearF32);
    EXPECT_EQ(found->gradients.size(), wanted->gradients.size());
    for (const auto &entry : wanted->gradients)
      EXPECT_LE(distance(found->gradients[entry.first()], entry.second),
                nearF32)
          << "the gradient of " << entry.first().str();
  }
}

/// Attention has the heads of all positions, by exchanges alone.
TEST(LockstepTest, PositionsAreExchangedForHeads) {
  for (StringRef name : {"gpt2", "gpt2-dropout", "llama"}) {
    Model model;
    ASSERT_TRUE(model.cutOnly((ZERO_CUT_MODELS "/" + name + ".mlir").str(),
                              model.makeMesh({{"data", 1}, {"sequence", 2}})));
    // Queries, keys and values, and what comes of them.
    int64_t attentions =
        model.count<nn::AttentionOp>() + model.count<nn::PartialAttentionOp>();
    EXPECT_GT(attentions, 0);
    EXPECT_EQ(model.count<ExchangeValueOp>(), 4 * attentions) << name.str();
    EXPECT_EQ(model.count<GatherValueOp>(), 0) << name.str();
  }
}

/// Of the vocabulary each rank has a range, and padding with it where there is
/// no multiple of the ranks; the logits of a range never become whole.
TEST(LockstepTest, VocabulariesAreTheirRanges) {
  const std::pair<StringRef, int64_t> cases[] = {
      {"llama", 2}, {"gpt2", 2}, {"gpt2", 4}};
  for (auto [name, ranks] : cases) {
    SCOPED_TRACE(name.str());
    const std::string path = (ZERO_CUT_MODELS "/" + name + ".mlir").str();
    Model model;
    ASSERT_TRUE(model.read(path));
    model.fill(/*samples=*/1);
    // With the product in one operation, and apart from it.
    for (int64_t chunkBytes : {0, 1024}) {
      AxesAttr mesh = model.makeMesh({{"data", 1}, {"tensor", ranks}});
      ASSERT_TRUE(model.cut(path, mesh, chunkBytes));
      EXPECT_EQ(model.count<nn::EmbeddingOp>(), name == "gpt2" ? 2 : 0);
      EXPECT_GT(model.count<nn::PartialEmbeddingOp>(), 0);
      EXPECT_EQ(model.count<nn::LinearPartialCrossEntropyGradOp>(),
                chunkBytes ? 1 : 0);
      EXPECT_TRUE(isAccepted(model));
      compareRanks(model, /*evaluating=*/false);
      compareRanks(model, /*evaluating=*/true);
    }
  }
}

/// Documents of one sample do not see one another, on however many ranks they
/// are.
TEST(LockstepTest, SamplesArePacked) {
  const std::string path = ZERO_CUT_MODELS "/packed.mlir";
  check(path, {{"data", 1}, {"sequence", 4}});
  check(path, {{"data", 1}, {"tensor", 2}, {"sequence", 2}});
  judgeAxis("packed", "sequence");
}

/// Losses of logits of which each rank has some classes, or some positions. Not
/// of means of rows over positions: these may come in any order.
TEST(LockstepTest, TheVerifierAgreesOnMutantsOfLosses) {
  for (StringRef name : {"smoothed", "weighted", "probabilities", "z-loss"})
    judgeAxis(name, "tensor");
  judgeAxis("smoothed", "sequence");
}

/// Without any one of the exchanges something is another.
TEST(LockstepTest, AMissingExchangeIsFound) {
  const std::string path = ZERO_CUT_MODELS "/gpt2.mlir";
  Model model;
  ASSERT_TRUE(model.read(path));
  model.fill(/*samples=*/1);
  int64_t exchanges = 0;
  for (int64_t missing = 0; missing <= exchanges; ++missing) {
    ASSERT_TRUE(model.cut(path, model.makeMesh({{"data", 1}, {"tensor", 2}})));
    SmallVector<AllReduceValueOp> found;
    model.local->walk([&](AllReduceValueOp op) {
      if (op->getParentOfType<MicroOp>())
        found.push_back(op);
    });
    exchanges = static_cast<int64_t>(found.size());
    if (missing == exchanges)
      break;
    EXPECT_LE(findDistance(model), kNear);
    found[missing].replaceAllUsesWith(found[missing].getValue());
    EXPECT_GT(findDistance(model), 1e-6) << "without exchange " << missing;
  }
  // Two a layer, forward and backward; one of the embedding, one of the loss,
  // and one of what is projected.
  EXPECT_EQ(exchanges, 7);
}

} // namespace
