// Small programs of every stage and type, and ranks as threads.
#ifndef ZERO_TEST_RUNTIME_STATE_STATETESTING_H
#define ZERO_TEST_RUNTIME_STATE_STATETESTING_H

#include "communicator/InProcess.h"
#include "state/Arenas.h"
#include "state/Pieces.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <exception>
#include <filesystem>
#include <functional>
#include <thread>

namespace zrt::testing {

inline uint64_t roundUp(uint64_t value, uint64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// Makes the program's partitions as the stages lay them out.
class ProgramBuilder {
public:
  ProgramBuilder(int stage, int ranks, DataType type, bool splitMaster = false)
      : stage(stage), ranks(static_cast<uint64_t>(ranks)), type(type),
        splitMaster(splitMaster) {
    program.training.stage = stage;
    program.training.ranks = ranks;
  }

  /// A partition of parameters with these names, shapes and initial values.
  void add(bool trainable, std::vector<Parameter> members) {
    Partition partition;
    partition.trainable = trainable;
    partition.shardedParameters = stage == 3;
    partition.shardedGradients = stage >= 2;
    partition.shardedOptimizer = stage >= 1 && trainable;
    partition.computeType = type;
    uint64_t end = 0, packed = 0;
    for (Parameter &member : members) {
      member.partition = static_cast<int32_t>(program.partitions.size());
      member.computeType = type;
      member.memberOffset = end;
      end += static_cast<uint64_t>(member.elements());
      if (stage == 3) { // each parameter is a segment
        uint64_t padded = roundUp(end, 16 * ranks);
        partition.segments.push_back(
            {member.memberOffset, padded - member.memberOffset});
        end = padded;
      }
      if (!trainable && stage == 3 && quantized.bits) {
        const Segment &own = partition.segments.back();
        member.packedOffset = packed;
        packed += uint64_t(quantized.packedBytes(int64_t(own.size / ranks)));
      }
      program.parameters.push_back(member);
    }
    // Intervals at stage 1 cut through parameters; otherwise there is one.
    uint64_t interval = stage == 1 ? 24 * ranks : roundUp(end, ranks);
    if (stage != 3)
      for (uint64_t at = 0; at < end; at += interval)
        partition.segments.push_back({at, interval});
    place(partition);
    program.partitions.push_back(partition);
  }

  Program program;
  /// How partitions that are not trained are packed at stage 3.
  Quantization quantized = {0, 0};
  /// Names of states that trained parameters have besides, and how they start.
  std::vector<std::pair<const char *, double>> kept;
  /// Where the last segment's states are, unless it is all there is.
  Tier offloaded = Tier::Host;

private:
  BufferRef take(Arena arena, uint64_t elements, bool sharded, DataType kind,
                 Tier tier = Tier::Device) {
    uint64_t &used = program.arenaBytes[spaceOf(arena, tier)];
    BufferRef buffer;
    buffer.arena = arena;
    buffer.tier = tier;
    buffer.offset = used;
    buffer.bytes = elements / (sharded ? ranks : 1) * sizeOf(kind);
    used = roundUp(used + buffer.bytes, 64);
    return buffer;
  }

  void place(Partition &partition) {
    uint64_t elements = partition.flatElements();
    if (!partition.trainable && stage == 3 && quantized.bits)
      return placePacked(partition);
    partition.parameters =
        take(Arena::Parameters, elements, partition.shardedParameters, type);
    if (!partition.trainable)
      return;
    if (splitMaster)
      addState(partition, "remainder", DataType::U16, StateStart::LowerHalf);
    else if (type != DataType::F32)
      addState(partition, "master", DataType::F32, StateStart::Parameter);
    for (const auto &[name, value] : kept) {
      addState(partition, name, DataType::F32, StateStart::Constant);
      partition.states.back().constant = value;
    }
  }

  /// Each segment is a parameter's.
  void placePacked(Partition &partition) {
    partition.quantized = quantized;
    uint64_t bytes = 0;
    for (const Segment &segment : partition.segments)
      bytes += uint64_t(quantized.packedBytes(int64_t(segment.size / ranks)));
    partition.parameters =
        take(Arena::Parameters, bytes, /*sharded=*/false, DataType::I8);
  }

  /// The last segment's elements are `offloaded`, unless it is all there is.
  void addState(Partition &partition, const char *name, DataType kind,
                StateStart start) {
    const uint64_t elements = partition.flatElements();
    const uint64_t cut = partition.segments.back().offset;
    const bool sharded = partition.shardedOptimizer;
    State state = {name, kind, start, 0, {}};
    if (cut > 0)
      state.ranges.push_back(
          {0, cut, take(Arena::Optimizer, cut, sharded, kind)});
    const Tier tier = cut > 0 ? offloaded : Tier::Device;
    state.ranges.push_back(
        {cut, elements,
         take(Arena::Optimizer, elements - cut, sharded, kind, tier)});
    partition.states.push_back(state);
  }

  int stage;
  uint64_t ranks;
  DataType type;
  bool splitMaster;
};

inline Parameter parameter(const char *name, std::vector<int64_t> shape,
                           Initializer init) {
  Parameter result;
  result.name = name;
  result.shape = std::move(shape);
  result.init = init;
  return result;
}

/// Two groups and a frozen one, with sizes that fit nothing.
inline Program sampleProgram(int stage, int ranks, DataType type,
                             bool splitMaster = false) {
  ProgramBuilder builder(stage, ranks, type, splitMaster);
  builder.add(true, {parameter("a.w", {13, 7}, {InitKind::Normal, 0.5, 0.02}),
                     parameter("a.scale", {}, {InitKind::Ones, 0, 0}),
                     parameter("c.w", {64, 33}, {InitKind::Uniform, -2, 3})});
  builder.add(true, {parameter("a.b", {5}, {InitKind::Zeros, 0, 0}),
                     parameter("c.b", {1, 129}, {InitKind::Constant, 0.1, 0})});
  builder.add(false, {parameter("table", {11, 3}, {InitKind::Normal, 0, 1})});
  return builder.program;
}

/// Gives all partitions, with their buffers, a group.
inline void setGroups(Program &program, uint32_t group) {
  for (Partition &partition : program.partitions) {
    partition.group = partition.parameters.group = group;
    for (State &state : partition.states)
      for (StateRange &range : state.ranges)
        range.buffer.group = group;
  }
}

/// `program` of one group's ranks on two or more such groups: `inner` if ranks
/// of a group are neighbours.
inline Program replicated(Program program, int replicas, bool inner) {
  const int shards = program.training.ranks;
  program.training.ranks = shards * replicas;
  program.mesh.axes = {{"replica", replicas}, {"shard", shards}};
  if (!inner)
    std::swap(program.mesh.axes[0], program.mesh.axes[1]);
  program.mesh.groups = {{{0, 1}}, {{inner ? 1u : 0u}}};
  setGroups(program, 1);
  return program;
}

/// Runs `body` for each rank on a thread of its own, and returns what each
/// threw: empty where it did not.
inline std::vector<std::string>
onRanks(int ranks, const std::function<void(Communicator &)> &body) {
  std::vector<std::unique_ptr<Communicator>> all = makeInProcess(ranks);
  std::vector<std::string> errors(ranks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      try {
        body(*all[rank]);
      } catch (const std::exception &failure) {
        errors[rank] = failure.what();
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  return errors;
}

/// A folder that is gone after the test.
class TemporaryFolder {
public:
  TemporaryFolder() {
    std::string name =
        (std::filesystem::temp_directory_path() / "zero-state-XXXXXX").string();
    path = mkdtemp(name.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path); }
  std::string file(const std::string &name) const { return path + "/" + name; }
  size_t entries() const {
    return std::distance(std::filesystem::directory_iterator(path), {});
  }

  std::string path;
};

} // namespace zrt::testing

#endif // ZERO_TEST_RUNTIME_STATE_STATETESTING_H
