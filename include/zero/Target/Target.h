//===- Target.h - from kernels and a program to an executable -------------===//
//
// The compiler's last step. Kernel functions become machine code; the program
// (the schedule as data) becomes bytes beside them; the runtime library does
// the rest. Symbols of the object, as `runtime/kernels/Kernel.h` wants them:
//
//   zero_generated_kernels        GeneratedKernel[]
//   zero_generated_kernel_count   int64
//   zero_program                  bytes
//   zero_program_size             int64
//   zero_cpu_features             string: what the code wants of the CPU
//
// and where kernels run on a GPU, whose functions are null in the table,
//
//   zero_device_image             bytes: code of sm_80 to sm_120, and PTX
//   zero_device_image_size        int64
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_TARGET_TARGET_H
#define ZERO_TARGET_TARGET_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/raw_ostream.h"

#include <string>
#include <vector>

namespace mlir::zero {

/// The CPU and the quality of generated code.
struct TargetOptions {
  /// An LLVM CPU name; empty or "native": this machine's. An executable runs
  /// on that CPU and its successors.
  std::string cpu;
  /// Lanes of a vector of f32; 0: 16 where the CPU has AVX-512, else 8.
  unsigned vectorWidth = 0;
  /// 0 to 3.
  unsigned optimizationLevel = 3;
};

/// Writes an LLVM module of the kernel functions of `kernels` (every
/// `func.func` with a body, around one `linalg.generic`; `kernels` is left as
/// it is) and of the serialised program, optimised, as LLVM assembly. Errors
/// are emitted at the kernel's operations.
LogicalResult emitLLVM(ModuleOp kernels, StringRef programBytes,
                       const TargetOptions &options, llvm::raw_ostream &out);

/// Writes that module, optimised, as a relocatable object file.
LogicalResult emitObject(ModuleOp kernels, StringRef programBytes,
                         const TargetOptions &options,
                         llvm::raw_pwrite_stream &out);

/// Writes the kernel functions as PTX for sm_80 and later. Errors are emitted
/// at the kernel's operations.
LogicalResult emitPTX(ModuleOp kernels, llvm::raw_pwrite_stream &out);

/// Writes an object file for the host of a GPU: program, table of kernels, and
/// the kernels as an image that ptxas and fatbinary of the CUDA toolkit make.
/// Those are searched for in `ZERO_CUDA_BIN` of the environment, where the
/// project was configured, on the path, and in /usr/local/cuda/bin.
LogicalResult emitDeviceObject(ModuleOp kernels, StringRef programBytes,
                               const TargetOptions &options,
                               llvm::raw_pwrite_stream &out);

/// How the object becomes a program.
struct LinkOptions {
  /// The C++ compiler that links; empty: `ZERO_CXX` of the environment, else
  /// the first of clang++-22, clang++, c++, g++ on the path; and where there is
  /// none, a linker: ld.lld-22, ld.lld, ld.
  std::string compiler;
  /// The file of arguments that names the runtime's libraries, where <CFGDIR>
  /// is its folder; empty: `ZERO_RUNTIME_LINK` of the environment, else one of
  /// those that `lib/zero` beside the folder of the running tool has by the
  /// name of `runtimeName`: the one that uses most of what the CPU has.
  std::string runtime;
  std::string runtimeName = "zero-runtime";
  /// The CPU that the executable runs on, as in TargetOptions.
  std::string cpu;
  /// Objects and archives to link before the runtime, whole: what registers
  /// itself when a process starts is used by nothing that a linker sees.
  std::vector<std::string> files;
  /// The folder into which the shared libraries that the program needs are
  /// copied, and where it looks for them; empty: the program looks for them
  /// where they are on this machine.
  std::string libraries;
};

/// Fails where there is no linker or no runtime for `options`, so that it is
/// known before code is made. Says in `error` what to do.
LogicalResult checkLink(const LinkOptions &options, std::string &error);

/// Links the object file `object` with the runtime into the executable
/// `output`. On failure says in `error` what went wrong and what to do.
LogicalResult linkExecutable(StringRef object, StringRef output,
                             const LinkOptions &options, std::string &error);

/// Links the object file `object` with the runtime that `options` name, which
/// shows the functions of runtime/capi/zero.h, into the shared library
/// `output`.
LogicalResult linkShared(StringRef object, StringRef output,
                         const LinkOptions &options, std::string &error);

/// Links the object file `object`, alone, into the shared library `output`:
/// the kernels and the program for a process that brings its own runtime.
LogicalResult linkProgram(StringRef object, StringRef output,
                          const LinkOptions &options, std::string &error);

} // namespace mlir::zero

#endif // ZERO_TARGET_TARGET_H
