//===- Csv.h - tables of comma-separated values ---------------------------===//
#ifndef ZERO_PLAN_CSV_H
#define ZERO_PLAN_CSV_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <string>

namespace mlir::zero {

/// Reads a table whose header names its columns, in any order. What cannot be
/// read is an error with the line, the column and what is wanted.
class CsvReader {
public:
  /// `columns` have to be there; others may be.
  CsvReader(StringRef path, ArrayRef<StringLiteral> columns)
      : path(path), columns(columns) {}

  /// Calls `visit` for each row of `text`, until one fails.
  LogicalResult read(StringRef text, llvm::function_ref<LogicalResult()> visit);

  /// The line of the present row, from 1 on.
  int64_t getLine() const { return line; }
  /// A cell of the present row, by its place in the constructor's columns.
  StringRef cell(size_t column) const { return cells[places[column]]; }
  /// The cell as a whole number of at least `least`.
  LogicalResult readCount(size_t column, int64_t &value,
                          int64_t least = 0) const;
  /// The cell as a number above 0.
  LogicalResult readPositive(size_t column, double &value) const;
  /// An error at the present row.
  LogicalResult failAtRow(const Twine &what) const;

private:
  LogicalResult readHeader();
  LogicalResult failAtCell(size_t column, const Twine &wanted) const;
  std::string headerText() const;

  std::string path;
  SmallVector<StringLiteral> columns;
  SmallVector<StringRef> cells;
  SmallVector<size_t> places;
  size_t width = 0;
  int64_t line = 0;
};

} // namespace mlir::zero

#endif // ZERO_PLAN_CSV_H
