//===- KernelRows.cpp - Rows of kernels from signatures ---------*- C++ -*-===//
//
// -gen-kernel-rows writes the rows of the kernels' table of all operations that
// have a signature: initializers of zrt::KernelSchema, without a word of LLVM.
//
//===----------------------------------------------------------------------===//
#include "llvm/TableGen/Record.h"
#include "llvm/TableGen/TableGenBackend.h"

using namespace llvm;

static void writeRow(const Record &op, raw_ostream &os) {
  StringRef dialect = op.getValueAsDef("opDialect")->getValueAsString("name");
  StringRef kinds = op.getValueAsString("kindText");
  StringRef work = op.getValueAsString("work");
  StringRef workspace = op.getValueAsString("workspace");
  if (!workspace.empty())
    os << "workspace::with(workspace::" << workspace << ", ";
  os << "{\"" << dialect << "." << op.getValueAsString("opName") << "\",\n \""
     << op.getValueAsString("tensorText")
     << (kinds.empty() ? "" : (" | " + kinds).str()) << "\",\n \""
     << op.getValueAsString("attributeText") << "\""
     << (work.empty() ? "" : (", " + work).str())
     << (workspace.empty() ? "},\n" : "}),\n");
}

static void writeRows(const RecordKeeper &records, raw_ostream &os) {
  emitSourceFileHeader("Rows of kernels", os, records);
  for (const Record *op : records.getAllDerivedDefinitions("NN_SignedOp"))
    writeRow(*op, os);
}

static TableGen::Emitter::Opt
    rows("gen-kernel-rows", writeRows,
         "Write the rows of kernels of operations with a signature");
