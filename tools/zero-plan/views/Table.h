//===- Table.h - aligned columns, bytes and counts in text ----------------===//
#ifndef ZERO_PLAN_TABLE_H
#define ZERO_PLAN_TABLE_H

#include "program/ByteCount.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdint>
#include <string>

namespace mlir::zero {

using zrt::formatBytes;
using zrt::formatCount;
using zrt::plural;

/// Rows of cells; the first column is aligned to the left, others to the right.
class Table {
public:
  void add(llvm::SmallVector<std::string> cells) {
    rows.push_back(std::move(cells));
  }
  void print(llvm::raw_ostream &os) const;

private:
  llvm::SmallVector<llvm::SmallVector<std::string>> rows;
};

} // namespace mlir::zero

#endif // ZERO_PLAN_TABLE_H
