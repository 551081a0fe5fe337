//===- MeshLockstepTest.cpp - models that drop, on all meshes -------------===//
//
// Cuts models with dropout, outputs and labels that do not count over each mesh
// that cuts models, and evaluates all ranks side by side in f64: losses,
// logits and the gradient of each parameter are those of the whole model. A
// mesh that a model has no sizes for is an error or a remark with the sizes.
//
//===----------------------------------------------------------------------===//

#include "CutModel.h"

#include "gtest/gtest.h"

using namespace mlir;
using namespace mlir::zero;
using namespace mlir::zero::test;

namespace {

using Axes = std::vector<std::pair<StringRef, int64_t>>;

const StringRef kModels[] = {"gpt2", "llama", "phi3",   "neox",
                             "bert", "olmo2", "mixtral"};

std::string pathOf(StringRef name) {
  return (ZERO_CUT_MODELS "/Dropout/" + name + ".mlir").str();
}

/// A model some of whose labels do not count, in each sample, and not as many
/// in each part of the positions.
class DroppingModel : public Model {
public:
  void fillWithGaps(int64_t samples) {
    fill(samples);
    for (Arrays &given : inputs) {
      std::vector<int64_t> &labels = given.back().integers;
      if (given.back().shape.size() > 1)
        for (size_t i = 0; i < labels.size(); i += i % 16 < 8 ? 2 : 5)
          labels[i] = -100;
    }
  }

  /// What is said while the model is cut over `axes`.
  std::string explain(StringRef name, const Axes &axes) {
    std::string said;
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      llvm::raw_string_ostream(said) << diagnostic << '\n';
    });
    wasCut = cutOnly(pathOf(name), makeMesh(axes));
    return said;
  }

  bool wasCut = false;
};

void check(StringRef name, const Axes &axes, bool cutsRows = false) {
  DroppingModel model;
  model.cutsRows = cutsRows;
  ASSERT_TRUE(model.read(pathOf(name)));
  AxesAttr mesh = model.makeMesh(axes);
  SCOPED_TRACE(name.str());
  model.fillWithGaps(/*samples=*/mesh.getBatchAxes().getSize());
  ASSERT_TRUE(model.cut(pathOf(name), mesh));
  EXPECT_EQ(model.count<ScatterValueOp>() > 0,
            cutsRows || llvm::any_of(axes, [](auto axis) {
              return axis.first == "expert";
            }));
  // Training drops, so that a mesh on which nothing is dropped is found.
  std::optional<Results> training = model.runWhole(0, /*evaluating=*/false),
                         evaluated = model.runWhole(0, /*evaluating=*/true);
  ASSERT_TRUE(training && evaluated);
  EXPECT_GT(distance(training->values[0], evaluated->values[0]), 1e-6);
  EXPECT_EQ(evaluated->values.size(), 2u) << "loss and logits";
  compareRanks(model, /*evaluating=*/false);
  compareRanks(model, /*evaluating=*/true);
}

void checkAll(std::initializer_list<Axes> meshes,
              ArrayRef<StringRef> models = kModels) {
  for (const Axes &axes : meshes)
    for (StringRef name : models)
      check(name, axes);
}

TEST(MeshLockstepTest, Tensor) {
  checkAll({{{"data", 2}, {"tensor", 2}},
            {{"data", 1}, {"tensor", 4}},
            {{"data", 3}, {"tensor", 2}},
            {{"replica", 2}, {"shard", 2}, {"tensor", 2}}});
}

/// Of two samples, and of positions where the ranks do not divide these.
TEST(MeshLockstepTest, Rows) {
  for (StringRef name : kModels) {
    check(name, {{"data", 2}, {"tensor", 2}}, /*cutsRows=*/true);
    check(name, {{"data", 1}, {"tensor", 4}}, /*cutsRows=*/true);
  }
  check("mixtral", {{"data", 2}, {"tensor", 2}, {"expert", 2}},
        /*cutsRows=*/true);
}

TEST(MeshLockstepTest, Sequence) {
  checkAll({{{"data", 2}, {"sequence", 2}},
            {{"data", 1}, {"sequence", 4}},
            {{"replica", 2}, {"shard", 2}, {"sequence", 2}}});
}

TEST(MeshLockstepTest, Expert) {
  checkAll({{{"data", 2}, {"expert", 2}},
            {{"data", 1}, {"expert", 4}},
            {{"replica", 2}, {"shard", 2}, {"expert", 2}},
            {{"data", 2}, {"tensor", 2}, {"expert", 2}}},
           {"mixtral"});
}

/// Where heads are too few, what they are made of is cut, and gathered for
/// attention.
TEST(MeshLockstepTest, MoreRanksThanHeads) {
  for (StringRef name : {"gpt2", "bert"})
    check(name, {{"data", 1}, {"tensor", 8}});
  // Each reads a copy of a key head.
  for (StringRef name : {"llama", "olmo2", "mixtral"})
    check(name, {{"data", 1}, {"tensor", 8}});
  check("neox", {{"data", 1}, {"tensor", 3}});
  for (StringRef name : kModels)
    check(name, {{"data", 1}, {"sequence", 8}});
}

/// The error or remark of a model that is cut over one axis beside samples.
std::string explain(StringRef name, StringRef axis, int64_t ranks,
                    bool wanted) {
  DroppingModel model;
  std::string said = model.explain(name, {{"data", 1}, {axis, ranks}});
  EXPECT_EQ(model.wasCut, wanted) << said;
  return said;
}

void expectSaid(const std::string &said, const Twine &wanted) {
  EXPECT_NE(said.find(wanted.str()), std::string::npos)
      << "wanted: " << wanted.str() << "\nfound: " << said;
}

TEST(MeshLockstepTest, HeadsThatRanksDoNotDivide) {
  const std::tuple<StringRef, int64_t, int64_t> cases[] = {
      {"llama", 3, 4}, {"phi3", 3, 4},  {"phi3", 8, 4},    {"neox", 8, 4},
      {"bert", 3, 8},  {"olmo2", 3, 4}, {"mixtral", 3, 4}, {"gpt2", 3, 128}};
  for (auto [name, ranks, units] : cases)
    expectSaid(explain(name, "tensor", ranks, /*wanted=*/false),
               "and " + Twine(ranks) + " ranks do not divide " + Twine(units) +
                   "; give the axis a divisor of it");
}

TEST(MeshLockstepTest, PositionsThatRanksDoNotDivide) {
  for (StringRef name : kModels) {
    expectSaid(explain(name, "sequence", 3, /*wanted=*/false),
               "16 positions in input 0, which 3 ranks");
    const std::string said = explain(name, "sequence", 8, /*wanted=*/true);
    // Of key heads that several share, each rank reads a copy of one.
    if (said.find("'nn.rotary'") == std::string::npos ||
        said.find("'nn.attention'") != std::string::npos)
      expectSaid(said, "every rank computes 'nn.attention' of all positions, "
                       "which it needs");
    // Heads, where something else than attention with dropout has them.
    if (said.find("nn.rotary") != std::string::npos)
      expectSaid(said, "has 4 units that stay together for 8 ranks; give the "
                       "axis a divisor of 4");
  }
}

TEST(MeshLockstepTest, ExpertsThatRanksDoNotDivide) {
  for (StringRef name : kModels)
    expectSaid(explain(name, "expert", 3, /*wanted=*/false),
               name == "mixtral" ? "rows go to 4 experts, which 3 ranks"
                                 : "the model @train has no experts");
}

} // namespace
