//===- zero-lsp-server.cpp - language server for .mlir files --------------===//

#include "../Version.h"

#include "zero/Registration/Registration.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"
#include "llvm/Support/CommandLine.h"

int main(int argc, char **argv) {
  llvm::cl::SetVersionPrinter([](llvm::raw_ostream &out) {
    out << zero_tools::versionText("zero-lsp-server") << "\n";
  });
  mlir::DialectRegistry registry;
  mlir::zero::registerDialects(registry);
  return mlir::failed(mlir::MlirLspServerMain(argc, argv, registry));
}
