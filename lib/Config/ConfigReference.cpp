//===- ConfigReference.cpp - The page about all keys ------------*- C++ -*-===//
#include "ConfigKeys.h"
#include "zero/Config/Config.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir::zero;
using llvm::StringRef;

static constexpr StringRef kIntroduction =
    R"(<!-- Written by tools/generate-docs from include/zero/Config/Settings.td. -->
# Configuration

DeepSpeed JSON files are read unchanged. DeepSpeed takes them as Hjson, and of that no
error here are comments (`//`, `#`, `/* */`), a comma too many or too few at the end of a
line, single quotes, keys without quotes, strings without quotes, which go to the end of
their line with all commas and brackets there, and no braces around all of it. Strings of
several lines (`'''`) are not read. The keys `zero_optimization.stage3_...` may be written
without `stage3_`. Every key that a file may contain is below, with DeepSpeed's default. A
key is in one of three states:

- **supported**: it is carried out.
- **no effect**: accepted, since results do not depend on it here; a value other
  than the default gives a remark that says why.
- **refused**: only the default is accepted; another value is an error that says
  what to do instead. A block is accepted when it is empty or has
  `"enabled": false`.

An unknown key is an error that suggests a known one near it. Messages start
with file and line, and all errors of a file are shown at once, those between several
keys included, but for those that may follow from another one. `"auto"` is treated as
if the key were absent, and so is `null` where the default is `null`; `--set KEY=VALUE`
of `zero-compile` and `zero-plan` gives it, or any other key, a value; a block gives those
of its keys that it names, but for `optimizer`, `scheduler` and `zero.mesh`, which are given as
a whole. The block `zero` is this project's own. Many keys have an option of
`zero-pipeline`, which stands for the key's value in the file.

)";

static constexpr StringRef kTable = R"(
| key | value | default | state | meaning |
| --- | --- | --- | --- | --- |
)";

static StringRef describe(KeyState state) {
  switch (state) {
  case KeyState::Supported:
    return "supported";
  case KeyState::NoEffect:
    return "no effect";
  case KeyState::Refused:
    return "refused";
  }
  llvm_unreachable("every state is handled");
}

/// The meaning, the note and the types that have the key, as sentences.
static std::string describeMeaning(const ConfigKey &key) {
  std::string text = key.meaning;
  if (*key.only) {
    llvm::SmallVector<StringRef> types;
    StringRef(key.only).split(types, '|');
    text += " (" + llvm::join(types, ", ") + ")";
  }
  text[0] = llvm::toUpper(text[0]);
  text += ".";
  if (*key.note) {
    std::string note = key.note;
    note[0] = llvm::toUpper(note[0]);
    text += " " + note + ".";
  }
  if (*key.option)
    text += " Option: `" + std::string(key.option) + "`.";
  return text;
}

/// The defaults that are others where there is no file.
static void writeDefaultsWithoutFile(llvm::raw_ostream &os) {
  os << "Without a file some defaults differ, so that schedules are easy to "
        "read:\n\n";
  for (const ConfigKey &key : getConfigKeys())
    if (StringRef(key.defaultValue) != key.withoutFile)
      os << "- `" << key.path << "` is " << key.withoutFile << "\n";
  os << R"(
So `zero-plan --stage 3` and a file that sets nothing but stage 3 give different plans.
An empty file, `{}`, has all of DeepSpeed's defaults.

For `--target cuda`, with or without a file, both bucket sizes are an eighth of the
elements that are trained, at least 25e6 and at most 100e6, where they are not given, and
`overlap_comm` is true: a reduction then takes place beside the computation that is left.
)";
}

void mlir::zero::writeConfigReference(llvm::raw_ostream &os) {
  os << kIntroduction;
  writeDefaultsWithoutFile(os);
  os << kTable;
  for (const ConfigKey &key : getConfigKeys()) {
    StringRef value = key.defaultValue;
    os << "| `" << key.path << "` | " << describeType(key) << " | "
       << (value == "null" ? "" : "`") << (value == "null" ? "absent" : value)
       << (value == "null" ? "" : "`") << " | " << describe(key.state) << " | "
       << describeMeaning(key) << " |\n";
  }
}
