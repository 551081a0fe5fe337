// The digests of a file's blocks, to check what is read.
#ifndef ZERO_RUNTIME_FILES_BLOCKDIGESTS_H
#define ZERO_RUNTIME_FILES_BLOCKDIGESTS_H

#include <cstdint>
#include <vector>

namespace zrt {

/// Digests (XXH3) of what was last written to each block of a file, in host
/// memory: 8 bytes a block. A block that is read back and has another one was
/// changed, torn, lost or put elsewhere on its way to the disk, there, or on
/// its way back. All transfers are whole blocks, so each is compared with what
/// was written at the latest, however ranges overlap.
///
/// Not covered is host memory: what is written is digested when the disk has
/// taken it, and nobody looks after what was compared.
///
/// Any number of threads may record and compare different blocks at once; only
/// `resize` wants to be alone.
class BlockDigests {
public:
  /// `blockBytes` is of a block of the file.
  explicit BlockDigests(uint64_t blockBytes);

  /// For a file of `bytes`, whole blocks; those that come with it are zeros.
  /// Throws std::bad_alloc; all is as before then.
  void resize(uint64_t bytes);

  /// `bytes` at `data` are in the file from `offset` on; whole blocks.
  void record(uint64_t offset, const char *data, uint64_t bytes);

  /// The place in the file of the first block at `data` that differs from what
  /// was recorded; offset + bytes where none does.
  uint64_t findChange(uint64_t offset, const char *data, uint64_t bytes) const;

  uint64_t blockBytes() const { return block; }

private:
  uint64_t digest(const char *data) const;

  const uint64_t block;
  const uint64_t ofZeros;
  std::vector<uint64_t> digests; ///< by the number of the block
};

} // namespace zrt

#endif // ZERO_RUNTIME_FILES_BLOCKDIGESTS_H
