//===- ConfigReferenceMain.cpp - Prints docs/Configuration.md ---*- C++ -*-===//
#include "zero/Config/Config.h"

#include "llvm/Support/raw_ostream.h"

int main() {
  mlir::zero::writeConfigReference(llvm::outs());
  return 0;
}
