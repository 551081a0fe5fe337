//===- Model.cpp - a model or schedule that zero-plan reads ---------------===//

#include "Model.h"

#include "../Input.h"

#include "zero/Dialect/Zero/Zero.h"
#include "zero/Registration/Registration.h"
#include "zero/Transforms/Passes.h"
#include "zero/Transforms/Pipeline.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/FileUtilities.h"

using namespace mlir;
using namespace mlir::zero;

bool PlanOptions::empty() const {
  return config.empty() && pipeline.empty() && set.empty() && stage.empty() &&
         ranks.empty() && mesh.empty() && memoryBudget.empty() &&
         hostMemoryBudget.empty() && target.empty();
}

std::string PlanOptions::text() const {
  std::string text = pipeline;
  auto add = [&](StringRef key, const std::string &value) {
    if (!value.empty())
      text += ZeroPipelineOptions::write(key, value);
  };
  add("config", config);
  add("set", set);
  add("stage", stage);
  add("ranks", ranks);
  add("mesh", mesh);
  add("memory-budget", memoryBudget);
  add("host-memory-budget", hostMemoryBudget);
  add("target", target);
  add("machine", machine);
  return text;
}

static DialectRegistry makeRegistry() {
  DialectRegistry registry;
  registerDialects(registry);
  return registry;
}

ModelFile::ModelFile() : context(makeRegistry()) {
  // A message shows the source; operations are for those who write passes.
  context.printOpOnDiagnostic(false);
}
ModelFile::~ModelFile() = default;

LogicalResult ModelFile::read(StringRef file) {
  path = file.str();
  std::string message;
  auto buffer = openModel(path, message);
  if (!buffer)
    return fail(message);
  return parse(std::move(buffer));
}

LogicalResult ModelFile::readText(StringRef text, StringRef name) {
  path = name.str();
  return parse(llvm::MemoryBuffer::getMemBufferCopy(text, name));
}

LogicalResult ModelFile::parse(std::unique_ptr<llvm::MemoryBuffer> buffer) {
  sources.AddNewSourceBuffer(std::move(buffer), llvm::SMLoc());
  diagnostics = std::make_unique<SourceMgrDiagnosticHandler>(sources, &context);
  printWholeFileDiagnostics(context);
  module = parseSourceFile<ModuleOp>(sources, &context);
  if (!module)
    return failure();
  if (module->getOps<StepOp>().empty())
    return fail("'" + path +
                "' has no zero.step; wanted a model or a schedule");
  return success();
}

bool ModelFile::isModel() {
  StepOp step = *module->getOps<StepOp>().begin();
  return step.isModel();
}

FailureOr<OwningOpRef<ModuleOp>> ModelFile::plan(const PlanOptions &options) {
  StepOp step = *module->getOps<StepOp>().begin();
  OwningOpRef<ModuleOp> planned = module->clone();
  if (isModel()) {
    if (failed(runPipeline(*planned, options)))
      return failure();
    return planned;
  }
  if (!step->hasAttr(kPlaces))
    return fail("'" + path +
                "' is a schedule without places; run zero-plan-memory first");
  if (!options.empty())
    return fail("'" + path + "' is a planned schedule; the options '" +
                options.text() + "' are for a model");
  if (!options.machine.empty())
    machine = options.machine;
  // It may come from anywhere: what it does not do costs nothing.
  PassManager passes(&context, ModuleOp::getOperationName());
  passes.addPass(createVerifySchedule());
  if (failed(passes.run(*planned)))
    return failure();
  return planned;
}

FailureOr<TrainConfig> ModelFile::resolve(const PlanOptions &from) {
  std::string error;
  auto options = ZeroPipelineOptions::read(from.text(), error);
  if (!options)
    return fail(error);
  FailureOr<TrainConfig> config = options->resolve(*module);
  if (succeeded(config)) {
    machine = config->machine;
    memoryBudget = config->memoryBudget;
  }
  return config;
}

FailureOr<Machine> ModelFile::readMachine() const {
  std::string error;
  FailureOr<Machine> read = zero::readMachine(machine, error);
  if (failed(read))
    return fail(error);
  read->budget = memoryBudget;
  return read;
}

LogicalResult ModelFile::runPipeline(ModuleOp target, const PlanOptions &from) {
  FailureOr<TrainConfig> config = resolve(from);
  if (failed(config))
    return failure();
  PassManager passes(&context, ModuleOp::getOperationName());
  buildZeroPipeline(passes, *config);
  return passes.run(target);
}
