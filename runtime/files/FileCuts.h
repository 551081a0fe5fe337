// How ranges of a file are cut into transfers.
#ifndef ZERO_RUNTIME_FILES_FILECUTS_H
#define ZERO_RUNTIME_FILES_FILECUTS_H

#include <cstdint>
#include <cstdlib>
#include <memory>

namespace zrt {

/// The alignment, in powers of two, that a file requires of transfers past the
/// page cache; ones if it requires none.
struct FileAlignment {
  uint64_t offset = 1; ///< of places in the file, and of lengths
  uint64_t memory = 1; ///< of addresses
};

/// The part of a range that one transfer moves, from the range's first byte on.
struct FileCut {
  uint64_t bytes = 0; ///< of the range
  /// The bytes of the file, in whole blocks. The range has all of them, or, if
  /// it begins or ends within a block, a part of one block.
  uint64_t begin = 0;
  uint64_t length = 0;
  /// Whether bytes go directly to or from the caller's memory; otherwise
  /// through a buffer.
  bool isDirect = false;

  bool isRagged() const { return bytes != length; }
};

/// The first cut of `bytes` (not 0) at `offset` in the file and `address` in
/// memory, `most` bytes long at most: a multiple of the alignment.
FileCut firstCut(uint64_t offset, uintptr_t address, uint64_t bytes,
                 const FileAlignment &alignment, uint64_t most);

struct FreeMemory {
  void operator()(void *address) const { std::free(address); }
};
/// Memory that transfers past the page cache take.
using AlignedBuffer = std::unique_ptr<char, FreeMemory>;
/// `bytes` is a multiple of the alignment. Null where there is no memory.
AlignedBuffer makeAlignedBuffer(uint64_t bytes, const FileAlignment &alignment);

} // namespace zrt

#endif // ZERO_RUNTIME_FILES_FILECUTS_H
