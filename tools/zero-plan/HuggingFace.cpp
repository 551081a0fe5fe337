//===- HuggingFace.cpp - models that are given by their configuration -----===//

#include "HuggingFace.h"

#include "CommandLine.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
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

static constexpr StringLiteral kImporter = "zero-import-cached";

bool mlir::zero::isHuggingFace() { return !hf.empty(); }

/// The importer beside this program, or else on the path.
static FailureOr<std::string> findImporter() {
  const std::string self = llvm::sys::fs::getMainExecutable(
      nullptr, reinterpret_cast<void *>(&findImporter));
  auto found = llvm::sys::findProgramByName(
      kImporter, {llvm::sys::path::parent_path(self)});
  if (!found)
    found = llvm::sys::findProgramByName(kImporter);
  if (!found)
    return fail("--hf imports a model with " + kImporter +
                ", which is not found: pip install "
                "'zero-compiler[huggingface]', or give a model that "
                "zero-import has written elsewhere");
  return *found;
}

/// The path that the importer prints.
static FailureOr<std::string> importModel(int64_t microBatch) {
  FailureOr<std::string> importer = findImporter();
  if (failed(importer))
    return failure();
  SmallString<128> output;
  if (auto code = llvm::sys::fs::createTemporaryFile("model", "path", output))
    return fail("cannot make a temporary file: " + code.message());
  llvm::FileRemover remover(output);
  const std::string length = std::to_string(sequence),
                    samples = std::to_string(microBatch);
  const StringRef words[] = {*importer, "--hf",       hf,     "--task",
                             task,      "--sequence", length, "--micro-batch",
                             samples};
  std::string error;
  const int code = llvm::sys::ExecuteAndWait(
      *importer, words, std::nullopt,
      {std::nullopt, StringRef(output), std::nullopt}, 0, 0, &error);
  if (code != 0) // It has said why, unless it did not run.
    return error.empty() ? failure()
                         : fail("'" + *importer + "' fails: " + error);
  auto text = llvm::MemoryBuffer::getFile(output);
  if (!text)
    return fail("cannot read what '" + *importer + "' prints");
  return (*text)->getBuffer().trim().str();
}

bool mlir::zero::choosesMicroBatch() {
  return isHuggingFace() && microBatch.getNumOccurrences() == 0;
}

LogicalResult mlir::zero::readHuggingFace(ModelFile &model, int64_t samples) {
  if (sequence == 0 || samples == 0)
    return fail("--hf wants --sequence, the tokens of a sample, and "
                "--micro-batch of 1 or more");
  FailureOr<std::string> path = importModel(samples);
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
  return readHuggingFace(model, microBatch);
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
