// Gradients are made at their places in buckets, and gathers land in place: no
// program copies a byte into or out of a bucket.
#include "CompilerTesting.h"

#include "zero/Conversion/Translate.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace mlir::zero;

namespace {

/// Bytes that the regions' commands copy; starts are counted in `starts`.
int64_t copiedBytes(const zrt::Program &program, size_t &starts) {
  int64_t bytes = 0;
  for (auto [name, region] : program.regions())
    for (const zrt::Command &command : region->commands) {
      starts += !command.parts.empty();
      if (command.opcode != zrt::Opcode::Kernel)
        continue;
      const zrt::KernelSpec &kernel = program.kernels[command.kernel];
      if (kernel.name == "zero.copy")
        bytes += kernel.operands[0].bytes();
    }
  return bytes;
}

class Copies : public ::testing::TestWithParam<std::string>,
               protected Compiler {
protected:
  /// The program of a model, or none after an error.
  std::optional<zrt::Program> compile(StringRef model,
                                      const std::string &options) {
    OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(model, &context);
    if (!module || !runPipeline(*module, options)) {
      ADD_FAILURE() << model.str() << ", " << options << ": " << message;
      return std::nullopt;
    }
    auto program = translateToProgram(*module);
    EXPECT_TRUE(succeeded(program)) << message;
    return succeeded(program) ? std::optional<zrt::Program>(*program)
                              : std::nullopt;
  }
};

TEST_P(Copies, NoModelCopiesIntoOrOutOfBuckets) {
  std::error_code error;
  size_t starts = 0, models = 0;
  for (llvm::sys::fs::directory_iterator file(ZERO_MODELS, error), end;
       file != end && !error; file.increment(error)) {
    if (llvm::sys::path::extension(file->path()) != ".mlir")
      continue;
    ++models;
    for (int stage = 0; stage <= 3; ++stage)
      if (std::optional<zrt::Program> program = compile(
              file->path(), "stage=" + std::to_string(stage) + GetParam())) {
        EXPECT_EQ(copiedBytes(*program, starts), 0)
            << file->path() << ", stage " << stage << GetParam();
      }
  }
  EXPECT_GE(models, 7u);
  EXPECT_GE(starts, 100u);
}

INSTANTIATE_TEST_SUITE_P(
    Settings, Copies,
    ::testing::Values(" ranks=4 precision=bf16",
                      " ranks=3 accumulation=2 precision=f16 overlap=true "
                      "reduce-bucket-size=65536",
                      " ranks=4 accumulation=4 precision=bf16 deterministic "
                      "reduce-bucket-size=30000",
                      " ranks=2 layout=contiguous reduce-bucket-size=20000"));

} // namespace
