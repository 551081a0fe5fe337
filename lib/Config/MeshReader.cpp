//===- MeshReader.cpp - The axes of the ranks -------------------*- C++ -*-===//
#include "ConfigReader.h"

#include "zero/Config/Integers.h"

#include "program/Bounds.h"
#include "program/ByteCount.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir::zero;
using llvm::StringRef;
using llvm::Twine;
using zrt::plural;
namespace json = llvm::json;

using Axes = std::vector<MeshAxisConfig>;

/// The axes over which states are cut where nothing else says so, and the axis
/// of what replicates them.
static constexpr StringRef kShardAxis = "shard", kReplicaAxis = "replica";

static constexpr StringRef kMeshKey = "zero.mesh";
static constexpr StringRef kShardAxesKey = "zero.shard_axes";
static constexpr StringRef kTensorKey = "tensor_parallel.autotp_size";
static constexpr StringRef kSequenceKey = "sequence_parallel_size";
static constexpr StringRef kExpertsKey = "expert_parallel.enabled";
static constexpr StringRef kExpertKey = "expert_parallel.autoep_size";
static constexpr StringRef kDataFirstKey = "use_data_before_expert_parallelism";
static constexpr StringRef kMicsKey = "zero_optimization.mics_shard_size";
static constexpr StringRef kHpzKey =
    "zero_optimization.zero_hpz_partition_size";
static constexpr StringRef kWithinKey = "zero.quantized_gradients_within";

/// The axes that the ranks over which states are cut become where they are to
/// be nodes.
static constexpr StringRef kNodeAxis = "node", kLocalAxis = "local";

std::string mlir::zero::printMesh(const Axes &axes) {
  std::string text;
  for (const MeshAxisConfig &axis : axes)
    text +=
        (text.empty() ? "" : ",") + axis.name + "=" + std::to_string(axis.size);
  return text;
}

/// Why these are no axes of a mesh, or an empty string.
static std::string findInvalid(const Axes &axes) {
  int64_t ranks = 1;
  for (size_t i = 0; i < axes.size(); ++i) {
    const MeshAxisConfig &axis = axes[i];
    if (axis.size < 1)
      return "axis '" + axis.name + "' has " + std::to_string(axis.size) +
             " ranks, wanted at least 1";
    for (size_t other = 0; other < i; ++other)
      if (axes[other].name == axis.name)
        return "axis '" + axis.name +
               "' is there twice, wanted a name for each";
    if (llvm::MulOverflow(ranks, axis.size, ranks) || ranks > zrt::kMostCount)
      return "the axes have more than " + std::to_string(zrt::kMostCount) +
             " ranks";
    for (const MeshAxisConfig &other : llvm::ArrayRef(axes).take_front(i))
      if (axis.size > 1 && other.size > 1 && zrt::cutsModel(axis.name) &&
          zrt::cutsModel(other.name) &&
          !zrt::cutTogether(other.name, axis.name))
        return "axes '" + other.name + "' and '" + axis.name +
               "' would both cut the model, which is not supported; either of "
               "them goes with 'tensor'; give one of them 1 rank";
  }
  return axes.empty() ? "found no axis, wanted at least one" : "";
}

std::optional<Axes> mlir::zero::parseMesh(StringRef text, std::string &error) {
  Axes axes;
  llvm::SmallVector<StringRef> entries;
  text.split(entries, ',');
  for (StringRef entry : entries) {
    auto [name, size] = entry.split('=');
    MeshAxisConfig &axis = axes.emplace_back();
    axis.name = name.trim().str();
    bool isName = !axis.name.empty() && llvm::all_of(axis.name, [](char c) {
      return llvm::isAlnum(c) || c == '_';
    });
    if (!isName || size.trim().getAsInteger(10, axis.size)) {
      error = "found '" + entry.str() +
              "', wanted axes with their ranks, such as replica=2,shard=4";
      return std::nullopt;
    }
  }
  error = findInvalid(axes);
  return error.empty() ? std::optional(axes) : std::nullopt;
}

namespace {
/// The ranks that a key of DeepSpeed gives an axis that cuts the model.
struct SizeKey {
  StringRef key, axis;
  int64_t ranks;
};

class MeshReader {
public:
  MeshReader(const json::Object &root, const ConfigValues &values,
             const ConfigContext &context, Reporter &reporter,
             TrainConfig &config)
      : root(root), values(values), context(context), reporter(reporter),
        config(config) {}

  void run() {
    config.ranks = context.ranks.value_or(1);
    config.mesh = readAxes();
    // Someone has samples.
    if (!config.mesh.empty() &&
        llvm::all_of(config.mesh, [](const MeshAxisConfig &axis) {
          return zrt::cutsModel(axis.name) || zrt::holdsStages(axis.name);
        }))
      config.mesh.insert(config.mesh.begin(), {"data", 1});
    if (reporter.hasErrors())
      return;
    if (!config.mesh.empty())
      countRanks();
    for (const SizeKey &size : readSizes())
      checkSize(size);
    readShardAxes();
  }

private:
  Axes readAxes();
  llvm::SmallVector<SizeKey, 3> readSizes();
  Axes readModelAxis(const SizeKey &size, int64_t mics);
  Axes readMics(int64_t size);
  void checkSize(const SizeKey &size);
  void countRanks();
  void readShardAxes();

  const json::Object &root;
  const ConfigValues &values;
  const ConfigContext &context;
  Reporter &reporter;
  TrainConfig &config;
};
} // namespace

/// The axes, in the order in which they are given.
Axes MeshReader::readAxes() {
  int64_t mics = values.integer(kMicsKey);
  const json::Object *block = root.getObject("zero");
  const json::Object *mesh =
      values.has(kMeshKey) && block ? block->getObject("mesh") : nullptr;
  llvm::SmallVector<SizeKey> sizes;
  for (const SizeKey &size : readSizes())
    if (size.ranks > 1)
      sizes.push_back(size);
  if (sizes.size() > 1)
    reporter.error(sizes[1].key, "stands beside " + sizes[0].key +
                                     ", and both cut the model; name the axes "
                                     "in zero.mesh instead, in the order that "
                                     "ranks are to have");
  if (!mesh && !sizes.empty())
    return readModelAxis(sizes[0], mics);
  if (!mesh)
    return mics == -1 ? Axes() : readMics(mics);
  if (mics != -1)
    reporter.error(kMicsKey, "zero.mesh says over which ranks states are cut "
                             "as well; leave one of them out");
  llvm::SmallVector<std::pair<unsigned, MeshAxisConfig>> ordered;
  for (const json::Object::value_type &entry : *mesh) {
    std::string path = (kMeshKey + "." + StringRef(entry.first)).str();
    ordered.push_back(
        {reporter.getLines().order.lookup(path),
         {StringRef(entry.first).str(), integerOf(entry.second).value_or(0)}});
  }
  llvm::sort(ordered,
             [](const auto &a, const auto &b) { return a.first < b.first; });
  Axes axes;
  for (const auto &[index, axis] : ordered)
    axes.push_back(axis);
  if (std::string invalid = findInvalid(axes); !invalid.empty())
    reporter.error(kMeshKey, invalid);
  return axes;
}

llvm::SmallVector<SizeKey, 3> MeshReader::readSizes() {
  bool hasExperts = values.boolean(kExpertsKey);
  return {{kTensorKey, zrt::kTensorAxis, values.integer(kTensorKey)},
          {kSequenceKey, zrt::kSequenceAxis, values.integer(kSequenceKey)},
          {kExpertKey, zrt::kExpertAxis,
           hasExperts ? values.integer(kExpertKey) : 1}};
}

/// DeepSpeed's AutoTP, Ulysses and AutoEP: neighbouring ranks have parts of a
/// model, or where it says so ranks of one part are neighbours.
Axes MeshReader::readModelAxis(const SizeKey &size, int64_t mics) {
  if (mics != -1)
    reporter.error(kMicsKey, "stands beside " + size.key +
                                 ", so the axes are not known; name them in "
                                 "zero.mesh");
  if (config.ranks % size.ranks != 0)
    reporter.error(size.key, Twine(size.ranks) + " does not divide the " +
                                 plural(config.ranks, "rank") +
                                 "; give a divisor");
  Axes axes = {{"data", std::max<int64_t>(config.ranks / size.ranks, 1)},
               {size.axis.str(), size.ranks}};
  if (zrt::cutsExperts(size.axis.str()) && values.boolean(kDataFirstKey))
    std::swap(axes[0], axes[1]);
  return axes;
}

/// DeepSpeed's MiCS: groups of `size` neighbouring ranks, each with all states.
Axes MeshReader::readMics(int64_t size) {
  if (size < 1) {
    reporter.error(kMicsKey, "found " + Twine(size) +
                                 ", wanted 1 or more, or -1 for all ranks");
    return {};
  }
  if (config.ranks % size != 0) {
    reporter.error(kMicsKey, Twine(size) + " does not divide the " +
                                 plural(config.ranks, "rank") +
                                 "; give a divisor");
    return {};
  }
  if (size == config.ranks)
    return {};
  return {{kReplicaAxis.str(), config.ranks / size}, {kShardAxis.str(), size}};
}

/// A file may say how many ranks compute one model where a mesh is given.
void MeshReader::checkSize(const SizeKey &size) {
  int64_t found = config.ranksOf({size.axis.str()});
  if (size.ranks > 1 && size.ranks != found)
    reporter.error(size.key, "found " + Twine(size.ranks) + ", and the mesh " +
                                 printMesh(config.mesh) + " has " +
                                 plural(found, "rank") + " of '" + size.axis +
                                 "'; leave one of the two out");
}

void MeshReader::countRanks() {
  int64_t ranks = 1;
  for (const MeshAxisConfig &axis : config.mesh)
    ranks *= axis.size;
  if (context.ranks && *context.ranks != ranks)
    reporter.error(kMeshKey, "the mesh " + printMesh(config.mesh) + " has " +
                                 plural(ranks, "rank") + ", and " +
                                 Twine(*context.ranks) +
                                 (*context.ranks == 1 ? " is" : " are") +
                                 " asked for; give one of the two");
  config.ranks = ranks;
  for (const MeshAxisConfig &axis : config.mesh)
    config.ranks /= zrt::dividesParameters(axis.name) ? axis.size : 1;
}

void MeshReader::readShardAxes() {
  std::string text = values.text(kShardAxesKey);
  if (text.empty()) {
    bool hasShard = llvm::any_of(config.mesh, [](const MeshAxisConfig &axis) {
      return axis.name == kShardAxis;
    });
    for (const MeshAxisConfig &axis : config.mesh)
      if (hasShard ? axis.name == kShardAxis
                   : !zrt::dividesParameters(axis.name))
        config.shardAxes.push_back(axis.name);
    return;
  }
  if (config.mesh.empty())
    return reporter.error(kShardAxesKey,
                          "shard axes '" + Twine(text) +
                              "' are named, and there is no mesh; give "
                              "one, or leave them out");
  llvm::SmallVector<StringRef> names;
  StringRef(text).split(names, ',');
  for (StringRef name : names)
    if (llvm::none_of(config.mesh, [&](const MeshAxisConfig &axis) {
          return axis.name == name.trim();
        }))
      reporter.error(kShardAxesKey, "'" + name.trim() +
                                        "' is no axis of the mesh " +
                                        printMesh(config.mesh));
    else if (zrt::dividesParameters(name.trim().str()))
      reporter.error(kShardAxesKey,
                     "the ranks of '" + name.trim() +
                         "' have one model together, over which states are "
                         "not cut; name other axes");
  for (const MeshAxisConfig &axis : config.mesh)
    if (llvm::any_of(names,
                     [&](StringRef name) { return name.trim() == axis.name; }))
      config.shardAxes.push_back(axis.name);
  if (!config.shardAxes.empty() &&
      llvm::all_of(config.shardAxes, zrt::cutsExperts))
    reporter.error(kShardAxesKey,
                   "states of experts are not cut over 'expert'; name another "
                   "axis beside it");
}

void mlir::zero::readMesh(const json::Object &root, const ConfigValues &values,
                          const ConfigContext &context, Reporter &reporter,
                          TrainConfig &config) {
  MeshReader(root, values, context, reporter, config).run();
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

/// Makes nodes of `ranks` neighbouring ranks of those that states are cut over,
/// which are one axis: the last one, or all ranks.
static void splitIntoNodes(int64_t ranks, TrainConfig &config) {
  int64_t slices = config.slices();
  if (!config.mesh.empty())
    config.mesh.pop_back();
  config.mesh.push_back({kNodeAxis.str(), slices / ranks});
  config.mesh.push_back({kLocalAxis.str(), ranks});
  config.shardAxes = {kNodeAxis.str(), kLocalAxis.str()};
}

/// The last of the axes over which states are cut, as many as have `ranks`
/// ranks at least.
static std::vector<std::string> findLastAxes(int64_t ranks,
                                             const TrainConfig &config) {
  std::vector<std::string> last;
  for (const std::string &name : llvm::reverse(config.shardAxes))
    if (config.ranksOf(last) < ranks)
      last.insert(last.begin(), name);
  return last;
}

/// The axes of nodes of `size` ranks; none where a node is a rank, or all
/// ranks.
static std::vector<std::string> findNodes(StringRef key, int64_t size,
                                          const ConfigValues &values,
                                          Reporter &reporter,
                                          TrainConfig &config) {
  int64_t slices = config.slices();
  if (size == 1 || size == slices)
    return {};
  if (size < 1 || slices % size != 0) {
    reporter.error(key, "found nodes of " + Twine(size) +
                            " ranks, and states are partitioned over " +
                            Twine(slices) + "; give a divisor of that");
    return {};
  }
  bool areAxesNamed = values.has(kMeshKey) ||
                      !values.text(kShardAxesKey).empty() ||
                      !config.secondaryAxes.empty();
  if (!areAxesNamed)
    splitIntoNodes(size, config);
  std::vector<std::string> axes = findLastAxes(size, config);
  if (config.ranksOf(axes) != size)
    reporter.error(key, "found nodes of " + Twine(size) +
                            " ranks, which no last axes of the mesh " +
                            printMesh(config.mesh) +
                            " have; give the mesh an axis of as many ranks, "
                            "or no mesh");
  return axes;
}

void mlir::zero::readSecondary(const ConfigValues &values, Reporter &reporter,
                               TrainConfig &config) {
  if (config.stage == 3)
    config.secondaryAxes =
        findNodes(kHpzKey, values.integer(kHpzKey), values, reporter, config);
}

void mlir::zero::readGradientAxes(const ConfigValues &values,
                                  Reporter &reporter, TrainConfig &config) {
  if (config.quantizedGradientBits == 0)
    return;
  // Where nothing is said, gradients have the nodes of the secondary partition.
  if (!values.has(kWithinKey))
    config.gradientAxes = config.secondaryAxes;
  else
    config.gradientAxes = findNodes(kWithinKey, values.integer(kWithinKey),
                                    values, reporter, config);
}

/// What does not work beside stages, each of which has states of its own.
static void checkStages(const ConfigValues &values, Reporter &reporter,
                        const TrainConfig &config) {
  const std::string mesh =
      "the axis 'pipe' of the mesh " + printMesh(config.mesh);
  if (config.stage >= 2)
    reporter.error("zero_optimization.stage",
                   "found " + Twine(config.stage) + " beside " + mesh +
                       ", where each of the micro-batches under way would "
                       "reduce gradients and gather parameters by itself; give "
                       "stage 0 or 1");
  if (config.offloadOptimizer)
    reporter.error(config.offloadOptimizer->parameters
                       ? findOffloadKey(values, /*ofParameters=*/true)
                       : findOffloadKey(values, /*ofParameters=*/false),
                   "does not work beside " + mesh +
                       "; leave the key out, or give 'pipe' 1 rank");
  if (config.checkpoint.offload)
    reporter.error("zero.checkpoint_activations.offload",
                   "does not work beside " + mesh +
                       "; leave the key out, or give 'pipe' 1 rank");
  if (config.pipelineOrder == zrt::PassOrder::Interleaved &&
      config.pipelineChunks < 2)
    reporter.error("zero.pipeline_chunks",
                   "found " + Twine(config.pipelineChunks) +
                       ", wanted 2 or more; with one group of layers a stage "
                       "the schedule is \"1f1b\"");
}

void mlir::zero::checkModelAxes(const ConfigValues &values, Reporter &reporter,
                                const TrainConfig &config) {
  if (config.hasAxis(zrt::kPipeAxis))
    checkStages(values, reporter, config);
  const auto axis = llvm::find_if(config.mesh, [](const MeshAxisConfig &each) {
    return each.size > 1 && zrt::cutsModel(each.name);
  });
  if (axis == config.mesh.end())
    return;
  auto refuse = [&](bool isGiven, StringRef key,
                    StringRef advice = "leave the key out") {
    if (isGiven)
      reporter.error(key, "does not work beside the axis '" + axis->name +
                              "' of the mesh " + printMesh(config.mesh) +
                              ", which cuts the model; " + advice +
                              ", or give '" + axis->name + "' 1 rank");
  };
  // Sums of 16 bits have a factor that follows from their group.
  if (config.hasAxis("expert") && config.precision == zrt::DataType::F16)
    reporter.error("fp16.enabled",
                   "does not work beside the axis 'expert' of the mesh " +
                       printMesh(config.mesh) +
                       ", which cuts the model; compute in bf16, or give "
                       "'expert' 1 rank");
  const std::optional<OffloadConfig> &offload = config.offloadOptimizer;
  refuse(offload && !offload->parameters,
         findOffloadKey(values, /*ofParameters=*/false));
  refuse(offload && offload->parameters,
         findOffloadKey(values, /*ofParameters=*/true));
  refuse(!config.secondaryAxes.empty(), kHpzKey);
  refuse(config.quantizedWeightBits,
         "zero_optimization.zero_quantized_weights");
  refuse(config.quantizedFrozenBits,
         "zero_optimization.zero_quantized_nontrainable_weights");
  refuse(config.quantizedGradientBits,
         "zero_optimization.zero_quantized_gradients");
}
