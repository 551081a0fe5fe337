//===- Embed.cpp - what an object holds besides code ----------------------===//

#include "Embed.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"

#include "program/CpuFeatures.h"

using namespace mlir;
using namespace mlir::zero;

/// Why there is no code for `cpu`; "" where there is. LLVM itself would go on
/// with another one, or end the process.
static std::string checkCpu(const llvm::Target &target,
                            const llvm::Triple &triple,
                            const std::string &cpu) {
  auto describe = [&](StringRef name) {
    return std::unique_ptr<llvm::MCSubtargetInfo>(
        target.createMCSubtargetInfo(triple, name, ""));
  };
  if (!describe("")->isCPUStringValid(cpu))
    return "unknown cpu '" + cpu + "' for " + triple.str() +
           "; wanted a name that `clang --print-supported-cpus` lists";
  if (triple.isX86() && triple.isArch64Bit() &&
      !describe(cpu)->checkFeatures("+64bit"))
    return "cpu '" + cpu + "' has no 64-bit mode, and the program is for " +
           triple.str() + "; wanted one such as x86-64-v3";
  return "";
}

std::unique_ptr<llvm::TargetMachine>
mlir::zero::createHostMachine(const mlir::zero::TargetOptions &options,
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
  error = checkCpu(*target, triple, cpu);
  if (!error.empty())
    return nullptr;
  // A product and a sum stay two roundings unless the kernel says math.fma:
  // bits must not depend on what the code generator happens to join.
  llvm::TargetOptions codeOptions;
  codeOptions.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  auto level = llvm::CodeGenOpt::getLevel(options.optimizationLevel);
  std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(
      triple, cpu, features, codeOptions, llvm::Reloc::PIC_, std::nullopt,
      level.value_or(llvm::CodeGenOptLevel::Aggressive)));
  if (!machine)
    error = "no code can be generated for " + triple.str();
  return machine;
}

static void addGlobal(llvm::Module &module, StringRef name,
                      llvm::Constant *value, unsigned alignment) {
  auto *global =
      new llvm::GlobalVariable(module, value->getType(), /*isConstant=*/true,
                               llvm::GlobalValue::ExternalLinkage, value, name);
  global->setAlignment(llvm::Align(alignment));
}

void mlir::zero::addKernelTable(llvm::Module &module,
                                ArrayRef<KernelRow> rows) {
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
    llvm::Constant *function = module.getFunction(row.name);
    if (!function) // a device has it
      function = llvm::ConstantPointerNull::get(pointer);
    table.push_back(llvm::ConstantStruct::get(
        rowType, {name, function, llvm::ConstantInt::get(i64, row.extent),
                  llvm::ConstantInt::get(i64, row.grain)}));
  }
  auto *type = llvm::ArrayType::get(rowType, table.size());
  addGlobal(module, "zero_generated_kernels",
            llvm::ConstantArray::get(type, table), 16);
  addGlobal(module, "zero_generated_kernel_count",
            llvm::ConstantInt::get(i64, table.size()), 8);
}

void mlir::zero::addBytes(llvm::Module &module, StringRef symbol,
                          StringRef bytes) {
  llvm::LLVMContext &context = module.getContext();
  addGlobal(module, symbol,
            llvm::ConstantDataArray::getString(context, bytes,
                                               /*AddNull=*/false),
            64);
  addGlobal(
      module, (symbol + "_size").str(),
      llvm::ConstantInt::get(llvm::Type::getInt64Ty(context), bytes.size()), 8);
}

std::string mlir::zero::cpuFeaturesOf(const llvm::TargetMachine &machine) {
  std::string text;
  if (!machine.getTargetTriple().isX86())
    return text;
  for (const char *feature : zrt::kCpuFeatures)
    if (machine.getMCSubtargetInfo()->checkFeatures("+" + std::string(feature)))
      text += (text.empty() ? "" : " ") + std::string(feature);
  return text;
}

void mlir::zero::addCpuFeatures(llvm::Module &module, StringRef features) {
  addGlobal(module, "zero_cpu_features",
            llvm::ConstantDataArray::getString(module.getContext(), features),
            1);
}

LogicalResult mlir::zero::writeObject(llvm::Module &module,
                                      llvm::TargetMachine &machine, ModuleOp at,
                                      llvm::raw_pwrite_stream &out) {
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, out, nullptr,
                                  llvm::CodeGenFileType::ObjectFile))
    return at.emitError("this target writes no object files");
  passes.run(module);
  return success();
}
