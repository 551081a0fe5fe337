//===- zero-opt.cpp - read a module, run passes, print it -----------------===//
//
//   zero-opt gpt.mlir --zero-pipeline='stage=2 ranks=4'
//   zero-opt gpt.mlir --config ds_config.json
//
//===----------------------------------------------------------------------===//

#include "../Input.h"
#include "../Output.h"
#include "../Version.h"

#include "zero/Registration/Registration.h"
#include "zero/Transforms/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/ToolOutputFile.h"
#include "llvm/Support/WithColor.h"

using namespace mlir;

static llvm::cl::opt<std::string>
    configFile("config", llvm::cl::value_desc("ds_config.json"),
               llvm::cl::desc("Run zero-pipeline with this DeepSpeed "
                              "configuration, and no other pass"));

static LogicalResult fail(const llvm::Twine &message) {
  llvm::WithColor::error(llvm::errs(), "zero-opt") << message << "\n";
  return failure();
}

/// Makes `given` print diagnostics as the other tools do, and run zero-pipeline
/// with `configFile` where there is one.
static MlirOptMainConfig configured(const MlirOptMainConfig &given) {
  MlirOptMainConfig config = given;
  config.setPassPipelineSetupFn([given](PassManager &manager) -> LogicalResult {
    // Those that a test expects are for the handler that compares them.
    if (!given.shouldVerifyDiagnostics())
      zero::printWholeFileDiagnostics(*manager.getContext());
    if (failed(given.setupPassPipeline(manager)))
      return failure();
    if (configFile.empty())
      return success();
    if (!manager.empty())
      return fail("--config runs zero-pipeline and no other pass; among passes "
                  "write --zero-pipeline='config=" +
                  configFile + "'");
    zero::RunPipelineOptions options;
    options.settings = "config=" + configFile;
    manager.addPass(zero::createRunPipeline(options));
    return success();
  });
  return config;
}

static LogicalResult run(StringRef input, StringRef output,
                         DialectRegistry &registry,
                         const MlirOptMainConfig &config) {
  if (input == "-" && llvm::sys::Process::StandardInIsUserInput())
    llvm::errs() << "(reads from standard input; end it with ctrl-d)\n";
  std::string message;
  auto source = zero::openModel(input, message);
  if (!source)
    return fail(message);
  auto file = openOutputFile(output, &message);
  if (!file)
    return fail(message);
  if (failed(MlirOptMain(file->os(), std::move(source), registry, config)))
    return failure();
  file->keep();
  return success();
}

/// Leaves what LLVM's code generators for all machines register to
/// --help-hidden. Called before MLIR registers its options.
static void hideGlobalOptions() {
  for (auto &entry : llvm::cl::getRegisteredOptions())
    if (entry.second != &configFile)
      entry.second->setHiddenFlag(llvm::cl::Hidden);
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv, /*InstallPipeSignalExitHandler=*/false);
  zero::checkStandardOutput("zero-opt");
  DialectRegistry registry;
  zero::registerDialects(registry);
  zero::registerPasses();
  hideGlobalOptions();
  llvm::cl::SetVersionPrinter([](llvm::raw_ostream &out) {
    out << zero_tools::versionText("zero-opt") << "\n";
  });
  std::string header =
      registerCLIOptions("zero graph compiler: pass driver\n", registry);
  auto [input, output] = parseCLIOptions(argc, argv, header);
  MlirOptMainConfig config = MlirOptMainConfig::createFromCLOptions();
  if (config.shouldShowDialects() || config.shouldListPasses())
    return asMainReturnCode(MlirOptMain(argc, argv, input, output, registry));
  return asMainReturnCode(run(input, output, registry, configured(config)));
}
