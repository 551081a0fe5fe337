//===- CutDivisorTest.cpp - gradients of cut models are means -------------===//
//
// Of a model that is cut, the sums over a partition's ranks of what these give
// in f64, divided by what the schedule divides by, are the mean over all
// samples of the whole model's gradients. The verifier accepts that divisor
// and no other.
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

/// What ranks give before ZeRO adds it up.
class UnreducedModel : public Model {
public:
  UnreducedModel() { addsUp = false; }

  /// What all ranks of `over`, axes of another context, give of a gradient.
  Array sumOver(AxesAttr over, ArrayRef<Results> ranks, StringRef name,
                int64_t rank) {
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
    const auto samples = static_cast<int64_t>(inputs.size());
    for (int64_t i = 0; i < samples; ++i)
      addTo(mean, runWhole(i, /*evaluating=*/false)->gradients.lookup(name),
            1.0 / static_cast<double>(samples));
    return mean;
  }

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
  const std::vector<Results> ranks = model.runRanks(/*evaluating=*/false);
  std::vector<Gradient> gradients;
  for (const auto &entry : ranks.front().gradients) {
    StringRef name = entry.first();
    Array mean = model.meanOf(name);
    PartitionOp partition = table.getPartition(StringAttr::get(&context, name));
    Gradient &gradient = gradients.emplace_back();
    for (int64_t rank = 0; rank < model.mesh.getSize(); ++rank) {
      gradient.sums.push_back(
          model.sumOver(partition.getOver(), ranks, name, rank));
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

void CutDivisorTest::judge(StringRef name, const Axes &axes, int64_t stage) {
  const std::string path = (ZERO_CUT_MODELS "/" + name + ".mlir").str();
  SCOPED_TRACE(path + ", stage " + std::to_string(stage));
  UnreducedModel model;
  ASSERT_TRUE(model.read(path));
  AxesAttr mesh = model.makeMesh(axes);
  model.fill(mesh.getBatchAxes().getSize());
  ASSERT_TRUE(model.cut(path, mesh));
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
