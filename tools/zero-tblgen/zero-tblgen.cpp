//===- zero-tblgen.cpp - From records to C++ --------------------*- C++ -*-===//
//
// Each backend registers itself, with an llvm::TableGen::Emitter::Opt.
//
//===----------------------------------------------------------------------===//
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/TableGen/Main.h"
#include "llvm/TableGen/TableGenBackend.h"

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  llvm::cl::ParseCommandLineOptions(argc, argv, "Writes C++ from records\n");
  return llvm::TableGenMain(argv[0], llvm::TableGenMainFn(nullptr));
}
