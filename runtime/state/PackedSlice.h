// A rank's slice of a parameter that is stored quantized, going in and out as
// f32.
#ifndef ZERO_RUNTIME_STATE_PACKEDSLICE_H
#define ZERO_RUNTIME_STATE_PACKEDSLICE_H

#include "state/Elements.h"

#include <vector>

namespace zrt {

/// Packs `count` values, which have been rounded to the type that they are
/// computed in: as the kernel `zero.quantize` packs a piece of so many
/// elements. `out` has `how.packedBytes(count)` bytes.
void packValues(const Quantization &how, const float *values, uint64_t count,
                char *out);

/// Rounds values to `type`, and back to f32.
void roundTo(DataType type, float *values, uint64_t count);

/// The place of a packed slice, and the elements of the parameter that it
/// holds.
class PackedSlice {
public:
  /// The partition of `parameter` is quantized.
  PackedSlice(const Program &program, const Arenas &arenas, int rank,
              const Parameter &parameter);

  /// Packs the slice; its padding is zeros. Memory for a block of values, or
  /// for `kPortion` of them, is taken meanwhile.
  void write(const ValueSource &source) const;

  /// Values of `count` elements, the first of which is the rank's element
  /// `stored` in the partition, as `Piece` counts.
  void read(uint64_t stored, uint64_t count, float *out) const;

  /// Values of `source` for those elements, exact, and as they would be read
  /// had the slice been packed from it.
  void expect(uint64_t stored, uint64_t count, const ValueSource &source,
              float *exact, float *out) const;

  /// Elements that are best moved at once: whole blocks.
  uint64_t portion() const;

private:
  struct Blocks {
    uint64_t first, last; ///< elements of the slice, of whole blocks
  };
  Blocks blocksOf(uint64_t from, uint64_t count) const;
  void collect(Blocks blocks, const ValueSource &source, float *out) const;
  void unpack(const char *integers, const float *scales, Blocks blocks,
              uint64_t from, uint64_t count, float *out) const;
  void writeBlocks(Blocks blocks, const float *values) const;
  char *scalesOf(Blocks blocks) const;
  template <typename Move> void moved(Move move) const;

  const Arenas &arenas;
  const std::string &name;
  Quantization how;
  DataType type;
  std::vector<Piece> pieces;        ///< `stored` counts from the slice's first
  uint64_t begin = 0, elements = 0; ///< of the slice, in the rank's range
  char *base = nullptr;             ///< of the packed form
};

} // namespace zrt

#endif // ZERO_RUNTIME_STATE_PACKEDSLICE_H
