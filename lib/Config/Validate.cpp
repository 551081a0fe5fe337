//===- Validate.cpp - A configuration against the table of keys -*- C++ -*-===//
#include "Validate.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace mlir::zero;
using llvm::StringRef;
using llvm::Twine;
namespace json = llvm::json;

std::string mlir::zero::print(const json::Value &value) {
  return llvm::formatv("{0}", value).str();
}

//===----------------------------------------------------------------------===//
// Reporter
//===----------------------------------------------------------------------===//

void Reporter::add(ConfigSeverity severity, StringRef key,
                   const Twine &message) {
  if (StringRef option = findOption(key); !option.empty())
    out.push_back({severity, ("the option " + option).str(), 0, message.str(),
                   0, /*isOption=*/true});
  else
    out.push_back({severity, key.str(), lines.lines.lookup(key), message.str(),
                   lines.columns.lookup(key)});
}

bool mlir::zero::isWithin(StringRef path, StringRef block) {
  return path.consume_front(block) && path.starts_with(".");
}

/// Drops what `map` has for `path` and for all within it.
template <typename ValueT>
static void eraseWithin(llvm::StringMap<ValueT> &map, StringRef path) {
  for (auto it = map.begin(); it != map.end();) {
    auto entry = it++;
    if (entry->getKey() == path || isWithin(entry->getKey(), path))
      map.erase(entry);
  }
}

/// The key's, or where the file does not have it that of a block that it is in,
/// or the first one of a key in it.
StringRef Reporter::findOption(StringRef key) const {
  auto own = options.find(key);
  if (own != options.end())
    return own->second;
  if (names.contains(key))
    return key;
  if (isInFile(key))
    return "";
  StringRef first;
  size_t firstOrder = 0;
  for (const auto &[path, option] : options) {
    if (isWithin(key, path))
      return option;
    const size_t order = lines.order.lookup(path);
    if (isWithin(path, key) && (first.empty() || order < firstOrder)) {
      first = option;
      firstOrder = order;
    }
  }
  return first;
}

void Reporter::setOption(StringRef path, StringRef option) {
  // What is said in a block is replaced with the block.
  eraseWithin(lines.lines, path);
  eraseWithin(options, path);
  options[path] = option.str();
  lines.order[path] = lines.order.size();
}

void Reporter::error(StringRef key, const Twine &message) {
  if (isFull())
    return;
  ++errors;
  wrong.insert(key);
  add(ConfigSeverity::Error, key, message);
  if (isFull())
    add(ConfigSeverity::Error, "",
        "has " + Twine(kMostErrors) +
            " errors and may have more; mend these first");
}

void Reporter::remark(StringRef key, const Twine &message) {
  add(ConfigSeverity::Remark, key, message);
}

//===----------------------------------------------------------------------===//
// ConfigValues
//===----------------------------------------------------------------------===//

/// The table's path for a path of a file: the name of a parameter group
/// becomes `*`.
static std::string getTablePath(StringRef path) {
  StringRef groups = "zero.parameter_groups.";
  if (!path.starts_with(groups))
    return path.str();
  return (Twine(groups) + "*" + path.drop_front(path.rfind('.'))).str();
}

json::Value ConfigValues::get(StringRef path) const {
  if (const json::Value *value = values.lookup(path))
    return *value;
  return getDefault(getConfigKey(getTablePath(path)), hasNoFile);
}

bool ConfigValues::isSound(StringRef path) const {
  return llvm::none_of(faulty, [&](StringRef fault) {
    return fault == path || isWithin(fault, path) || isWithin(path, fault);
  });
}

std::vector<std::string> ConfigValues::paths() const {
  std::vector<std::string> paths;
  for (const auto &entry : values)
    paths.push_back(entry.getKey().str());
  llvm::sort(paths);
  return paths;
}

bool ConfigValues::boolean(StringRef path) const {
  return *get(path).getAsBoolean();
}

int64_t ConfigValues::integer(StringRef path) const {
  return *get(path).getAsInteger();
}

double ConfigValues::number(StringRef path) const {
  return *withoutSignOfZero(get(path).getAsNumber());
}

std::string ConfigValues::text(StringRef path) const {
  return get(path).getAsString()->str();
}

std::optional<int64_t> ConfigValues::optionalInteger(StringRef path) const {
  return get(path).getAsInteger();
}

std::optional<double> ConfigValues::optionalNumber(StringRef path) const {
  return withoutSignOfZero(get(path).getAsNumber());
}

std::optional<std::string> ConfigValues::optionalText(StringRef path) const {
  json::Value value = get(path);
  if (std::optional<StringRef> text = value.getAsString())
    return text->str();
  return std::nullopt;
}

llvm::SmallVector<double> ConfigValues::numbers(StringRef path) const {
  json::Value value = get(path);
  return llvm::map_to_vector(*value.getAsArray(), [](const json::Value &each) {
    return *withoutSignOfZero(each.getAsNumber());
  });
}

void ConfigValues::readFields(TrainConfig &config,
                              llvm::ArrayRef<StringRef> prefixes) const {
  for (const ConfigKey &row : getConfigKeys()) {
    if (!row.read || llvm::none_of(prefixes, [&](StringRef prefix) {
          return StringRef(row.path).starts_with(prefix);
        }))
      continue;
    const json::Value value = get(row.path);
    if (!value.getAsNull())
      row.read(value, config);
  }
}

//===----------------------------------------------------------------------===//
// Validation
//===----------------------------------------------------------------------===//

/// Numbers compare by value: 5e8 is 500000000.
static bool isEqual(const json::Value &a, const json::Value &b) {
  std::optional<double> left = a.getAsNumber(), right = b.getAsNumber();
  if (left && right)
    return *left == *right;
  return a == b;
}

/// False for a number that is infinite as an f32.
static bool fitsFloat(const json::Value &value) {
  std::optional<double> number = value.getAsNumber();
  return !number || std::isfinite(static_cast<float>(*number));
}

/// True when the value asks for nothing: the default, an empty block, or one
/// that is switched off.
static bool isInactive(const ConfigKey &row, const json::Value &value) {
  const json::Object *object = value.getAsObject();
  if (!object)
    return isEqual(value, getDefault(row));
  return object->empty() || object->getBoolean("enabled") == false;
}

namespace {
class Validator {
public:
  Validator(bool hasNoFile, Reporter &reporter)
      : reporter(reporter), values(hasNoFile) {}

  void checkObject(const json::Object &object, const ConfigKey *parent,
                   StringRef prefix) {
    // In the order of the file, which the parsed object does not keep.
    llvm::SmallVector<std::pair<unsigned, const json::Object::value_type *>>
        entries;
    for (const json::Object::value_type &entry : object)
      entries.emplace_back(
          reporter.getLines().lines.lookup(join(prefix, entry.first)), &entry);
    llvm::sort(entries, [](const auto &a, const auto &b) {
      return std::make_pair(a.first, StringRef(a.second->first)) <
             std::make_pair(b.first, StringRef(b.second->first));
    });
    for (const auto &[line, entry] : entries) {
      if (reporter.isFull())
        return;
      checkEntry(entry->first, entry->second, object, parent,
                 join(prefix, entry->first));
    }
  }

  void refuse(StringRef path, const Twine &message) {
    reporter.error(path, message);
    values.setFaulty(path);
  }

  ConfigValues take() { return std::move(values); }

  /// One remark about all keys that are "auto".
  void reportAutomatic() {
    std::string text = "\"auto\" reads as if the key were absent: ";
    if (automatic.size() == 1) {
      auto [path, row] = automatic.front();
      const bool hasDefault = StringRef(row->defaultValue) != "null";
      reporter.remark(path,
                      text + (hasDefault ? row->defaultValue : row->meaning));
    } else if (!automatic.empty()) {
      llvm::ListSeparator comma;
      for (const auto &[path, row] : automatic)
        text += (StringRef(comma) + path + describeDefault(*row)).str();
      reporter.remark("", text + "; --set KEY=VALUE gives one a value");
    }
  }

private:
  static std::string describeDefault(const ConfigKey &row) {
    return StringRef(row.defaultValue) == "null"
               ? std::string()
               : " (" + std::string(row.defaultValue) + ")";
  }

  static std::string join(StringRef prefix, StringRef key) {
    return prefix.empty() ? key.str() : (prefix + "." + key).str();
  }

  void checkEntry(StringRef key, const json::Value &value,
                  const json::Object &siblings, const ConfigKey *parent,
                  const std::string &path) {
    const ConfigKey *row = findConfigKey(parent, key);
    if (!row) {
      std::string nearest = getNearestConfigKey(parent, key);
      if (nearest.empty())
        reporter.error(path, "unknown key, like none of those that "
                             "docs/Configuration.md lists");
      else
        reporter.error(path, "unknown key; the nearest known one is '" +
                                 Twine(nearest) + "'");
      // It may be meant for that one.
      values.setFaulty(nearest.empty() ? path : nearest);
      return;
    }
    if (value.getAsString() == "auto" && row->type != KeyType::Object &&
        row->type != KeyType::Block) {
      values.setAuto(path);
      automatic.emplace_back(path, row);
      return;
    }
    if (value.getAsNull() && StringRef(row->defaultValue) == "null")
      return;
    if (!hasType(*row, value)) {
      const std::string message =
          "found " + print(value) + ", wanted " + describeType(*row);
      // Nothing depends on a key that is not carried out.
      return row->state == KeyState::Supported ? refuse(path, message)
                                               : reporter.error(path, message);
    }
    if (row->state == KeyState::Supported && !fitsFloat(value))
      return refuse(path, "found " + print(value) +
                              ", which f32 cannot hold; give at most 3.4e38");
    checkValue(*row, value, siblings, path);
  }

  void checkValue(const ConfigKey &row, const json::Value &value,
                  const json::Object &siblings, const std::string &path) {
    if (row.type == KeyType::Object) {
      values.set(path, value);
      if (!hasUnsupportedType(path, siblings))
        checkObject(*value.getAsObject(), &row, path);
      return;
    }
    switch (row.state) {
    case KeyState::Supported:
      values.set(path, value);
      return;
    case KeyState::NoEffect:
      if (isInactive(row, value))
        return;
      // Which of several reasons holds is known when all is read.
      if (row.idle)
        values.set(path, value);
      else
        reporter.remark(path, "changes nothing here: " + Twine(row.note));
      return;
    case KeyState::Refused:
      if (!isInactive(row, value))
        reporter.error(path,
                       (row.type == KeyType::Block || row.type == KeyType::Any
                            ? std::string("is not supported")
                            : print(value) + " is not supported") +
                           ": " + row.note);
      return;
    }
  }

  /// Settings of an optimizer or schedule that is refused anyway are not
  /// looked at: its type is the message that counts.
  bool hasUnsupportedType(StringRef path, const json::Object &siblings) {
    std::optional<StringRef> type = siblings.getString("type");
    if (path == "optimizer.params" && type)
      return !type->equals_insensitive("auto") &&
             !findOptimizerRule(type->lower());
    if (path == "scheduler.params" && type)
      return !llvm::StringSwitch<bool>(*type)
                  .Cases({"WarmupLR", "WarmupDecayLR", "WarmupCosineLR"}, true)
                  .Default(false);
    return false;
  }

  Reporter &reporter;
  ConfigValues values;
  /// The keys that are "auto", in the order of the file.
  std::vector<std::pair<std::string, const ConfigKey *>> automatic;
};
} // namespace

ConfigValues mlir::zero::validateKeys(const json::Object &root, bool hasNoFile,
                                      Reporter &reporter) {
  Validator validator(hasNoFile, reporter);
  for (const auto &[path, line] : reporter.getLines().repeated)
    validator.refuse(path, "is in the file twice, again in line " +
                               Twine(line) + "; keep one");
  validator.checkObject(root, nullptr, "");
  validator.reportAutomatic();
  return validator.take();
}
