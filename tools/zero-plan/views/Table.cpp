//===- Table.cpp - aligned columns, bytes and counts in text --------------===//

#include "Table.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

using namespace mlir::zero;
using llvm::SmallVector;

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
