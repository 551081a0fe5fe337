//===- Embed.h - what an object holds besides code ------------------------===//
#ifndef ZERO_LIB_TARGET_EMBED_H
#define ZERO_LIB_TARGET_EMBED_H

#include "zero/Target/Target.h"

#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

#include <memory>

namespace mlir::zero {

/// A row of the table of kernels.
struct KernelRow {
  std::string name;
  int64_t extent;
  int64_t grain;
};

/// The machine that executables are for, or null and why in `error`.
std::unique_ptr<llvm::TargetMachine>
createHostMachine(const TargetOptions &options, std::string &error);

/// Adds `zero_generated_kernels` and its count. A kernel that is no function of
/// `module` is null in the table: a device has its code.
void addKernelTable(llvm::Module &module, ArrayRef<KernelRow> rows);

/// Adds `bytes` as constant `symbol`, and their number as `symbol`_size.
void addBytes(llvm::Module &module, StringRef symbol, StringRef bytes);

/// The features of program/CpuFeatures.h that code for `machine` may use, with
/// spaces between.
std::string cpuFeaturesOf(const llvm::TargetMachine &machine);

/// Adds `zero_cpu_features`: what the executable checks before it runs
/// anything.
void addCpuFeatures(llvm::Module &module, StringRef features);

/// Writes `module` as an object file; errors are emitted at `at`.
LogicalResult writeObject(llvm::Module &module, llvm::TargetMachine &machine,
                          ModuleOp at, llvm::raw_pwrite_stream &out);

} // namespace mlir::zero

#endif // ZERO_LIB_TARGET_EMBED_H
