//===- EmitDevice.cpp - kernels of a GPU, and the object of its host ------===//

#include "zero/Target/Target.h"

#include "Embed.h"
#include "LowerKernels.h"
#include "RunProgram.h"

#include "zero/Target/TemporaryFiles.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/TargetSelect.h"

#include <cstdlib>

using namespace mlir;
using namespace mlir::zero;

namespace {

/// The architecture of the PTX: later ones run it too.
constexpr const char *kArchitecture = "sm_80";
constexpr const char *kFeatures = "+ptx80";

std::unique_ptr<llvm::TargetMachine> createDeviceMachine(std::string &error) {
  LLVMInitializeNVPTXTargetInfo();
  LLVMInitializeNVPTXTarget();
  LLVMInitializeNVPTXTargetMC();
  LLVMInitializeNVPTXAsmPrinter();
  llvm::Triple triple("nvptx64-nvidia-cuda");
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return nullptr;
  // As on the host: bits must not depend on what happens to be joined.
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      triple, kArchitecture, kFeatures, options, std::nullopt, std::nullopt,
      llvm::CodeGenOptLevel::Aggressive));
}

void optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2)
      .run(module, modules);
}

/// The kernels of `module`, lowered, in a module of their own; a row each.
OwningOpRef<ModuleOp> lowerCopy(ModuleOp module,
                                SmallVectorImpl<KernelRow> &rows) {
  OwningOpRef<ModuleOp> copy = ModuleOp::create(module.getLoc());
  for (auto kernel : module.getOps<func::FuncOp>())
    if (!kernel.isExternal())
      copy->push_back(kernel.clone());
  if (failed(lowerDeviceKernels(*copy)))
    return nullptr;
  for (auto function : copy->getOps<LLVM::LLVMFuncOp>()) {
    rows.push_back({function.getName().str(),
                    function->getAttrOfType<IntegerAttr>("extent").getInt(),
                    function->getAttrOfType<IntegerAttr>("grain").getInt()});
    function->removeAttr("extent");
    function->removeAttr("grain");
  }
  return copy;
}

/// The kernels as PTX, and their rows.
LogicalResult translate(ModuleOp kernels, SmallVectorImpl<KernelRow> &rows,
                        llvm::raw_pwrite_stream &out) {
  OwningOpRef<ModuleOp> lowered = lowerCopy(kernels, rows);
  if (!lowered)
    return failure();
  std::string error;
  auto machine = createDeviceMachine(error);
  if (!machine)
    return kernels.emitError("no code generator for GPUs: ") << error;
  registerBuiltinDialectTranslation(*kernels.getContext());
  registerLLVMDialectTranslation(*kernels.getContext());
  registerNVVMDialectTranslation(*kernels.getContext());
  llvm::LLVMContext context;
  auto module = translateModuleToLLVMIR(*lowered, context, "zero");
  if (!module)
    return failure();
  module->setTargetTriple(machine->getTargetTriple());
  module->setDataLayout(machine->createDataLayout());
  optimize(*module, *machine);
  llvm::legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, out, nullptr,
                                   llvm::CodeGenFileType::AssemblyFile))
    return kernels.emitError("no PTX can be written");
  passes.run(*module);
  return success();
}

//===----------------------------------------------------------------------===//
// The image
//===----------------------------------------------------------------------===//

std::string findTool(StringRef name) {
  SmallVector<StringRef> folders;
  if (const char *wanted = std::getenv("ZERO_CUDA_BIN"))
    folders.push_back(wanted);
#ifdef ZERO_CUDA_BIN
  folders.push_back(ZERO_CUDA_BIN);
#endif
  if (!folders.empty())
    if (auto path = llvm::sys::findProgramByName(name, folders))
      return *path;
  if (auto path = llvm::sys::findProgramByName(name))
    return *path;
  if (auto path = llvm::sys::findProgramByName(name, {"/usr/local/cuda/bin"}))
    return *path;
  return "";
}

/// Runs tools of the CUDA toolkit in a folder of their own, which goes away.
class Toolkit {
public:
  explicit Toolkit(ModuleOp at) : at(at) {}
  ~Toolkit() {
    if (!folder.empty())
      llvm::sys::fs::remove_directories(folder);
  }

  LogicalResult open() {
    std::string error;
    if (failed(makeTemporaryFolder("zero-cuda", folder, error)))
      return at.emitError(error);
    return success();
  }

  std::string file(StringRef name) const {
    SmallString<128> path(folder);
    llvm::sys::path::append(path, name);
    return std::string(path);
  }

  LogicalResult write(StringRef name, StringRef bytes) {
    std::error_code code;
    llvm::raw_fd_ostream out(file(name), code);
    if (code)
      return at.emitError("cannot write '")
             << file(name) << "': " << code.message();
    out << bytes;
    return success();
  }

  FailureOr<std::string> read(StringRef name) {
    auto buffer = llvm::MemoryBuffer::getFile(file(name));
    if (!buffer)
      return at.emitError("cannot read '")
             << file(name) << "': " << buffer.getError().message();
    return (*buffer)->getBuffer().str();
  }

  LogicalResult run(StringRef tool, ArrayRef<std::string> arguments) {
    std::string path = findTool(tool);
    if (path.empty())
      return at.emitError("no ")
             << tool << " of the CUDA toolkit was found; install the toolkit "
             << "or name its folder of programs with ZERO_CUDA_BIN";
    std::vector<std::string> command = {path};
    llvm::append_range(command, arguments);
    std::string printed;
    if (succeeded(runProgram(command, printed)))
      return success();
    return at.emitError("'") << path << "' failed: " << printed;
  }

private:
  ModuleOp at;
  SmallString<128> folder;
};

/// Code for each architecture that servers have, and the PTX for what comes
/// later.
FailureOr<std::string> makeImage(ModuleOp at, StringRef ptx) {
  Toolkit toolkit(at);
  if (failed(toolkit.open()) || failed(toolkit.write("kernels.ptx", ptx)))
    return failure();
  std::vector<std::string> arguments = {
      "--create=" + toolkit.file("image.fatbin"), "-64",
      "--image3=kind=ptx,sm=80,file=" + toolkit.file("kernels.ptx")};
  for (StringRef number : {"80", "90", "100", "120"}) {
    std::string cubin = toolkit.file(("sm_" + number + ".cubin").str());
    if (failed(toolkit.run("ptxas",
                           {"-arch=sm_" + number.str(), "-O3", "--fmad=false",
                            "-o", cubin, toolkit.file("kernels.ptx")})))
      return failure();
    arguments.push_back("--image3=kind=elf,sm=" + number.str() +
                        ",file=" + cubin);
  }
  if (failed(toolkit.run("fatbinary", arguments)))
    return failure();
  return toolkit.read("image.fatbin");
}

} // namespace

LogicalResult mlir::zero::emitPTX(ModuleOp kernels,
                                  llvm::raw_pwrite_stream &out) {
  SmallVector<KernelRow> rows;
  return translate(kernels, rows, out);
}

LogicalResult mlir::zero::emitDeviceObject(ModuleOp kernels,
                                           StringRef programBytes,
                                           const TargetOptions &options,
                                           llvm::raw_pwrite_stream &out) {
  SmallVector<KernelRow> rows;
  SmallString<0> ptx;
  llvm::raw_svector_ostream stream(ptx);
  if (failed(translate(kernels, rows, stream)))
    return failure();
  std::string image;
  if (!rows.empty()) {
    FailureOr<std::string> made = makeImage(kernels, ptx);
    if (failed(made))
      return failure();
    image = std::move(*made);
  }
  std::string error;
  auto machine = createHostMachine(options, error);
  if (!machine)
    return kernels.emitError(error);
  llvm::LLVMContext context;
  llvm::Module module("zero", context);
  module.setTargetTriple(machine->getTargetTriple());
  module.setDataLayout(machine->createDataLayout());
  addKernelTable(module, rows);
  addBytes(module, "zero_program", programBytes);
  addCpuFeatures(module, /*features=*/""); // there is no code for the host
  addBytes(module, "zero_device_image", image);
  return writeObject(module, *machine, kernels, out);
}
