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
  else if (type == DataType::U16)
    convert([](float value) { return static_cast<uint16_t>(bitsOf(value)); });
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

void zrt::joinRemainder(const uint16_t *remainder, float *values,
                        uint64_t count) {
  for (uint64_t i = 0; i < count; ++i)
    values[i] = floatOf(bitsOf(values[i]) +
                        static_cast<uint32_t>(int32_t(int16_t(remainder[i]))));
}

namespace {

/// Whether the 16-bit parameter is a rounded f32 one.
bool followsMaster(const Partition &partition) {
  return partition.hasMaster || partition.splitMaster;
}

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
  if (partition.splitMaster)
    fill(Range(arenas, partition.remainder, rank, DataType::U16),
         partition.shardedOptimizer, false);
  fill(Range(arenas, partition.parameters, rank, partition.computeType),
       partition.shardedParameters, followsMaster(partition));
}

namespace {

/// Reads f32 values of a parameter from what a rank stores.
class Reader {
public:
  Reader(const Program &program, const Arenas &arenas, int rank,
         const Parameter &parameter)
      : arenas(arenas), parameter(parameter),
        partition(partitionOf(program, parameter)),
        compute(arenas, partition.parameters, rank, partition.computeType),
        beside(partition.hasMaster
                   ? Range(arenas, partition.master, rank, DataType::F32)
               : partition.splitMaster
                   ? Range(arenas, partition.remainder, rank, DataType::U16)
                   : compute) {}

  bool isSharded() const {
    return followsMaster(partition) ? partition.shardedOptimizer
                                    : partition.shardedParameters;
  }

  /// `piece` of what `isSharded` describes.
  void read(const Piece &piece, const ValueSink &sink) {
    values.resize(piece.count);
    load(partition.splitMaster ? DataType::BF16 : beside.type,
         partition.splitMaster ? compute : beside,
         partition.splitMaster ? storedCompute(piece) : piece.stored);
    if (partition.splitMaster) {
      std::vector<uint16_t> lower(piece.count);
      arenas.read(lower.data(), beside.at(parameter, piece.stored, piece.count),
                  piece.count * sizeof(uint16_t));
      joinRemainder(lower.data(), values.data(), piece.count);
    }
    sink(piece.element, piece.count, values.data());
  }

private:
  void load(DataType type, const Range &range, uint64_t at) {
    stored.resize(values.size() * sizeOf(type));
    arenas.read(stored.data(), range.at(parameter, at, values.size()),
                stored.size());
    loadElements(type, stored.data(), values.data(), values.size());
  }

  /// The place of `piece`, which is of the optimizer's state, among parameters.
  uint64_t storedCompute(const Piece &piece) const {
    return partition.shardedParameters == partition.shardedOptimizer
               ? piece.stored
               : parameter.memberOffset + piece.element;
  }

  const Arenas &arenas;
  const Parameter &parameter;
  const Partition &partition;
  Range compute, beside;
  std::vector<float> values;
  std::vector<char> stored;
};

} // namespace

void zrt::readParameter(const Program &program, const Arenas &arenas, int rank,
                        const Parameter &parameter, const ValueSink &sink) {
  Reader reader(program, arenas, rank, parameter);
  bool sharded = reader.isSharded();
  uint32_t group = partitionOf(program, parameter).group;
  uint64_t ranks = static_cast<uint64_t>(program.training.ranks);
  uint64_t copies =
      sharded ? ranks / static_cast<uint64_t>(program.ranksOf(group)) : ranks;
  uint64_t copy = static_cast<uint64_t>(
      sharded ? program.mesh.numberOf(group, rank) : rank);
  forEachPiece(program, parameter, sharded, rank, [&](Piece piece) {
    // Of what several ranks hold, each takes an equal share.
    uint64_t share = (piece.count + copies - 1) / copies;
    uint64_t first = std::min(piece.count, share * copy);
    uint64_t last = std::min(piece.count, first + share);
    piece = {piece.element + first, last - first, piece.stored + first};
    portions(piece.count, [&](uint64_t begin, uint64_t count) {
      reader.read({piece.element + begin, count, piece.stored + begin}, sink);
    });
  });
}
