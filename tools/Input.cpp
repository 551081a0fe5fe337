//===- Input.cpp - what the tools read ------------------------------------===//

#include "Input.h"

#include "zero/Config/InputFile.h"
#include "zero/Config/Nesting.h"

#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Location.h"
#include "mlir/Support/FileUtilities.h"

#include "llvm/Support/WithColor.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

std::unique_ptr<llvm::MemoryBuffer> zero::openModel(llvm::StringRef path,
                                                    std::string &error) {
  if (std::string why = findWhyNotFile(path); !why.empty()) {
    error = path.str() + ": " + why;
    return nullptr;
  }
  std::unique_ptr<llvm::MemoryBuffer> file = openInputFile(path, &error);
  if (!file)
    return file;
  // Its reader ends by a signal on some damaged files.
  if (isBytecode(file->getMemBufferRef())) {
    error = path.str() + ": this is MLIR bytecode, wanted text: print it with "
                         "the tool that wrote it, without --emit-bytecode";
    return nullptr;
  }
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

/// The file that `loc` is all of; empty where it is a place in one.
static StringRef findWholeFile(Location loc) {
  auto place = dyn_cast<FileLineColLoc>(loc);
  return place && place.getLine() == 0 ? place.getFilename().strref()
                                       : StringRef();
}

static llvm::HighlightColor colorOf(DiagnosticSeverity severity) {
  switch (severity) {
  case DiagnosticSeverity::Error:
    return llvm::HighlightColor::Error;
  case DiagnosticSeverity::Warning:
    return llvm::HighlightColor::Warning;
  case DiagnosticSeverity::Note:
    return llvm::HighlightColor::Note;
  case DiagnosticSeverity::Remark:
    return llvm::HighlightColor::Remark;
  }
  llvm_unreachable("every severity is handled");
}

static StringRef nameOf(DiagnosticSeverity severity) {
  switch (severity) {
  case DiagnosticSeverity::Error:
    return "error: ";
  case DiagnosticSeverity::Warning:
    return "warning: ";
  case DiagnosticSeverity::Note:
    return "note: ";
  case DiagnosticSeverity::Remark:
    return "remark: ";
  }
  llvm_unreachable("every severity is handled");
}

void zero::printWholeFileDiagnostics(MLIRContext &context) {
  context.getDiagEngine().registerHandler([](Diagnostic &diagnostic) {
    Location loc = diagnostic.getLocation();
    StringRef file = findWholeFile(loc);
    // Notes may have places of their own, which the other handler shows.
    if ((file.empty() && !isa<UnknownLoc>(loc)) ||
        !diagnostic.getNotes().empty())
      return failure();
    llvm::raw_ostream &os = llvm::errs();
    if (!file.empty())
      os << file << ": ";
    llvm::WithColor(os, colorOf(diagnostic.getSeverity()))
        << nameOf(diagnostic.getSeverity());
    os << diagnostic << "\n";
    return success();
  });
}
