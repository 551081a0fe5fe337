//===- ConfigKeys.cpp - Looking things up in the table of keys --*- C++ -*-===//
#include "ConfigKeys.h"

#include "zero/Config/Integers.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <limits>

using namespace mlir::zero;
using llvm::StringRef;
namespace json = llvm::json;

StringRef mlir::zero::getParentPath(StringRef path) {
  size_t dot = path.rfind('.');
  return dot == StringRef::npos ? StringRef() : path.take_front(dot);
}

StringRef mlir::zero::getName(StringRef path) {
  return path.drop_front(path.rfind('.') + 1);
}

const ConfigKey *mlir::zero::findConfigKey(const ConfigKey *parent,
                                           StringRef key) {
  StringRef parentPath = parent ? parent->path : "";
  for (const ConfigKey &row : getConfigKeys()) {
    StringRef path = row.path;
    // A key with a dot in it can only be a name that the user chose.
    bool matches = getName(path) == "*" || (getName(path) == key);
    if (matches && getParentPath(path) == parentPath)
      return &row;
  }
  return nullptr;
}

const ConfigKey *mlir::zero::findConfigRow(StringRef path) {
  const ConfigKey *row = llvm::find_if(
      getConfigKeys(), [&](const ConfigKey &key) { return path == key.path; });
  return row == getConfigKeys().end() ? nullptr : row;
}

const ConfigKey &mlir::zero::getConfigKey(StringRef path) {
  const ConfigKey *row = findConfigRow(path);
  assert(row && "key is not in the table");
  return *row;
}

std::string mlir::zero::getNearestConfigKey(const ConfigKey *parent,
                                            StringRef key) {
  StringRef parentPath = parent ? parent->path : "";
  StringRef nearest;
  unsigned best = std::numeric_limits<unsigned>::max();
  // What differs in more than a third of its letters is another word.
  const unsigned most = std::max<size_t>(1, (key.size() + 2) / 3);
  for (const ConfigKey &row : getConfigKeys()) {
    StringRef path = row.path;
    if (getName(path) == "*")
      continue;
    unsigned distance = key.edit_distance_insensitive(
        getName(path), /*AllowReplacements=*/true, most);
    if (distance > most)
      continue;
    // The wrong block counts as two wrong letters.
    distance += getParentPath(path) != parentPath ? 2 : 0;
    if (distance < best) {
      best = distance;
      nearest = path;
    }
  }
  return nearest.str();
}

json::Value mlir::zero::getDefault(const ConfigKey &key, bool hasNoFile) {
  llvm::Expected<json::Value> value =
      json::parse(hasNoFile ? key.withoutFile : key.defaultValue);
  assert(value && "the table's defaults are JSON");
  return *value;
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

static constexpr int64_t kAnyNumber = std::numeric_limits<int64_t>::max();

static std::string describeIntegers(int64_t least, int64_t most) {
  const std::string from = std::to_string(least);
  return most == kAnyNumber
             ? "an integer of " + from + " or more"
             : "an integer from " + from + " to " + std::to_string(most);
}

static std::string describeChoices(StringRef choices) {
  llvm::SmallVector<StringRef> all;
  choices.split(all, '|');
  std::string text = "one of ";
  llvm::ListSeparator comma;
  for (StringRef choice : all)
    text += (llvm::Twine(StringRef(comma)) + "\"" + choice + "\"").str();
  return text;
}

std::string mlir::zero::describeType(const ConfigKey &key) {
  switch (key.type) {
  case KeyType::Object:
  case KeyType::Block:
    return "an object";
  case KeyType::Bool:
    return "true or false";
  case KeyType::Size:
    return describeIntegers(0, key.most);
  case KeyType::Count:
    return describeIntegers(1, key.most);
  case KeyType::Integer:
    return "an integer";
  case KeyType::NonNegative:
    return key.most == kAnyNumber
               ? "a number of 0 or more"
               : "a number from 0 to " + std::to_string(key.most);
  case KeyType::Positive:
    return "a number above 0";
  case KeyType::Fraction:
    return "a number from 0 to below 1";
  case KeyType::Betas:
    return "two numbers from 0 to below 1";
  case KeyType::Sizes:
    return "an array of integers of 0 or more";
  case KeyType::Texts:
    return "an array of strings";
  case KeyType::Text:
    return "a string";
  case KeyType::Choice:
    return describeChoices(key.choices);
  case KeyType::Any:
    return "any value";
  }
  llvm_unreachable("every type is handled");
}

static bool isFraction(const json::Value &value) {
  std::optional<double> number = value.getAsNumber();
  return number && *number >= 0 && *number < 1;
}

static bool isIntegerFrom(const json::Value &value, int64_t least,
                          int64_t most) {
  std::optional<int64_t> integer = integerOf(value);
  return integer && *integer >= least && *integer <= most;
}

static bool isBetas(const json::Value &value) {
  const json::Array *array = value.getAsArray();
  return array && array->size() == 2 && llvm::all_of(*array, isFraction);
}

static bool isSizes(const json::Value &value) {
  const json::Array *array = value.getAsArray();
  return array && llvm::all_of(*array, [](const json::Value &each) {
           return isIntegerFrom(each, 0, kAnyNumber);
         });
}

static bool isTexts(const json::Value &value) {
  const json::Array *array = value.getAsArray();
  return array && llvm::all_of(*array, [](const json::Value &each) {
           return each.getAsString().has_value();
         });
}

static bool isChoice(StringRef choices, const json::Value &value) {
  std::optional<StringRef> text = value.getAsString();
  llvm::SmallVector<StringRef> all;
  choices.split(all, '|');
  return text && llvm::is_contained(all, *text);
}

bool mlir::zero::hasType(const ConfigKey &key, const json::Value &value) {
  std::optional<double> number = value.getAsNumber();
  switch (key.type) {
  case KeyType::Object:
  case KeyType::Block:
    return value.getAsObject();
  case KeyType::Bool:
    return value.getAsBoolean().has_value();
  case KeyType::Size:
    return isIntegerFrom(value, 0, key.most);
  case KeyType::Count:
    return isIntegerFrom(value, 1, key.most);
  case KeyType::Integer:
    return integerOf(value).has_value();
  case KeyType::NonNegative:
    return number && *number >= 0 &&
           (key.most == kAnyNumber || *number <= static_cast<double>(key.most));
  case KeyType::Positive:
    return number && *number > 0;
  case KeyType::Fraction:
    return isFraction(value);
  case KeyType::Betas:
    return isBetas(value);
  case KeyType::Sizes:
    return isSizes(value);
  case KeyType::Texts:
    return isTexts(value);
  case KeyType::Text:
    return value.getAsString().has_value();
  case KeyType::Choice:
    return isChoice(key.choices, value);
  case KeyType::Any:
    return true;
  }
  llvm_unreachable("every type is handled");
}
