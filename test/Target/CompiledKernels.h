// Kernel functions, compiled and loaded into this process.
#ifndef ZERO_TEST_TARGET_COMPILEDKERNELS_H
#define ZERO_TEST_TARGET_COMPILEDKERNELS_H

#include "kernels/Kernel.h"
#include "zero/Target/Target.h"

#include <string>
#include <vector>

/// Compiles `source` (MLIR text with kernel functions, or with steps, which are
/// outlined first) with `options` into a shared library and loads it. Tests
/// fail, with the diagnostics, if it cannot.
class CompiledKernels {
public:
  explicit CompiledKernels(const std::string &source,
                           const mlir::zero::TargetOptions &options = {},
                           const std::string &program = "program");
  ~CompiledKernels();
  CompiledKernels(const CompiledKernels &) = delete;
  CompiledKernels &operator=(const CompiledKernels &) = delete;

  bool loaded() const { return library; }
  /// The kernel `name`; a fatal error where there is none.
  const zrt::GeneratedKernel &operator[](const std::string &name) const;
  std::string program() const;

private:
  void load(const std::string &source, const mlir::zero::TargetOptions &options,
            const std::string &program);

  void *library = nullptr;
  const zrt::GeneratedKernel *table = nullptr;
  int64_t count = 0;
};

/// The optimised LLVM assembly of the kernels of `source`.
std::string optimizedCode(const std::string &source,
                          const mlir::zero::TargetOptions &options);

#endif // ZERO_TEST_TARGET_COMPILEDKERNELS_H
