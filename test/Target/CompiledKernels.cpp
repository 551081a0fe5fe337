#include "CompiledKernels.h"

#include "zero/Dialect/NN/NN.h"
#include "zero/Dialect/Zero/Zero.h"
#include "zero/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FileSystem.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

using namespace mlir;

namespace {

std::string temporaryFile(const char *suffix) {
  llvm::SmallString<128> path;
  EXPECT_FALSE(llvm::sys::fs::createTemporaryFile("kernels", suffix, path));
  return std::string(path);
}

DialectRegistry makeRegistry() {
  DialectRegistry registry;
  registry.insert<arith::ArithDialect, func::FuncDialect, linalg::LinalgDialect,
                  math::MathDialect, mlir::nn::NNDialect, tensor::TensorDialect,
                  mlir::zero::ZeroDialect>();
  return registry;
}

/// The module of `source` with its kernels as functions; null after an error.
OwningOpRef<ModuleOp> outline(const std::string &source, MLIRContext &context) {
  auto module = parseSourceString<ModuleOp>(source, &context);
  PassManager passes(&context);
  passes.addPass(mlir::zero::createOutlineElementwise());
  if (module && failed(passes.run(*module)))
    return {};
  return module;
}

} // namespace

CompiledKernels::CompiledKernels(const std::string &source,
                                 const mlir::zero::TargetOptions &options,
                                 const std::string &program) {
  load(source, options, program);
}

std::string optimizedCode(const std::string &source,
                          const mlir::zero::TargetOptions &options) {
  MLIRContext context(makeRegistry());
  auto module = outline(source, context);
  std::string code;
  llvm::raw_string_ostream out(code);
  if (!module || failed(mlir::zero::emitLLVM(*module, "", options, out)))
    ADD_FAILURE() << "no code for " << source;
  return code;
}

void CompiledKernels::load(const std::string &source,
                           const mlir::zero::TargetOptions &options,
                           const std::string &program) {
  MLIRContext context(makeRegistry());
  auto module = outline(source, context);
  ASSERT_TRUE(module);
  std::string object = temporaryFile("o"), shared = temporaryFile("so");
  {
    std::error_code code;
    llvm::raw_fd_ostream out(object, code);
    ASSERT_FALSE(code);
    ASSERT_TRUE(
        succeeded(mlir::zero::emitObject(*module, program, options, out)));
  }
  std::string error;
  ASSERT_TRUE(succeeded(mlir::zero::linkProgram(object, shared, {}, error)))
      << error;
  library = dlopen(shared.c_str(), RTLD_NOW | RTLD_LOCAL);
  const char *message = library ? "" : dlerror();
  llvm::sys::fs::remove(object);
  llvm::sys::fs::remove(shared);
  ASSERT_TRUE(library) << message;
  table = static_cast<const zrt::GeneratedKernel *>(
      dlsym(library, "zero_generated_kernels"));
  count =
      *static_cast<int64_t *>(dlsym(library, "zero_generated_kernel_count"));
}

CompiledKernels::~CompiledKernels() {
  if (library)
    dlclose(library);
}

const zrt::GeneratedKernel &
CompiledKernels::operator[](const std::string &name) const {
  for (int64_t i = 0; i < count; ++i)
    if (name == table[i].name)
      return table[i];
  llvm::report_fatal_error(llvm::Twine("no kernel named ") + name);
}

std::string CompiledKernels::program() const {
  int64_t size = *static_cast<int64_t *>(dlsym(library, "zero_program_size"));
  return std::string(static_cast<char *>(dlsym(library, "zero_program")), size);
}
