//===- Config.cpp - From a DeepSpeed JSON file to plain data ----*- C++ -*-===//
#include "zero/Config/Config.h"
#include "zero/Config/Nesting.h"

#include "ConfigKeys.h"
#include "ConfigReader.h"
#include "Options.h"
#include "Relaxed.h"
#include "Spellings.h"

#include "program/Bounds.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir::zero;
using llvm::StringRef;
using llvm::Twine;
namespace json = llvm::json;

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

const OptimizerRule *mlir::zero::findOptimizerRule(StringRef name) {
  for (const OptimizerRule &rule : getOptimizerRules())
    if (name == rule.name)
      return &rule;
  return nullptr;
}

std::string mlir::zero::listOptimizerRules() {
  std::string text;
  for (const OptimizerRule &rule : getOptimizerRules())
    text += (text.empty() ? "" : ", ") + std::string(rule.name);
  return text;
}

double OptimizerConfig::getSetting(StringRef name) const {
  if (name == "beta1" || name == "beta2")
    return name == "beta1" ? beta1 : beta2;
  TrainConfig config;
  config.optimizer = *this;
  const llvm::json::Value value =
      getConfigKey(("optimizer.params." + name).str()).write(config);
  return value.getAsBoolean() ? *value.getAsBoolean() : *value.getAsNumber();
}

//===----------------------------------------------------------------------===//
// Entry points
//===----------------------------------------------------------------------===//

/// Splits the message of the JSON parser, `[3:14, byte=42]: text`.
static ConfigDiagnostic describeSyntaxError(llvm::Error error) {
  std::string message = llvm::toString(std::move(error));
  StringRef rest = message;
  unsigned line = 0;
  if (rest.consume_front("[") && !rest.consumeInteger(10, line))
    rest = rest.split("]: ").second;
  else
    rest = message;
  std::string text = "is not JSON: " + rest.str();
  return {ConfigSeverity::Error, "", line, text};
}

std::optional<TrainConfig> mlir::zero::parseTrainConfig(
    StringRef written, const ConfigContext &context,
    llvm::SmallVectorImpl<ConfigDiagnostic> &diagnostics) {
  const StrictJson strict = toStrictJson(written);
  const std::string &text = strict.text;
  if (hasByteOrderMark(written)) {
    diagnostics.push_back({ConfigSeverity::Error, "", 1, kByteOrderMark});
    return std::nullopt;
  }
  // The parser calls itself for each level.
  if (unsigned line = findDeepNesting(text, kMostJsonNesting)) {
    diagnostics.push_back(
        {ConfigSeverity::Error, "", line,
         ("objects and arrays are nested more than " + Twine(kMostJsonNesting) +
          " deep; no key takes that, remove the inner ones")
             .str()});
    return std::nullopt;
  }
  llvm::Expected<json::Value> root = json::parse(text);
  if (!root) {
    diagnostics.push_back(describeSyntaxError(root.takeError()));
    if (!strict.hint.empty())
      diagnostics.back() = {ConfigSeverity::Error, "", strict.hintLine,
                            "is not JSON: " + strict.hint};
    return std::nullopt;
  }
  const json::Object *object = root->getAsObject();
  if (!object) {
    diagnostics.push_back({ConfigSeverity::Error, "", 1,
                           "found no object, wanted { \"key\": value, ... }"});
    return std::nullopt;
  }
  KeyLines lines = findKeyLines(text);
  useOwnSpellings(*root->getAsObject(), lines);
  Reporter reporter(std::move(lines), diagnostics);
  const OtherOptions options =
      mergeOptions(context.options, *root->getAsObject(), reporter);
  if (context.ranks && (*context.ranks < 1 || *context.ranks > zrt::kMostCount))
    reporter.error("", "found " + Twine(*context.ranks) +
                           " ranks, wanted 1 to " + Twine(zrt::kMostCount));
  // Options may stand for any key.
  const bool areOptionsKnown = !reporter.hasErrors();
  ConfigValues values = validateKeys(*object, context.hasNoFile, reporter);
  if (!areOptionsKnown)
    return std::nullopt;
  TrainConfig config = readConfig(*object, values, options, context, reporter);
  if (reporter.hasErrors())
    return std::nullopt;
  return config;
}

std::optional<TrainConfig> mlir::zero::loadTrainConfig(
    StringRef path, const ConfigContext &context,
    llvm::SmallVectorImpl<ConfigDiagnostic> &diagnostics) {
  llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> buffer =
      llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!buffer) {
    diagnostics.push_back({ConfigSeverity::Error, "", 0,
                           "cannot be read: " + buffer.getError().message()});
    return std::nullopt;
  }
  return parseTrainConfig((*buffer)->getBuffer(), context, diagnostics);
}

void mlir::zero::printConfigDiagnostics(
    llvm::raw_ostream &os, StringRef fileName,
    llvm::ArrayRef<ConfigDiagnostic> diagnostics) {
  for (const ConfigDiagnostic &diagnostic : diagnostics) {
    os << fileName << ":";
    if (diagnostic.line)
      os << diagnostic.line << ":";
    os << (diagnostic.severity == ConfigSeverity::Error ? " error: "
                                                        : " remark: ");
    if (!diagnostic.key.empty())
      os << diagnostic.key << ": ";
    os << diagnostic.message << "\n";
  }
}
