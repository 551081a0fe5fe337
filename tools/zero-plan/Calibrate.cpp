//===- Calibrate.cpp - a machine file from measurement --------------------===//

#include "CommandLine.h"

#include "zero/Cost/Machine.h"
#include "zero/Target/TemporaryFiles.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

using namespace mlir;
using namespace mlir::zero;

namespace {

/// The programs and files of one calibration.
class Calibration {
public:
  Calibration(StringRef model, PlanOptions options, std::string compiler)
      : model(model), options(std::move(options)),
        compiler(std::move(compiler)) {}

  /// What an executable for `ranks` ranks measures.
  FailureOr<Machine> measure(StringRef ranks);

private:
  LogicalResult run(StringRef program, ArrayRef<StringRef> arguments);

  StringRef model;
  PlanOptions options;
  std::string compiler;
};

} // namespace

LogicalResult Calibration::run(StringRef program,
                               ArrayRef<StringRef> arguments) {
  SmallVector<StringRef> words = {program};
  llvm::append_range(words, arguments);
  std::string error;
  int code =
      llvm::sys::ExecuteAndWait(program, words, std::nullopt, {}, 0, 0, &error);
  if (code == 0)
    return success();
  return fail("'" + llvm::join(words, " ") + "' fails" +
              (error.empty() ? " with exit code " + std::to_string(code)
                             : ": " + error));
}

FailureOr<Machine> Calibration::measure(StringRef ranks) {
  SmallString<128> executable, result;
  std::string error;
  if (failed(makeTemporaryFile("calibrate", executable, error)))
    return fail(error);
  llvm::FileRemover removeExecutable(executable);
  if (failed(makeTemporaryFile("machine", result, error)))
    return fail(error);
  llvm::FileRemover removeResult(result);
  options.ranks = ranks.str();
  std::string pipeline = "--pipeline=" + options.text();
  if (failed(run(compiler, {model, pipeline, "-o", executable})) ||
      failed(run(executable, {"--calibrate", result})))
    return failure();
  FailureOr<Machine> machine = readMachine(result, error);
  if (failed(machine))
    return fail(error);
  return machine;
}

/// Compiles `model` for each of `ranks` with zero-compile, lets the executables
/// measure this machine, and writes all that they found to `output`. `tool` is
/// the path of this program, next to which zero-compile lies.
static LogicalResult calibrate(StringRef model, PlanOptions options,
                               ArrayRef<std::string> ranks, StringRef output,
                               const char *tool) {
  if (failed(checkWritable(output)))
    return failure();
  std::string self = llvm::sys::fs::getMainExecutable(
      tool, reinterpret_cast<void *>(&calibrate));
  auto compiler = llvm::sys::findProgramByName(
      "zero-compile", {llvm::sys::path::parent_path(self)});
  if (!compiler)
    return fail("zero-compile is not next to '" + self +
                "'; calibrate compiles the model with it");
  Calibration calibration(model, std::move(options), *compiler);
  std::vector<Machine> machines;
  for (StringRef count : ranks) {
    FailureOr<Machine> machine = calibration.measure(count);
    if (failed(machine))
      return failure();
    machines.push_back(std::move(*machine));
  }
  return writeJsonFile(output, [&](llvm::json::OStream &json) {
    writeMachine(json, mergeMachines(machines));
  });
}

LogicalResult mlir::zero::runCalibrateCommand(const char *tool) {
  FailureOr<std::vector<std::string>> counts = readRankCounts();
  if (failed(counts) || failed(checkOutputs()) || failed(expectInputs(1)))
    return failure();
  if (options::output.empty())
    return fail("wanted -o with the file of the machine that is measured");
  if (options::ranks.empty())
    counts = std::vector<std::string>{"1", "2", "4"};
  return calibrate(options::inputs.front(), planOptions(""), *counts,
                   options::output, tool);
}
