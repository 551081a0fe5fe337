//===- StagedModel.h - a model, and what stages have of it ------*- C++ -*-===//
//
// Cuts copies of a model into stages, beside other axes, and evaluates all
// ranks of all stages side by side.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_TEST_INTERPRETER_STAGEDMODEL_H
#define ZERO_TEST_INTERPRETER_STAGEDMODEL_H

#include "CutModel.h"

namespace mlir::zero::test {

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

/// The largest distance of what ranks give in a micro-batch.
inline double findStageDistance(StagedModel &model, bool evaluating) {
  std::vector<Results> ranks = model.runStages(evaluating);
  double most = ranks.empty() ? INFINITY : 0;
  for (auto [rank, found] : llvm::enumerate(ranks)) {
    auto index = static_cast<int64_t>(rank);
    Results wanted = *model.runWhole(model.sampleIn(index), evaluating);
    for (auto [value, other] : llvm::zip_equal(found.values, wanted.values))
      most = std::max(most, distance(value, other));
    for (const auto &entry : wanted.gradients)
      most = std::max(most, distance(found.gradients[entry.first()],
                                     model.gradientPart(entry.second,
                                                        entry.first(), index)));
  }
  return most;
}

} // namespace mlir::zero::test

#endif // ZERO_TEST_INTERPRETER_STAGEDMODEL_H
