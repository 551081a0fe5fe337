//===- Spellings.cpp - Keys as DeepSpeed reads them -------------*- C++ -*-===//
#include "Spellings.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

using namespace mlir::zero;
using llvm::StringRef;
namespace json = llvm::json;

/// Fields of DeepSpeed's configuration whose key in a file begins with
/// `stage3_`; it reads both.
static constexpr StringRef kFields[] = {
    "prefetch_bucket_size",         "param_persistence_threshold",
    "model_persistence_threshold",  "max_live_parameters",
    "max_reuse_distance",           "gather_16bit_weights_on_model_save",
    "module_granularity_threshold", "use_all_reduce_for_fetch_params",
    "allgather_sequential",
};

static constexpr StringRef kBlock = "zero_optimization.";
static constexpr StringRef kPrefix = "stage3_";

std::string mlir::zero::toOwnSpelling(StringRef path) {
  StringRef field = path;
  if (!field.consume_front(kBlock) || !llvm::is_contained(kFields, field))
    return path.str();
  return (kBlock + kPrefix + field).str();
}

template <typename Map>
static void moveEntry(Map &map, StringRef from, StringRef to) {
  auto entry = map.find(from);
  if (entry == map.end())
    return;
  const unsigned value = entry->second;
  map.erase(entry);
  map.try_emplace(to, value);
}

void mlir::zero::useOwnSpellings(json::Object &root, KeyLines &lines) {
  json::Object *block = root.getObject(kBlock.drop_back());
  if (!block)
    return;
  for (StringRef field : kFields) {
    const json::Value *value = block->get(field);
    if (!value)
      continue;
    const std::string key = (kPrefix + field).str();
    const std::string from = (kBlock + field).str();
    const std::string to = toOwnSpelling(from);
    if (block->get(key)) {
      lines.repeated.emplace_back(to, lines.lines.lookup(from));
    } else {
      json::Value moved = *value;
      block->insert({key, std::move(moved)});
      moveEntry(lines.lines, from, to);
      moveEntry(lines.columns, from, to);
      moveEntry(lines.order, from, to);
    }
    block->erase(field);
  }
}
