//===- Allocate.cpp - offsets for buffers of a CSV file -------------------===//

#include "Allocate.h"
#include "../Output.h"
#include "Csv.h"

#include "zero/Config/InputFile.h"
#include "zero/Memory/Allocation.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <limits>
#include <optional>
#include <string>
#include <vector>

using namespace mlir;
using namespace mlir::zero;

namespace {

/// Buffers as a CSV file names them.
class BufferFile {
public:
  explicit BufferFile(StringRef path) : csv(path, kNames) {}

  LogicalResult read(StringRef text) {
    return csv.read(text, [&] { return readRow(); });
  }

  std::vector<std::string> ids;
  std::vector<Lifetime> buffers;

private:
  enum Column { Id, Lower, Upper, Size };
  static constexpr StringLiteral kNames[] = {"id", "lower", "upper", "size"};

  LogicalResult readRow();

  CsvReader csv;
  int64_t total = 0;
  llvm::StringMap<int64_t> lineOfId;
};

} // namespace

LogicalResult BufferFile::readRow() {
  StringRef id = csv.cell(Id);
  int64_t lower, upper, size;
  if (failed(csv.readCount(Lower, lower)) ||
      failed(csv.readCount(Upper, upper)) || failed(csv.readCount(Size, size)))
    return failure();
  if (upper <= lower)
    return csv.failAtRow("buffer '" + id + "' ends at " + Twine(upper) +
                         ", which is not after its begin at " + Twine(lower) +
                         " (upper is exclusive)");
  if (llvm::AddOverflow(total, size, total))
    return csv.failAtRow("the sizes add up to more than 2^63 - 1 bytes");
  auto [earlier, isNew] = lineOfId.try_emplace(id, csv.getLine());
  if (!isNew)
    return csv.failAtRow("id '" + id + "' is used at line " +
                         Twine(earlier->second) + " as well");
  ids.push_back(id.str());
  buffers.push_back({lower, upper - 1, size, 0});
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
  if (std::string why = findWhyNotFile(path); !why.empty()) {
    (void)zero::fail("cannot read '" + path + "': " + why);
    return 1;
  }
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
