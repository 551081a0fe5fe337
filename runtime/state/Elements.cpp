#include "state/Elements.h"

#include "program/Float16.h"
#include "state/PackedSlice.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

using namespace zrt;

namespace {

/// What a rank stores of a state or of parameters, which may be in pieces.
class Stored {
public:
  Stored(const Arenas &arenas, const BufferRef &buffer, int rank, DataType type)
      : type(type) {
    add(arenas, buffer, rank, 0);
  }
  Stored(const Arenas &arenas, const State &state, bool sharded, int rank,
         int ranks)
      : type(state.type), state("state '" + state.name + "' of ") {
    for (const StateRange &range : state.ranges)
      add(arenas, range.buffer, rank, range.begin / (sharded ? ranks : 1));
  }

  /// Calls `body(address, begin, count)` for each run of memory that holds some
  /// of elements [stored, stored + count); `begin` counts from `stored`. Errors
  /// of `body` are about this memory.
  template <typename Body>
  void forEachRun(const Parameter &parameter, uint64_t stored, uint64_t count,
                  Body body) const {
    uint64_t done = 0;
    for (const Run &run : runs) {
      uint64_t at = stored + done;
      if (done == count || at < run.first || at >= run.first + run.elements)
        continue;
      uint64_t inside = at - run.first;
      uint64_t part = std::min(count - done, run.elements - inside);
      named([&] { body(run.base + inside * sizeOf(type), done, part); },
            [&] { return state + "parameter '" + parameter.name + "'"; });
      done += part;
    }
    if (done != count)
      throw std::out_of_range("parameter '" + parameter.name +
                              "' has elements beyond its partition's memory");
  }

  DataType type;

private:
  struct Run {
    uint64_t first, elements;
    char *base;
  };
  void add(const Arenas &arenas, const BufferRef &buffer, int rank,
           uint64_t first) {
    runs.push_back({first, buffer.bytes / sizeOf(type),
                    static_cast<char *>(arenas.resolve(buffer, rank))});
  }

  std::string state; ///< for messages; empty for parameters
  std::vector<Run> runs;
};

} // namespace

/// Calls `body(begin, count)` over [0, count) in portions.
template <typename Body> static void portions(uint64_t count, Body body) {
  for (uint64_t done = 0; done < count; done += kPortion)
    body(done, std::min(kPortion, count - done));
}

/// Sets what `rank` stores of `parameter` in `stored`.
static void fill(const Program &program, const Arenas &arenas, int rank,
                 const Parameter &parameter, const Stored &stored, bool sharded,
                 bool followsMaster, const ValueSource &source) {
  std::vector<float> values;
  std::vector<char> bytes;
  const uint64_t width = sizeOf(stored.type);
  forEachPiece(program, parameter, sharded, rank, [&](const Piece &piece) {
    portions(piece.count, [&](uint64_t begin, uint64_t count) {
      values.resize(count);
      bytes.resize(count * width);
      source(piece.element + begin, count, values.data());
      storeElements(stored.type, followsMaster, values.data(), bytes.data(),
                    count);
      stored.forEachRun(parameter, piece.stored + begin, count,
                        [&](char *to, uint64_t first, uint64_t part) {
                          arenas.write(to, bytes.data() + first * width,
                                       part * width);
                        });
    });
  });
}

void zrt::setState(const Program &program, const Arenas &arenas, int rank,
                   const Parameter &parameter, const State &state,
                   const ValueSource &source) {
  const Partition &partition = partitionOf(program, parameter);
  const Stored stored(arenas, state, partition.shardedOptimizer, rank,
                      program.ranksOf(partition.group));
  fill(program, arenas, rank, parameter, stored, partition.shardedOptimizer,
       false, source);
}

void zrt::setParameter(const Program &program, const Arenas &arenas, int rank,
                       const Parameter &parameter, const ValueSource &source) {
  const Partition &partition = partitionOf(program, parameter);
  if (partition.isQuantized())
    return PackedSlice(program, arenas, rank, parameter).write(source);
  for (const State &state : partition.states)
    if (state.start != StateStart::Constant)
      setState(program, arenas, rank, parameter, state, source);
  fill(program, arenas, rank, parameter,
       Stored(arenas, partition.parameters, rank, partition.computeType),
       partition.shardedParameters, partition.master() != nullptr, source);
}

/// What begins at element `begin` of what `rank` stores of `range`.
static std::string describeConstant(const Program &program,
                                    const Partition &partition,
                                    const State &state, const StateRange &range,
                                    int rank, uint64_t begin) {
  const bool isSharded = partition.shardedOptimizer;
  const int ranks = isSharded ? program.ranksOf(partition.group) : 1;
  const auto index = static_cast<int>(&partition - program.partitions.data());
  return "state '" + state.name + "' from " +
         describeElement(program, index, isSharded, rank,
                         range.begin / static_cast<uint64_t>(ranks) + begin) +
         " on";
}

void zrt::setConstantStates(const Program &program, const Arenas &arenas,
                            int rank) {
  for (const Partition &partition : program.partitions)
    for (const State &state : partition.states) {
      // Arenas begin as zeros.
      if (state.start != StateStart::Constant || state.constant == 0)
        continue;
      const std::vector<float> values(kPortion, float(state.constant));
      std::vector<char> bytes(kPortion * sizeOf(state.type));
      storeElements(state.type, false, values.data(), bytes.data(), kPortion);
      for (const StateRange &range : state.ranges)
        portions(range.buffer.bytes / sizeOf(state.type), [&](uint64_t begin,
                                                              uint64_t count) {
          char *base = static_cast<char *>(arenas.resolve(range.buffer, rank));
          named(
              [&] {
                arenas.write(base + begin * sizeOf(state.type), bytes.data(),
                             count * sizeOf(state.type));
              },
              [&] {
                return describeConstant(program, partition, state, range, rank,
                                        begin);
              });
        });
    }
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
        beside(compute) {
    if (const State *master = partition.master()) {
      beside = Stored(arenas, *master, partition.shardedOptimizer, rank,
                      program.ranksOf(partition.group));
      isSplit = master->start == StateStart::LowerHalf;
    }
  }

  /// `piece` of what `isValueSharded` describes.
  void read(const Piece &piece, const ValueSink &sink) {
    values.resize(piece.count);
    const Stored &upper = isSplit ? compute : beside;
    std::vector<char> bytes(piece.count * sizeOf(upper.type));
    load(upper, isSplit ? storedCompute(piece) : piece.stored, bytes.data());
    loadElements(upper.type, bytes.data(), values.data(), values.size());
    if (isSplit) {
      std::vector<uint16_t> lower(piece.count);
      load(beside, piece.stored, reinterpret_cast<char *>(lower.data()));
      joinRemainder(lower.data(), values.data(), piece.count);
    }
    sink(piece.element, piece.count, values.data());
  }

private:
  void load(const Stored &from, uint64_t at, char *to) {
    from.forEachRun(parameter, at, values.size(),
                    [&](const char *run, uint64_t first, uint64_t count) {
                      arenas.read(to + first * sizeOf(from.type), run,
                                  count * sizeOf(from.type));
                    });
  }

  /// The place of `piece`, which is of the optimizer's state, among parameters.
  uint64_t storedCompute(const Piece &piece) const {
    return partition.shardedParameters == partition.shardedOptimizer
               ? piece.stored
               : parameter.memberOffset + piece.local;
  }

  const Arenas &arenas;
  const Parameter &parameter;
  const Partition &partition;
  Stored compute, beside;
  bool isSplit = false;
  std::vector<float> values;
};

} // namespace

bool zrt::isValueSharded(const Partition &partition) {
  return partition.master() ? partition.shardedOptimizer
                            : partition.shardedParameters;
}

namespace {
/// How many ranks have the same elements, and the place of one among them.
struct Holders {
  uint64_t count, index;
};
} // namespace

/// Those of the elements of `parameter` that `rank` has.
static Holders holdersOf(const Program &program, const Parameter &parameter,
                         bool sharded, int rank) {
  std::vector<uint32_t> groups;
  if (program.pipeline.isCut())
    groups.push_back(program.pipeline.group);
  if (sharded)
    groups.push_back(partitionOf(program, parameter).group);
  for (const ParameterCut &cut : parameter.cuts)
    groups.push_back(cut.group);
  if (groups.empty())
    return {uint64_t(program.training.ranks), uint64_t(rank)};
  return {uint64_t(program.mesh.countOf(groups)),
          uint64_t(program.mesh.numberOf(groups, rank))};
}

bool zrt::isWrittenElsewhere(const Program &program,
                             const Parameter &parameter) {
  const std::vector<StoredParameter> &all = program.pipeline.stored;
  return std::any_of(all.begin(), all.end(), [&](const StoredParameter &each) {
    return each.name == parameter.name && each.stage != program.pipeline.stage;
  });
}

void zrt::forEachShare(const Program &program, const Parameter &parameter,
                       bool sharded, int rank,
                       const std::function<void(const Piece &)> &body) {
  if (isWrittenElsewhere(program, parameter))
    return;
  const Holders holders = holdersOf(program, parameter, sharded, rank);
  forEachPiece(program, parameter, sharded, rank, [&](const Piece &piece) {
    // Of what several ranks hold, each takes an equal share.
    uint64_t share = (piece.count + holders.count - 1) / holders.count;
    uint64_t first = std::min(piece.count, share * holders.index);
    uint64_t last = std::min(piece.count, first + share);
    if (first < last)
      body(piece.from(first, last - first));
  });
}

void zrt::forEachSharePortion(const Program &program,
                              const Parameter &parameter, bool sharded,
                              int rank,
                              const std::function<void(const Piece &)> &body) {
  forEachShare(program, parameter, sharded, rank, [&](const Piece &piece) {
    portions(piece.count, [&](uint64_t begin, uint64_t count) {
      body(piece.from(begin, count));
    });
  });
}

static void readPacked(const Program &program, const Arenas &arenas, int rank,
                       const Parameter &parameter, const ValueSink &sink) {
  const PackedSlice slice(program, arenas, rank, parameter);
  std::vector<float> values;
  forEachSharePortion(program, parameter, /*sharded=*/true, rank,
                      [&](const Piece &piece) {
                        values.resize(piece.count);
                        slice.read(piece.stored, piece.count, values.data());
                        sink(piece.element, piece.count, values.data());
                      });
}

void zrt::readParameter(const Program &program, const Arenas &arenas, int rank,
                        const Parameter &parameter, const ValueSink &sink) {
  if (partitionOf(program, parameter).isQuantized())
    return readPacked(program, arenas, rank, parameter, sink);
  Reader reader(program, arenas, rank, parameter);
  const bool sharded = isValueSharded(partitionOf(program, parameter));
  forEachSharePortion(program, parameter, sharded, rank,
                      [&](const Piece &piece) { reader.read(piece, sink); });
}

void zrt::readState(const Program &program, const Arenas &arenas, int rank,
                    const Parameter &parameter, const State &state,
                    const ValueSink &sink) {
  const Partition &partition = partitionOf(program, parameter);
  const Stored stored(arenas, state, partition.shardedOptimizer, rank,
                      program.ranksOf(partition.group));
  const uint64_t width = sizeOf(state.type);
  std::vector<float> values;
  std::vector<char> bytes;
  const auto read = [&](const Piece &piece) {
    values.resize(piece.count);
    bytes.resize(piece.count * width);
    stored.forEachRun(parameter, piece.stored, piece.count,
                      [&](const char *run, uint64_t first, uint64_t count) {
                        arenas.read(bytes.data() + first * width, run,
                                    count * width);
                      });
    loadElements(state.type, bytes.data(), values.data(), piece.count);
    sink(piece.element, piece.count, values.data());
  };
  forEachSharePortion(program, parameter, partition.shardedOptimizer, rank,
                      read);
}
