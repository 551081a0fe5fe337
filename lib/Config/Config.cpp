//===- Config.cpp - From a DeepSpeed JSON file to plain data ----*- C++ -*-===//
#include "zero/Config/Config.h"
#include "zero/Config/Nesting.h"

#include "ConfigKeys.h"
#include "ConfigReader.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir::zero;
using llvm::StringRef;
using llvm::Twine;
namespace json = llvm::json;

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

StringRef mlir::zero::stringify(Precision precision) {
  switch (precision) {
  case Precision::F32:
    return "f32";
  case Precision::F16:
    return "f16";
  case Precision::BF16:
    return "bf16";
  }
  llvm_unreachable("every precision is handled");
}

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

bool OptimizerConfig::hasKey(StringRef key) const {
  const ConfigKey &row = getConfigKey(("optimizer.params." + key).str());
  llvm::SmallVector<StringRef> types;
  StringRef(row.only).split(types, '|');
  return !*row.only || llvm::is_contained(types, findOptimizerRule(type)->type);
}

double OptimizerConfig::getSetting(StringRef name) const {
  std::optional<double> found = llvm::StringSwitch<std::optional<double>>(name)
                                    .Case("lr", learningRate)
                                    .Case("weight_decay", weightDecay)
                                    .Case("beta1", beta1)
                                    .Case("beta2", beta2)
                                    .Case("eps", epsilon)
                                    .Case("bias_correction", biasCorrection)
                                    .Case("momentum", momentum)
                                    .Case("nesterov", nesterov)
                                    .Default(std::nullopt);
  assert(found && "no optimizer has such a setting");
  return *found;
}

StringRef mlir::zero::stringify(RecomputePolicy policy) {
  switch (policy) {
  case RecomputePolicy::All:
    return "all";
  case RecomputePolicy::Cheap:
    return "cheap";
  case RecomputePolicy::Full:
    return "full";
  }
  llvm_unreachable("a policy without a name");
}

std::optional<RecomputePolicy>
mlir::zero::parseRecomputePolicy(StringRef name) {
  for (auto policy :
       {RecomputePolicy::All, RecomputePolicy::Cheap, RecomputePolicy::Full})
    if (name == stringify(policy))
      return policy;
  return std::nullopt;
}

StringRef mlir::zero::stringify(Layout layout) {
  return layout == Layout::Bucketed ? "bucketed" : "contiguous";
}

StringRef mlir::zero::stringify(LossMeanKind kind) {
  return kind == LossMeanKind::Tokens ? "tokens" : "micro_batches";
}

std::optional<LossMeanKind> mlir::zero::parseLossMean(StringRef name) {
  for (LossMeanKind kind : {LossMeanKind::Tokens, LossMeanKind::MicroBatches})
    if (name == stringify(kind))
      return kind;
  return std::nullopt;
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
    StringRef text, const ConfigContext &context,
    llvm::SmallVectorImpl<ConfigDiagnostic> &diagnostics) {
  if (hasByteOrderMark(text)) {
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
    return std::nullopt;
  }
  const json::Object *object = root->getAsObject();
  if (!object) {
    diagnostics.push_back({ConfigSeverity::Error, "", 1,
                           "found no object, wanted { \"key\": value, ... }"});
    return std::nullopt;
  }
  Reporter reporter(findKeyLines(text), diagnostics);
  if (context.ranks && (*context.ranks < 1 || *context.ranks > kMaxCount))
    reporter.error("", "found " + Twine(*context.ranks) +
                           " ranks, wanted 1 to " + Twine(kMaxCount));
  ConfigValues values = validateKeys(*object, reporter);
  // Values that failed would only give messages that follow from the first.
  if (reporter.hasErrors())
    return std::nullopt;
  TrainConfig config = readConfig(*object, values, context, reporter);
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
