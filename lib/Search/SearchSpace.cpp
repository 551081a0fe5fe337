//===- SearchSpace.cpp - what a search may choose from --------------------===//

#include "SearchSpace.h"

#include "zero/Dialect/Zero/Zero.h"
#include "zero/Search/PlanSearch.h"

#include "program/Mesh.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::zero;

static constexpr StringRef kOverlap = "zero_optimization.overlap_comm";
static constexpr StringRef kCheckpoint = "zero.checkpoint_activations";
static constexpr StringRef kKeptOnHost = "zero.checkpoint_activations.offload";
static constexpr StringRef kSchedule = "zero.pipeline_schedule";
static constexpr StringRef kOffload = "zero_optimization.offload_optimizer";
static constexpr StringRef kOffloadParam = "zero_optimization.offload_param";
static constexpr StringRef kSubGroup = "zero_optimization.sub_group_size";

namespace {

class SpaceBuilder {
public:
  SpaceBuilder(const TrainConfig &base, const ModelFacts &facts)
      : base(base), facts(facts) {}

  void addSizes(int64_t TrainConfig::*field, std::vector<int64_t> values,
                bool beginsRich = true);
  void addOverlap();
  void addSchedule();
  void addCheckpoint();
  void addActivationOffload();
  void addOffload(const OffloadSpace &space);
  void addParameterOffload();
  void addSubGroups(const OffloadSpace &space);
  std::vector<int64_t> makeLadder(bool withZero) const;
  std::vector<int64_t> makeThresholds() const;
  std::vector<int64_t> makeSubGroups() const;
  std::vector<Dimension> take();

private:
  bool isFixed(StringRef key) const {
    return llvm::is_contained(base.given, key);
  }

  const TrainConfig &base;
  const ModelFacts &facts;
  std::vector<Dimension> dimensions;
};

} // namespace

/// Sizes from a thousandth of the model to all of it, doubling.
std::vector<int64_t> SpaceBuilder::makeLadder(bool withZero) const {
  std::vector<int64_t> values;
  if (withZero)
    values.push_back(0);
  int64_t most = llvm::PowerOf2Ceil(std::max<int64_t>(facts.trained, 1));
  for (int64_t value = std::max<int64_t>(most >> 10, 1); value < most;
       value *= 2)
    values.push_back(value);
  values.push_back(most);
  return values;
}

/// Nothing, and the sizes that parameters have: all of them where they are few.
std::vector<int64_t> SpaceBuilder::makeThresholds() const {
  constexpr size_t most = 9;
  std::vector<int64_t> sizes = facts.sizes;
  sizes.erase(llvm::unique(sizes), sizes.end());
  std::vector<int64_t> values = {0};
  size_t count = std::min(sizes.size(), most);
  for (size_t i = 1; i <= count; ++i)
    values.push_back(sizes[i * sizes.size() / count - 1]);
  return values;
}

/// The path of the key that has the field.
static StringRef getPath(int64_t TrainConfig::*field) {
#define SEARCHED(path, member)                                                 \
  if (field == &TrainConfig::member)                                           \
    return path;
#define GEN_SEARCHED_SIZES
#include "zero/Config/SettingFields.inc"
#undef SEARCHED
  llvm_unreachable("a search varies keys that say so");
}

void SpaceBuilder::addSizes(int64_t TrainConfig::*field,
                            std::vector<int64_t> values, bool beginsRich) {
  if (isFixed(getPath(field)))
    return;
  values.push_back(base.*field);
  llvm::sort(values);
  values.erase(llvm::unique(values), values.end());
  Dimension dimension;
  dimension.beginsRich = beginsRich;
  for (auto [index, value] : llvm::enumerate(values)) {
    if (value == base.*field)
      dimension.base = index;
    dimension.values.push_back(
        [field, value = value](TrainConfig &config) { config.*field = value; });
  }
  dimensions.push_back(std::move(dimension));
}

std::vector<Dimension> SpaceBuilder::take() { return std::move(dimensions); }

void SpaceBuilder::addOverlap() {
  if (isFixed(kOverlap))
    return;
  Dimension dimension;
  for (bool value : {false, true})
    dimension.values.push_back(
        [value](TrainConfig &config) { config.overlapCommunication = value; });
  dimension.base = base.overlapCommunication;
  dimension.beginsRich = true;
  dimensions.push_back(std::move(dimension));
}

/// Of a pipeline: stages of one group of layers, or of several.
void SpaceBuilder::addSchedule() {
  constexpr int64_t most = 8;
  if (isFixed(kSchedule))
    return;
  Dimension dimension;
  dimension.values.push_back([](TrainConfig &config) {
    config.pipelineOrder = zrt::PassOrder::OneForwardOneBackward;
  });
  const int64_t places = base.ranksOf({zrt::kPipeAxis});
  for (int64_t chunks = 2; chunks <= most && chunks * places <= facts.allLayers;
       chunks *= 2)
    dimension.values.push_back([chunks](TrainConfig &config) {
      config.pipelineOrder = zrt::PassOrder::Interleaved;
      config.pipelineChunks = chunks;
    });
  dimensions.push_back(std::move(dimension));
}

/// No recomputation; of the first layers, more and more, what is cheap and then
/// everything; of all layers, several together. First layers are kept longest.
void SpaceBuilder::addCheckpoint() {
  constexpr int64_t most = 12;
  if (isFixed(kCheckpoint) || facts.layers == 0)
    return;
  Dimension dimension;
  auto add = [&](CheckpointConfig checkpoint) {
    dimension.values.push_back(
        [checkpoint](TrainConfig &config) { config.checkpoint = checkpoint; });
  };
  add({});
  // Stages of a pipeline have more or fewer layers.
  int64_t steps =
      base.hasAxis(zrt::kPipeAxis) ? 1 : std::min(facts.layers, most);
  for (RecomputePolicy policy : {RecomputePolicy::Cheap, RecomputePolicy::All})
    for (int64_t step = 1; step <= steps; ++step) {
      CheckpointConfig checkpoint;
      checkpoint.every = 1;
      checkpoint.policy = policy;
      for (int64_t layer = 0;
           step < steps && layer < facts.layers * step / steps; ++layer)
        checkpoint.layers.push_back(layer);
      add(checkpoint);
    }
  dimension.isRecomputation = true;
  dimension.lean = dimension.values.size() - 1;
  for (int64_t every = 2; every * every <= 2 * facts.layers; ++every) {
    CheckpointConfig checkpoint;
    checkpoint.every = every;
    add(checkpoint);
  }
  dimensions.push_back(std::move(dimension));
}

/// What is kept between recomputed layers, on the host or on the device.
void SpaceBuilder::addActivationOffload() {
  if (isFixed(kCheckpoint) || isFixed(kKeptOnHost) || facts.layers < 2)
    return;
  Dimension dimension;
  for (bool value : {true, false})
    dimension.values.push_back([value](TrainConfig &config) {
      config.checkpoint.offload = value && config.checkpoint.isEnabled();
    });
  dimension.base = 1;
  dimensions.push_back(std::move(dimension));
}

bool mlir::zero::canChooseOffload(const TrainConfig &base, int64_t stage) {
  return stage > 0 && !base.hasAxis(zrt::kPipeAxis) && !base.offloadOptimizer &&
         base.stateTiers.empty() && !llvm::is_contained(base.given, kOffload);
}

/// Part of the optimizer states in host memory, or in `files`. Copies overlap
/// with updates, which takes a second staging buffer.
static std::function<void(TrainConfig &)>
offload(double ratio, int64_t subGroupSize, std::optional<FilesConfig> files) {
  return [ratio, subGroupSize, files](TrainConfig &config) {
    OffloadConfig &offload = config.offloadOptimizer.emplace();
    offload.ratio = ratio;
    offload.subGroupSize = subGroupSize;
    offload.pipelineRead = offload.pipelineWrite = true;
    offload.files = files;
  };
}

/// All optimizer states in files, then less and less of them; then the same in
/// host memory. The device updates what it keeps.
void SpaceBuilder::addOffload(const OffloadSpace &space) {
  constexpr int64_t steps = 8;
  if (facts.optimizerBytes == 0)
    return;
  Dimension dimension;
  for (int64_t step = steps; step > 0 && space.files; step -= 2)
    dimension.values.push_back(
        offload(double(step) / steps, space.subGroupSize, space.files));
  for (int64_t step = steps; step > 0; --step) {
    double ratio = double(step) / steps;
    if (ratio * facts.optimizerBytes * facts.trained / base.slices() <=
        space.stateBytes)
      dimension.values.push_back(
          offload(ratio, space.subGroupSize, std::nullopt));
  }
  if (dimension.values.empty())
    return;
  dimension.base = dimension.values.size();
  dimension.values.push_back(
      [](TrainConfig &config) { config.offloadOptimizer.reset(); });
  dimensions.push_back(std::move(dimension));
  addSubGroups(space);
}

/// Parameters of stage 3 in host memory, where all states are offloaded.
void SpaceBuilder::addParameterOffload() {
  if (isFixed(kOffloadParam))
    return;
  Dimension dimension;
  for (bool value : {true, false})
    dimension.values.push_back([value](TrainConfig &config) {
      if (config.offloadOptimizer)
        config.offloadOptimizer->parameters =
            value && config.offloadOptimizer->ratio == 1;
    });
  dimension.base = 1;
  dimensions.push_back(std::move(dimension));
}

/// Parts of what a rank owns, down to a sixty-fourth.
std::vector<int64_t> SpaceBuilder::makeSubGroups() const {
  std::vector<int64_t> sizes;
  for (int64_t parts : {64, 16, 4, 1})
    sizes.push_back(llvm::divideCeil(std::max<int64_t>(facts.trained, 1),
                                     base.slices() * parts));
  return sizes;
}

void SpaceBuilder::addSubGroups(const OffloadSpace &space) {
  if (isFixed(kSubGroup))
    return;
  std::vector<int64_t> sizes = makeSubGroups();
  int64_t least = 0;
  if (space.files) {
    // Two neighbours that are both too small for files fit into one of this.
    least =
        2 * llvm::divideCeil(space.files->leastBytes, facts.largestStateBytes);
    least = std::min(least, sizes.back());
  }
  Dimension dimension;
  for (int64_t size : sizes) {
    // Where all that is offloaded is in files, what is smaller is the same.
    bool isNew = space.stateBytes > 0 || size >= least;
    if (isNew)
      dimension.values.push_back([size, least](TrainConfig &config) {
        if (std::optional<OffloadConfig> &offload = config.offloadOptimizer)
          offload->subGroupSize = offload->files ? std::max(size, least) : size;
      });
  }
  dimensions.push_back(std::move(dimension));
}

std::string mlir::zero::describeNoFiles(const FilesConfig &files,
                                        const TrainConfig &base,
                                        const ModelFacts &facts) {
  if (facts.optimizerBytes == 0)
    return "the optimizer has no states";
  int64_t largest =
      llvm::divideCeil(facts.trained, base.slices()) * facts.largestStateBytes;
  if (largest >= files.leastBytes)
    return "";
  return "the largest state of a rank has " + std::to_string(largest) +
         " bytes, and those below " + std::to_string(files.leastBytes) +
         " stay in host memory (zero.offload_nvme_min_bytes)";
}

std::vector<Dimension> mlir::zero::makeDimensions(const TrainConfig &base,
                                                  const ModelFacts &facts,
                                                  const OffloadSpace &offload) {
  SpaceBuilder space(base, facts);
  space.addCheckpoint();
  const bool isPipeline = base.hasAxis(zrt::kPipeAxis);
  if (isPipeline)
    space.addSchedule();
  if (offload.usesHost && !isPipeline)
    space.addActivationOffload();
  if (offload.takesStates())
    space.addOffload(offload);
  if (offload.takesStates() && offload.usesHost && base.stage == 3)
    space.addParameterOffload();
  if (base.ranks == 1) {
    // A bucket is the least that is offloaded by itself.
    if (offload.takesStates())
      space.addSizes(&TrainConfig::reduceBucketSize,
                     space.makeLadder(/*withZero=*/false));
    return space.take();
  }
  if (!isPipeline)
    space.addOverlap();
  space.addSizes(&TrainConfig::reduceBucketSize,
                 space.makeLadder(/*withZero=*/false));
  if (base.stage == 1 || base.stage == 2)
    space.addSizes(&TrainConfig::allgatherBucketSize,
                   space.makeLadder(/*withZero=*/false));
  if (base.stage < 3)
    return space.take();
  space.addSizes(&TrainConfig::prefetchBucketSize,
                 space.makeLadder(/*withZero=*/true));
  space.addSizes(&TrainConfig::maxLiveParameters,
                 space.makeLadder(/*withZero=*/false));
  space.addSizes(&TrainConfig::maxReuseDistance,
                 space.makeLadder(/*withZero=*/true), /*beginsRich=*/false);
  space.addSizes(&TrainConfig::parameterPersistenceThreshold,
                 space.makeThresholds(), /*beginsRich=*/false);
  return space.take();
}
