// Blocks of integers with a scale each, as compiler and runtime both lay them
// out.
#ifndef ZERO_RUNTIME_PROGRAM_QUANTIZATION_H
#define ZERO_RUNTIME_PROGRAM_QUANTIZATION_H

#include <cstdint>

namespace zrt {

/// How elements are quantized: blocks of `block` neighbours, the last one
/// perhaps shorter, share an f32 scale; each element is an integer of `bits`
/// bits, 8 or 4, times that. The packed form has the integers, two a byte where
/// they have 4 bits, the first one in the lower half; then, from a multiple of
/// four bytes on, the scales. It is padded to a multiple of 16 bytes.
struct Quantization {
  int64_t bits = 8, block = 256;

  /// The largest integer; the smallest one is its negative.
  constexpr int64_t most() const { return (int64_t(1) << (bits - 1)) - 1; }
  constexpr int64_t blocks(int64_t elements) const {
    return (elements + block - 1) / block;
  }
  /// The byte at which the scales of `elements` elements begin.
  constexpr int64_t scalesAt(int64_t elements) const {
    const int64_t integers = (elements * bits + 7) / 8;
    return (integers + 3) / 4 * 4;
  }
  /// Bytes of `elements` elements in packed form.
  constexpr int64_t packedBytes(int64_t elements) const {
    return (scalesAt(elements) + 4 * blocks(elements) + 15) / 16 * 16;
  }
  constexpr bool isValid() const {
    return (bits == 8 || bits == 4) && block >= 2 && block % 2 == 0 &&
           block <= int64_t(1) << 30;
  }
};

/// How what is sent to the ranks of a group is quantized: for each of them
/// `pieces` pieces of `piece` elements, each packed by itself. Piece j for rank
/// r is element (j * ranks + r) * piece on of what is read, with zeros past its
/// end, and number r * pieces + j of what is packed.
struct QuantizedPieces {
  int64_t ranks = 1, pieces = 1, piece = 0;

  constexpr int64_t all() const { return ranks * pieces; }
  /// The first element of the piece of that number.
  constexpr int64_t sourceOf(int64_t number) const {
    return (number % pieces * ranks + number / pieces) * piece;
  }
};

} // namespace zrt

#endif // ZERO_RUNTIME_PROGRAM_QUANTIZATION_H
