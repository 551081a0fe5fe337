//===- ScheduleMain.cpp - schedules of random programs, as they run -------===//
//
// Usage: random-schedules MUTANTS FILE...
//
// Each file is a model, whose first line is a comment with options of
// zero-pipeline. Its planned schedule runs in the interpreter of schedules,
// where memory that a rank must not rely on is NaN and what is started ends
// early, late or by chance, and has to train as the model does at stage 0 on
// one rank. Of its mutants, so many are drawn: one that the verifier accepts
// has to train as well.
//
// Models over axes that cut them are run as CutPrograms.h and PipePrograms.h
// say.
//
//===----------------------------------------------------------------------===//

#include "CompilerTesting.h"
#include "CutPrograms.h"
#include "PipePrograms.h"

#include "Verify/Mutants.h"
#include "Verify/ScheduleInterpreter.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Transforms/Passes.h"

#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace mlir;
using namespace mlir::zero;

namespace {

/// Inputs of a step from a sample's number: ids, as a model reads them.
std::vector<Array> argumentsOf(StepOp step, uint64_t sample) {
  std::vector<Array> arguments;
  for (Type type : step.getBody().getArgumentTypes()) {
    Array array = Array::zeros(type);
    for (int64_t i = 0; i < array.size(); ++i) {
      const uint64_t mixed =
          (sample * 31 + i + 7 * arguments.size()) * 2654435761;
      if (array.isFloat)
        array.reals[i] = std::sin(double(mixed % 1000));
      else
        array.integers[i] = int64_t(mixed >> 8) % 251;
    }
    arguments.push_back(std::move(array));
  }
  return arguments;
}

class Programs : Compiler {
public:
  explicit Programs(size_t mutants) : mutantsEach(mutants) {}

  /// Returns false where something was found, which it prints.
  bool run(StringRef path, StringRef text, StringRef options, StringRef plain);
  void report() const { tally.print("schedules"); }

private:
  OwningOpRef<ModuleOp> plan(StringRef text, const std::string &options);
  RunResult train(ModuleOp module, Completion completion);
  std::string judge(ModuleOp module, const RunResult &wanted);
  bool runMutants(ModuleOp module, const RunResult &wanted, StringRef path);

  Interpreter interpreter;
  const size_t mutantsEach;
  test::Tally tally;
};

/// All that the pipeline does, but that elementwise arithmetic stays what it
/// is: interpreters know operations, not kernels made of them.
OwningOpRef<ModuleOp> Programs::plan(StringRef text,
                                     const std::string &options) {
  message.clear();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  std::unique_ptr<ZeroPipelineOptions> read =
      ZeroPipelineOptions::read(options, message);
  if (!module || !read)
    return {};
  const FailureOr<TrainConfig> config = read->resolve(*module);
  if (failed(config))
    return {};
  PassManager passes(&context);
  passes.addPass(createConfigurePass(*config));
  passes.addPass(createRewriteTensorOps());
  passes.addPass(createDifferentiate());
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  if (config->fuseCrossEntropy)
    passes.addPass(createFuseCrossEntropy({config->crossEntropyChunkBytes}));
  if (config->checkpoint.isEnabled()) {
    CheckpointActivationsOptions checkpoint;
    checkpoint.every = config->checkpoint.every;
    checkpoint.policy = stringify(config->checkpoint.policy).str();
    passes.addPass(createCheckpointActivations(checkpoint));
  }
  if (config->fuseAdditions)
    passes.addPass(createFuseAdditions());
  buildSchedulePipeline(passes, *config);
  if (!Compiler::run(passes, *module))
    return {};
  return module;
}

RunResult Programs::train(ModuleOp module, Completion completion) {
  auto step = *module.getOps<StepOp>().begin();
  return ScheduleInterpreter(
             module, interpreter,
             [&](uint64_t sample) { return argumentsOf(step, sample); },
             {completion, /*clips=*/true})
      .run();
}

std::string Programs::judge(ModuleOp module, const RunResult &wanted) {
  for (Completion completion :
       {Completion::Early, Completion::Late, Completion::Random}) {
    RunResult result = train(module, completion);
    if (!result.failure.empty())
      return result.failure;
    const std::string difference = differenceOf(result, wanted);
    if (!difference.empty())
      return difference;
  }
  return "";
}

bool Programs::runMutants(ModuleOp original, const RunResult &wanted,
                          StringRef path) {
  const std::vector<Mutant> mutants = generateMutants(original);
  std::minstd_rand random(unsigned(llvm::hash_value(path.size())) +
                          tally.programs);
  for (size_t i = 0; i < mutantsEach && !mutants.empty(); ++i) {
    const Mutant &mutant = mutants[random() % mutants.size()];
    OwningOpRef<ModuleOp> module = original.clone();
    mutant.apply(listOperations(*module)[mutant.operation]);
    message.clear();
    if (failed(verify(*module)))
      continue;
    const bool isAccepted = verifies(*module);
    const std::string failure = judge(*module, wanted);
    if (tally.count(isAccepted, !failure.empty()))
      continue;
    llvm::outs() << path << ": accepted: " << mutant.text << ": " << failure
                 << "\n";
    return false;
  }
  return true;
}

bool Programs::run(StringRef path, StringRef text, StringRef options,
                   StringRef plain) {
  OwningOpRef<ModuleOp> module = plan(text, options.str());
  if (!module) {
    ++tally.refused;
    llvm::outs() << path << ": refused: " << message << "\n";
    return true;
  }
  ++tally.programs;
  OwningOpRef<ModuleOp> reference = plan(text, plain.str());
  if (!reference) {
    llvm::outs() << path << ": stage 0 is refused: " << message << "\n";
    return false;
  }
  const RunResult wanted = train(*reference, Completion::Early);
  const std::string failure =
      wanted.failure.empty() ? judge(*module, wanted) : wanted.failure;
  if (failure.empty())
    return runMutants(*module, wanted, path);
  llvm::outs() << path << ": " << failure << "\n";
  return false;
}

/// All kinds of programs.
class AllPrograms {
public:
  explicit AllPrograms(size_t mutants)
      : whole(mutants), cut(mutants), pipes(mutants) {}

  bool run(StringRef path) {
    auto file = llvm::MemoryBuffer::getFile(path);
    if (!file) {
      llvm::outs() << path << ": " << file.getError().message() << "\n";
      return false;
    }
    StringRef text = (*file)->getBuffer();
    auto [options, plain] =
        text.split('\n').first.drop_front(2).trim().split('|');
    const test::AxisSizes mesh = test::readMesh(options.trim());
    if (!test::cutsModel(mesh))
      return whole.run(path, text, options.trim(), plain.trim());
    const bool isClean = cut.run(path.str(), mesh);
    return (!test::hasStages(mesh) ||
            pipes.run(path, text, options.trim().str())) &&
           isClean;
  }
  void report() const {
    whole.report();
    cut.report();
    pipes.report();
  }

private:
  Programs whole;
  test::CutPrograms cut;
  test::PipePrograms pipes;
};

} // namespace

int main(int argc, char **argv) {
  size_t mutants = 0;
  if (argc < 3 || StringRef(argv[1]).getAsInteger(10, mutants)) {
    llvm::errs() << "usage: random-schedules MUTANTS FILE...\n";
    return 2;
  }
  AllPrograms programs(mutants);
  bool isClean = true;
  for (int i = 2; i < argc; ++i)
    isClean &= programs.run(argv[i]);
  programs.report();
  return isClean ? 0 : 1;
}
