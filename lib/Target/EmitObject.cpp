//===- EmitObject.cpp - kernels and program to an object file -------------===//

#include "zero/Target/Target.h"

#include "LowerKernels.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"

using namespace mlir;
using namespace mlir::zero;

namespace {

/// A row of the table of kernels.
struct KernelRow {
  std::string name;
  int64_t extent;
  int64_t grain;
};

std::unique_ptr<llvm::TargetMachine>
createTargetMachine(const mlir::zero::TargetOptions &options,
                    std::string &error) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  llvm::Triple triple(llvm::sys::getDefaultTargetTriple());
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return nullptr;
  std::string cpu = options.cpu;
  std::string features;
  if (cpu.empty() || cpu == "native") {
    cpu = llvm::sys::getHostCPUName().str();
    for (const auto &feature : llvm::sys::getHostCPUFeatures())
      features += (features.empty() ? "" : ",") +
                  std::string(feature.second ? "+" : "-") +
                  feature.first().str();
  }
  // A product and a sum stay two roundings unless the kernel says math.fma:
  // bits must not depend on what the code generator happens to join.
  llvm::TargetOptions codeOptions;
  codeOptions.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  auto level = llvm::CodeGenOpt::getLevel(options.optimizationLevel);
  std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(
      triple, cpu, features, codeOptions, llvm::Reloc::PIC_, std::nullopt,
      level.value_or(llvm::CodeGenOptLevel::Aggressive)));
  if (!machine || !machine->getMCSubtargetInfo()->isCPUStringValid(cpu)) {
    error = "unknown cpu '" + cpu + "' for " + triple.str() +
            "; wanted a name that `clang --print-supported-cpus` lists";
    return nullptr;
  }
  return machine;
}

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

void addGlobal(llvm::Module &module, StringRef name, llvm::Constant *value,
               unsigned alignment) {
  auto *global =
      new llvm::GlobalVariable(module, value->getType(), /*isConstant=*/true,
                               llvm::GlobalValue::ExternalLinkage, value, name);
  global->setAlignment(llvm::Align(alignment));
}

void addTable(llvm::Module &module, ArrayRef<KernelRow> rows) {
  llvm::LLVMContext &context = module.getContext();
  auto *pointer = llvm::PointerType::get(context, 0);
  auto *i64 = llvm::Type::getInt64Ty(context);
  auto *rowType = llvm::StructType::get(pointer, pointer, i64, i64);
  SmallVector<llvm::Constant *> table;
  for (const KernelRow &row : rows) {
    auto *text = llvm::ConstantDataArray::getString(context, row.name);
    auto *name = new llvm::GlobalVariable(
        module, text->getType(), /*isConstant=*/true,
        llvm::GlobalValue::PrivateLinkage, text, "name." + row.name);
    table.push_back(llvm::ConstantStruct::get(
        rowType, {name, module.getFunction(row.name),
                  llvm::ConstantInt::get(i64, row.extent),
                  llvm::ConstantInt::get(i64, row.grain)}));
  }
  auto *type = llvm::ArrayType::get(rowType, table.size());
  addGlobal(module, "zero_generated_kernels",
            llvm::ConstantArray::get(type, table), 16);
  addGlobal(module, "zero_generated_kernel_count",
            llvm::ConstantInt::get(i64, table.size()), 8);
}

void addProgram(llvm::Module &module, StringRef bytes) {
  llvm::LLVMContext &context = module.getContext();
  addGlobal(module, "zero_program",
            llvm::ConstantDataArray::getString(context, bytes,
                                               /*AddNull=*/false),
            64);
  addGlobal(
      module, "zero_program_size",
      llvm::ConstantInt::get(llvm::Type::getInt64Ty(context), bytes.size()), 8);
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
  addTable(*module, rows);
  addProgram(*module, programBytes);
  return module;
}

std::unique_ptr<llvm::Module>
buildOptimized(ModuleOp kernels, StringRef programBytes,
               const mlir::zero::TargetOptions &options,
               std::unique_ptr<llvm::TargetMachine> &machine,
               llvm::LLVMContext &context) {
  std::string error;
  machine = createTargetMachine(options, error);
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
  llvm::legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, out, nullptr,
                                   llvm::CodeGenFileType::ObjectFile))
    return kernels.emitError("this target writes no object files");
  passes.run(*module);
  return success();
}
