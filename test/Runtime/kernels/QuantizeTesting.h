// The packed form by plain loops, for the tests of kernels that pack.
#ifndef ZERO_TEST_RUNTIME_KERNELS_QUANTIZETESTING_H
#define ZERO_TEST_RUNTIME_KERNELS_QUANTIZETESTING_H

#include "KernelTest.h"

#include "program/Quantization.h"

#include <cmath>
#include <cstring>

namespace zrt::test {

using Values = std::vector<double>;

inline Array makeArray(DataType type, const Values &values) {
  Array array(type, {int64_t(values.size())});
  for (size_t i = 0; i < values.size(); ++i)
    array.set(i, values[i]);
  return array;
}

inline double largestOf(const Array &from, int64_t first, int64_t last) {
  double largest = 0;
  for (int64_t i = first; i < last; ++i)
    largest = std::max(largest, std::abs(from[i]));
  return largest;
}

/// The packed form, by plain loops.
inline Values pack(const Array &from, Quantization how) {
  const int64_t elements = from.size();
  std::vector<uint8_t> bytes(how.packedBytes(elements));
  for (int64_t block = 0; block < how.blocks(elements); ++block) {
    const int64_t first = block * how.block;
    const int64_t last = std::min(first + how.block, elements);
    float scale =
        std::max(float(largestOf(from, first, last)) / float(how.most()),
                 std::numeric_limits<float>::min());
    if (std::isinf(scale * float(how.most())))
      scale = std::nextafter(scale, 0.0f);
    std::memcpy(&bytes[how.scalesAt(elements) + 4 * block], &scale, 4);
    for (int64_t i = first; i < last; ++i) {
      const int integer = int(std::nearbyint(float(from[i]) / scale));
      if (how.bits == 8)
        bytes[i] = uint8_t(integer);
      else
        bytes[i / 2] |= (integer & 15) << (i % 2 * 4);
    }
  }
  Values values;
  for (const uint8_t byte : bytes)
    values.push_back(int8_t(byte));
  return values;
}

/// Zeros follow `from` up to `size` elements.
inline Array part(const Array &from, int64_t first, int64_t size) {
  Array piece(from.type.type, {size});
  for (int64_t i = 0; i < size; ++i)
    piece.set(i, first + i < from.size() ? from[first + i] : 0);
  return piece;
}

inline void setPieces(KernelSpec &spec, const QuantizedPieces &cut) {
  spec.ints["ranks"] = {cut.ranks};
  spec.ints["pieces"] = {cut.pieces};
  spec.ints["piece"] = {cut.piece};
}

inline const QuantizedPieces kCuts[] = {
    {1, 1, 70}, {2, 1, 33}, {3, 1, 1}, {2, 3, 65}, {4, 2, 16}};

inline KernelSpec dequantizeSpec(const Array &packed, DataType type,
                                 Quantization how, int64_t ranks,
                                 std::vector<int64_t> pieces) {
  int64_t slice = 0;
  for (const int64_t piece : pieces)
    slice += piece;
  KernelSpec spec =
      makeSpec("zero.dequantize", {packed}, {{type, {ranks * slice}}});
  spec.ints["bits"] = {how.bits};
  spec.ints["block"] = {how.block};
  spec.ints["ranks"] = {ranks};
  spec.ints["pieces"] = std::move(pieces);
  return spec;
}

} // namespace zrt::test

#endif // ZERO_TEST_RUNTIME_KERNELS_QUANTIZETESTING_H
