//===- ConfigTable.cpp - The rows of the table of keys ----------*- C++ -*-===//
#include "ConfigKeys.h"

#include "llvm/ADT/StringExtras.h"

#include <cmath>

using namespace mlir::zero;
namespace json = llvm::json;

//===----------------------------------------------------------------------===//
// From values to fields, and back
//===----------------------------------------------------------------------===//

static void fromJson(const json::Value &value, bool &field) {
  field = *value.getAsBoolean();
}
static void fromJson(const json::Value &value, int64_t &field) {
  field = *value.getAsInteger();
}
/// -0 is 0: it would be written as an integer, which has no sign.
static void fromJson(const json::Value &value, double &field) {
  field = *value.getAsNumber() + 0.0;
}
static void fromJson(const json::Value &value, std::string &field) {
  field = value.getAsString()->str();
}
static void fromJson(const json::Value &value, std::vector<int64_t> &field) {
  field.clear();
  for (const json::Value &each : *value.getAsArray())
    field.push_back(*each.getAsInteger());
}
static void fromJson(const json::Value &value, zrt::Layout &field) {
  field = *parseLayout(*value.getAsString());
}
static void fromJson(const json::Value &value, zrt::PassOrder &field) {
  field = parsePassOrder(*value.getAsString()).value_or(field);
}
static void fromJson(const json::Value &value, RecomputePolicy &field) {
  field = *parseRecomputePolicy(*value.getAsString());
}
static void fromJson(const json::Value &value,
                     std::optional<LossMeanKind> &field) {
  field = parseLossMeanKind(*value.getAsString());
}
static void fromJson(const json::Value &value,
                     std::optional<GivenGradientKind> &field) {
  field = parseGivenGradientKind(*value.getAsString());
}
static void fromJson(const json::Value &value,
                     std::optional<zrt::DropOrder> &field) {
  field = parseDropOrder(*value.getAsString());
}

/// Enumerations of programs are written by the names of their cases.
template <typename T> static json::Value toJson(const T &field) {
  if constexpr (zrt::kCountOf<T> > 0)
    return nameOf(field);
  else if constexpr (std::is_enum_v<T>)
    return stringify(field);
  else
    return field;
}
template <typename T> static json::Value toJson(const std::optional<T> &field) {
  return field ? toJson(*field) : nullptr;
}

//===----------------------------------------------------------------------===//
// What is written where it is no field
//===----------------------------------------------------------------------===//

static json::Value only(bool condition, json::Value value) {
  return condition ? std::move(value) : nullptr;
}
static json::Value orNull(int64_t number) { return only(number, number); }

/// An absent rate has a default in one of the two schedules, "auto" in none.
static json::Value writeLargestRate(const SchedulerConfig &scheduler) {
  if (scheduler.warmupMaxLearningRate)
    return *scheduler.warmupMaxLearningRate;
  return only(scheduler.type != SchedulerType::Constant, "auto");
}

/// As DeepSpeed spells it.
static json::Value writeType(std::optional<zrt::DataType> type) {
  return type ? json::Value(stringifyFloatType(*type)) : nullptr;
}

static json::Value writeDevice(const void *onHost, const void *inFiles) {
  return only(onHost, inFiles ? "nvme" : "cpu");
}

#define GEN_SETTING_PARTS
#include "zero/Config/SettingRows.inc"

/// Whether the optimizer keeps nothing of a parameter, not even its f32 value.
static bool isStateless(const TrainConfig &config) {
  return config.precision == zrt::DataType::F32 &&
         config.optimizer.type == "sgd" && config.optimizer.momentum == 0;
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

llvm::ArrayRef<ConfigKey> mlir::zero::getConfigKeys() {
  static constexpr ConfigKey keys[] = {
#define GEN_SETTING_ROWS
#include "zero/Config/SettingRows.inc"
  };
  return keys;
}

llvm::ArrayRef<ConfigKey> mlir::zero::getCompoundOptions() {
  static constexpr ConfigKey options[] = {
#define GEN_COMPOUND_OPTIONS
#include "zero/Config/SettingRows.inc"
  };
  return options;
}

std::vector<ConfigOption> mlir::zero::getConfigOptions() {
  std::vector<ConfigOption> options;
  for (llvm::ArrayRef<ConfigKey> rows : {getConfigKeys(), getCompoundOptions()})
    for (const ConfigKey &row : rows)
      if (*row.option)
        options.push_back({row.option, row.meaning, row.type == KeyType::Bool});
  return options;
}

std::vector<llvm::StringRef> mlir::zero::getSearchedKeys() {
  std::vector<llvm::StringRef> paths;
  for (const ConfigKey &key : getConfigKeys())
    if (key.isSearched)
      paths.push_back(key.path);
  return paths;
}
