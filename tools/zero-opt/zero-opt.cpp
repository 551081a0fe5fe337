//===- zero-opt.cpp - read a module, run passes, print it -----------------===//

#include "zero/Registration/Registration.h"

#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::zero::registerDialects(registry);
  mlir::zero::registerPasses();
  return mlir::asMainReturnCode(mlir::MlirOptMain(
      argc, argv, "zero graph compiler: pass driver\n", registry));
}
