//===- LockstepTest.cpp - a cut model is the model ------------------------===//
//
// Cuts models over meshes, differentiates them, and evaluates all ranks side by
// side in f64. Loss, outputs and the gradient of every parameter are those of
// the model that was not cut.
//
//===----------------------------------------------------------------------===//

#include "CutMutants.h"

#include "zero/Dialect/NN/NN.h"
#include "zero/Dialect/NN/UpstreamModels.h"
#include "zero/Dialect/Zero/Zero.h"
#include "zero/Interpreter/Lockstep.h"
#include "zero/Transforms/Passes.h"
#include "zero/Verify/Verify.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include "gtest/gtest.h"

#include <cmath>
#include <random>

using namespace mlir;
using namespace mlir::zero;

namespace {

using Arrays = std::vector<Array>;

/// The largest difference to `wanted`, as a part of its largest element, or of
/// 1 where that is less.
double distance(const Array &found, const Array &wanted) {
  if (found.shape != wanted.shape)
    return INFINITY;
  double largest = 1, difference = 0;
  for (size_t i = 0; i < wanted.reals.size(); ++i) {
    largest = std::max(largest, std::abs(wanted.reals[i]));
    difference =
        std::max(difference, std::abs(found.reals[i] - wanted.reals[i]));
  }
  return difference / largest;
}

/// What a rank gives: loss and outputs, and gradients by parameter.
struct Results {
  Arrays values;
  llvm::StringMap<Array> gradients;
};

class Model {
public:
  Model() {
    DialectRegistry registry;
    registry.insert<arith::ArithDialect, math::MathDialect, nn::NNDialect,
                    tensor::TensorDialect, ZeroDialect>();
    nn::registerUpstreamKernelModels(registry);
    nn::registerUpstreamFactorModels(registry);
    nn::registerUpstreamPaddingModels(registry);
    nn::registerUpstreamMoveModels(registry);
    registerUpstreamGradientModels(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    quiet = std::make_unique<ScopedDiagnosticHandler>(
        &context, [](Diagnostic &diagnostic) {
          return success(diagnostic.getSeverity() != DiagnosticSeverity::Error);
        });
  }

  bool read(const std::string &path) {
    whole = parse(path);
    return whole && differentiate(*whole, /*chunkBytes=*/0);
  }

  /// Gives experts so many places, by their share of the choices; 0: all.
  double capacityFactor = 0;

  AxesAttr makeMesh(ArrayRef<std::pair<StringRef, int64_t>> axes) {
    SmallVector<StringAttr> names;
    SmallVector<int64_t> sizes;
    for (auto [name, size] : axes) {
      names.push_back(StringAttr::get(&context, name));
      sizes.push_back(size);
    }
    return AxesAttr::get(&context, names, sizes);
  }

  /// Cuts a copy of the model at `path` over `mesh`, and computes its loss in
  /// chunks of so many bytes of logits; 0: in one.
  bool cut(const std::string &path, AxesAttr axes, int64_t chunkBytes = 0) {
    return cutOnly(path, axes) && finish(chunkBytes);
  }

  /// Makes the gradients of what is cut.
  bool finish(int64_t chunkBytes = 0) {
    return differentiate(*local, chunkBytes);
  }

  /// Cuts a copy of the model at `path` over `mesh`.
  bool cutOnly(const std::string &path, AxesAttr axes) {
    mesh = axes;
    local = parse(path);
    OpBuilder builder = OpBuilder::atBlockBegin(local->getBody());
    MeshOp::create(builder, local->getLoc(), "mesh", mesh, AxesAttr(),
                   AxesAttr(), IntegerAttr(), StringAttr());
    Attribute adam = parseAttribute("#zero.adam<>", &context);
    for (StringRef group : {"default", "no_decay"})
      OptimizerOp::create(builder, local->getLoc(), group, adam);
    PassManager passes(&context);
    passes.addPass(createRewriteTensorOps());
    passes.addPass(createPadVocabulary({/*multiple=*/1}));
    passes.addPass(createShardModel());
    return succeeded(passes.run(*local));
  }

  /// How many parameters are cut.
  int64_t countCut() {
    return llvm::count_if(local->getOps<ParameterOp>(), [](ParameterOp p) {
      return p.getCuts().has_value();
    });
  }
  template <typename OpT> int64_t count() {
    int64_t found = 0;
    local->walk([&](OpT) { ++found; });
    return found;
  }

  static StepOp stepOf(ModuleOp module) {
    return *module.getOps<StepOp>().begin();
  }

  /// Values of parameters and of the inputs of one rank of the batch axes.
  void fill(int64_t samples) {
    std::mt19937 numbers(5);
    std::normal_distribution<double> normal(0, 0.3);
    for (ParameterOp parameter : whole->getOps<ParameterOp>()) {
      Array &value = parameters[parameter.getSymName()];
      value = Array::zeros(parameter.getType());
      for (double &real : value.reals)
        real = normal(numbers);
    }
    for (int64_t i = 0; i < samples; ++i) {
      Arrays &given = inputs.emplace_back();
      for (Type type : stepOf(*whole).getArgumentTypes()) {
        Array &array = given.emplace_back(Array::zeros(type));
        for (double &real : array.reals)
          real = normal(numbers);
        // Tokens, of which every table has as many, or the classes of a sample.
        const uint64_t classes = array.shape.size() > 1 ? 96 : 2;
        for (int64_t &integer : array.integers)
          integer = static_cast<int64_t>(numbers() % classes);
      }
    }
  }

  std::optional<Results> runWhole(int64_t sample, bool evaluating) {
    InterpreterContext state = contextFor(sample, evaluating);
    state.parameters = parameters;
    StepOp step = stepOf(*whole);
    auto values =
        interpreter.run(bodyOf(step, evaluating), step.getBody().getArguments(),
                        inputs[sample], state);
    if (failed(values))
      return std::nullopt;
    return Results{*values, std::move(state.gradients)};
  }

  /// What `rank` should give: of its own sample, and gradients of those of all
  /// ranks of an axis `expert`.
  std::optional<Results> runWholeOf(int64_t rank, bool evaluating) {
    std::optional<Results> wanted = runWhole(sampleOf(rank), evaluating);
    AxesAttr experts = axesOf(cutsExperts);
    if (!wanted || !experts)
      return wanted;
    for (int64_t other : membersOf(experts, rank))
      if (other != rank)
        add(wanted->gradients, runWhole(sampleOf(other), evaluating)->gradients,
            [](StringRef) { return true; });
    return wanted;
  }

  std::vector<Results> runRanks(bool evaluating) {
    std::vector<InterpreterContext> states;
    std::vector<Arrays> arguments;
    for (int64_t rank = 0; rank < mesh.getSize(); ++rank) {
      int64_t sample = sampleOf(rank);
      states.push_back(contextFor(sample, evaluating));
      for (ParameterOp parameter : local->getOps<ParameterOp>()) {
        StringRef name = parameter.getSymName();
        states.back().parameters[name] = partOf(parameters[name], name, rank);
      }
      arguments.push_back(inputs[sample]);
    }
    StepOp step = stepOf(*local);
    auto values = Lockstep(interpreter, mesh)
                      .run(bodyOf(step, evaluating),
                           step.getBody().getArguments(), arguments, states);
    std::vector<Results> results;
    if (succeeded(values))
      for (auto [given, state] : llvm::zip_equal(*values, states))
        results.push_back({given, state.gradients});
    addUp(results);
    return results;
  }

  /// Ranks that compute parts of one model have one sample.
  int64_t sampleOf(int64_t rank) {
    AxesAttr batch = mesh.getBatchAxes();
    return batch ? mesh.getIndexIn(batch, rank) : 0;
  }

  /// What `rank` should have of a parameter, or of its gradient.
  Array partOf(const Array &whole, StringRef name, int64_t rank) {
    auto parameter = local->lookupSymbol<ParameterOp>(name);
    Array part = pad(whole, parameter);
    for (CutAttr cut : parameter.getCutList())
      part = takePart(part, cut, mesh.getIndexIn(cut.getOver(), rank));
    return part;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> whole, local;
  AxesAttr mesh;

private:
  OwningOpRef<ModuleOp> parse(const std::string &path) {
    OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(path, &context);
    LimitExpertsOptions limits;
    limits.factor = capacityFactor;
    limits.policy = "probs";
    limits.renormalize = true;
    PassManager passes(&context);
    passes.addPass(createLimitExperts(limits));
    if (module && capacityFactor > 0 && failed(passes.run(*module)))
      return {};
    return module;
  }

  /// Gradients of parameters that the ranks of an axis `sequence` or `expert`
  /// have whole, as ZeRO does.
  void addUp(std::vector<Results> &ranks) {
    for (AxesAttr axis : listModelAxes(*local))
      if (cutsPositions(axis) || cutsExperts(axis))
        addUpOver(axis, ranks);
  }

  void addUpOver(AxesAttr axis, std::vector<Results> &ranks) {
    const std::vector<Results> terms = ranks;
    for (auto [rank, result] : llvm::enumerate(ranks))
      for (int64_t other : membersOf(axis, static_cast<int64_t>(rank)))
        if (other != static_cast<int64_t>(rank))
          add(result.gradients, terms[other].gradients, [&](StringRef name) {
            return !local->lookupSymbol<ParameterOp>(name).getCutOver(axis);
          });
  }

  /// The axis of the mesh that `isIn` takes; null where there is none.
  AxesAttr axesOf(llvm::function_ref<bool(AxesAttr)> isIn) {
    for (AxesAttr axis : listModelAxes(*local))
      if (isIn(axis))
        return axis;
    return {};
  }

  SmallVector<int64_t> membersOf(AxesAttr group, int64_t rank) {
    return Lockstep(interpreter, mesh).membersOf(group, rank);
  }

  static void add(llvm::StringMap<Array> &sums,
                  const llvm::StringMap<Array> &terms,
                  llvm::function_ref<bool(StringRef)> isSummed) {
    for (const auto &entry : terms)
      if (isSummed(entry.first()))
        for (auto [sum, term] :
             llvm::zip_equal(sums[entry.first()].reals, entry.second.reals))
          sum += term;
  }

  /// With the rows of zeros that the local model gives a parameter.
  static Array pad(Array whole, ParameterOp parameter) {
    ArrayRef<int64_t> shape = parameter.getWholeType().getShape();
    whole.shape.assign(shape.begin(), shape.end());
    whole.reals.resize(
        static_cast<size_t>(parameter.getWholeType().getNumElements()));
    return whole;
  }

  bool differentiate(ModuleOp module, int64_t chunkBytes) {
    PassManager passes(&context);
    DifferentiateOptions options;
    options.ignoreUnusedParameters = true;
    passes.addPass(createDifferentiate(options));
    passes.addPass(createCanonicalizerPass());
    passes.addPass(createCSEPass());
    if (chunkBytes)
      passes.addPass(createFuseCrossEntropy({chunkBytes}));
    return succeeded(passes.run(module));
  }

  Block &bodyOf(StepOp step, bool evaluating) {
    return evaluating ? step.getRegionOp<EvaluateOp>().getBody().front()
                      : step.getRegionOp<MicroOp>().getBody().front();
  }

  InterpreterContext contextFor(int64_t sample, bool evaluating) {
    InterpreterContext state;
    state.seed = 3;
    state.firstSample = static_cast<uint64_t>(sample) * 2;
    state.evaluating = evaluating;
    state.lossSeed = 0.5;
    return state;
  }

  std::unique_ptr<ScopedDiagnosticHandler> quiet;
  Interpreter interpreter;
  llvm::StringMap<Array> parameters;
  std::vector<Arrays> inputs;
};

constexpr double kNear = 1e-10;

/// The largest distance of what ranks give in a micro-batch.
double findDistance(Model &model, bool evaluating = false) {
  double most = 0;
  std::vector<Results> ranks = model.runRanks(evaluating);
  if (ranks.empty())
    return INFINITY;
  for (auto [rank, found] : llvm::enumerate(ranks)) {
    auto index = static_cast<int64_t>(rank);
    Results wanted = *model.runWholeOf(index, evaluating);
    most = std::max(most, distance(found.values[0], wanted.values[0]));
    for (const auto &entry : wanted.gradients)
      most = std::max(
          most, distance(found.gradients[entry.first()],
                         model.partOf(entry.second, entry.first(), index)));
  }
  return most;
}

void compare(Model &model, bool evaluating) {
  std::vector<Results> ranks = model.runRanks(evaluating);
  ASSERT_EQ(ranks.size(), size_t(model.mesh.getSize()));
  for (auto [rank, found] : llvm::enumerate(ranks)) {
    auto index = static_cast<int64_t>(rank);
    std::optional<Results> wanted = model.runWholeOf(index, evaluating);
    ASSERT_TRUE(wanted);
    ASSERT_EQ(found.values.size(), wanted->values.size());
    for (auto [value, other] : llvm::zip_equal(found.values, wanted->values))
      EXPECT_LE(distance(value, other), kNear) << "a value of rank " << rank;
    EXPECT_EQ(found.gradients.size(), wanted->gradients.size());
    for (const auto &entry : wanted->gradients)
      EXPECT_LE(distance(found.gradients[entry.first()],
                         model.partOf(entry.second, entry.first(), index)),
                kNear)
          << "the gradient of " << entry.first().str() << " on rank " << rank;
  }
}

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
  compare(model, /*evaluating=*/false);
  compare(model, /*evaluating=*/true);
}

/// Whether what the ranks compute in `model.local` is accepted as parts of a
/// model.
bool isAccepted(Model &model) {
  ModuleOp module = *model.local;
  return succeeded(mlir::verify(module)) &&
         succeeded(zero::verify::verifyValues(module, Model::stepOf(module)));
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

/// Before and after gradients are made.
void judge(StringRef name, ArrayRef<std::pair<StringRef, int64_t>> axes,
           int64_t few = 10) {
  SCOPED_TRACE(name.str());
  const std::string path = (ZERO_CUT_MODELS "/" + name + ".mlir").str();
  Model model;
  ASSERT_TRUE(model.read(path));
  AxesAttr mesh = model.makeMesh(axes);
  model.fill(/*samples=*/mesh.getBatchAxes().getSize());
  ASSERT_TRUE(model.cutOnly(path, mesh));
  EXPECT_TRUE(isAccepted(model));
  OwningOpRef<ModuleOp> cut = model.local->clone();
  judgeMutants(model, *cut, [&] { return model.finish(); }, few);
  model.local = cut->clone();
  ASSERT_TRUE(model.finish());
  EXPECT_TRUE(isAccepted(model));
  OwningOpRef<ModuleOp> differentiated = model.local->clone();
  judgeMutants(model, *differentiated, [] { return true; }, few);
}

void judgeAxis(StringRef name, StringRef axis, int64_t size = 2,
               int64_t few = 10) {
  judge(name, {{"data", 2}, {axis, size}}, few);
}

TEST(LockstepTest, TheVerifierAgreesOnMutants) {
  for (StringRef name : {"gpt2-dropout", "weights", "llama", "olmo2", "bert",
                         "phi3", "neox", "mixtral"})
    judgeAxis(name, "tensor");
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
      compare(model, /*evaluating=*/false);
      compare(model, /*evaluating=*/true);
    }
  }
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
