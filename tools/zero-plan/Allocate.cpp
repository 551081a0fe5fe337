//===- Allocate.cpp - offsets for buffers of a CSV file -------------------===//

#include "Allocate.h"
#include "Model.h"

#include "zero/Memory/Allocation.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <limits>
#include <optional>

using namespace mlir;
using namespace mlir::zero;

namespace {

/// Buffers as a CSV file names them.
class BufferFile {
public:
  explicit BufferFile(StringRef path) : path(path) {}

  LogicalResult read(StringRef text);

  std::vector<std::string> ids;
  std::vector<Lifetime> buffers;

private:
  enum Column { Id, Lower, Upper, Size, kColumns };
  static constexpr StringLiteral kNames[kColumns] = {"id", "lower", "upper",
                                                     "size"};

  LogicalResult failAt(int64_t line, const Twine &what) const {
    return zero::fail(path + ":" + Twine(line) + ": " + what);
  }
  LogicalResult readHeader(StringRef text, int64_t line);
  LogicalResult readRow(StringRef text, int64_t line);
  LogicalResult readNumber(StringRef cell, Column column, int64_t line,
                           int64_t &value) const;

  StringRef path;
  size_t places[kColumns] = {};
  size_t width = 0;
  int64_t total = 0;
  llvm::StringMap<int64_t> lineOfId;
};

} // namespace

static SmallVector<StringRef> splitCells(StringRef line) {
  SmallVector<StringRef> cells;
  line.split(cells, ',');
  for (StringRef &cell : cells)
    cell = cell.trim();
  return cells;
}

LogicalResult BufferFile::readHeader(StringRef text, int64_t line) {
  SmallVector<StringRef> cells = splitCells(text);
  width = cells.size();
  for (auto [column, name] : llvm::enumerate(kNames)) {
    auto *found = llvm::find(cells, name);
    if (found == cells.end())
      return failAt(line, "no column '" + name +
                              "'; wanted the header id,lower,upper,size");
    if (std::find(found + 1, cells.end(), name) != cells.end())
      return failAt(line, "column '" + name + "' is there twice");
    places[column] = found - cells.begin();
  }
  return success();
}

LogicalResult BufferFile::readNumber(StringRef cell, Column column,
                                     int64_t line, int64_t &value) const {
  if (cell.getAsInteger(10, value) || value < 0)
    return failAt(line, "column '" + kNames[column] + "': found '" + cell +
                            "', wanted a whole number from 0 to 2^63 - 1");
  return success();
}

LogicalResult BufferFile::readRow(StringRef text, int64_t line) {
  SmallVector<StringRef> cells = splitCells(text);
  if (cells.size() != width)
    return failAt(line, "found " + Twine(cells.size()) + " columns, wanted " +
                            Twine(width) + " as in the header");
  StringRef id = cells[places[Id]];
  int64_t lower, upper, size;
  if (failed(readNumber(cells[places[Lower]], Lower, line, lower)) ||
      failed(readNumber(cells[places[Upper]], Upper, line, upper)) ||
      failed(readNumber(cells[places[Size]], Size, line, size)))
    return failure();
  if (upper <= lower)
    return failAt(line, "buffer '" + id + "' ends at " + Twine(upper) +
                            ", which is not after its begin at " +
                            Twine(lower) + " (upper is exclusive)");
  if (llvm::AddOverflow(total, size, total))
    return failAt(line, "the sizes add up to more than 2^63 - 1 bytes");
  auto [earlier, isNew] = lineOfId.try_emplace(id, line);
  if (!isNew)
    return failAt(line, "id '" + id + "' is used at line " +
                            Twine(earlier->second) + " as well");
  ids.push_back(id.str());
  buffers.push_back({lower, upper - 1, size, 0});
  return success();
}

LogicalResult BufferFile::read(StringRef text) {
  int64_t line = 0;
  while (!text.empty()) {
    auto [row, rest] = text.split('\n');
    text = rest;
    ++line;
    if (row.trim().empty())
      continue;
    if (failed(width == 0 ? readHeader(row, line) : readRow(row, line)))
      return failure();
  }
  if (width == 0)
    return zero::fail(path +
                      ": is empty; wanted the header id,lower,upper,size");
  return success();
}

static int printResult(const BufferFile &file, StringRef path, Fit fit,
                       int64_t capacity, int64_t height, double seconds) {
  if (fit == Fit::Fits) {
    llvm::outs() << "id,offset\n";
    for (auto [id, buffer] : llvm::zip_equal(file.ids, file.buffers))
      llvm::outs() << id << "," << buffer.offset << "\n";
    return 0;
  }
  std::string why;
  llvm::raw_string_ostream os(why);
  int64_t live = liveBytes(file.buffers);
  if (live > capacity)
    os << "needs " << live << " bytes alive at one time";
  else if (fit == Fit::Impossible)
    os << "no offsets exist";
  else
    os << "no offsets found in " << llvm::format("%g", seconds)
       << " s, and no proof that there are none";
  (void)zero::fail(path + ": does not fit into " + Twine(capacity) +
                   " bytes: " + why + "; best height found: " + Twine(height));
  return 1;
}

int zero::runAllocate(StringRef path, int64_t capacity, double seconds) {
  auto text = llvm::MemoryBuffer::getFileOrSTDIN(path, /*IsText=*/true);
  if (!text) {
    (void)zero::fail("cannot read '" + path +
                     "': " + text.getError().message());
    return 1;
  }
  BufferFile file(path);
  if (failed(file.read((*text)->getBuffer())))
    return 1;
  int64_t height = 0;
  Fit fit = allocateWithin(file.buffers, /*alignment=*/1, capacity,
                           std::chrono::duration<double>(seconds), height);
  return printResult(file, path, fit, capacity, height, seconds);
}
