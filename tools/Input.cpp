//===- Input.cpp - what the tools read ------------------------------------===//

#include "Input.h"

#include "zero/Config/Nesting.h"

#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/Support/FileUtilities.h"

using namespace mlir;

std::unique_ptr<llvm::MemoryBuffer> zero::openModel(llvm::StringRef path,
                                                    std::string &error) {
  std::unique_ptr<llvm::MemoryBuffer> file = openInputFile(path, &error);
  if (!file || isBytecode(file->getMemBufferRef()))
    return file;
  if (hasByteOrderMark(file->getBuffer())) {
    error = path.str() + ": " + kByteOrderMark;
    return nullptr;
  }
  unsigned line = findDeepNesting(file->getBuffer(), kMostModelNesting);
  if (line == 0)
    return file;
  error = path.str() + ":" + std::to_string(line) +
          ": brackets are nested more than " +
          std::to_string(kMostModelNesting) +
          " deep; no model needs that, remove the inner ones";
  return nullptr;
}
