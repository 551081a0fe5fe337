//===- Remedies.cpp - what to change where no plan fits -------------------===//

#include "Remedies.h"

#include "Table.h"

#include "zero/Plan/PlanSummary.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::zero;

namespace {

/// Plans of one model with a setting changed.
class Remedies {
public:
  Remedies(ModelFile &model, const SearchOptions &options,
           const PlannedPoint &smallest, const MemoryBudgets &budgets,
           const Machine &machine)
      : model(model), options(options), smallest(smallest), budgets(budgets),
        machine(machine) {}

  void printHeld();
  void tryMoreRanks();
  void tryOffload();
  void tryAxis();
  void tryFixed();
  void printRest();

private:
  std::optional<PlannedPoint> plan(const TrainConfig &config);
  bool print(const Twine &change, const std::optional<PlannedPoint> &point);

  ModelFile &model;
  const SearchOptions &options;
  const PlannedPoint &smallest;
  const MemoryBudgets &budgets;
  const Machine &machine;
};

} // namespace

/// Nothing where the compiler cannot have it.
std::optional<PlannedPoint> Remedies::plan(const TrainConfig &config) {
  ScopedDiagnosticHandler quiet(model.get().getContext(),
                                [](Diagnostic &) { return success(); });
  auto planned = planModel(model.get(), config);
  if (failed(planned))
    return std::nullopt;
  auto point = measurePlan(planned->get(), config, machine);
  return succeeded(point) ? std::optional(*point) : std::nullopt;
}

/// A line where the change helps; says whether that makes the plan fit.
bool Remedies::print(const Twine &change,
                     const std::optional<PlannedPoint> &point) {
  if (!point || budgets.needed(*point) >= budgets.needed(smallest))
    return false;
  const bool fits = budgets.hold(*point);
  llvm::outs() << "  " << change << ": " << formatBytes(point->bytes)
               << (point->hostBytes ? ", and " + formatBytes(point->hostBytes) +
                                          " of the host"
                                    : "")
               << (fits ? ", which fits\n" : "\n");
  return fits;
}

void Remedies::printHeld() {
  auto planned = planModel(model.get(), smallest.config);
  if (failed(planned))
    return;
  PlanSummary summary = summarizePlan(planned->get());
  SmallVector<const ArenaSummary *> arenas;
  for (const ArenaSummary &arena : summary.arenas)
    if (arena.bytes > summary.totalBytes() / 100)
      arenas.push_back(&arena);
  llvm::stable_sort(arenas, [](const ArenaSummary *a, const ArenaSummary *b) {
    return a->bytes > b->bytes;
  });
  llvm::outs() << "the smallest plan, of stage " << summary.stage << ": "
               << llvm::join(llvm::map_range(arenas,
                                             [](const ArenaSummary *arena) {
                                               return arena->space.describe() +
                                                      " " +
                                                      formatBytes(arena->bytes);
                                             }),
                             ", ")
               << "\n";
}

/// Twice as many, and so on, until the plan fits or states are no part of it.
void Remedies::tryMoreRanks() {
  constexpr int most = 4;
  TrainConfig config = smallest.config;
  for (int doubled = 0; config.mesh.empty() && doubled < most; ++doubled) {
    config.ranks *= 2;
    // Stages without slices gain nothing.
    config.stage = std::max<int64_t>(config.stage, 1);
    const std::optional<PlannedPoint> point = plan(config);
    const bool fits = point && budgets.hold(*point);
    if (!fits && doubled + 1 < most)
      continue;
    print("more ranks, " + formatCount(config.ranks) + " at stage " +
              Twine(config.stage),
          point);
    return;
  }
}

void Remedies::tryOffload() {
  if (!canChooseOffload(smallest.config, /*stage=*/1))
    return;
  TrainConfig config = smallest.config;
  config.stage = std::max<int64_t>(config.stage, 1);
  config.offloadOptimizer.emplace();
  print("optimizer states in the host's memory (--host-memory-budget lets the "
        "search choose)",
        plan(config));
  config.offloadOptimizer->parameters = config.stage == 3;
  if (config.stage == 3)
    print("parameters as well", plan(config));
}

void Remedies::tryAxis() {
  const int64_t ranks = smallest.config.ranks;
  for (const char *axis : zrt::kModelAxes) {
    if (!smallest.config.mesh.empty() || ranks % 2 != 0)
      return;
    PlanOptions cut = options.plan;
    cut.mesh = "data=" + std::to_string(ranks / 2) + "," + axis + "=2";
    cut.ranks = "";
    cut.stage = std::to_string(smallest.config.stage);
    ScopedDiagnosticHandler quiet(model.get().getContext(),
                                  [](Diagnostic &) { return success(); });
    FailureOr<TrainConfig> config = model.resolve(cut);
    if (failed(config))
      continue;
    config->memoryBudget = config->hostMemoryBudget = 0;
    config->checkpoint = smallest.config.checkpoint;
    config->overlapCommunication = smallest.config.overlapCommunication;
    config->reduceBucketSize = smallest.config.reduceBucketSize;
    config->prefetchBucketSize = smallest.config.prefetchBucketSize;
    config->maxLiveParameters = smallest.config.maxLiveParameters;
    config->maxReuseDistance = smallest.config.maxReuseDistance;
    print("--mesh " + cut.mesh + " (--mesh auto tries all)", plan(*config));
  }
}

/// What would make it smaller, and the configuration decides.
void Remedies::tryFixed() {
  TrainConfig config = smallest.config;
  if (!config.fuseCrossEntropy) {
    config.fuseCrossEntropy = true;
    print(machine.hasDevices() ? "zero.fuse_cross_entropy"
                               : "zero.fuse_cross_entropy, but for its "
                                 "workspace",
          plan(config));
    config.fuseCrossEntropy = false;
  }
  if (!config.checkpoint.isEnabled()) {
    config.checkpoint.every = 1;
    print("zero.checkpoint_activations, which the configuration rules out",
          plan(config));
  }
}

void Remedies::printRest() {
  if (!budgets.holdHost(smallest))
    llvm::outs() << "  " << formatBytes(smallest.hostBytes)
                 << " of the host's memory: --host-memory-budget\n";
  llvm::outs() << (smallest.config.microBatch > 1
                       ? "  a micro-batch of fewer samples than " +
                             std::to_string(smallest.config.microBatch)
                       : std::string("  shorter samples: a micro-batch has "
                                     "one"))
               << ", where activations are large\n";
}

void mlir::zero::printRemedies(ModelFile &model, const SearchOptions &options,
                               const PlannedPoint &smallest,
                               const MemoryBudgets &budgets,
                               const Machine &machine) {
  Remedies remedies(model, options, smallest, budgets, machine);
  llvm::outs() << "\n";
  remedies.printHeld();
  llvm::outs() << "what it would need with\n";
  remedies.tryMoreRanks();
  remedies.tryOffload();
  remedies.tryAxis();
  remedies.tryFixed();
  remedies.printRest();
  llvm::outs().flush();
}
