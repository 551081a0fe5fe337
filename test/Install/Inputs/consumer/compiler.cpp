// A model through the pipeline, by the libraries of the compiler.
#include "zero/Dialect/Zero/Zero.h"
#include "zero/Registration/Registration.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/Support/raw_ostream.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::zero::registerDialects(registry);
  mlir::zero::registerPasses();
  mlir::MLIRContext context(registry);
  auto module = mlir::parseSourceFile<mlir::ModuleOp>(argv[1], &context);
  mlir::PassManager passes(&context);
  if (!module ||
      failed(mlir::parsePassPipeline("zero-pipeline{stage=2 ranks=2}", passes)))
    return 1;
  auto parameters = module->getOps<mlir::zero::ParameterOp>();
  llvm::outs() << "parameters: "
               << std::distance(parameters.begin(), parameters.end()) << "\n";
  if (failed(passes.run(*module)))
    return 1;
  module->walk([](mlir::zero::MicroOp) {
    llvm::outs() << "micro-batches follow a schedule\n";
  });
}
