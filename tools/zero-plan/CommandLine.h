//===- CommandLine.h - the commands of zero-plan and what several take ----===//
#ifndef ZERO_PLAN_COMMANDLINE_H
#define ZERO_PLAN_COMMANDLINE_H

#include "../Output.h"
#include "Model.h"
#include "views/Drawings.h"

#include "llvm/Support/CommandLine.h"

namespace mlir::zero {

/// Of all options that are not LLVM's own.
llvm::cl::OptionCategory &category();

/// The command without a word, and those that the first word chooses. Options
/// register with them before `main`, in any order of files.
namespace commands {
inline llvm::cl::SubCommand &report() {
  return llvm::cl::SubCommand::getTopLevel();
}
llvm::cl::SubCommand &search();
llvm::cl::SubCommand &estimate();
llvm::cl::SubCommand &calibrate();
llvm::cl::SubCommand &compare();
llvm::cl::SubCommand &layout();
llvm::cl::SubCommand &explain();
llvm::cl::SubCommand &compareRuns();
} // namespace commands

/// What several commands take. Options of one command are in its file.
namespace options {
extern llvm::cl::list<std::string> inputs;
extern llvm::cl::opt<std::string> ranks;
extern llvm::cl::list<std::string> pipelines;
extern llvm::cl::opt<std::string> machine;
extern llvm::cl::opt<std::string> json;
extern llvm::cl::opt<std::string> workJson;
extern llvm::cl::opt<unsigned> lines;
extern llvm::cl::opt<std::string> output;
} // namespace options

/// The options of zero-pipeline for `ranks`, with all texts of --pipeline.
PlanOptions planOptions(StringRef ranks);

/// The files of --trace and --picture.
DrawingFiles drawingFiles();

/// Fails where there are not `count` words beside the command and options.
/// `wanted` says what they are.
LogicalResult expectInputs(size_t count, StringRef wanted = "file of MLIR");

/// The counts of --ranks; one empty count where it is not given.
FailureOr<std::vector<std::string>> readRankCounts();

/// --ranks of a command that takes one count.
FailureOr<std::string> readRankCount();

/// Fails where an output is one of the inputs, or another output. `further` are
/// those of one command.
LogicalResult checkOutputs(ArrayRef<NamedFile> further = {});

/// Reads the command line. Fails, with one error, where an option is another
/// command's, or the name of a command as earlier versions had it.
LogicalResult readCommandLine(int argc, char **argv);

//===----------------------------------------------------------------------===//
// What each command does
//===----------------------------------------------------------------------===//

LogicalResult runReportCommand();
LogicalResult runSearchCommand();
LogicalResult runEstimateCommand();
/// `tool` is the path of this program.
LogicalResult runCalibrateCommand(const char *tool);
LogicalResult runCompareCommand();
LogicalResult runLayoutCommand();
LogicalResult runExplainCommand();
LogicalResult runCompareRunsCommand();

} // namespace mlir::zero

#endif // ZERO_PLAN_COMMANDLINE_H
