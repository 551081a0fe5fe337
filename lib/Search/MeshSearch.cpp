//===- MeshSearch.cpp - the meshes on which a model is fastest ------------===//

#include "zero/Search/MeshSearch.h"

#include "PlanMaker.h"

#include "program/Mesh.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <map>

using namespace mlir;
using namespace mlir::zero;

/// Names of the axes that cut the model.
using Family = std::vector<std::string>;

namespace {

/// One mesh to try.
struct Candidate {
  MeshShape shape;
  Family family;
  /// Ranks that compute one model, or one stage of it.
  int64_t together = 1;
  /// Stages of a pipeline.
  int64_t stages = 1;
};

/// A mesh with its best plans.
struct Tried {
  Candidate candidate;
  /// Of each stage.
  std::vector<PlannedPoint> stages;
};

class MeshSearch {
public:
  MeshSearch(ModuleOp model, const MeshSearchRequest &request)
      : model(model), request(request), maker(model, request.machine) {}

  FailureOr<MeshSearchResult> run();

private:
  void tryMesh(const Candidate &candidate);
  bool gainsBySize(const Family &family) const;
  FailureOr<std::vector<PlannedPoint>> planMesh(const Candidate &candidate);
  FailureOr<PlannedPoint> planStage(const TrainConfig &base);
  FailureOr<PlannedPoint> plan(const TrainConfig &config);
  bool isBetter(const PlannedPoint &a, const PlannedPoint &b) const;
  const PlannedPoint &bestOf(ArrayRef<PlannedPoint> points) const;
  LogicalResult refine();
  LogicalResult refineSizes(PlannedPoint &point);
  void refineOrder(PlannedPoint &point);
  void leaveOut(const Candidate &candidate, std::string reason);

  ModuleOp model;
  const MeshSearchRequest &request;
  /// Of the mesh at hand.
  PlanMaker maker;
  std::vector<Tried> tried;
  MeshSearchResult result;
};

} // namespace

double mlir::zero::samplesPerSecond(const PlannedPoint &point) {
  return static_cast<double>(point.config.trainBatch) / point.seconds;
}

//===----------------------------------------------------------------------===//
// Meshes
//===----------------------------------------------------------------------===//

static std::vector<int64_t> listDivisors(int64_t number) {
  std::vector<int64_t> divisors;
  for (int64_t each = 1; each * each <= number; ++each)
    if (number % each == 0) {
      divisors.push_back(each);
      if (each * each < number)
        divisors.push_back(number / each);
    }
  llvm::sort(divisors);
  return divisors;
}

/// All ways to divide `ranks` into samples and `axes`, that the compiler has a
/// meaning for.
static void listCandidates(int64_t ranks, ArrayRef<const char *> axes,
                           Candidate made, std::vector<Candidate> &listed) {
  if (axes.empty()) {
    made.shape.insert(made.shape.begin(), {"data", ranks});
    std::string error;
    if (parseMesh(printMesh(made.shape), error))
      listed.push_back(std::move(made));
    return;
  }
  for (int64_t size : listDivisors(ranks)) {
    Candidate next = made;
    if (size > 1) {
      next.shape.push_back({axes.front(), size});
      next.family.push_back(axes.front());
      (zrt::holdsStages(axes.front()) ? next.stages : next.together) *= size;
    }
    // Stages go with all other axes, but not all combinations are tried: their
    // number multiplies, and one axis beside `pipe` is what large runs use.
    if (next.stages > 1 && next.family.size() > 2)
      continue;
    listCandidates(ranks / size, axes.drop_front(), std::move(next), listed);
  }
}

/// Whole models first, and of the same axes the fewest ranks that have one
/// together.
static std::vector<Candidate> listCandidates(int64_t ranks) {
  std::vector<Candidate> candidates;
  // Stages send each other least: their ranks are furthest apart.
  std::vector<const char *> axes = {zrt::kPipeAxis};
  llvm::append_range(axes, zrt::kModelAxes);
  listCandidates(ranks, axes, {}, candidates);
  llvm::stable_sort(candidates, [](const Candidate &a, const Candidate &b) {
    return std::tie(a.family, a.together, a.stages) <
           std::tie(b.family, b.together, b.stages);
  });
  return candidates;
}

std::vector<MeshShape> mlir::zero::listMeshes(int64_t ranks) {
  std::vector<MeshShape> shapes;
  std::vector<Candidate> candidates = listCandidates(ranks);
  for (Candidate &each : candidates)
    shapes.push_back(std::move(each.shape));
  return shapes;
}

/// Reasons that differ in numbers, or in the mesh that they name, are one.
static std::string withoutNumbers(StringRef reason, const MeshShape &shape) {
  const std::string mesh = printMesh(shape);
  std::string text;
  for (size_t at; (at = reason.find(mesh)) != StringRef::npos;
       reason = reason.substr(at + mesh.size()))
    text += reason.take_front(at);
  text += reason;
  llvm::erase_if(text, [](char c) { return llvm::isDigit(c); });
  return text;
}

void MeshSearch::leaveOut(const Candidate &candidate, std::string reason) {
  for (MeshesLeftOut &known : result.leftOut)
    if (withoutNumbers(known.reason, known.meshes.front()) ==
        withoutNumbers(reason, candidate.shape)) {
      known.meshes.push_back(candidate.shape);
      return;
    }
  result.leftOut.push_back({{candidate.shape}, std::move(reason)});
}

void MeshSearch::tryMesh(const Candidate &candidate) {
  std::string reason;
  FailureOr<std::vector<PlannedPoint>> stages = failure();
  {
    ScopedDiagnosticHandler keep(
        ModuleOp(model).getContext(), [&](Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() == DiagnosticSeverity::Error &&
              reason.empty())
            reason = diagnostic.str();
          return success();
        });
    stages = planMesh(candidate);
  }
  if (failed(stages))
    leaveOut(candidate, reason);
  else
    tried.push_back({candidate, std::move(*stages)});
}

/// Whether of the sizes that were tried the largest is better than the next
/// one, or than ranks that each compute a whole model.
bool MeshSearch::gainsBySize(const Family &family) const {
  std::map<int64_t, PlannedPoint> bySize;
  for (const auto &[candidate, stages] : tried) {
    if (candidate.together > 1 && candidate.family != family)
      continue;
    if (candidate.stages > 1 && candidate.family != family)
      continue;
    const PlannedPoint &best = bestOf(stages);
    auto [known, isNew] = bySize.try_emplace(candidate.together, best);
    if (!isNew && isBetter(best, known->second))
      known->second = best;
  }
  if (bySize.size() < 2)
    return false;
  auto last = std::prev(bySize.end());
  return isBetter(last->second, std::prev(last)->second);
}

//===----------------------------------------------------------------------===//
// Plans of a mesh
//===----------------------------------------------------------------------===//

/// Elements of a bucket that is as fast as any on machines with several nodes,
/// and takes little memory beside a large model.
static constexpr int64_t kLargeBucket = int64_t(1) << 27;

static bool isOpen(const TrainConfig &config, StringRef key) {
  return !llvm::is_contained(config.given, key);
}

static void setBuckets(TrainConfig &config, int64_t elements) {
  if (isOpen(config, "zero_optimization.reduce_bucket_size"))
    config.reduceBucketSize = elements;
  if (isOpen(config, "zero_optimization.allgather_bucket_size"))
    config.allgatherBucketSize = elements;
}

FailureOr<PlannedPoint> MeshSearch::plan(const TrainConfig &config) {
  auto point = maker.plan(config);
  if (failed(point))
    return failure();
  ++result.planned;
  return point;
}

bool MeshSearch::isBetter(const PlannedPoint &a, const PlannedPoint &b) const {
  if (request.budgets.hold(a) != request.budgets.hold(b))
    return request.budgets.hold(a);
  if (!request.budgets.hold(a))
    return request.budgets.needed(a) < request.budgets.needed(b);
  const double first = samplesPerSecond(a), second = samplesPerSecond(b);
  return std::tie(second, a.bytes) < std::tie(first, b.bytes);
}

/// The first plan that fits, or the smallest.
FailureOr<PlannedPoint> MeshSearch::planStage(const TrainConfig &base) {
  const bool mayRecompute = isOpen(base, "zero.checkpoint_activations") &&
                            !base.checkpoint.isEnabled();
  std::optional<PlannedPoint> best;
  for (bool recomputes : {false, true})
    for (int64_t bucket : {kLargeBucket, base.reduceBucketSize}) {
      if (recomputes && !mayRecompute)
        continue;
      TrainConfig config = base;
      if (isOpen(base, "zero_optimization.overlap_comm") &&
          !base.hasAxis(zrt::kPipeAxis))
        config.overlapCommunication = true;
      setBuckets(config, bucket);
      if (recomputes)
        config.checkpoint.every = 1;
      FailureOr<PlannedPoint> point = plan(config);
      if (failed(point))
        return failure();
      if (!best || isBetter(*point, *best))
        best = *point;
      if (request.budgets.hold(*best))
        return *best;
    }
  return *best;
}

FailureOr<std::vector<PlannedPoint>>
MeshSearch::planMesh(const Candidate &candidate) {
  FailureOr<std::vector<TrainConfig>> bases = request.resolve(candidate.shape);
  if (failed(bases))
    return failure();
  maker.clear();
  std::vector<PlannedPoint> stages;
  const int64_t micros = bases->empty() ? 0 : bases->front().accumulation;
  if (micros < candidate.stages)
    return emitError(ModuleOp(model).getLoc())
               << "an update has fewer micro-batches (" << micros
               << ") than stages (" << candidate.stages
               << "), some of which would always wait; accumulate more",
           failure();
  for (TrainConfig &base : *bases) {
    base.memoryBudget = base.hostMemoryBudget = 0;
    FailureOr<PlannedPoint> point = planStage(base);
    if (failed(point))
      return failure();
    stages.push_back(std::move(*point));
  }
  return stages;
}

const PlannedPoint &MeshSearch::bestOf(ArrayRef<PlannedPoint> points) const {
  return *std::min_element(points.begin(), points.end(),
                           [&](const PlannedPoint &a, const PlannedPoint &b) {
                             return isBetter(a, b);
                           });
}

//===----------------------------------------------------------------------===//
// The search
//===----------------------------------------------------------------------===//

/// Other sizes of buckets.
LogicalResult MeshSearch::refineSizes(PlannedPoint &point) {
  constexpr int64_t sizes[] = {kLargeBucket / 8, kLargeBucket / 2,
                               kLargeBucket * 4};
  std::vector<TrainConfig> configs(std::size(sizes), point.config);
  for (auto [config, size] : llvm::zip_equal(configs, sizes))
    setBuckets(config, size);
  auto others = maker.planAll(configs);
  if (failed(others))
    return failure();
  result.planned += others->size();
  for (const PlannedPoint &other : *others)
    if (isBetter(other, point))
      point = other;
  return success();
}

/// Stages of several groups of layers, which wait less for each other, as far
/// as the model has so many and they are better.
void MeshSearch::refineOrder(PlannedPoint &point) {
  constexpr int64_t most = 8;
  if (!point.config.hasAxis(zrt::kPipeAxis) ||
      !isOpen(point.config, "zero.pipeline_schedule"))
    return;
  for (int64_t chunks = 2; chunks <= most; chunks *= 2) {
    TrainConfig config = point.config;
    config.pipelineOrder = zrt::PassOrder::Interleaved;
    config.pipelineChunks = chunks;
    ScopedDiagnosticHandler quiet(ModuleOp(model).getContext(),
                                  [](Diagnostic &) { return success(); });
    FailureOr<PlannedPoint> other = plan(config);
    if (failed(other) || !isBetter(*other, point))
      return;
    point = *other;
  }
}

/// Looks closer at what is near the best. More of a pipeline's plans are: their
/// stages may wait less in another order.
LogicalResult MeshSearch::refine() {
  constexpr double margin = 1.1, marginOfStages = 1.3;
  std::vector<PlannedPoint> firsts;
  for (const Tried &each : tried)
    firsts.push_back(bestOf(each.stages));
  const PlannedPoint best = bestOf(firsts);
  if (!request.budgets.hold(best))
    return success();
  for (Tried &each : tried) {
    maker.clear();
    for (PlannedPoint &point : each.stages) {
      const double most = each.candidate.stages > 1 ? marginOfStages : margin;
      if (!request.budgets.hold(point) ||
          most * samplesPerSecond(point) < samplesPerSecond(best))
        continue;
      refineOrder(point);
      if (margin * samplesPerSecond(point) >= samplesPerSecond(best) &&
          failed(refineSizes(point)))
        return failure();
    }
  }
  return success();
}

FailureOr<MeshSearchResult> MeshSearch::run() {
  const std::vector<Candidate> candidates = listCandidates(request.ranks);
  const int64_t node = request.machine.localRanks(request.ranks);
  for (const Candidate &candidate : candidates)
    if (candidate.together <= node)
      tryMesh(candidate);
  for (const Candidate &candidate : candidates)
    if (candidate.together > node && gainsBySize(candidate.family))
      tryMesh(candidate);
    else if (candidate.together > node)
      ++result.beyondNodes;
  if (!tried.empty() && failed(refine()))
    return failure();
  for (const Tried &each : tried)
    result.best.push_back(bestOf(each.stages));
  llvm::stable_sort(result.best,
                    [&](const PlannedPoint &a, const PlannedPoint &b) {
                      return isBetter(a, b);
                    });
  return std::move(result);
}

FailureOr<MeshSearchResult>
mlir::zero::searchMeshes(ModuleOp model, const MeshSearchRequest &request) {
  return MeshSearch(model, request).run();
}
