//===- PipelineOptions.cpp - what the options of zero-pipeline mean -------===//

#include "zero/Transforms/Pipeline.h"

#include "zero/Analysis/Sizes.h"
#include "zero/Config/InputFile.h"
#include "zero/Cost/Machine.h"
#include "zero/Dialect/Zero/Zero.h"
#include "zero/Plan/MemoryBudget.h"

#include "program/NcclParts.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/JSON.h"

#include <algorithm>

using namespace mlir;
using namespace mlir::zero;

/// Takes the next option off `text`: up to a space that is in no quotes and no
/// braces.
static StringRef takeOption(StringRef &text) {
  text = text.ltrim();
  int depth = 0;
  char quote = 0;
  size_t end = 0;
  for (; end < text.size(); ++end) {
    char c = text[end];
    if (quote) {
      quote = c == quote ? 0 : quote;
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == '{' || c == '}') {
      depth += c == '{' ? 1 : -1;
    } else if (llvm::isSpace(c) && depth == 0) {
      break;
    }
  }
  StringRef option = text.take_front(end);
  text = text.drop_front(end);
  return option;
}

ZeroPipelineOptions::ZeroPipelineOptions() {
  for (const ConfigOption &option : getConfigOptions()) {
    auto meaning = llvm::cl::desc(option.meaning);
    if (option.isFlag)
      flags.push_back(
          std::make_unique<Option<bool>>(*this, option.name, meaning));
    else
      texts.push_back(
          std::make_unique<Option<std::string>>(*this, option.name, meaning));
  }
}

std::vector<std::pair<std::string, std::string>>
ZeroPipelineOptions::getGiven() const {
  std::vector<std::pair<std::string, std::string>> given;
  for (const auto &flag : flags)
    if (flag->getNumOccurrences())
      given.emplace_back(flag->getArgStr(), *flag ? "true" : "false");
  for (const auto &text : texts)
    if (text->getNumOccurrences())
      given.emplace_back(text->getArgStr(), text->getValue());
  if (!set.empty())
    given.emplace_back(set.getArgStr(), set.getValue());
  return given;
}

std::string ZeroPipelineOptions::write(StringRef key, StringRef value) {
  const bool isPlain = value.find_first_of(" \t\n'\"{}") == StringRef::npos;
  const StringRef quote = isPlain ? "" : value.contains('\'') ? "\"" : "'";
  return (" " + key + "=" + quote + value + quote).str();
}

/// What an option is given; a flag without a value is on.
static StringRef valueOf(StringRef option) {
  return option.contains('=') ? option.split('=').second : "true";
}

std::unique_ptr<ZeroPipelineOptions>
ZeroPipelineOptions::read(StringRef text, std::string &error) {
  auto options = std::make_unique<ZeroPipelineOptions>();
  if (!llvm::json::isUTF8(text)) {
    error = "the options are no text in UTF-8";
    return nullptr;
  }
  llvm::StringMap<StringRef> first;
  std::string keys;
  while (!text.trim().empty()) {
    StringRef option = takeOption(text), name = option.split('=').first;
    const bool addsUp = name == options->set.getArgStr();
    StringRef known = first.try_emplace(name, option).first->second;
    if (!addsUp && valueOf(known) != valueOf(option)) {
      error = ("'" + name + "' is given twice, as '" + known + "' and as '" +
               option + "': give one of them")
                  .str();
      return nullptr;
    }
    std::string reason;
    llvm::raw_string_ostream stream(reason);
    if (failed(options->parseFromString(option, stream))) {
      error = ("cannot read the option '" + option +
               "' of zero-pipeline; zero-opt --help lists all that there are")
                  .str();
      return nullptr;
    }
    if (addsUp)
      keys += (keys.empty() ? "" : ";") + options->set.getValue();
  }
  if (!keys.empty())
    options->set = keys;
  return options;
}

/// Samples that one micro-batch of the module's step holds: the first
/// dimension of its first argument; 0 where there is none.
static int64_t getModelMicroBatch(ModuleOp module) {
  for (StepOp step : module.getOps<StepOp>())
    if (!step.getArgumentTypes().empty())
      if (auto type =
              dyn_cast<RankedTensorType>(step.getArgumentTypes().front()))
        return type.getRank() ? type.getDimSize(0) : 0;
  return 0;
}

/// Data is samples: they are the first dimension of the first input.
static LogicalResult verifyInputs(ModuleOp module) {
  for (StepOp step : module.getOps<StepOp>())
    if (!step.getArgumentTypes().empty())
      if (auto type =
              dyn_cast<RankedTensorType>(step.getArgumentTypes().front());
          type && type.getRank() == 0)
        return emitError(step.getArgument(0).getLoc(), "input 0 has type ")
               << type
               << ", which has no batch dimension; wanted the samples of a "
                  "micro-batch first, such as "
               << RankedTensorType::get({1}, type.getElementType());
  return success();
}

/// Says what `diagnostics` say, at their lines of `file`, or of options at
/// `module`.
static LogicalResult report(ArrayRef<ConfigDiagnostic> diagnostics,
                            StringRef file, ModuleOp module) {
  bool hasErrors = false;
  for (const ConfigDiagnostic &each : diagnostics) {
    bool isError = each.severity == ConfigSeverity::Error;
    hasErrors |= isError;
    Location loc = module.getLoc();
    if (!file.empty() && !each.isOption)
      // What the file lacks belongs to the whole of it.
      loc = FileLineColLoc::get(module.getContext(), file,
                                std::max(each.line, 1u),
                                std::max(each.column, 1u));
    InFlightDiagnostic diagnostic = isError ? emitError(loc) : emitRemark(loc);
    if (!each.key.empty())
      diagnostic << each.key << ": ";
    diagnostic << each.message;
  }
  return failure(hasErrors);
}

/// The file's content, or the defaults where none is named, under the options
/// that stand for keys.
static FailureOr<TrainConfig>
loadBase(const ZeroPipelineOptions &options,
         std::vector<std::pair<std::string, std::string>> given,
         ModuleOp module) {
  // Without a place in that file, which whoever shows it would open.
  if (std::string why = findWhyNotFile(options.config); !why.empty())
    return mlir::emitError(UnknownLoc::get(module.getContext()))
           << "the configuration '" << options.config
           << "' cannot be read: " << why;
  ConfigContext context;
  if (options.ranks.getNumOccurrences())
    context.ranks = options.ranks;
  context.modelMicroBatch = getModelMicroBatch(module);
  context.options = std::move(given);
  context.hasNoFile = options.config.empty();
  SmallVector<ConfigDiagnostic> diagnostics;
  std::optional<TrainConfig> config;
  if (options.config.empty()) {
    // A model without a batch dimension takes one sample.
    context.modelMicroBatch = std::max<int64_t>(context.modelMicroBatch, 1);
    config = parseTrainConfig("{}", context, diagnostics);
  } else {
    config = loadTrainConfig(options.config, context, diagnostics);
  }
  if (failed(report(diagnostics, options.config, module)) || !config)
    return failure();
  return *config;
}

/// Elements of a bucket on a device where nothing says them: an eighth of what
/// is trained, so that most of a reduction is hidden by what is still computed,
/// as long as the links of a device are used well and a bucket's memory is
/// small.
static int64_t deviceBucket(ModuleOp module) {
  constexpr int64_t kParts = 8, kLeast = 25'000'000, kMost = 100'000'000;
  int64_t trained = 0;
  for (ParameterOp parameter : module.getOps<ParameterOp>())
    if (parameter.isTrained())
      trained += parameter.getType().getNumElements();
  return std::clamp(trained / kParts, kLeast, kMost);
}

/// What the target's kernels can do and what it is timed for, where nothing
/// else says it.
static LogicalResult applyTarget(const ZeroPipelineOptions &options,
                                 ModuleOp module, TrainConfig &config,
                                 function_ref<InFlightDiagnostic()> emitError) {
  if (!options.target.empty() && options.target != "host" &&
      options.target != "cuda")
    return emitError() << "target '" << options.target.getValue()
                       << "' is neither host nor cuda";
  auto isOpen = [&](StringRef key) {
    return !llvm::is_contained(config.given, key);
  };
  if (config.machine.empty() || isOpen("zero.machine"))
    config.machine = options.target == "host" ? "host" : TrainConfig().machine;
  if (isOpen("zero.fuse_epilogues"))
    config.fuseEpilogues = options.target == "cuda";
  // Products of devices are faster then.
  if (isOpen("zero.vocabulary_multiple"))
    config.vocabularyMultiple = options.target == "cuda" ? 64 : 1;
  if (options.target != "cuda")
    return success();
  if (isOpen("zero_optimization.reduce_bucket_size"))
    config.reduceBucketSize = deviceBucket(module);
  if (isOpen("zero_optimization.allgather_bucket_size"))
    config.allgatherBucketSize = deviceBucket(module);
  if (isOpen("zero_optimization.overlap_comm"))
    config.overlapCommunication = true;
  return success();
}

/// NCCL moves ranks' parts of buckets, at stages 1 and 2; those of gathers are
/// padded by themselves.
static LogicalResult
checkAlignment(const ZeroPipelineOptions &options, const TrainConfig &config,
               function_ref<InFlightDiagnostic()> emitError) {
  const int64_t least =
      zrt::kNcclPayload / static_cast<int64_t>(zrt::sizeOf(config.precision));
  if (options.target != "cuda" || config.deterministic ||
      config.slices() == 1 || config.stage == 0 || config.stage == 3 ||
      config.alignment % least == 0)
    return success();
  return emitError() << "zero.alignment: found " << config.alignment
                     << ", wanted a multiple of " << least
                     << ": NCCL wants parts of ranks that are multiples of "
                     << zrt::kNcclPayload << " bytes, and parameters travel as "
                     << zrt::nameOf(config.precision)
                     << "; give one, or compile with deterministic, which "
                        "does without NCCL";
}

/// The file may have come or gone since, but a name that never was one is
/// better found before anything runs, and at stages that do not look at it.
static LogicalResult
checkMachine(const TrainConfig &config,
             function_ref<InFlightDiagnostic()> emitError) {
  std::string error;
  if (succeeded(readMachine(config.machine, error)))
    return success();
  return emitError() << error;
}

FailureOr<TrainConfig> ZeroPipelineOptions::resolve(ModuleOp module) const {
  if (failed(verifySizes(module)) || failed(verifyInputs(module)))
    return failure();
  // At the place of the module, which would be too long to be printed.
  auto emitError = [&] { return mlir::emitError(module.getLoc()); };
  auto budgetOf = [&](const auto &option) {
    return readBudget(option.getArgStr(), option.getValue(), emitError);
  };
  FailureOr<TrainConfig> resolved = loadBase(*this, getGiven(), module);
  if (failed(resolved) ||
      failed(applyTarget(*this, module, *resolved, emitError)) ||
      failed(checkAlignment(*this, *resolved, emitError)) ||
      failed(checkMachine(*resolved, emitError)))
    return failure();
  FailureOr<int64_t> budget = budgetOf(memoryBudget),
                     hostBudget = budgetOf(hostMemoryBudget);
  if (failed(budget) || failed(hostBudget))
    return failure();
  resolved->memoryBudget = *budget;
  resolved->hostMemoryBudget = *hostBudget;
  resolved->keepTrivialCollectives = keepTrivialCollectives;
  return resolved;
}
