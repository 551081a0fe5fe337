//===- Table.cpp - aligned columns, bytes and counts in text --------------===//

#include "Table.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

using namespace mlir::zero;
using llvm::SmallVector;

std::string mlir::zero::formatBytes(int64_t bytes) {
  static constexpr llvm::StringLiteral kUnits[] = {"KiB", "MiB", "GiB", "TiB",
                                                   "PiB"};
  if (bytes > -1024 && bytes < 1024)
    return std::to_string(bytes) + " B";
  double value = bytes;
  llvm::StringRef unit;
  for (llvm::StringRef next : kUnits) {
    value /= 1024;
    unit = next;
    if (value > -1024 && value < 1024)
      break;
  }
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.2f ", value) << unit;
  return text;
}

std::string mlir::zero::formatCount(int64_t count) {
  std::string digits = std::to_string(count < 0 ? -count : count);
  for (int64_t place = static_cast<int64_t>(digits.size()) - 3; place > 0;
       place -= 3)
    digits.insert(place, ",");
  return (count < 0 ? "-" : "") + digits;
}

std::string mlir::zero::plural(int64_t count, llvm::StringRef what,
                               llvm::StringRef ending) {
  return formatCount(count) + " " + what.str() +
         (count == 1 ? "" : ending.str());
}

void Table::print(llvm::raw_ostream &os) const {
  SmallVector<size_t> widths;
  for (const auto &row : rows) {
    widths.resize(std::max(widths.size(), row.size()), 0);
    for (auto [index, cell] : llvm::enumerate(row))
      widths[index] = std::max(widths[index], cell.size());
  }
  for (const auto &row : rows) {
    std::string line;
    llvm::raw_string_ostream text(line);
    for (auto [index, cell] : llvm::enumerate(row)) {
      if (index > 0)
        text << "  ";
      if (index == 0)
        text << llvm::left_justify(cell, widths[index]);
      else
        text << llvm::right_justify(cell, widths[index]);
    }
    os << llvm::StringRef(line).rtrim() << "\n";
  }
}
