//===- ResolveSearch.cpp - what the options of a search mean --------------===//

#include "ResolveSearch.h"

#include "zero/Search/PlanSearch.h"

using namespace mlir;
using namespace mlir::zero;

using Remarks = std::vector<Diagnostic>;

namespace {

class SearchResolver {
public:
  SearchResolver(ModelFile &model, const SearchOptions &options)
      : model(model), options(options) {}

  FailureOr<ResolvedSearch> run();

private:
  FailureOr<TrainConfig> resolve(const PlanOptions &plan, Remarks &remarks,
                                 std::string *error = nullptr);
  LogicalResult verifyFolder() const;
  void resolveStage(int64_t stage);
  std::vector<int64_t> listStages(bool mayOffload);
  LogicalResult resolveOffload(bool mayOffload);
  void sayCommon();

  ModelFile &model;
  const SearchOptions &options;
  ResolvedSearch resolved;
  /// What was said of each meaning that the search tries.
  std::vector<Remarks> said;
};

} // namespace

/// What `plan` means. Keeps remarks for later, and the first error where that
/// is asked for.
FailureOr<TrainConfig> SearchResolver::resolve(const PlanOptions &plan,
                                               Remarks &remarks,
                                               std::string *error) {
  ScopedDiagnosticHandler keep(
      model.get().getContext(), [&](Diagnostic &diagnostic) {
        if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
          remarks.push_back(std::move(diagnostic));
        else if (!error)
          return failure();
        else if (error->empty())
          *error = diagnostic.str();
        return success();
      });
  return model.resolve(plan);
}

/// An error where the search cannot have states in files of the folder.
LogicalResult SearchResolver::verifyFolder() const {
  if (!options.folder)
    return success();
  if (options.folder->empty())
    return fail("--nvme-path is empty, wanted a folder for files of optimizer "
                "states; give one, or leave it out");
  if (!canChooseOffload(resolved.base, /*stage=*/1))
    return fail("--nvme-path is for states that the search places, and the "
                "configuration says where they are; leave one of them out");
  if (getOpenStages(resolved.base, /*mayOffload=*/true).back() == 0)
    return fail("--nvme-path is for stages of 1 to 3, found stage 0, which "
                "keeps all optimizer states on every rank's device; give "
                "another stage, or leave it out");
  return success();
}

/// A stage that the options cannot have is left out.
void SearchResolver::resolveStage(int64_t stage) {
  PlanOptions plan = options.plan;
  plan.stage = std::to_string(stage);
  std::string error;
  Remarks remarks;
  FailureOr<TrainConfig> config = resolve(plan, remarks, &error);
  if (failed(config)) {
    resolved.refused.push_back({stage, error});
    return;
  }
  config->given = resolved.base.given;
  resolved.stages.push_back(std::move(*config));
  said.push_back(std::move(remarks));
}

/// What the configuration says of states that the search offloads, which is
/// the same at every stage: the size of sub-groups, and of files how they are
/// read.
LogicalResult SearchResolver::resolveOffload(bool mayOffload) {
  const int64_t stage = resolved.stages.back().stage;
  if (!mayOffload || !canChooseOffload(resolved.base, stage))
    return success();
  PlanOptions plan = options.plan;
  plan.stage = std::to_string(stage);
  plan.pipeline += options.folder ? " offload-optimizer=nvme nvme-path='" +
                                        *options.folder + "'"
                                  : " offload-optimizer=cpu";
  FailureOr<TrainConfig> config = resolve(plan, said.emplace_back());
  if (failed(config))
    return failure();
  resolved.offload = *config->offloadOptimizer;
  return success();
}

/// Whether both are about the same: a key that changes nothing does so at one
/// stage or another, for one reason or another.
static bool haveOneSubject(Diagnostic &a, Diagnostic &b) {
  auto subject = [](Diagnostic &remark) {
    std::string text = remark.str();
    return text.substr(0, text.find(" changes nothing "));
  };
  return a.getLocation() == b.getLocation() && subject(a) == subject(b);
}

/// What changes nothing at one stage may count at another one, and what is
/// about files where the search uses some.
void SearchResolver::sayCommon() {
  Remarks last = std::move(said.back());
  said.pop_back();
  for (Diagnostic &remark : last)
    if (llvm::all_of(said, [&](Remarks &others) {
          return llvm::any_of(others, [&](Diagnostic &other) {
            return haveOneSubject(remark, other);
          });
        }))
      model.get().getContext()->getDiagEngine().emit(std::move(remark));
}

/// One rank has nothing to slice; but at stage 3 it may store what is not
/// trained in fewer bits, which only the keys of that stage say.
std::vector<int64_t> SearchResolver::listStages(bool mayOffload) {
  const TrainConfig &base = resolved.base;
  std::vector<int64_t> stages = getOpenStages(base, mayOffload);
  const bool isGiven =
      llvm::is_contained(base.given, std::string("zero_optimization.stage"));
  if (base.ranks > 1 || isGiven || llvm::is_contained(stages, 3))
    return stages;
  PlanOptions plan = options.plan;
  plan.stage = "3";
  std::string error;
  Remarks remarks;
  FailureOr<TrainConfig> config = resolve(plan, remarks, &error);
  if (succeeded(config) && config->quantizedFrozenBits)
    stages.push_back(3);
  return stages;
}

FailureOr<ResolvedSearch> SearchResolver::run() {
  Remarks remarks;
  FailureOr<TrainConfig> base = resolve(options.plan, remarks);
  if (failed(base))
    return failure();
  resolved.base = *base;
  if (failed(verifyFolder()))
    return failure();
  const bool mayOffload = base->hostMemoryBudget > 0 || options.folder;
  const std::vector<int64_t> stages = listStages(mayOffload);
  if (stages.size() == 1) {
    resolved.stages.push_back(*base);
    said.push_back(std::move(remarks));
  } else {
    for (int64_t stage : stages)
      resolveStage(stage);
  }
  if (failed(resolveOffload(mayOffload)))
    return failure();
  sayCommon();
  return std::move(resolved);
}

FailureOr<ResolvedSearch>
mlir::zero::resolveSearch(ModelFile &model, const SearchOptions &options) {
  return SearchResolver(model, options).run();
}
