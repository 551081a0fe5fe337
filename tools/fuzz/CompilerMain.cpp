// Targets: models, schedules and pass pipelines. An input is a line with a
// pass pipeline, and a module that it runs on.
#include "Mutate.h"
#include "Target.h"

#include "zero/Config/Nesting.h"
#include "zero/Conversion/Translate.h"
#include "zero/Registration/Registration.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Location.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <utility>

using namespace fuzz;
using namespace mlir;

namespace {

/// A compiler of its own for each run, so that none depends on another. Errors
/// without a place or a text are violations.
class Compiler {
public:
  Compiler()
      : handler(&context, [this](Diagnostic &diagnostic) {
          check(diagnostic);
          return success();
        }) {
    DialectRegistry registry;
    zero::registerDialects(registry);
    context.appendDialectRegistry(registry);
    context.disableMultithreading();
    [[maybe_unused]] static const bool isRegistered = [] {
      zero::registerPasses();
      return true;
    }();
  }

  OwningOpRef<ModuleOp> parse(const std::string &text) {
    return parseSourceString<ModuleOp>(text, &context, "input.mlir");
  }

  /// Whether `passes` is a pipeline, and it succeeds on `module`.
  bool run(const std::string &passes, ModuleOp module) {
    PassManager manager(&context);
    std::string error;
    llvm::raw_string_ostream os(error);
    if (failed(parsePassPipeline(passes, manager, os))) {
      require(!error.empty(), "a pipeline is refused without a word");
      return false;
    }
    errors = 0;
    const bool succeeds = succeeded(manager.run(module));
    require(succeeds || errors > 0, "passes fail without a word");
    return succeeds;
  }

  int errors = 0;

private:
  /// A whole file, as its module has it, is a place.
  static bool hasPlace(Location location) {
    return location
        ->walk([](Location part) {
          auto place = dyn_cast<FileLineColLoc>(part);
          return place && !place.getFilename().empty() ? WalkResult::interrupt()
                                                       : WalkResult::advance();
        })
        .wasInterrupted();
  }

  void check(const Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
      return;
    ++errors;
    const std::string message = diagnostic.str();
    require(!message.empty(), "an error has no text");
    require(hasPlace(diagnostic.getLocation()),
            "an error has no place: " + message);
  }

  MLIRContext context;
  ScopedDiagnosticHandler handler;
};

std::string print(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os, OpPrintingFlags().enableDebugInfo(false));
  return text;
}

/// Writes the program of `module` where `passes` verified it, as the tools do
/// before they translate. The runtime must take it.
void translate(const std::string &passes, Compiler &compiler, ModuleOp module) {
  if (passes.find("zero-verify-schedule") == std::string::npos &&
      passes.find("zero-pipeline") == std::string::npos)
    return;
  compiler.errors = 0;
  FailureOr<zrt::Program> program = zero::translateToProgram(module);
  if (failed(program)) {
    require(compiler.errors > 0, "a schedule is not translated without a word");
    return;
  }
  const std::string bytes = zrt::serialize(*program);
  zrt::Program again;
  std::string error;
  require(zrt::parse(bytes.data(), bytes.size(), again, error),
          "the program of a verified schedule is refused: " + error);
}

/// Runs an input. What comes out must be read again.
bool runModule(const std::string &input) {
  const size_t end = std::min(input.find('\n'), input.size());
  const std::string passes = input.substr(0, end);
  const std::string text = input.substr(std::min(end + 1, input.size()));
  // What the tools refuse before they parse.
  if (zero::findDeepNesting(text, zero::kMostModelNesting))
    return false;
  Compiler compiler;
  OwningOpRef<ModuleOp> module = compiler.parse(text);
  if (!module) {
    require(compiler.errors > 0, "a module is refused without a word");
    return false;
  }
  if (!compiler.run(passes, *module))
    return false;
  translate(passes, compiler, *module);
  const std::string written = print(*module);
  require(bool(compiler.parse(written)), "what was written cannot be read");
  return true;
}

//===----------------------------------------------------------------------===//
// Models
//===----------------------------------------------------------------------===//

std::string readModel(const char *name) {
  std::ostringstream text;
  text << std::ifstream(std::string(ZERO_FUZZ_MODELS "/") + name).rdbuf();
  return text.str();
}

constexpr const char *kModels[] = {"tiny-mlp.mlir", "mlp.mlir", "tiny-gpt.mlir",
                                   "tiny-llama.mlir"};

constexpr const char *kPipelines[] = {
    "zero-pipeline{stage=0}",
    "zero-pipeline{stage=1 ranks=2 reduce-bucket-size=64}",
    "zero-pipeline{stage=1 ranks=3 accumulation=2 overlap=true}",
    "zero-pipeline{stage=2 ranks=2 precision=bf16 reduce-bucket-size=100}",
    "zero-pipeline{stage=2 ranks=3 layout=contiguous precision=f16}",
    "zero-pipeline{stage=2 ranks=2 offload-optimizer=cpu sub-group-size=64 "
    "pipeline-updates=true}",
    "zero-pipeline{stage=3 ranks=2 param-persistence-threshold=0}",
    "zero-pipeline{stage=3 ranks=4 overlap=true accumulation=3 "
    "mesh=replica=2,shard=2}",
    "zero-pipeline{stage=3 ranks=4 overlap=true hpz-partition-size=2 "
    "quantized-weights=8 quantization-block=4 param-persistence-threshold=0}",
    "zero-pipeline{stage=3 ranks=2 quantized-frozen-weights=4 "
    "quantization-block=2 param-persistence-threshold=0}",
    "zero-pipeline{stage=3 mesh=node=2,local=2 accumulation=2 "
    "quantized-gradients=4 quantized-gradients-within=2 quantization-block=4 "
    "error-feedback=0.5}",
    "zero-pipeline{stage=3 ranks=2 precision=bf16 split-master=true "
    "checkpoint-activations=1 optimizer=sgd momentum=0.9}"};

std::string join(const std::string &passes, const std::string &text) {
  return passes + "\n" + text;
}

std::string passesOf(const std::string &input) {
  return input.substr(0, input.find('\n'));
}

std::string textOf(const std::string &input) {
  return input.substr(std::min(input.find('\n'), input.size() - 1) + 1);
}

std::vector<std::string> modelSeeds() {
  std::vector<std::string> seeds;
  for (size_t i = 0; i < std::size(kPipelines); ++i)
    seeds.push_back(
        join(kPipelines[i], readModel(kModels[i % std::size(kModels)])));
  return seeds;
}

std::string makeModel(const std::string &seed, const std::string &other,
                      Random &random) {
  return join(random.pick(kPipelines),
              mutateText(textOf(seed), textOf(other), 3, random));
}

//===----------------------------------------------------------------------===//
// Schedules
//===----------------------------------------------------------------------===//

constexpr const char *kPasses[] = {"canonicalize",
                                   "cse",
                                   "zero-limit-experts",
                                   "zero-pad-vocabulary{multiple=2}",
                                   "zero-set-precision{compute=bf16}",
                                   "zero-differentiate",
                                   "zero-fuse-cross-entropy",
                                   "zero-fuse-epilogues",
                                   "zero-outline-elementwise",
                                   "zero-fuse-moves",
                                   "zero-checkpoint-activations",
                                   "zero-fuse-additions",
                                   "zero-split-gradients",
                                   "zero-partition",
                                   "zero-insert-reductions",
                                   "zero-insert-gathers",
                                   "zero-insert-updates",
                                   "zero-peel-last-micro",
                                   "zero-reduce-early",
                                   "zero-overlap-reductions",
                                   "zero-split-statistics",
                                   "zero-overlap-gathers",
                                   "zero-overlap-updates",
                                   "zero-copy-early",
                                   "zero-prefetch",
                                   "zero-free",
                                   "zero-verify-schedule",
                                   "zero-plan-memory",
                                   "zero-specialize-rank{rank=1}"};

std::string somePasses(size_t most, Random &random) {
  std::string passes;
  for (size_t left = 1 + random.below(most); left; --left)
    passes += (passes.empty() ? "" : ",") + std::string(random.pick(kPasses));
  return passes;
}

/// What the pipelines make of the models, as a person would edit it.
std::vector<std::string> scheduleSeeds() {
  std::vector<std::string> seeds;
  for (const char *passes : kPipelines)
    for (const char *model : {"tiny-mlp.mlir", "mlp.mlir"}) {
      Compiler compiler;
      OwningOpRef<ModuleOp> module = compiler.parse(readModel(model));
      require(module && compiler.run(passes, *module),
              std::string(passes) + " fails on " + model);
      seeds.push_back(join("zero-verify-schedule", print(*module)));
    }
  return seeds;
}

std::string makeSchedule(const std::string &seed, const std::string &other,
                         Random &random) {
  const std::string passes = random.oneIn(2) ? "zero-verify-schedule"
                             : random.oneIn(2)
                                 ? "zero-verify-schedule,zero-plan-memory"
                                 : somePasses(4, random);
  return join(passes, mutateText(textOf(seed), textOf(other), 3, random));
}

//===----------------------------------------------------------------------===//
// Passes
//===----------------------------------------------------------------------===//

constexpr const char *kConfigurations[] = {
    "zero-configure{options='stage=0'}",
    "zero-configure{options='stage=1 ranks=2 reduce-bucket-size=2'}",
    "zero-configure{options='stage=2 ranks=3 accumulation=2 overlap=true'}",
    "zero-configure{options='stage=2 ranks=2 offload-optimizer=cpu "
    "sub-group-size=1'}",
    "zero-configure{options='stage=3 ranks=2 param-persistence-threshold=0'}",
    "zero-configure{options='stage=3 ranks=4 overlap=true "
    "mesh=replica=2,shard=2'}",
    "zero-configure{options='stage=3 ranks=4 hpz-partition-size=2 "
    "quantized-weights=4 quantized-frozen-weights=8 quantization-block=2'}",
    "zero-configure{options='stage=3 ranks=2 quantized-gradients=8 "
    "quantization-block=2 error-feedback=0.5 error-reset=3'}"};

/// What follows in the pipeline.
constexpr const char *kOrder[] = {"zero-differentiate",
                                  "canonicalize",
                                  "cse",
                                  "zero-outline-elementwise",
                                  "zero-split-gradients",
                                  "zero-partition",
                                  "zero-insert-reductions",
                                  "zero-insert-gathers",
                                  "zero-insert-updates",
                                  "zero-peel-last-micro",
                                  "zero-reduce-early",
                                  "zero-overlap-reductions",
                                  "zero-split-statistics",
                                  "zero-overlap-gathers",
                                  "zero-overlap-updates",
                                  "zero-copy-early",
                                  "zero-prefetch",
                                  "zero-free",
                                  "zero-verify-schedule",
                                  "zero-plan-memory",
                                  "zero-verify-schedule"};

/// The pipeline with some passes left out, swapped, or added.
std::string makePasses(const std::string &seed, const std::string &,
                       Random &random) {
  std::vector<std::string> passes(std::begin(kOrder), std::end(kOrder));
  passes.insert(passes.begin(), random.pick(kConfigurations));
  for (size_t left = random.below(5); left; --left) {
    const size_t at = random.below(passes.size());
    switch (random.below(4)) {
    case 0:
      passes.erase(passes.begin() + ptrdiff_t(at));
      break;
    case 1:
      std::swap(passes[at], passes[std::min(at + 1, passes.size() - 1)]);
      break;
    case 2:
      std::swap(passes[at], random.pick(passes));
      break;
    default:
      passes.insert(passes.begin() + ptrdiff_t(at), random.pick(kPasses));
    }
  }
  std::string all;
  for (const std::string &pass : passes)
    all += (all.empty() ? "" : ",") + pass;
  return join(all, textOf(seed));
}

/// Options of pipelines, which are text.
std::string makePipeline(const std::string &seed, const std::string &other,
                         Random &random) {
  std::string passes =
      mutateText(random.pick(kPipelines), random.pick(kPipelines), 3, random);
  if (random.oneIn(4))
    passes = mutateText(passesOf(seed), passesOf(other), 3, random);
  for (char &c : passes)
    c = c == '\n' ? ' ' : c;
  return join(passes, textOf(seed));
}

std::vector<std::string> smallSeeds() {
  std::vector<std::string> seeds;
  for (const char *passes : kPipelines)
    seeds.push_back(join(passes, readModel("tiny-mlp.mlir")));
  seeds.push_back(join(kPipelines[0], readModel("mlp.mlir")));
  return seeds;
}

} // namespace

const std::vector<Target> &fuzz::targets() {
  static const std::vector<Target> all = {
      {"model", modelSeeds, makeModel, runModule},
      {"schedule", scheduleSeeds, makeSchedule, runModule},
      {"passes", smallSeeds, makePasses, runModule},
      {"pipeline", smallSeeds, makePipeline, runModule}};
  return all;
}
