//===- PipePrograms.cpp - random pipelines --------------------------------===//

#include "PipePrograms.h"

#include "Verify/StagesInterpreter.h"

#include "zero/Conversion/Translate.h"
#include "zero/Conversion/VerifyStages.h"

using namespace mlir;
using namespace mlir::zero;
using namespace mlir::zero::test;
using namespace zrt::test;

/// What goes wrong in runs whose stages go on in different orders; "" where
/// nothing does.
static std::string interpret(const std::vector<zrt::Program> &stages,
                             const StagesResult &wanted) {
  for (unsigned seed = 0; seed < 9; ++seed)
    if (std::string fault = compare(runStages(stages, seed), wanted);
        !fault.empty())
      return fault;
  return "";
}

/// So many of all mutants, each as likely as any other.
std::vector<StageMutant>
PipePrograms::drawMutants(const std::vector<zrt::Program> &stages) {
  std::vector<StageMutant> drawn;
  size_t seen = 0;
  const auto draw = [&](const StageMutant &mutant) {
    ++seen;
    if (drawn.size() < mutantsEach)
      drawn.push_back(mutant);
    else if (const size_t place = random() % seen; place < mutantsEach)
      drawn[place] = mutant;
  };
  forEachOrderMutant(stages, draw);
  forEachTransferMutant(stages, draw);
  forEachCollectiveMutant(stages, draw);
  forEachWaitMutant(stages, draw);
  forEachStashMutant(stages, draw);
  forEachShuffledMutant(stages, mutantsEach, draw);
  forEachJointMutant(stages, draw);
  return drawn;
}

bool PipePrograms::run(StringRef path, StringRef text,
                       const std::string &options) {
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  if (!module || !runPipeline(*module, options)) {
    ++tally.refused;
    llvm::outs() << path << ": refused: " << message << "\n";
    return true;
  }
  ++tally.programs;
  const auto stages = translateStages(*module);
  if (failed(stages)) {
    llvm::outs() << path << ": gives no programs: " << message << "\n";
    return false;
  }
  const StagesResult wanted = zrt::test::runInTurn(*stages);
  std::string fault = wanted.failure;
  if (fault.empty())
    fault = interpret(*stages, wanted);
  if (fault.empty())
    fault = zrt::findStageFault(*stages);
  if (!fault.empty()) {
    llvm::outs() << path << ": stages: " << fault << "\n";
    return false;
  }
  bool isClean = true;
  for (const StageMutant &mutant : drawMutants(*stages)) {
    fault = interpret(mutant.stages, wanted);
    if (tally.count(zrt::findStageFault(mutant.stages).empty(), !fault.empty()))
      continue;
    llvm::outs() << path << ": accepted: " << mutant.what << ": " << fault
                 << "\n";
    isClean = false;
  }
  return isClean;
}
