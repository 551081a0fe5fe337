//===- ConfigKeys.h - Every key of a configuration, in one table ----------===//
//
// Validation, defaults and `docs/Configuration.md` all come from this table,
// so that they cannot disagree.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_LIB_CONFIG_CONFIGKEYS_H
#define ZERO_LIB_CONFIG_CONFIGKEYS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"

#include <string>

namespace mlir::zero {

/// What a value may be.
enum class KeyType {
  Object,      ///< a block whose keys are in the table too
  Block,       ///< a block whose keys are not looked at
  Bool,        ///< true or false
  Size,        ///< integer, 0 or more
  Count,       ///< integer, 1 or more
  Integer,     ///< any integer
  NonNegative, ///< number, 0 or more
  Positive,    ///< number above 0
  Fraction,    ///< number in [0, 1)
  Betas,       ///< two numbers in [0, 1)
  Sizes,       ///< array of integers, 0 or more
  Text,        ///< any string
  Choice,      ///< one of `choices`
  Any,         ///< anything
};

/// What happens to a value.
enum class KeyState {
  Supported, ///< it does what it says
  NoEffect,  ///< accepted; nothing here depends on it
  Refused,   ///< only the default is accepted
};

/// One row. Strings are literals.
struct ConfigKey {
  /// Path with dots; `*` stands for a name that the user chooses.
  const char *path;
  KeyType type;
  /// JSON text of the value that an absent key has.
  const char *defaultValue;
  KeyState state;
  /// What the key says; a sentence without a full stop.
  const char *meaning;
  /// NoEffect: why nothing depends on it. Refused: the reason, then what to
  /// do instead.
  const char *note = "";
  /// Choice: the values, separated by `|`.
  const char *choices = "";
  /// The optimizer or scheduler types that have the key, separated by `|`;
  /// empty: all.
  const char *only = "";
};

/// All rows, each block before its keys, in the order of the documentation.
llvm::ArrayRef<ConfigKey> getConfigKeys();

/// The row of `key` inside the block of `parent` (null: the whole file), or
/// null where the block has no such key.
const ConfigKey *findConfigKey(const ConfigKey *parent, llvm::StringRef key);

/// The row with exactly this path. The path must be in the table.
const ConfigKey &getConfigKey(llvm::StringRef path);

/// The path of a known key that looks most like `key` in the block of
/// `parent`, or "" where none is near; a key with the same name in another
/// block is.
std::string getNearestConfigKey(const ConfigKey *parent, llvm::StringRef key);

/// The value that an absent key has.
llvm::json::Value getDefault(const ConfigKey &key);

/// `an integer of 0 or more`: what a value of this key must be.
std::string describeType(const ConfigKey &key);

/// True when `value` is of the key's type and in its range.
bool hasType(const ConfigKey &key, const llvm::json::Value &value);

} // namespace mlir::zero

#endif // ZERO_LIB_CONFIG_CONFIGKEYS_H
