//===- CompilerTesting.h - a compiler inside a test -----------------------===//
#ifndef ZERO_TEST_COMPILERTESTING_H
#define ZERO_TEST_COMPILERTESTING_H

#include "zero/Registration/Registration.h"
#include "zero/Transforms/Passes.h"
#include "zero/Transforms/Pipeline.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

#include "gtest/gtest.h"

#include <string>

namespace mlir::zero {

/// All dialects and passes, on one thread; errors are kept, not printed. For
/// tests to derive from.
class Compiler {
public:
  Compiler()
      : handler(&context, [this](Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() == DiagnosticSeverity::Error &&
              message.empty())
            message = diagnostic.str();
          return success();
        }) {
    DialectRegistry registry;
    registerDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    context.disableMultithreading();
    [[maybe_unused]] static const bool isRegistered = [] {
      registerPasses();
      registerZeroPipelines();
      return true;
    }();
  }

  bool run(PassManager &passes, ModuleOp module) {
    message.clear();
    return succeeded(passes.run(module));
  }

  /// Runs `zero-pipeline` with these options, and `last` after it.
  bool runPipeline(ModuleOp module, const std::string &options,
                   std::unique_ptr<Pass> last = nullptr) {
    PassManager passes(&context);
    EXPECT_TRUE(
        succeeded(parsePassPipeline("zero-pipeline{" + options + "}", passes)))
        << options;
    if (last)
      passes.addPass(std::move(last));
    return run(passes, module);
  }

  /// Whether zero-verify-schedule finds nothing.
  bool verifies(ModuleOp module, const VerifyScheduleOptions &options = {}) {
    PassManager passes(&context);
    passes.addPass(createVerifySchedule(options));
    return run(passes, module);
  }

protected:
  MLIRContext context;
  std::string message; ///< the first error of the last run

private:
  ScopedDiagnosticHandler handler;
};

} // namespace mlir::zero

#endif // ZERO_TEST_COMPILERTESTING_H
