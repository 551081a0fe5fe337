//===- zero-compile.cpp - from a model to an executable -------------------===//
//
//   zero-compile gpt.mlir --config ds_config.json --ranks 4 -o train-gpt
//
//===----------------------------------------------------------------------===//

#include "../Input.h"
#include "../Output.h"
#include "../Version.h"

#include "zero/Conversion/Translate.h"
#include "zero/Plan/PlanSummary.h"
#include "zero/Registration/Registration.h"
#include "zero/Target/Target.h"
#include "zero/Target/TemporaryFiles.h"
#include "zero/Transforms/Pipeline.h"

#include "program/ByteCount.h"
#include "program/KernelSchema.h"
#include "program/NcclParts.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/Plugins/DialectPlugin.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/WithColor.h"

#include <csignal>

using namespace mlir;
namespace cl = llvm::cl;

namespace {

enum class Emit { Mlir, Llvm, Ptx, Object, Executable, Shared, Program };

cl::OptionCategory category("zero-compile options");

cl::opt<std::string> input(cl::Positional, cl::Required, cl::cat(category),
                           cl::desc("<model.mlir>"));
cl::opt<std::string> output("o", cl::cat(category), cl::value_desc("file"),
                            cl::desc("Output file; '-' is standard output "
                                     "(the default for mlir and llvm)"));
cl::opt<std::string> config("config", cl::cat(category),
                            cl::value_desc("ds_config.json"),
                            cl::desc("DeepSpeed configuration"));
cl::opt<std::string> stage("stage", cl::cat(category), cl::value_desc("0..3"),
                           cl::desc("ZeRO stage; overrides the configuration"));
cl::opt<std::string> ranks("ranks", cl::cat(category), cl::value_desc("n"),
                           cl::desc("Data-parallel ranks; 1 if not given"));
cl::opt<std::string>
    mesh("mesh", cl::cat(category), cl::value_desc("axis=n,..."),
         cl::desc("Axes of the ranks instead of --ranks, such as "
                  "replica=2,shard=4: states are partitioned over 'shard'"));
cl::opt<bool> deterministic(
    "deterministic", cl::cat(category),
    cl::desc("Bitwise equal at every stage and bucket size; overrides the "
             "configuration"));
cl::opt<bool> keepTrivialCollectives(
    "keep-trivial-collectives", cl::cat(category),
    cl::desc("Keep the collectives of the stage on one rank, where they move "
             "nothing: for tests of what runs them"));
cl::opt<std::string> memoryBudget(
    "memory-budget", cl::cat(category), cl::value_desc("bytes"),
    cl::desc("Device memory that a rank may need, such as 80GiB; a plan that "
             "needs more is refused"));
cl::opt<std::string> hostMemoryBudget(
    "host-memory-budget", cl::cat(category), cl::value_desc("bytes"),
    cl::desc("Host memory that a rank may need for what is offloaded; a plan "
             "that needs more is refused"));
cl::opt<std::string> pipeline(
    "pipeline", cl::cat(category), cl::value_desc("options"),
    cl::desc("Further options of zero-pipeline, such as 'precision=bf16 "
             "accumulation=4'; they override the configuration"));
cl::list<std::string>
    keys("set", cl::cat(category), cl::value_desc("key=value"),
         cl::desc("A key of the configuration and its value, such as "
                  "zero_optimization.reduce_bucket_size=5e7; may be repeated"));
cl::opt<std::string> target("target", cl::cat(category), cl::init("host"),
                            cl::value_desc("host|cuda"),
                            cl::desc("What the program runs on"));
cl::opt<std::string> cpu("cpu", cl::cat(category), cl::init("native"),
                         cl::desc("CPU that the executable is for, such as "
                                  "x86-64-v2 or x86-64-v3; this machine's if "
                                  "not given"));
cl::opt<std::string> compiler("cxx", cl::cat(category),
                              cl::value_desc("clang++"),
                              cl::desc("C++ compiler to link with; ZERO_CXX in "
                                       "the environment does the same"));
cl::list<std::string>
    plugins("load-dialect-plugin", cl::cat(category), cl::value_desc("library"),
            cl::desc("Shared library with a dialect that the model uses, as "
                     "zero-opt takes it"));
cl::list<std::string>
    linked("link", cl::cat(category), cl::value_desc("object or archive"),
           cl::desc("Links the file into the executable, all of it: kernels of "
                    "dialects that are loaded"));
cl::opt<std::string> libraries(
    "with-libraries", cl::cat(category), cl::value_desc("folder"),
    cl::desc("Copies the shared libraries that the program needs into the "
             "folder, where it looks for them; both may be moved together"));
cl::opt<Emit> emit(
    "emit", cl::cat(category), cl::init(Emit::Executable),
    cl::desc("What to write:"),
    cl::values(
        clEnumValN(Emit::Executable, "exe", "an executable (default)"),
        clEnumValN(Emit::Mlir, "mlir", "the planned schedule"),
        clEnumValN(Emit::Llvm, "llvm", "LLVM assembly of kernels and program"),
        clEnumValN(Emit::Ptx, "ptx", "PTX of the kernels (target cuda)"),
        clEnumValN(Emit::Object, "obj", "an object file"),
        clEnumValN(Emit::Shared, "shared",
                   "a shared library with the runtime, for C and Python (see "
                   "docs/Library.md)"),
        clEnumValN(Emit::Program, "program",
                   "a shared library of kernels and program, without the "
                   "runtime")));

LogicalResult fail(const llvm::Twine &message) {
  llvm::WithColor::error(llvm::errs(), "zero-compile") << message << "\n";
  return failure();
}

/// The options of zero-pipeline that the command line means.
std::string pipelineText() {
  std::string text = pipeline;
  auto add = [&](StringRef key, const std::string &value) {
    if (!value.empty())
      text += zero::ZeroPipelineOptions::write(key, value);
  };
  add("config", config);
  add("stage", stage);
  add("ranks", ranks);
  add("mesh", mesh);
  add("deterministic", deterministic ? "true" : "");
  add("keep-trivial-collectives", keepTrivialCollectives ? "true" : "");
  add("memory-budget", memoryBudget);
  add("host-memory-budget", hostMemoryBudget);
  if (target.getNumOccurrences())
    add("target", target);
  add("set", llvm::join(keys, ";"));
  return text;
}

/// Runs the passes; the configuration that they follow.
FailureOr<zero::TrainConfig> runPipeline(ModuleOp module) {
  std::string error;
  auto options = zero::ZeroPipelineOptions::read(pipelineText(), error);
  if (!options)
    return fail(error);
  FailureOr<zero::TrainConfig> resolved = options->resolve(module);
  if (failed(resolved))
    return failure();
  PassManager passes(module.getContext(), ModuleOp::getOperationName());
  zero::buildZeroPipeline(passes, *resolved);
  if (failed(passes.run(module)))
    return failure();
  return resolved;
}

/// Writes what `write` writes to the file `path`, or nothing if it fails.
LogicalResult
writeFile(StringRef path,
          llvm::function_ref<LogicalResult(llvm::raw_pwrite_stream &)> write) {
  // Objects need a stream that seeks, which standard output may not be.
  llvm::SmallString<0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  if (failed(write(stream)))
    return failure();
  std::string error = zero::writeBytes(path, bytes);
  return error.empty() ? success() : fail(error);
}

zero::LinkOptions linkOptions() {
  zero::LinkOptions link;
  link.compiler = compiler;
  link.cpu = cpu;
  link.libraries = libraries;
  link.files.assign(linked.begin(), linked.end());
  if (emit == Emit::Shared)
    link.runtimeName = "zero-runtime-shared";
  else if (target == "cuda")
    link.runtimeName = "zero-runtime-cuda";
  return link;
}

/// Links what `writeObject` writes.
LogicalResult linkCode(
    llvm::function_ref<LogicalResult(llvm::raw_pwrite_stream &)> writeObject) {
  const zero::LinkOptions link = linkOptions();
  std::string error;
  if (emit != Emit::Program && failed(zero::checkLink(link, error)))
    return fail(error);
  SmallString<128> object;
  if (failed(zero::makeTemporaryFile("zero", object, error)))
    return fail(error);
  llvm::FileRemover remover(object);
  if (failed(writeFile(object, writeObject)))
    return failure();
  auto linked = emit == Emit::Shared
                    ? zero::linkShared(object, output, link, error)
                : emit == Emit::Program
                    ? zero::linkProgram(object, output, link, error)
                    : zero::linkExecutable(object, output, link, error);
  return succeeded(linked) ? success() : fail(error);
}

LogicalResult emitCode(ModuleOp module, StringRef program) {
  zero::TargetOptions options;
  options.cpu = cpu;
  auto writeObject = [&](llvm::raw_pwrite_stream &out) {
    return target == "cuda"
               ? zero::emitDeviceObject(module, program, options, out)
               : zero::emitObject(module, program, options, out);
  };
  if (emit == Emit::Ptx)
    return writeFile(output, [&](llvm::raw_pwrite_stream &out) {
      return zero::emitPTX(module, out);
    });
  if (emit == Emit::Llvm)
    return writeFile(output, [&](llvm::raw_pwrite_stream &out) {
      return zero::emitLLVM(module, program, options, out);
    });
  return emit == Emit::Object ? writeFile(output, writeObject)
                              : linkCode(writeObject);
}

/// Registers the dialects of `--load-dialect-plugin`.
LogicalResult loadPlugins(DialectRegistry &registry) {
#ifdef ZERO_STATIC_LLVM
  if (!plugins.empty())
    return fail("this build of zero loads no dialect plugins: LLVM and MLIR "
                "are linked into it, and a plugin would bring them a second "
                "time; build zero with ZERO_STATIC_LLVM=OFF");
#endif
  for (const std::string &path : plugins) {
    llvm::Expected<DialectPlugin> plugin = DialectPlugin::load(path);
    if (!plugin)
      return fail("cannot load the dialect plugin '" + path +
                  "': " + llvm::toString(plugin.takeError()));
    plugin->registerDialectRegistryCallbacks(registry);
  }
  return success();
}

/// Checks `--link` and `--with-libraries`: what has no runtime is not linked.
LogicalResult checkLinked() {
  const bool hasRuntime = emit == Emit::Executable || emit == Emit::Shared;
  for (auto [flag, isGiven] :
       {std::pair("--link", !linked.empty()),
        std::pair("--with-libraries", !libraries.empty())})
    if (isGiven && !hasRuntime)
      return fail(flag + llvm::Twine(" is for what has a runtime, executables "
                                     "and shared libraries; the output is to "
                                     "be of another kind"));
  for (const std::string &path : linked)
    if (!llvm::sys::fs::exists(path))
      return fail("cannot link '" + path + "': there is no such file");
  return success();
}

/// Checks `-o`: what is read is not written.
LogicalResult checkOutput() {
  std::vector<zero::NamedFile> inputs = {{"the model", input},
                                         {"the configuration", config}};
  for (const std::string &path : linked)
    inputs.push_back({"a file of --link", path});
  for (const std::string &path : plugins)
    inputs.push_back({"a dialect plugin", path});
  std::string error = zero::findReplaced({{"-o", output}}, inputs);
  return error.empty() ? success() : fail(error);
}

/// Checks `--target`, and that it has what `--emit` asks for.
LogicalResult checkTarget() {
  bool isCuda = target == "cuda";
  if (!isCuda && target != "host")
    return fail("unknown target '" + target + "'; wanted 'host' or 'cuda'");
#ifndef ZERO_HAVE_CUDA
  if (isCuda && emit == Emit::Executable)
    return fail("target 'cuda' is not in this build, which was configured "
                "without the CUDA toolkit; wanted 'host'");
#endif
  if (isCuda && (emit == Emit::Llvm || emit == Emit::Shared))
    return fail("target 'cuda' writes mlir, ptx, obj, program and exe");
  if (!isCuda && emit == Emit::Ptx)
    return fail("only target 'cuda' writes ptx");
  return success();
}

/// Why the executable could not start; "" where it can. One rank and
/// deterministic ranks do without NCCL.
std::string refusalOf(const zrt::Program &program) {
  for (const zrt::Partition &partition : program.partitions) {
    if (partition.parameters.tier == zrt::Tier::File &&
        program.files.folder.empty())
      return "the parameters of " + partition.name +
             " are in a file, and no folder is named for it; give "
             "offload_optimizer and offload_param the device nvme";
    for (const zrt::State &state : partition.states)
      for (const zrt::StateRange &range : state.ranges)
        if (range.buffer.tier == zrt::Tier::File &&
            program.files.folder.empty())
          return "the state " + state.name +
                 " is in a file, from where the update does not read it; give "
                 "it the tier device or host (state-tiers, zero.state_tiers), "
                 "or offload all states (offload_optimizer with the device "
                 "nvme)";
  }
  if (program.pipeline.isCut() && emit == Emit::Shared)
    return "the mesh has an axis 'pipe', whose stages run in executables only, "
           "and not in a program that loads a library, such as Python; give "
           "'--emit exe' (to an import, what zero-import writes), or give "
           "'pipe' 1 rank";
  if (!program.given.empty() && emit != Emit::Shared)
    return "zero.given_gradients takes gradients from the program that runs "
           "the "
           "library, and nothing gives them to an executable; give '--emit "
           "shared', or leave the key out";
  if (target != "cuda" || program.training.deterministic ||
      program.training.ranks == 1)
    return "";
  return zrt::refusedByNccl(program);
}

/// Refuses a plan that fits into the memory budget, and leaves no room for the
/// workspace of a GPU's kernels.
LogicalResult checkWorkspace(ModuleOp module, ArrayRef<zrt::Program> programs,
                             int64_t budget) {
  if (target != "cuda" || budget == 0)
    return success();
  const SmallVector<ModuleOp> stages = zero::isCutIntoStages(module)
                                           ? zero::listStages(module)
                                           : SmallVector<ModuleOp>{module};
  for (auto [stage, program] : llvm::zip_equal(stages, programs)) {
    const int64_t planned = zero::summarizePlan(stage).totalBytes();
    const auto workspace = static_cast<int64_t>(zrt::workspaceOf(program));
    if (planned + workspace > budget)
      return fail("a rank's plan needs " + zrt::formatBytes(planned) +
                  " of its device, and its kernels " +
                  zrt::formatBytes(workspace) +
                  " for their workspace, more than the memory budget of " +
                  zrt::formatBytes(budget));
  }
  return success();
}

LogicalResult compile() {
  if (failed(checkTarget()) || failed(checkLinked()))
    return failure();
  bool isText = emit == Emit::Mlir || emit == Emit::Llvm || emit == Emit::Ptx;
  if (output.empty()) {
    if (!isText)
      return fail("nowhere to write to; name the output with -o");
    output = "-";
  }
  if (failed(checkOutput()))
    return failure();
  std::string message;
  auto file = zero::openModel(input, message);
  if (!file)
    return fail(message);

  DialectRegistry registry;
  zero::registerDialects(registry);
  if (failed(loadPlugins(registry)))
    return failure();
  MLIRContext context(registry);
  // A message shows the source; operations are for those who write passes.
  context.printOpOnDiagnostic(false);
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(file), llvm::SMLoc());
  SourceMgrDiagnosticHandler diagnostics(sources, &context);
  zero::printWholeFileDiagnostics(context);
  auto module = parseSourceFile<ModuleOp>(sources, &context);
  if (!module)
    return failure();
  FailureOr<zero::TrainConfig> resolved = runPipeline(*module);
  if (failed(resolved))
    return failure();
  if (emit == Emit::Mlir)
    return writeFile(output, [&](llvm::raw_pwrite_stream &out) {
      module->print(out);
      out << "\n";
      return success();
    });
  FailureOr<std::vector<zrt::Program>> programs =
      zero::translateStages(*module);
  if (failed(programs))
    return failure();
  for (const zrt::Program &program : *programs)
    if (std::string refusal = refusalOf(program); !refusal.empty())
      return fail(refusal);
  if (failed(checkWorkspace(*module, *programs, resolved->memoryBudget)))
    return failure();
  const std::string bytes = zrt::serializeStages(*programs);
  return programs->size() == 1 ? emitCode(*module, bytes)
                               : emitCode(*zero::joinFunctions(*module), bytes);
}

} // namespace

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv, /*InstallPipeSignalExitHandler=*/false);
  zero::checkStandardOutput("zero-compile");
  // Whoever starts the tool may ignore how processes end; the tool waits for
  // its own.
  std::signal(SIGCHLD, SIG_DFL);
  cl::HideUnrelatedOptions(category);
  llvm::cl::SetVersionPrinter([](llvm::raw_ostream &out) {
    out << zero_tools::versionText("zero-compile") << "\n";
  });
  cl::ParseCommandLineOptions(argc, argv,
                              "zero graph compiler: from a model to an "
                              "executable training step\n");
  const bool isRead =
      succeeded(zero::checkRepeated(cl::SubCommand::getTopLevel()));
  return isRead && succeeded(compile()) ? 0 : 1;
}
