// What a rank keeps between updates, as bytes that only updates change.
#ifndef ZERO_RUNTIME_SELFCHECK_KEPTSTATES_H
#define ZERO_RUNTIME_SELFCHECK_KEPTSTATES_H

#include "state/Arenas.h"

#include <string>
#include <vector>

namespace zrt {

/// Bytes that are hashed, and compared, at once. A multiple of any element.
inline constexpr uint64_t kStateBlock = uint64_t(1) << 16;

/// Parameters or a state of a partition, or the resident copy of a parameter:
/// one range of memory.
struct KeptState {
  std::string name; ///< "parameters", "exp_avg", "resident"
  BufferRef buffer;
  DataType type = DataType::F32;
  int partition = -1;     ///< whose; negative: of one parameter
  uint32_t parameter = 0; ///< of a resident copy
  bool isSharded = false; ///< over the partition's group
  uint64_t first = 0;     ///< element of what the rank stores of the partition
  bool isPacked = false;  ///< quantized: bytes are not elements
  /// The groups by whose places ranks hold different values.
  std::vector<uint32_t> groups;
};

/// All of them, in one order on all ranks of a stage.
std::vector<KeptState> keptStates(const Program &program);

/// Ranks with equal places have the same bytes.
std::vector<int64_t> placeOf(const Program &program, const KeptState &state,
                             int rank);

/// A hash of each block. Throws std::runtime_error where a file cannot be read.
std::vector<uint64_t> hashBlocks(const KeptState &state, const Arenas &arenas,
                                 int rank);

uint64_t sizeOfBlock(const BufferRef &buffer, size_t block);

/// The bytes of block `block`.
std::string readBlock(const BufferRef &buffer, const Arenas &arenas, int rank,
                      size_t block);

/// "exp_avg of 'fc1.w[12, 7]'": what byte `offset` of the state is of.
std::string describeByte(const Program &program, const KeptState &state,
                         int rank, uint64_t offset);

} // namespace zrt

#endif // ZERO_RUNTIME_SELFCHECK_KEPTSTATES_H
