//===- zero-plan.cpp - what a plan needs, before it runs ------------------===//
//
//   zero-plan gpt.mlir --config ds_config.json --ranks 64
//   zero-plan search gpt.mlir --ranks 64 --memory-budget 40GiB
//
// One file a command; views/ is what they print and draw.
//
//===----------------------------------------------------------------------===//

#include "CommandLine.h"

#include "llvm/ADT/Statistic.h"
#include "llvm/Support/InitLLVM.h"

#include <csignal>

using namespace mlir;
using namespace mlir::zero;

/// Runs the command that was chosen.
static LogicalResult run(const char *tool) {
  if (commands::search())
    return runSearchCommand();
  if (commands::estimate())
    return runEstimateCommand();
  if (commands::calibrate())
    return runCalibrateCommand(tool);
  if (commands::compare())
    return runCompareCommand();
  if (commands::layout())
    return runLayoutCommand();
  if (commands::explain())
    return runExplainCommand();
  if (commands::compareRuns())
    return runCompareRunsCommand();
  return runReportCommand();
}

/// What planning did, which is the same on every machine: its time is not.
static LogicalResult writeWork() {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::PrintStatisticsJSON(os);
  return writeTextFile(options::workJson, text);
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv, /*InstallPipeSignalExitHandler=*/false);
  checkStandardOutput("zero-plan");
  // Whoever starts the tool may ignore how processes end; the tool waits for
  // its own.
  std::signal(SIGCHLD, SIG_DFL);
  if (failed(readCommandLine(argc, argv)))
    return 1;
  const bool counts = !options::workJson.empty();
  if (counts)
    llvm::EnableStatistics(/*DoPrintOnExit=*/false);
  return succeeded(run(argv[0])) && (!counts || succeeded(writeWork())) ? 0 : 1;
}
