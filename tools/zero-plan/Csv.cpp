//===- Csv.cpp - tables of comma-separated values -------------------------===//

#include "Csv.h"
#include "Model.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace mlir::zero;

LogicalResult CsvReader::failAtRow(const Twine &what) const {
  return zero::fail(path + ":" + Twine(line) + ": " + what);
}

LogicalResult CsvReader::failAtCell(size_t column, const Twine &wanted) const {
  return failAtRow("column '" + columns[column] + "': found '" + cell(column) +
                   "', wanted " + wanted);
}

std::string CsvReader::headerText() const {
  return "wanted the header " + llvm::join(columns, ",");
}

LogicalResult CsvReader::readHeader() {
  width = cells.size();
  for (StringRef name : columns) {
    auto *found = llvm::find(cells, name);
    if (found == cells.end())
      return failAtRow("no column '" + name + "'; " + headerText());
    if (std::find(found + 1, cells.end(), name) != cells.end())
      return failAtRow("column '" + name + "' is there twice");
    places.push_back(found - cells.begin());
  }
  return success();
}

LogicalResult CsvReader::readCount(size_t column, int64_t &value,
                                   int64_t least) const {
  if (cell(column).getAsInteger(10, value) || value < least)
    return failAtCell(column,
                      "a whole number from " + Twine(least) + " to 2^63 - 1");
  return success();
}

LogicalResult CsvReader::readPositive(size_t column, double &value) const {
  if (cell(column).getAsDouble(value) || !(value > 0) || !std::isfinite(value))
    return failAtCell(column, "a number above 0");
  return success();
}

LogicalResult CsvReader::read(StringRef text,
                              llvm::function_ref<LogicalResult()> visit) {
  while (!text.empty()) {
    auto [row, rest] = text.split('\n');
    text = rest;
    ++line;
    if (row.trim().empty())
      continue;
    cells.clear();
    row.split(cells, ',');
    for (StringRef &each : cells)
      each = each.trim();
    if (width == 0) {
      if (failed(readHeader()))
        return failure();
      continue;
    }
    if (cells.size() != width)
      return failAtRow("found " + Twine(cells.size()) + " columns, wanted " +
                       Twine(width) + " as in the header");
    if (failed(visit()))
      return failure();
  }
  if (width == 0)
    return zero::fail(path + ": is empty; " + headerText());
  return success();
}
