#include "state/Elements.h"

#include "program/Float16.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

using namespace zrt;

[[noreturn]] static void refuse(DataType type) {
  throw std::runtime_error(std::string("a parameter of type ") + nameOf(type) +
                           " cannot be set; wanted f32, f16 or bf16");
}

/// Nearest, ties away from zero; the master is then the bf16 value plus a
/// remainder of 16 bits.
static uint16_t roundHalfAway(float value) {
  uint32_t bits = bitsOf(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u)
    return static_cast<uint16_t>((bits >> 16) | 0x40u);
  return static_cast<uint16_t>((bits + 0x8000u) >> 16);
}

void zrt::storeElements(DataType type, bool followsMaster, const float *values,
                        void *out, uint64_t count) {
  auto convert = [&](auto rounded) {
    std::transform(values, values + count, static_cast<uint16_t *>(out),
                   rounded);
  };
  if (type == DataType::F32)
    std::memcpy(out, values, count * sizeof(float));
  else if (type == DataType::F16)
    convert([](float value) { return f32ToF16(value); });
  else if (type == DataType::BF16 && followsMaster)
    convert(roundHalfAway);
  else if (type == DataType::BF16)
    convert([](float value) { return f32ToBf16(value); });
  else
    refuse(type);
}

void zrt::loadElements(DataType type, const void *from, float *values,
                       uint64_t count) {
  auto convert = [&](auto widened) {
    auto *halves = static_cast<const uint16_t *>(from);
    std::transform(halves, halves + count, values, widened);
  };
  if (type == DataType::F32)
    std::memcpy(values, from, count * sizeof(float));
  else if (type == DataType::F16)
    convert([](uint16_t bits) { return f16ToF32(bits); });
  else if (type == DataType::BF16)
    convert([](uint16_t bits) { return bf16ToF32(bits); });
  else
    refuse(type);
}

namespace {

/// A rank's range of elements of one type.
struct Range {
  Range(const Arenas &arenas, const BufferRef &buffer, int rank, DataType type)
      : base(static_cast<char *>(arenas.resolve(buffer, rank))),
        elements(buffer.bytes / sizeOf(type)), type(type) {}

  void *at(const Parameter &parameter, uint64_t stored, uint64_t count) const {
    if (stored > elements || count > elements - stored)
      throw std::out_of_range("parameter '" + parameter.name +
                              "' has elements beyond its partition's memory");
    return base + stored * sizeOf(type);
  }

  char *base;
  uint64_t elements;
  DataType type;
};

} // namespace

/// Calls `body(begin, count)` over [0, count) in portions.
template <typename Body> static void portions(uint64_t count, Body body) {
  for (uint64_t done = 0; done < count; done += kPortion)
    body(done, std::min(kPortion, count - done));
}

void zrt::setParameter(const Program &program, const Arenas &arenas, int rank,
                       const Parameter &parameter, const ValueSource &source) {
  const Partition &partition = partitionOf(program, parameter);
  std::vector<float> values;
  std::vector<char> stored;
  auto fill = [&](const Range &range, bool sharded, bool followsMaster) {
    forEachPiece(program, parameter, sharded, rank, [&](const Piece &piece) {
      portions(piece.count, [&](uint64_t begin, uint64_t count) {
        values.resize(count);
        stored.resize(count * sizeOf(range.type));
        source(piece.element + begin, count, values.data());
        storeElements(range.type, followsMaster, values.data(), stored.data(),
                      count);
        arenas.write(range.at(parameter, piece.stored + begin, count),
                     stored.data(), stored.size());
      });
    });
  };
  if (partition.hasMaster)
    fill(Range(arenas, partition.master, rank, DataType::F32),
         partition.shardedOptimizer, false);
  fill(Range(arenas, partition.parameters, rank, partition.computeType),
       partition.shardedParameters, partition.hasMaster);
}

void zrt::readParameter(const Program &program, const Arenas &arenas, int rank,
                        const Parameter &parameter, const ValueSink &sink) {
  const Partition &partition = partitionOf(program, parameter);
  bool sharded = partition.hasMaster ? partition.shardedOptimizer
                                     : partition.shardedParameters;
  Range range =
      partition.hasMaster
          ? Range(arenas, partition.master, rank, DataType::F32)
          : Range(arenas, partition.parameters, rank, partition.computeType);
  std::vector<float> values;
  std::vector<char> stored;
  forEachPiece(program, parameter, sharded, rank, [&](Piece piece) {
    if (!sharded) {
      // All ranks hold it all: each takes an equal share.
      uint64_t share = (piece.count + program.training.ranks - 1) /
                       static_cast<uint64_t>(program.training.ranks);
      uint64_t first = std::min(piece.count, share * rank);
      uint64_t last = std::min(piece.count, first + share);
      piece = {piece.element + first, last - first, piece.stored + first};
    }
    portions(piece.count, [&](uint64_t begin, uint64_t count) {
      values.resize(count);
      stored.resize(count * sizeOf(range.type));
      arenas.read(stored.data(),
                  range.at(parameter, piece.stored + begin, count),
                  stored.size());
      loadElements(range.type, stored.data(), values.data(), count);
      sink(piece.element + begin, count, values.data());
    });
  });
}
