//===- CutModel.h - a model, and what ranks have of it ----------*- C++ -*-===//
//
// Reads a model and cuts copies of it over meshes; evaluates both in f64, all
// ranks side by side.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_TEST_INTERPRETER_CUTMODEL_H
#define ZERO_TEST_INTERPRETER_CUTMODEL_H

#include "zero/Analysis/Mesh.h"
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

#include "gtest/gtest.h"

#include <cmath>
#include <random>

namespace mlir::zero::test {

constexpr double kNear = 1e-10;

using Arrays = std::vector<Array>;

/// The largest difference to `wanted`, as a part of its largest element, or of
/// 1 where that is less.
inline double distance(const Array &found, const Array &wanted) {
  if (found.shape != wanted.shape)
    return INFINITY;
  double largest = 1, difference = 0;
  for (size_t i = 0; i < wanted.reals.size(); ++i) {
    if (std::isnan(found.reals[i]) != std::isnan(wanted.reals[i]))
      return INFINITY;
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
  /// Gives ranks of `tensor` some of the rows between what is cut.
  bool cutsRows = false;

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
    passes.addPass(createShardModel({cutsRows}));
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
    if (addsUp)
      addUp(*local, mesh, results);
    return results;
  }

  /// Ranks that compute parts of one model have one sample.
  int64_t sampleOf(int64_t rank) {
    AxesAttr batch = mesh.getBatchAxes();
    return batch ? mesh.getIndexIn(batch, rank) : 0;
  }

  /// What `rank` should have of a parameter, or of its gradient.
  Array partOf(const Array &whole, StringRef name, int64_t rank) {
    return partIn(local->lookupSymbol<ParameterOp>(name), mesh, whole, rank);
  }

  static Array partIn(ParameterOp parameter, AxesAttr axes, const Array &whole,
                      int64_t rank) {
    Array part = pad(whole, parameter);
    for (CutAttr cut : parameter.getCutList())
      part = takePart(part, cut, axes.getIndexIn(cut.getOver(), rank));
    return part;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> whole, local;
  AxesAttr mesh;
  /// Whether gradients are summed as ZeRO sums them, over `sequence` and
  /// `expert`.
  bool addsUp = true;

protected:
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
  void addUp(ModuleOp module, AxesAttr axes, std::vector<Results> &ranks) {
    for (AxesAttr axis : listModelAxes(module))
      if (cutsPositions(axis) || cutsExperts(axis))
        addUpOver(module, axes, axis, ranks);
  }

  void addUpOver(ModuleOp module, AxesAttr axes, AxesAttr axis,
                 std::vector<Results> &ranks) {
    const std::vector<Results> terms = ranks;
    for (auto [rank, result] : llvm::enumerate(ranks))
      for (int64_t other : Lockstep(interpreter, axes)
                               .membersOf(axis, static_cast<int64_t>(rank)))
        if (other != static_cast<int64_t>(rank))
          add(result.gradients, terms[other].gradients, [&](StringRef name) {
            return !module.lookupSymbol<ParameterOp>(name).getCutOver(axis);
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

  bool differentiate(Operation *module, int64_t chunkBytes) {
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

/// The largest distance of what ranks give in a micro-batch.
inline double findDistance(Model &model, bool evaluating = false) {
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

/// Whether what the ranks compute in `model.local` is accepted as parts of a
/// model.
inline bool isAccepted(Model &model) {
  ModuleOp module = *model.local;
  return succeeded(mlir::verify(module)) &&
         succeeded(verify::verifyValues(module, Model::stepOf(module)));
}

/// Expects values and gradients of a rank that are near those of the whole
/// model, of which `part` takes what the rank should have of a gradient.
inline void
expectNear(Results &found, const Results &wanted, int64_t rank,
           llvm::function_ref<Array(const Array &, StringRef)> part) {
  ASSERT_EQ(found.values.size(), wanted.values.size());
  for (auto [value, other] : llvm::zip_equal(found.values, wanted.values))
    EXPECT_LE(distance(value, other), kNear) << "a value of rank " << rank;
  EXPECT_EQ(found.gradients.size(), wanted.gradients.size());
  for (const auto &entry : wanted.gradients)
    EXPECT_LE(distance(found.gradients[entry.first()],
                       part(entry.second, entry.first())),
              kNear)
        << "the gradient of " << entry.first().str() << " on rank " << rank;
}

/// Expects of each rank of a cut model what it should have of the whole one.
inline void compareRanks(Model &model, bool evaluating) {
  std::vector<Results> ranks = model.runRanks(evaluating);
  ASSERT_EQ(ranks.size(), size_t(model.mesh.getSize()));
  for (auto [rank, found] : llvm::enumerate(ranks)) {
    auto index = static_cast<int64_t>(rank);
    std::optional<Results> wanted = model.runWholeOf(index, evaluating);
    ASSERT_TRUE(wanted);
    expectNear(found, *wanted, index, [&](const Array &whole, StringRef name) {
      return model.partOf(whole, name, index);
    });
  }
}

} // namespace mlir::zero::test

#endif // ZERO_TEST_INTERPRETER_CUTMODEL_H
