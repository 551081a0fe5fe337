//===- ConfigKeys.h - Every key of a configuration, in one table ----------===//
//
// Its rows are written by zero-tblgen from include/zero/Config/Settings.td:
// validation, defaults, fields and `docs/Configuration.md` all come from there,
// so that they cannot disagree.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_LIB_CONFIG_CONFIGKEYS_H
#define ZERO_LIB_CONFIG_CONFIGKEYS_H

#include "zero/Config/Config.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"

#include <string>

namespace mlir::zero {

#define GEN_KEY_TYPES
#include "zero/Config/SettingFields.inc"

/// What happens to a value.
enum class KeyState {
  Supported, ///< it does what it says
  NoEffect,  ///< accepted; nothing here depends on it
  Refused,   ///< only the default is accepted
};

/// Why a key changes nothing; empty where it may. With advice, an option that
/// changes nothing is an error.
struct IdleReason {
  const char *why = "";
  const char *advice = "";
};

/// One row. Strings are literals.
struct ConfigKey {
  /// Path with dots; `*` stands for a name that the user chooses.
  const char *path;
  KeyType type;
  /// JSON text of the value that an absent key has, and where there is no file.
  const char *defaultValue, *withoutFile;
  KeyState state;
  /// What the key says; a sentence without a full stop.
  const char *meaning;
  /// NoEffect: why nothing depends on it. Refused: the reason, then what to
  /// do instead.
  const char *note;
  /// Choice: the values, separated by `|`.
  const char *choices;
  /// The optimizer or scheduler types that have the key, separated by `|`;
  /// empty: all.
  const char *only;
  /// The largest number.
  int64_t most;
  /// The option of a command line that stands for it; empty: none.
  const char *option;
  /// Whether a search may vary it.
  bool isSearched;
  /// Puts a value into the field of the key, where the configuration has the
  /// part that the field is in; null: other code does.
  void (*read)(const llvm::json::Value &value, TrainConfig &config);
  /// The value to write, null for nothing; no function: other code writes it.
  llvm::json::Value (*write)(const TrainConfig &config);
  /// No function: it always may change something.
  IdleReason (*idle)(const TrainConfig &config);

  /// Why it changes nothing in a run of `config`: of a key that never changes
  /// anything the note, unless another reason holds.
  IdleReason describeIdle(const TrainConfig &config) const {
    const IdleReason reason = idle ? idle(config) : IdleReason();
    if (state == KeyState::NoEffect && !*reason.why)
      return {note};
    return reason;
  }
};

/// Options that stand for several keys, or for a key in another form: rows
/// whose path is the option's name.
llvm::ArrayRef<ConfigKey> getCompoundOptions();

/// All rows, each block before its keys, in the order of the documentation.
llvm::ArrayRef<ConfigKey> getConfigKeys();

/// The row of `key` inside the block of `parent` (null: the whole file), or
/// null where the block has no such key.
const ConfigKey *findConfigKey(const ConfigKey *parent, llvm::StringRef key);

/// The row with exactly this path; null where there is none.
const ConfigKey *findConfigRow(llvm::StringRef path);

/// The row with exactly this path. The path must be in the table.
const ConfigKey &getConfigKey(llvm::StringRef path);

/// The path of a known key that looks most like `key` in the block of
/// `parent`, or "" where none is near; a key with the same name in another
/// block is.
std::string getNearestConfigKey(const ConfigKey *parent, llvm::StringRef key);

/// The path of the block that holds the key of `path`; empty at the top.
llvm::StringRef getParentPath(llvm::StringRef path);

/// The last component of `path`.
llvm::StringRef getName(llvm::StringRef path);

/// The value that an absent key has, in a file or without one.
llvm::json::Value getDefault(const ConfigKey &key, bool hasNoFile = false);

/// `an integer of 0 or more`: what a value of this key must be.
std::string describeType(const ConfigKey &key);

/// True when `value` is of the key's type and in its range.
bool hasType(const ConfigKey &key, const llvm::json::Value &value);

} // namespace mlir::zero

#endif // ZERO_LIB_CONFIG_CONFIGKEYS_H
