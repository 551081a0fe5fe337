//===- HuggingFace.cpp - models that are given by their configuration -----===//

#include "HuggingFace.h"

#include "CommandLine.h"

#include "llvm/Support/WithColor.h"

using namespace mlir;
using namespace mlir::zero;
namespace cl = llvm::cl;

static cl::SubCommandGroup planning{&commands::report(), &commands::search(),
                                    &commands::layout(), &commands::explain()};
static cl::opt<std::string>
    hf("hf", cl::cat(category()), cl::sub(planning),
       cl::value_desc("config.json"),
       cl::desc("A configuration of transformers, or a folder with one, "
                "instead of a model: imported once, which needs PyTorch"));
static cl::opt<std::string> task("task", cl::cat(category()), cl::sub(planning),
                                 cl::init("causal-lm"), cl::value_desc("name"),
                                 cl::desc("What the model of --hf is for"));
static cl::opt<unsigned> sequence("sequence", cl::cat(category()),
                                  cl::sub(planning), cl::value_desc("n"),
                                  cl::desc("Tokens of a sample, with --hf"));
static cl::opt<unsigned>
    microBatch("micro-batch", cl::cat(category()), cl::sub(planning),
               cl::init(1), cl::value_desc("n"),
               cl::desc("Samples of a micro-batch of one rank, with --hf"));

bool mlir::zero::isHuggingFace() { return !hf.empty(); }

bool mlir::zero::choosesMicroBatch() {
  return isHuggingFace() && microBatch.getNumOccurrences() == 0;
}

FailureOr<std::unique_ptr<Imports>> mlir::zero::startImports() {
  if (sequence == 0 || microBatch == 0)
    return fail("--hf wants --sequence, the tokens of a sample, and "
                "--micro-batch of 1 or more");
  return Imports::start(
      {"--hf", hf, "--task", task, "--sequence", std::to_string(sequence)});
}

static LogicalResult readHuggingFace(ModelFile &model) {
  auto imports = startImports();
  if (failed(imports))
    return failure();
  (*imports)->ask(microBatch);
  FailureOr<std::string> path = (*imports)->take();
  return failed(path) ? failure() : model.read(*path);
}

LogicalResult mlir::zero::readInputModel(ModelFile &model) {
  if (!isHuggingFace()) {
    if (sequence.getNumOccurrences() || microBatch.getNumOccurrences() ||
        task.getNumOccurrences())
      return fail("--sequence, --micro-batch and --task are of a model that "
                  "--hf imports; a file of MLIR has them already");
    return model.read(options::inputs.front());
  }
  return readHuggingFace(model);
}

void mlir::zero::fillDefaults(PlanOptions &options, bool choosesStage) {
  if (!isHuggingFace() || !options.config.empty() ||
      !options.pipeline.empty() || !options.set.empty())
    return;
  std::string said = "bf16";
  options.pipeline = "precision=bf16";
  if (options.target.empty() && options.machine != "host") {
    options.target = "cuda";
    said += ", for GPUs";
  }
  if (!choosesStage && options.stage.empty()) {
    options.stage = "3";
    options.pipeline += " overlap=true";
    said += ", at stage 3 with overlap";
  }
  llvm::WithColor::remark(llvm::errs(), "zero-plan")
      << "planned in " << said
      << ", since no configuration says otherwise (--config, --set, "
         "--pipeline)\n";
}
