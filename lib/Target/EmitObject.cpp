//===- EmitObject.cpp - kernels and program to an object file -------------===//

#include "zero/Target/Target.h"

#include "Embed.h"
#include "LowerKernels.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Target/TargetMachine.h"

using namespace mlir;
using namespace mlir::zero;

namespace {

unsigned widthFor(const llvm::TargetMachine &machine,
                  const mlir::zero::TargetOptions &options) {
  if (options.vectorWidth)
    return options.vectorWidth;
  bool isX86 = machine.getTargetTriple().isX86();
  return isX86 && machine.getMCSubtargetInfo()->checkFeatures("+avx512bw") ? 16
                                                                           : 8;
}

/// Takes the kernels of `module` out into one of their own and lowers them.
OwningOpRef<ModuleOp> lowerCopy(ModuleOp module, unsigned width,
                                SmallVectorImpl<KernelRow> &rows) {
  OwningOpRef<ModuleOp> copy = ModuleOp::create(module.getLoc());
  for (auto kernel : module.getOps<func::FuncOp>())
    if (!kernel.isExternal())
      copy->push_back(kernel.clone());
  if (failed(lowerKernels(*copy, width)))
    return nullptr;
  for (auto function : copy->getOps<LLVM::LLVMFuncOp>()) {
    auto extent = function->getAttrOfType<IntegerAttr>("extent");
    auto grain = function->getAttrOfType<IntegerAttr>("grain");
    if (!extent || !grain)
      continue;
    rows.push_back({function.getName().str(), extent.getInt(), grain.getInt()});
    function->removeAttr("extent");
    function->removeAttr("grain");
  }
  return copy;
}

void optimize(llvm::Module &module, llvm::TargetMachine &machine,
              unsigned level) {
  llvm::PipelineTuningOptions tuning;
  // The vectors are written already.
  tuning.LoopVectorization = false;
  tuning.SLPVectorization = false;
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine, tuning);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  const llvm::OptimizationLevel levels[] = {
      llvm::OptimizationLevel::O0, llvm::OptimizationLevel::O1,
      llvm::OptimizationLevel::O2, llvm::OptimizationLevel::O3};
  auto optimization = levels[std::min(level, 3u)];
  llvm::ModulePassManager passes =
      optimization == llvm::OptimizationLevel::O0
          ? builder.buildO0DefaultPipeline(optimization)
          : builder.buildPerModuleDefaultPipeline(optimization);
  passes.run(module, modules);
}

/// The module for `machine`, not optimised yet.
std::unique_ptr<llvm::Module> build(ModuleOp kernels, StringRef programBytes,
                                    const mlir::zero::TargetOptions &options,
                                    llvm::TargetMachine &machine,
                                    llvm::LLVMContext &context) {
  unsigned width = widthFor(machine, options);
  SmallVector<KernelRow> rows;
  OwningOpRef<ModuleOp> lowered = lowerCopy(kernels, width, rows);
  if (!lowered)
    return nullptr;
  registerBuiltinDialectTranslation(*kernels.getContext());
  registerLLVMDialectTranslation(*kernels.getContext());
  auto module = translateModuleToLLVMIR(*lowered, context, "zero");
  if (!module)
    return nullptr;
  module->setTargetTriple(machine.getTargetTriple());
  module->setDataLayout(machine.createDataLayout());
  for (const KernelRow &row : rows) {
    llvm::Function *function = module->getFunction(row.name);
    function->setLinkage(llvm::GlobalValue::InternalLinkage);
    function->setDoesNotThrow();
    function->addFnAttr("target-cpu", machine.getTargetCPU());
    function->addFnAttr("target-features", machine.getTargetFeatureString());
    // Some CPUs prefer 256 bits for what they must vectorise themselves.
    function->addFnAttr("prefer-vector-width", std::to_string(width * 32));
  }
  addKernelTable(*module, rows);
  addBytes(*module, "zero_program", programBytes);
  addCpuFeatures(*module, cpuFeaturesOf(machine));
  return module;
}

std::unique_ptr<llvm::Module>
buildOptimized(ModuleOp kernels, StringRef programBytes,
               const mlir::zero::TargetOptions &options,
               std::unique_ptr<llvm::TargetMachine> &machine,
               llvm::LLVMContext &context) {
  std::string error;
  machine = createHostMachine(options, error);
  if (!machine) {
    kernels.emitError(error);
    return nullptr;
  }
  auto module = build(kernels, programBytes, options, *machine, context);
  if (module)
    optimize(*module, *machine, options.optimizationLevel);
  return module;
}

} // namespace

LogicalResult mlir::zero::emitLLVM(ModuleOp kernels, StringRef programBytes,
                                   const TargetOptions &options,
                                   llvm::raw_ostream &out) {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::TargetMachine> machine;
  auto module =
      buildOptimized(kernels, programBytes, options, machine, context);
  if (!module)
    return failure();
  module->print(out, nullptr);
  return success();
}

LogicalResult mlir::zero::emitObject(ModuleOp kernels, StringRef programBytes,
                                     const TargetOptions &options,
                                     llvm::raw_pwrite_stream &out) {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::TargetMachine> machine;
  auto module =
      buildOptimized(kernels, programBytes, options, machine, context);
  if (!module)
    return failure();
  return writeObject(*module, *machine, kernels, out);
}
