//===- Options.cpp - Options in place of keys -------------------*- C++ -*-===//
#include "Options.h"
#include "Spellings.h"

#include "llvm/ADT/StringExtras.h"

#include <cmath>
#include <map>

using namespace mlir::zero;
using llvm::StringRef;
namespace json = llvm::json;

static const ConfigKey &findOption(StringRef name) {
  for (llvm::ArrayRef<ConfigKey> rows : {getConfigKeys(), getCompoundOptions()})
    for (const ConfigKey &row : rows)
      if (name == row.option)
        return row;
  llvm_unreachable("callers offer the options of the table only");
}

/// What `text` says as a value of that type; the text where it is none.
static json::Value parseValue(KeyType type, StringRef text) {
  if (type == KeyType::Text || type == KeyType::Choice)
    return text.str();
  if (type == KeyType::Sizes) {
    json::Array array;
    for (StringRef each : llvm::split(text, ','))
      array.push_back(parseValue(KeyType::Size, each));
    return array;
  }
  if (type == KeyType::Bool && (text == "true" || text == "false"))
    return text == "true";
  int64_t integer;
  if (!text.getAsInteger(0, integer))
    return integer;
  double number;
  if (!text.getAsDouble(number) && std::isfinite(number))
    return number;
  return text.str();
}

namespace {
class OptionMerger {
public:
  OptionMerger(json::Object &root, Reporter &reporter)
      : root(root), reporter(reporter) {}

  llvm::StringMap<json::Value>
  run(llvm::ArrayRef<std::pair<std::string, std::string>> options);

private:
  void set(StringRef path, json::Value value);
  void checkGiven(StringRef path, const json::Value &value);
  void setKeys(StringRef text);
  void setKey(const std::string &path, json::Value value);
  bool isInRoot(StringRef path) const;
  void setCompound(const json::Value &value);
  // What compound options set, as their records say.
  void setPrecision(const json::Value &type);
  void setOptimizer(const json::Value &name);
  void setMesh(const json::Value &text);
  void setTiers(const json::Value &text);
  void setBits(const json::Value &bits, StringRef enabled, StringRef key);
  void setFeedback(const json::Value &beta);
  void setReset(const json::Value &updates);
  void setPipelined(const json::Value &isPipelined);

  json::Object &root;
  Reporter &reporter;
  /// The option that is merged.
  StringRef name;
  llvm::StringMap<json::Value> others;
  struct Given {
    std::string option;
    json::Value value;
  };
  std::map<std::string, Given> given; ///< by path
};
} // namespace

static constexpr StringRef kSetWords = "set ";

/// Whether users choose the names of keys in the block `path`, which may then
/// hold dots.
static bool hasChosenNames(StringRef path) {
  return llvm::any_of(getConfigKeys(), [&](const ConfigKey &row) {
    return StringRef(row.path) == (path + ".*").str();
  });
}

/// A name that users choose in `block`, and the key of what has it; none where
/// `rest` is all of the name.
static std::pair<StringRef, StringRef> splitName(StringRef block,
                                                 StringRef rest) {
  for (const ConfigKey &row : getConfigKeys()) {
    StringRef key = row.path;
    if (key.consume_front((block + ".*.").str()) &&
        rest.ends_with(("." + key).str()))
      return {rest.drop_back(key.size() + 1), key};
  }
  return {rest, StringRef()};
}

/// A block that is given as a whole: its keys belong together.
static bool isWhole(StringRef path) {
  return path == "zero.mesh" || path == "optimizer" || path == "scheduler";
}

/// A key by `set`, and by another option or `set`.
void OptionMerger::checkGiven(StringRef path, const json::Value &value) {
  for (const auto &[other, by] : given) {
    const bool isBySet = name.starts_with(kSetWords) ||
                         StringRef(by.option).starts_with(kSetWords);
    const bool differs = path == other
                             ? by.value != value
                             : isWithin(path, other) || isWithin(other, path);
    if (isBySet && differs)
      return reporter.error(path, "found " + print(value) + ", and " +
                                      print(by.value) + " by the option " +
                                      by.option + "; give one of them");
  }
  given.insert_or_assign(path.str(), Given{name.str(), value});
}

/// Gives the key at `path` a value. Where the file has no block for it, it gets
/// one; what is no block in the file is an error that its keys' types give.
void OptionMerger::set(StringRef path, json::Value value) {
  reporter.setOption(path, name);
  checkGiven(path, value);
  json::Object *block = &root;
  for (StringRef rest = path;;) {
    auto [head, tail] = rest.split('.');
    const StringRef before = path.drop_back(rest.size());
    const StringRef within = before.empty() ? before : before.drop_back();
    if (hasChosenNames(within))
      std::tie(head, tail) = splitName(within, rest);
    json::Value &entry = block->try_emplace(head.str(), nullptr).first->second;
    if (tail.empty()) {
      entry = std::move(value);
      return;
    }
    if (entry.getAsNull())
      entry = json::Object();
    block = entry.getAsObject();
    if (!block)
      return;
    rest = tail;
  }
}

/// A block of keys gives each of them; what it does not name stays.
void OptionMerger::setKey(const std::string &path, json::Value value) {
  const json::Object *block = isWhole(path) ? nullptr : value.getAsObject();
  if (!block || block->empty())
    return set(path, std::move(value));
  for (const auto &[key, inner] : *block)
    setKey(toOwnSpelling((path + "." + StringRef(key)).str()), inner);
}

/// Where the first KEY=VALUE of `text` ends: at a semicolon, but for one in a
/// string of a JSON value.
static size_t endOfEntry(StringRef text) {
  const size_t value = text.find('=') + 1;
  const bool isJson =
      value && text.drop_front(value).ltrim().find_first_of("\"[{") == 0;
  bool isQuoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ';' && !isQuoted)
      return i;
    if (isJson && i >= value && text[i] == '"')
      isQuoted = !isQuoted;
    i += isQuoted && text[i] == '\\';
  }
  return text.size();
}

/// KEY=VALUE;KEY=VALUE, of JSON or of text.
void OptionMerger::setKeys(StringRef text) {
  for (std::optional<StringRef> rest = text; rest;) {
    const size_t end = endOfEntry(*rest);
    const StringRef entry = rest->take_front(end);
    rest = end < rest->size() ? std::optional(rest->drop_front(end + 1))
                              : std::nullopt;
    auto [path, written] = entry.split('=');
    llvm::Expected<json::Value> value = json::parse(written);
    if (path.empty() || path.size() == entry.size())
      reporter.error("", "the option set: found '" + entry +
                             "', wanted a key and its value, such as "
                             "zero_optimization.reduce_bucket_size=5e7");
    else {
      const std::string own = toOwnSpelling(path),
                        words = (kSetWords + own).str();
      name = words;
      setKey(own, value ? *value : json::Value(written.str()));
    }
    llvm::consumeError(value.takeError());
  }
}

bool OptionMerger::isInRoot(StringRef path) const {
  const json::Object *block = &root;
  auto [head, tail] = path.split('.');
  for (; block && !tail.empty(); std::tie(head, tail) = tail.split('.'))
    block = block->getObject(head);
  return block && block->get(head);
}

void OptionMerger::setPrecision(const json::Value &value) {
  const StringRef type = *value.getAsString();
  set("fp16.enabled", type == "f16" || type == "fp16");
  set("bf16.enabled", type == "bf16");
  if (isInRoot("bfloat16"))
    set("bfloat16.enabled", type == "bf16");
}

void OptionMerger::setOptimizer(const json::Value &value) {
  const StringRef rule = *value.getAsString();
  const OptimizerRule *found = findOptimizerRule(rule);
  if (!found)
    return reporter.error(name, "found \"" + rule + "\", wanted one of " +
                                    listOptimizerRules());
  set("optimizer.type", found->type);
  if (rule == "adam")
    set("optimizer.params.adam_w_mode", false);
}

void OptionMerger::setMesh(const json::Value &text) {
  std::string error;
  std::optional<std::vector<MeshAxisConfig>> axes =
      parseMesh(*text.getAsString(), error);
  if (!axes)
    return reporter.error(name, error);
  set("zero.mesh", json::Object());
  for (const MeshAxisConfig &axis : *axes)
    set("zero.mesh." + axis.name, axis.size);
}

void OptionMerger::setTiers(const json::Value &text) {
  for (StringRef entry : llvm::split(*text.getAsString(), ',')) {
    auto [state, tier] = entry.split('=');
    if (state.empty() || tier.empty())
      return reporter.error(name, "found '" + entry +
                                      "', wanted a state and one of device, "
                                      "host, file, such as exp_avg=host");
    set(("zero.state_tiers." + state).str(), tier.str());
  }
}

/// Bits of 0 quantize nothing.
void OptionMerger::setBits(const json::Value &bits, StringRef enabled,
                           StringRef key) {
  const bool quantizes = bits.getAsInteger() != 0;
  set(enabled, quantizes);
  if (quantizes)
    set(key, bits);
}

static constexpr StringRef kFeedback = "zero_optimization.zeropp_loco_param";

/// A part of 1 feeds nothing back.
void OptionMerger::setFeedback(const json::Value &beta) {
  if (beta.getAsNumber() == 1.0)
    return set(kFeedback, nullptr);
  if (!isInRoot(kFeedback))
    reporter.setOption(kFeedback, name);
  set((kFeedback + ".err_beta").str(), beta);
}

void OptionMerger::setReset(const json::Value &updates) {
  if (!isInRoot(kFeedback))
    return reporter.error(name, "nothing is fed back; give error-feedback, or "
                                "leave it out");
  set((kFeedback + ".reset_T").str(), updates);
}

void OptionMerger::setPipelined(const json::Value &isPipelined) {
  const std::string block = "zero_optimization.offload_optimizer.";
  set(block + "pipeline", isPipelined);
  if (isPipelined == json::Value(true))
    return;
  set(block + "pipeline_read", false);
  set(block + "pipeline_write", false);
}

void OptionMerger::setCompound(const json::Value &value) {
#define GEN_OPTION_SETTERS
#include "zero/Config/SettingRows.inc"
  others.try_emplace(name, value);
}

llvm::StringMap<json::Value>
OptionMerger::run(llvm::ArrayRef<std::pair<std::string, std::string>> options) {
  for (const auto &[option, text] : options) {
    if (option == kSetOption) {
      setKeys(text);
      continue;
    }
    name = option;
    const ConfigKey &row = findOption(name);
    json::Value value = parseValue(row.type, text);
    reporter.nameOption(name);
    if (name != row.path)
      set(row.path, std::move(value));
    else if (hasType(row, value))
      setCompound(value);
    else
      reporter.error(name,
                     "found " + print(value) + ", wanted " + describeType(row));
  }
  return std::move(others);
}

llvm::StringMap<json::Value> mlir::zero::mergeOptions(
    llvm::ArrayRef<std::pair<std::string, std::string>> options,
    json::Object &root, Reporter &reporter) {
  return OptionMerger(root, reporter).run(options);
}
