//===- Runs.cpp - predictions beside published runs -----------------------===//

#include "CommandLine.h"
#include "PlannedRuns.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::zero;

LogicalResult mlir::zero::runCompareRunsCommand() {
  if (failed(checkOutputs()) || failed(expectInputs(1, "CSV file of runs")))
    return failure();
  if (options::machine.empty())
    return fail("wanted --machine: the GPU whose runs are predicted");
  FailureOr<Machine> machine = findMachine(options::machine);
  if (failed(machine))
    return failure();
  auto runs = readPublishedRuns(options::inputs.front(), machine->name);
  if (failed(runs))
    return failure();
  auto planned =
      planRuns(*runs, options::machine, llvm::join(options::pipelines, " "));
  if (failed(planned))
    return failure();
  return reportRuns(options::json, *machine, *planned);
}
