//===- CutDivisorTest.cpp - gradients of cut models are means -------------===//
//
// Of a model that is cut, the sums over a partition's ranks of what these give
// in f64, divided by what the schedule divides by, are the mean over all
// samples of the whole model's gradients. The verifier accepts that divisor
// and those axes, and no other.
//
//===----------------------------------------------------------------------===//

#include "CompilerTesting.h"
#include "CutModel.h"

#include "zero/Dialect/Zero/PartitionTable.h"

#include "gtest/gtest.h"

using namespace mlir;
using namespace mlir::zero;
using namespace mlir::zero::test;

namespace {

using Axes = std::vector<std::pair<StringRef, int64_t>>;

std::string pathOf(StringRef name) {
  return (ZERO_CUT_MODELS "/" + name + ".mlir").str();
}

/// What ranks give before ZeRO adds it up.
class UnreducedModel : public Model {
public:
  /// Evaluates all ranks, and the whole model on all samples.
  bool run(const std::string &path, const Axes &axes) {
    AxesAttr mesh = makeMesh(axes);
    if (!read(path) || !cut(path, mesh))
      return false;
    addsUp = false;
    fill(mesh.getBatchAxes().getSize());
    ranks = runRanks(/*evaluating=*/false);
    for (size_t i = 0; i < inputs.size(); ++i)
      wholes.push_back(*runWhole(static_cast<int64_t>(i), false));
    return !ranks.empty();
  }

  /// What all ranks of `over`, axes of another context, give of a gradient.
  Array sumOver(AxesAttr over, StringRef name, int64_t rank) {
    Axes axes;
    for (auto [axis, size] : llvm::zip_equal(over.getNames(), over.getSizes()))
      axes.push_back({axis.getValue(), size});
    Array sum = ranks[rank].gradients.lookup(name);
    for (int64_t other : membersOf(makeMesh(axes), rank))
      if (other != rank)
        addTo(sum, ranks[other].gradients.lookup(name), 1);
    return sum;
  }

  /// The mean of a gradient of the whole model over all samples.
  Array meanOf(StringRef name) {
    Array mean = Array::zeros(whole->lookupSymbol<ParameterOp>(name).getType());
    for (const Results &whole : wholes)
      addTo(mean, whole.gradients.lookup(name),
            1.0 / static_cast<double>(wholes.size()));
    return mean;
  }

  std::vector<Results> ranks, wholes;

private:
  static void addTo(Array &sum, const Array &term, double factor) {
    for (auto [to, from] : llvm::zip_equal(sum.reals, term.reals))
      to += factor * from;
  }
};

/// Sums and means of a gradient on each rank.
struct Gradient {
  std::vector<Array> sums, means;
};

class CutDivisorTest : public ::testing::Test, protected Compiler {
protected:
  /// Judges divisors of the model over the mesh at a stage.
  void judge(StringRef name, const Axes &axes, int64_t stage);
  /// Judges the axes over which partitions add up.
  void judgeGroups(StringRef name, const Axes &axes, int64_t stage);

private:
  OwningOpRef<ModuleOp> schedule(const std::string &path, const Axes &axes,
                                 int64_t stage);
  std::vector<Gradient> collect(UnreducedModel &model, ModuleOp scheduled);
};

} // namespace

OwningOpRef<ModuleOp> CutDivisorTest::schedule(const std::string &path,
                                               const Axes &axes,
                                               int64_t stage) {
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(path, &context);
  std::string mesh;
  for (auto [axis, size] : axes)
    mesh += (mesh.empty() ? "" : ",") + axis.str() + "=" + std::to_string(size);
  EXPECT_TRUE(
      runPipeline(*module, "mesh=" + mesh + " stage=" + std::to_string(stage)))
      << message;
  return module;
}

std::vector<Gradient> CutDivisorTest::collect(UnreducedModel &model,
                                              ModuleOp scheduled) {
  const PartitionTable table(scheduled);
  std::vector<Gradient> gradients;
  for (const auto &entry : model.ranks.front().gradients) {
    StringRef name = entry.first();
    Array mean = model.meanOf(name);
    PartitionOp partition = table.getPartition(StringAttr::get(&context, name));
    Gradient &gradient = gradients.emplace_back();
    for (int64_t rank = 0; rank < model.mesh.getSize(); ++rank) {
      gradient.sums.push_back(model.sumOver(partition.getOver(), name, rank));
      gradient.means.push_back(model.partOf(mean, name, rank));
    }
  }
  return gradients;
}

/// Whether all sums are means of so many.
static bool areMeans(ArrayRef<Gradient> gradients, double divisor) {
  for (const Gradient &gradient : gradients)
    for (auto [sum, mean] : llvm::zip_equal(gradient.sums, gradient.means)) {
      Array divided = sum;
      for (double &real : divided.reals)
        real /= divisor;
      if (distance(divided, mean) > kNear)
        return false;
    }
  return !gradients.empty();
}

static double findDivisor(ModuleOp module) {
  double found = 0;
  module.walk([&](JudgeOp op) { found = op.getDivisor().convertToDouble(); });
  return found;
}

void CutDivisorTest::judge(StringRef name, const Axes &axes, int64_t stage) {
  SCOPED_TRACE((name + ", stage " + Twine(stage)).str());
  UnreducedModel model;
  const std::string path = pathOf(name);
  ASSERT_TRUE(model.run(path, axes));
  OwningOpRef<ModuleOp> module = schedule(path, axes, stage);
  const std::vector<Gradient> gradients = collect(model, *module);
  int64_t accepted = 0;
  for (double divisor : {0.5, 1.0, 2.0, 3.0, 4.0, 8.0, 16.0}) {
    module->walk([&](JudgeOp op) {
      op.setDivisorAttr(Builder(&context).getF64FloatAttr(divisor));
    });
    bool isAccepted = verifies(*module);
    accepted += isAccepted;
    EXPECT_EQ(isAccepted, areMeans(gradients, divisor))
        << "divided by " << divisor << ": " << message;
  }
  EXPECT_EQ(accepted, 1);
}

/// All sets of axes of the mesh, in their order.
static std::vector<AxesAttr> listSets(AxesAttr mesh) {
  std::vector<AxesAttr> sets;
  const size_t axes = mesh.getNames().size();
  for (size_t set = 1; set < (size_t(1) << axes); ++set) {
    SmallVector<StringAttr> names;
    SmallVector<int64_t> sizes;
    for (size_t axis = 0; axis < axes; ++axis)
      if (set >> axis & 1) {
        names.push_back(mesh.getNames()[axis]);
        sizes.push_back(mesh.getSizes()[axis]);
      }
    sets.push_back(AxesAttr::get(mesh.getContext(), names, sizes));
  }
  return sets;
}

void CutDivisorTest::judgeGroups(StringRef name, const Axes &axes,
                                 int64_t stage) {
  SCOPED_TRACE((name + ", stage " + Twine(stage)).str());
  UnreducedModel model;
  const std::string path = pathOf(name);
  ASSERT_TRUE(model.run(path, axes));
  OwningOpRef<ModuleOp> module = schedule(path, axes, stage);
  const double divisor = findDivisor(*module);
  int64_t accepted = 0, partitions = 0;
  for (PartitionOp partition : module->getOps<PartitionOp>()) {
    ++partitions;
    AxesAttr before = partition.getOver();
    for (AxesAttr other :
         listSets((*module->getOps<MeshOp>().begin()).getAxes())) {
      partition.setOverAttr(other);
      bool isAccepted = verifies(*module);
      accepted += isAccepted;
      EXPECT_EQ(isAccepted, areMeans(collect(model, *module), divisor))
          << partition.getSymName().str() << " over " << other.getSize()
          << " ranks: " << message;
    }
    partition.setOverAttr(before);
  }
  EXPECT_GT(partitions, 1);
  EXPECT_EQ(accepted, partitions);
}

TEST_F(CutDivisorTest, GradientsAreSumsOverTheRightRanks) {
  judgeGroups("gpt2", {{"data", 2}, {"tensor", 2}}, 2);
  judgeGroups("llama", {{"data", 2}, {"tensor", 2}, {"sequence", 2}}, 1);
  judgeGroups("mixtral", {{"data", 2}, {"tensor", 2}, {"expert", 2}}, 3);
}

TEST_F(CutDivisorTest, GradientsAreMeansOfSamples) {
  for (int64_t stage : {0, 1, 2, 3}) {
    judge("gpt2", {{"data", 2}, {"tensor", 2}}, stage);
    judge("llama", {{"data", 2}, {"sequence", 2}}, stage);
    judge("mixtral", {{"data", 2}, {"expert", 2}}, stage);
  }
}

TEST_F(CutDivisorTest, AxesTogether) {
  judge("gpt2", {{"data", 1}, {"tensor", 4}}, 0);
  judge("llama", {{"replica", 2}, {"shard", 2}, {"tensor", 2}}, 3);
  judge("llama", {{"data", 2}, {"tensor", 2}, {"sequence", 2}}, 2);
  judge("mixtral", {{"data", 2}, {"tensor", 2}, {"expert", 2}}, 2);
  judge("mixtral", {{"data", 1}, {"expert", 4}}, 1);
}
