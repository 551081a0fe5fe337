//===- SearchMeshes.cpp - the meshes on which a model is fastest ----------===//

#include "SearchMeshes.h"

#include "Predict.h"
#include "ResolveSearch.h"
#include "SearchPick.h"
#include "Table.h"

#include "zero/Search/MeshSearch.h"
#include "zero/Transforms/Pipeline.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <cmath>

using namespace mlir;
using namespace mlir::zero;

/// Rows that are printed; all are in the JSON.
static constexpr size_t kMostRows = 10;

/// Ranks that form one group are an axis of samples.
static std::string describeMesh(const TrainConfig &config) {
  return printMesh(config.mesh.empty() ? MeshShape{{"data", config.ranks}}
                                       : config.mesh);
}

//===----------------------------------------------------------------------===//
// In words
//===----------------------------------------------------------------------===//

static void printLeftOut(const MeshSearchResult &result) {
  auto count = [](int64_t meshes) {
    return plural(meshes, "mesh", "es") + (meshes == 1 ? " is" : " are");
  };
  for (const MeshesLeftOut &each : result.leftOut)
    llvm::outs() << count(static_cast<int64_t>(each.meshes.size()))
                 << " left out, " << printMesh(each.meshes.front())
                 << (each.meshes.size() > 1 ? " first: " : ": ") << each.reason
                 << "\n";
  if (result.beyondNodes)
    llvm::outs()
        << count(result.beyondNodes)
        << " not tried, with a model on several nodes: more ranks of a "
           "model were no better\n";
}

static void printBest(const MeshSearchResult &result, const Unit &unit,
                      const MemoryBudgets &budgets) {
  Table table;
  table.add({"mesh", unit.name + "s/s a rank", "stage", "schedule",
             "recomputed", "memory", unit.name + "s an update", "an update",
             "exposed", ""});
  for (const PlannedPoint &point :
       ArrayRef(result.best).take_front(kMostRows)) {
    const bool fits = budgets.hold(point);
    table.add(
        {describeMesh(point.config),
         formatCount(std::llround(speedOf(point, unit))),
         std::to_string(point.config.stage), describeSchedule(point.config),
         describeCheckpoint(point.config.checkpoint), formatBytes(point.bytes),
         formatCount(point.config.trainBatch * unit.each),
         formatSeconds(point.seconds), formatSeconds(point.exposed),
         !fits                          ? "above the budget"
         : &point == result.best.data() ? "<- pick"
                                        : ""});
  }
  table.print(llvm::outs());
  if (result.best.size() > kMostRows)
    llvm::outs() << "and "
                 << plural(static_cast<int64_t>(result.best.size() - kMostRows),
                           "slower one")
                 << "\n";
}

static void printMeshes(const MeshSearchResult &result, const Unit &unit,
                        const MeshSearchRequest &request,
                        const TrainConfig &base, StringRef path) {
  llvm::outs() << path << ": " << plural(request.ranks, "rank")
               << ", predicted for " << request.machine.name << "; "
               << describeBudget(request.budgets, base, request.machine)
               << "\n";
  printLeftOut(result);
  llvm::outs() << plural(result.planned, "plan") << " made on "
               << plural(static_cast<int64_t>(result.best.size()), "mesh", "es")
               << "; the best of each:\n\n";
  printBest(result, unit, request.budgets);
}

//===----------------------------------------------------------------------===//
// As JSON
//===----------------------------------------------------------------------===//

static void writeMeshes(raw_ostream &os, const MeshSearchResult &result,
                        const Unit &unit, const MeshSearchRequest &request) {
  llvm::json::OStream json(os, /*IndentSize=*/2);
  json.object([&] {
    json.attribute("ranks", request.ranks);
    json.attribute("machine", request.machine.name);
    json.attribute("memory_budget", request.budgets.device);
    json.attribute("plans", result.planned);
    json.attributeArray("meshes", [&] {
      for (const PlannedPoint &point : result.best)
        json.object([&] {
          json.attribute("mesh", describeMesh(point.config));
          json.attribute("fits", request.budgets.hold(point));
          json.attribute(unit.name + "s_per_second_and_rank",
                         speedOf(point, unit));
          json.attribute("samples", point.config.trainBatch);
          json.attributeBegin("plan");
          writePoint(json, point);
          json.attributeEnd();
        });
    });
    json.attribute("beyond_nodes", result.beyondNodes);
    json.attributeArray("left_out", [&] {
      for (const MeshesLeftOut &each : result.leftOut)
        json.object([&] {
          json.attribute("reason", each.reason);
          json.attributeArray("meshes", [&] {
            for (const MeshShape &shape : each.meshes)
              json.value(printMesh(shape));
          });
        });
    });
  });
  os << "\n";
}

//===----------------------------------------------------------------------===//
// The search
//===----------------------------------------------------------------------===//

/// The options on one mesh.
static SearchOptions withMesh(const SearchOptions &options,
                              const MeshShape &shape) {
  SearchOptions own = options;
  own.plan.mesh = shape.size() > 1 ? printMesh(shape) : "";
  return own;
}

static LogicalResult verifyOptions(const SearchOptions &options) {
  if (options.plan.ranks.empty())
    return fail("--mesh auto divides the ranks; give their number with "
                "--ranks");
  if (options.folder || !options.plan.hostMemoryBudget.empty())
    return fail("--mesh auto chooses nothing to offload; leave --nvme-path and "
                "--host-memory-budget out, or give a mesh");
  return success();
}

/// What the options mean on the first mesh that they go with, and remarks about
/// that. Where there is none, an error says what they lack on one axis.
static FailureOr<TrainConfig> findBase(ModelFile &model,
                                       const SearchOptions &options) {
  std::string error;
  if (!ZeroPipelineOptions::read(withMesh(options, /*shape=*/{}).plan.text(),
                                 error))
    return fail(error);
  int64_t ranks = 0;
  StringRef(options.plan.ranks).getAsInteger(10, ranks);
  MeshShape first;
  for (const MeshShape &shape : listMeshes(ranks)) {
    ScopedDiagnosticHandler quiet(model.get().getContext(),
                                  [](Diagnostic &) { return success(); });
    if (failed(resolveSearch(model, withMesh(options, shape))))
      continue;
    first = shape;
    break;
  }
  FailureOr<ResolvedSearch> resolved =
      resolveSearch(model, withMesh(options, first));
  if (failed(resolved))
    return failure();
  return resolved->base;
}

LogicalResult mlir::zero::runMeshSearch(ModelFile &model,
                                        const SearchOptions &options) {
  if (failed(verifyOptions(options)))
    return failure();
  FailureOr<TrainConfig> base = findBase(model, options);
  if (failed(base))
    return failure();
  FailureOr<Machine> machine = model.readMachine();
  if (failed(machine))
    return failure();
  MeshSearchRequest request;
  request.ranks = base->worldRanks();
  request.machine = *machine;
  request.budgets = budgetsOf(*base, *machine);
  request.resolve =
      [&](const MeshShape &shape) -> FailureOr<std::vector<TrainConfig>> {
    FailureOr<ResolvedSearch> resolved =
        resolveSearch(model, withMesh(options, shape));
    if (failed(resolved))
      return failure();
    return std::move(resolved->stages);
  };
  FailureOr<MeshSearchResult> result = searchMeshes(model.get(), request);
  if (failed(result))
    return failure();
  const Unit unit = unitOf(*model.get().getOps<StepOp>().begin());
  if (options.jsonFile != "-")
    printMeshes(*result, unit, request, *base, model.getPath());
  if (!options.jsonFile.empty() &&
      failed(writeText(options.jsonFile, [&](raw_ostream &os) {
        writeMeshes(os, *result, unit, request);
      })))
    return failure();
  if (result->best.empty())
    return fail("no mesh has a plan; " + result->leftOut.front().reason);
  const PlannedPoint &best = result->best.front();
  if (!request.budgets.hold(best))
    return fail("no plan fits into " + formatBytes(request.budgets.device) +
                " a rank; the smallest that was found needs " +
                formatBytes(best.bytes) +
                (best.workspaceBytes
                     ? " beside " + formatBytes(best.workspaceBytes) +
                           " for the kernels' workspace"
                     : "") +
                ", on the mesh " + describeMesh(best.config) +
                ": give more ranks, a smaller micro-batch or more memory");
  return keepPick(model, options, best, result->best, request.budgets,
                  *machine);
}
