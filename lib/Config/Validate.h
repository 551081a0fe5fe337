//===- Validate.h - A configuration against the table of keys ---*- C++ -*-===//
#ifndef ZERO_LIB_CONFIG_VALIDATE_H
#define ZERO_LIB_CONFIG_VALIDATE_H

#include "ConfigKeys.h"
#include "KeyLines.h"
#include "zero/Config/Config.h"

#include "llvm/ADT/StringSet.h"

#include <optional>
#include <string>
#include <vector>

namespace mlir::zero {

/// -0 is 0: it would be written as an integer, which has no sign.
inline std::optional<double> withoutSignOfZero(std::optional<double> value) {
  return value ? std::optional(*value + 0.0) : value;
}

/// The JSON text of a value.
std::string print(const llvm::json::Value &value);
/// Whether `path` is a key of the block `block`, or of one within it.
bool isWithin(llvm::StringRef path, llvm::StringRef block);

/// Collects the messages about one file and knows where its keys stand.
class Reporter {
public:
  Reporter(KeyLines lines, llvm::SmallVectorImpl<ConfigDiagnostic> &out)
      : lines(std::move(lines)), out(out) {}

  /// The key at `path` has the value of an option, which messages name.
  void setOption(llvm::StringRef path, llvm::StringRef option);
  /// The option is given; messages may have its name where a key's path is.
  void nameOption(llvm::StringRef option) { names.insert(option); }
  /// Whether an option gives the key, and the file does not.
  bool isOption(llvm::StringRef path) const {
    return options.count(path) || names.contains(path);
  }
  /// Whether the key is in the file.
  bool isInFile(llvm::StringRef path) const { return lines.lines.count(path); }

  void error(llvm::StringRef key, const llvm::Twine &message);
  void remark(llvm::StringRef key, const llvm::Twine &message);
  bool hasErrors() const { return errors != 0; }
  unsigned countErrors() const { return errors; }
  /// Whether there is an error about the key.
  bool hasError(llvm::StringRef key) const { return wrong.contains(key); }
  /// More errors would not be read; they are not kept.
  bool isFull() const { return errors >= kMostErrors; }
  const KeyLines &getLines() const { return lines; }

private:
  llvm::StringRef findOption(llvm::StringRef key) const;
  void add(ConfigSeverity severity, llvm::StringRef key,
           const llvm::Twine &message);

  static constexpr unsigned kMostErrors = 100;

  KeyLines lines;
  /// Names of options, by the paths of keys.
  llvm::StringMap<std::string> options;
  llvm::StringSet<> names;
  llvm::SmallVectorImpl<ConfigDiagnostic> &out;
  unsigned errors = 0;
  llvm::StringSet<> wrong;
};

/// The values of a file, and of options in its place, that passed, by path.
/// Absent, null and "auto" values read as the table's default.
class ConfigValues {
public:
  explicit ConfigValues(bool hasNoFile) : hasNoFile(hasNoFile) {}

  void set(llvm::StringRef path, const llvm::json::Value &value) {
    values.insert_or_assign(path, &value);
  }
  void setAuto(llvm::StringRef path) { automatic.insert(path); }
  /// What the file means by the key is not known: an error was reported.
  void setFaulty(llvm::StringRef path) { faulty.push_back(path.str()); }

  /// True when the file gives a value of its own.
  bool has(llvm::StringRef path) const { return values.count(path); }
  /// Paths of all values that the file gives, in increasing order.
  std::vector<std::string> paths() const;
  /// True when the file says "auto".
  bool isAuto(llvm::StringRef path) const { return automatic.contains(path); }
  /// Whether it is known what the file means by the key, and by all in it.
  bool isSound(llvm::StringRef path) const;

  bool boolean(llvm::StringRef path) const;
  int64_t integer(llvm::StringRef path) const;
  double number(llvm::StringRef path) const;
  std::string text(llvm::StringRef path) const;
  std::optional<int64_t> optionalInteger(llvm::StringRef path) const;
  std::optional<double> optionalNumber(llvm::StringRef path) const;
  std::optional<std::string> optionalText(llvm::StringRef path) const;
  /// The numbers of an array, `optimizer.params.betas`.
  llvm::SmallVector<double> numbers(llvm::StringRef path) const;

  /// Puts the values of the keys under the prefixes into the fields that they
  /// have, as far as `config` has the parts that those are in.
  void readFields(TrainConfig &config,
                  llvm::ArrayRef<llvm::StringRef> prefixes) const;

  /// The value, or the default of a key that the file does not give.
  llvm::json::Value get(llvm::StringRef path) const;

private:
  bool hasNoFile;
  llvm::StringMap<const llvm::json::Value *> values;
  llvm::StringSet<> automatic;
  std::vector<std::string> faulty;
};

/// Checks every key of `root` against the table and returns those that count.
/// After an error the values of other keys count all the same.
ConfigValues validateKeys(const llvm::json::Object &root, bool hasNoFile,
                          Reporter &reporter);

} // namespace mlir::zero

#endif // ZERO_LIB_CONFIG_VALIDATE_H
