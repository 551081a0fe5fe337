//===- zero-reduce.cpp - shrink a module that shows a fault ---------------===//

#include "../Version.h"
#include "Bypass.h"

#include "zero/Registration/Registration.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Tools/mlir-reduce/MlirReduceMain.h"
#include "llvm/Support/CommandLine.h"

int main(int argc, char **argv) {
  llvm::cl::SetVersionPrinter([](llvm::raw_ostream &out) {
    out << zero_tools::versionText("zero-reduce") << "\n";
  });
  mlir::DialectRegistry registry;
  mlir::zero::registerDialects(registry);
  zero_tools::registerBypass(registry);
  mlir::zero::registerPasses();
  mlir::MLIRContext context(registry);
  return mlir::failed(mlir::mlirReduceMain(argc, argv, context));
}
