//===- WriteConfig.cpp - A configuration as a DeepSpeed file ----*- C++ -*-===//
#include "ConfigKeys.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir::zero;
using llvm::StringRef;
using llvm::json::OStream;
namespace json = llvm::json;

/// Whether the optimizer or the schedule of `config` has the key.
static bool applies(const ConfigKey &row, const TrainConfig &config) {
  const StringRef type =
      StringRef(row.path).starts_with("optimizer.")
          ? StringRef(findOptimizerRule(config.optimizer.type)->type)
          : StringRef(nameOf(config.scheduler.type));
  return !*row.only ||
         llvm::is_contained(llvm::split(StringRef(row.only), '|'), type);
}

/// What the file says of the key; null: nothing. A default of a key that
/// changes nothing is left out.
static json::Value getValue(const ConfigKey &row, const TrainConfig &config) {
  if (!row.write || !applies(row, config))
    return nullptr;
  json::Value value = row.write(config);
  const bool isIdle = *row.describeIdle(config).why;
  if (isIdle && (value == getDefault(row) ||
                 value == getDefault(row, /*hasNoFile=*/true)))
    return nullptr;
  return value;
}

//===----------------------------------------------------------------------===//
// Blocks whose keys the user names
//===----------------------------------------------------------------------===//

static void writeGroup(OStream &json, const ParameterGroupConfig &group) {
  if (group.learningRate)
    json.attribute("lr", *group.learningRate);
  if (group.weightDecay)
    json.attribute("weight_decay", *group.weightDecay);
  if (!group.parameters.empty())
    json.attribute("parameters", json::Array(group.parameters));
}

/// Writes the block where `config` has names for it; false: `path` is none.
static bool writeNamed(OStream &json, StringRef path,
                       const TrainConfig &config) {
  if (path == "zero.mesh" && !config.mesh.empty())
    json.attributeObject("mesh", [&] {
      for (const MeshAxisConfig &axis : config.mesh)
        json.attribute(axis.name, axis.size);
    });
  if (path == "zero.state_tiers" && !config.stateTiers.empty())
    json.attributeObject("state_tiers", [&] {
      for (const auto &[state, tier] : config.stateTiers)
        json.attribute(state, tier);
    });
  if (path == "zero.sharding" && !config.sharding.empty())
    json.attributeObject("sharding", [&] {
      for (const auto &[name, dim] : config.sharding)
        json.attribute(name, dim);
    });
  if (path == "zero.parameter_groups" && !config.parameterGroups.empty())
    json.attributeObject("parameter_groups", [&] {
      for (const ParameterGroupConfig &group : config.parameterGroups)
        json.attributeObject(group.name, [&] { writeGroup(json, group); });
    });
  return path == "zero.mesh" || path == "zero.state_tiers" ||
         path == "zero.sharding" || path == "zero.parameter_groups";
}

//===----------------------------------------------------------------------===//
// All keys
//===----------------------------------------------------------------------===//

/// Whether anything is to be written of a key in the block.
static bool isWritten(StringRef block, const TrainConfig &config) {
  return llvm::any_of(getConfigKeys(), [&](const ConfigKey &row) {
    StringRef rest = row.path;
    return rest.consume_front(block) && rest.starts_with(".") &&
           !getValue(row, config).getAsNull();
  });
}

static void writeBlock(OStream &json, StringRef block,
                       const TrainConfig &config) {
  for (const ConfigKey &row : getConfigKeys()) {
    const StringRef path = row.path;
    if (getParentPath(path) != block || writeNamed(json, path, config))
      continue;
    if (row.type == KeyType::Object) {
      if (isWritten(path, config))
        json.attributeObject(getName(path),
                             [&] { writeBlock(json, path, config); });
      continue;
    }
    json::Value value = getValue(row, config);
    if (!value.getAsNull())
      json.attribute(getName(path), value);
  }
}

void mlir::zero::writeTrainConfig(llvm::raw_ostream &os,
                                  const TrainConfig &config) {
  OStream json(os, /*IndentSize=*/2);
  json.object([&] { writeBlock(json, /*block=*/"", config); });
  os << "\n";
}
