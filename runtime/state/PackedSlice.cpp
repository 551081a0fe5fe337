#include "state/PackedSlice.h"

#include "program/BlockScale.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>

using namespace zrt;

static float scaleOf(const float *values, uint64_t count, int64_t most) {
  uint32_t largest = 0;
  for (uint64_t i = 0; i < count; ++i)
    largest = std::max(largest, magnitudeOf(values[i]));
  return scaleFor(largest, most);
}

/// To integers, and 4 bits of them two a byte; what fills up a byte is zero.
static void packBlock(const Quantization &how, const float *values,
                      uint64_t count, float scale, char *out) {
  const auto integerAt = [&](uint64_t i) {
    const float rounded = i < count ? std::nearbyint(values[i] / scale) : 0;
    return rounded == rounded ? static_cast<int>(rounded) : 0;
  };
  if (how.bits == 8)
    for (uint64_t i = 0; i < count; ++i)
      out[i] = static_cast<char>(integerAt(i));
  else
    for (uint64_t i = 0; i < count; i += 2)
      out[i / 2] =
          static_cast<char>((integerAt(i) & 15) | (integerAt(i + 1) & 15) << 4);
}

static int integerOf(const Quantization &how, const char *integers,
                     uint64_t i) {
  if (how.bits == 8)
    return static_cast<int8_t>(integers[i]);
  const int byte = static_cast<uint8_t>(integers[i / 2]);
  return ((i % 2 ? byte >> 4 : byte & 15) ^ 8) - 8;
}

void zrt::packValues(const Quantization &how, const float *values,
                     uint64_t count, char *out) {
  std::memset(out, 0, how.packedBytes(count));
  char *scales = out + how.scalesAt(count);
  const uint64_t block = how.block;
  for (uint64_t first = 0; first < count; first += block) {
    const uint64_t part = std::min(block, count - first);
    const float scale = scaleOf(values + first, part, how.most());
    std::memcpy(scales + first / block * sizeof(scale), &scale, sizeof(scale));
    packBlock(how, values + first, part, scale, out + first * how.bits / 8);
  }
}

void zrt::roundTo(DataType type, float *values, uint64_t count) {
  std::vector<char> bytes(count * sizeOf(type));
  storeElements(type, false, values, bytes.data(), count);
  loadElements(type, bytes.data(), values, count);
}

/// Where the segments of `parameter` end.
static uint64_t endOf(const Partition &partition, const Parameter &parameter) {
  const uint64_t last = parameter.memberOffset +
                        uint64_t(parameter.elements()) + parameter.padding;
  const auto &segments = partition.segments;
  const auto found =
      std::lower_bound(segments.begin(), segments.end(), last,
                       [](const Segment &segment, uint64_t element) {
                         return segment.offset + segment.size < element;
                       });
  return found == segments.end() || parameter.memberOffset == last
             ? last
             : found->offset + found->size;
}

PackedSlice::PackedSlice(const Program &program, const Arenas &arenas, int rank,
                         const Parameter &parameter)
    : arenas(arenas), name(parameter.name) {
  const Partition &partition = partitionOf(program, parameter);
  const uint64_t owners = uint64_t(program.ranksOf(partition.group));
  how = partition.quantized;
  type = partition.computeType;
  begin = parameter.memberOffset / owners;
  elements = (endOf(partition, parameter) - parameter.memberOffset) / owners;
  if (parameter.packedOffset + uint64_t(how.packedBytes(elements)) >
      partition.parameters.bytes)
    throw std::out_of_range("parameter '" + parameter.name +
                            "' has elements beyond its partition's memory");
  base = static_cast<char *>(arenas.resolve(partition.parameters, rank)) +
         parameter.packedOffset;
  forEachPiece(program, parameter, /*sharded=*/true, rank,
               [&](const Piece &piece) {
                 pieces.push_back({piece.element, piece.count,
                                   piece.stored - begin, piece.local});
               });
}

uint64_t PackedSlice::portion() const {
  const uint64_t block = how.block;
  return std::max(block, kPortion / block * block);
}

PackedSlice::Blocks PackedSlice::blocksOf(uint64_t from, uint64_t count) const {
  const uint64_t block = how.block;
  return {from / block * block,
          std::min(elements, (from + count + block - 1) / block * block)};
}

/// The slice's values in `blocks`, as they are computed with; padding is zeros.
void PackedSlice::collect(Blocks blocks, const ValueSource &source,
                          float *out) const {
  std::fill(out, out + (blocks.last - blocks.first), 0.0f);
  for (const Piece &piece : pieces) {
    const uint64_t from = std::max(blocks.first, piece.stored);
    const uint64_t to = std::min(blocks.last, piece.stored + piece.count);
    if (from < to)
      source(piece.element + (from - piece.stored), to - from,
             out + (from - blocks.first));
  }
}

/// Runs `move`, which reads or writes some of the slice.
template <typename Move> void PackedSlice::moved(Move move) const {
  named(move, [&] { return "parameter '" + name + "'"; });
}

void PackedSlice::writeBlocks(Blocks blocks, const float *values) const {
  const uint64_t count = blocks.last - blocks.first;
  std::vector<char> bytes(how.packedBytes(count));
  packValues(how, values, count, bytes.data());
  moved([&] {
    arenas.write(base + blocks.first * how.bits / 8, bytes.data(),
                 (count * how.bits + 7) / 8);
    arenas.write(scalesOf(blocks), bytes.data() + how.scalesAt(count),
                 how.blocks(count) * sizeof(float));
  });
}

char *PackedSlice::scalesOf(Blocks blocks) const {
  return base + how.scalesAt(elements) +
         blocks.first / how.block * sizeof(float);
}

void PackedSlice::write(const ValueSource &source) const {
  std::vector<float> values;
  for (uint64_t from = 0; from < elements; from += portion()) {
    const Blocks blocks = {from, std::min(elements, from + portion())};
    values.resize(blocks.last - blocks.first);
    collect(blocks, source, values.data());
    roundTo(type, values.data(), values.size());
    writeBlocks(blocks, values.data());
  }
}

/// Elements [from, from + count) of what begins with `blocks`.
void PackedSlice::unpack(const char *integers, const float *scales,
                         Blocks blocks, uint64_t from, uint64_t count,
                         float *out) const {
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t at = from + i - blocks.first;
    out[i] = float(integerOf(how, integers, at)) * scales[at / how.block];
  }
  roundTo(type, out, count);
}

void PackedSlice::read(uint64_t stored, uint64_t count, float *out) const {
  const uint64_t from = stored - begin;
  const Blocks blocks = blocksOf(from, count);
  const uint64_t whole = blocks.last - blocks.first;
  std::vector<char> integers((whole * how.bits + 7) / 8);
  std::vector<float> scales(how.blocks(whole));
  moved([&] {
    arenas.read(integers.data(), base + blocks.first * how.bits / 8,
                integers.size());
    arenas.read(scales.data(), scalesOf(blocks), scales.size() * sizeof(float));
  });
  unpack(integers.data(), scales.data(), blocks, from, count, out);
}

void PackedSlice::expect(uint64_t stored, uint64_t count,
                         const ValueSource &source, float *exact,
                         float *out) const {
  const uint64_t from = stored - begin;
  const Blocks blocks = blocksOf(from, count);
  const uint64_t whole = blocks.last - blocks.first;
  std::vector<float> values(whole), scales(how.blocks(whole));
  collect(blocks, source, values.data());
  std::copy_n(values.data() + (from - blocks.first), count, exact);
  roundTo(type, values.data(), whole);
  std::vector<char> bytes(how.packedBytes(whole));
  packValues(how, values.data(), whole, bytes.data());
  std::memcpy(scales.data(), bytes.data() + how.scalesAt(whole),
              scales.size() * sizeof(float));
  unpack(bytes.data(), scales.data(), blocks, from, count, out);
}
