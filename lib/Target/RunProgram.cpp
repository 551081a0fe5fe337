//===- RunProgram.cpp - another program, run to its end -------------------===//

#include "RunProgram.h"

#include "zero/Target/TemporaryFiles.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"

using namespace mlir;
using namespace mlir::zero;

LogicalResult mlir::zero::runProgram(ArrayRef<std::string> arguments,
                                     std::string &printed) {
  SmallString<128> log;
  if (failed(makeTemporaryFile("zero-run", log, printed)))
    return failure();
  llvm::FileRemover remover(log);
  SmallVector<StringRef> list(arguments.begin(), arguments.end());
  std::optional<StringRef> redirects[] = {StringRef(""), StringRef(log),
                                          StringRef(log)};
  int status = llvm::sys::ExecuteAndWait(list.front(), list, std::nullopt,
                                         redirects, 0, 0, &printed);
  // What LLVM has to say of an exit status adds nothing to that.
  if (auto buffer = llvm::MemoryBuffer::getFile(log);
      buffer && !(*buffer)->getBuffer().trim().empty())
    printed = (*buffer)->getBuffer().rtrim().str();
  return success(status == 0);
}
