#include "selfcheck/KeptStates.h"

#include "io/Digest.h"
#include "state/Pieces.h"

#include <algorithm>

using namespace zrt;

namespace {

constexpr const char *kParameters = "parameters";

void addCuts(const Parameter &parameter, std::vector<uint32_t> &groups) {
  for (const ParameterCut &cut : parameter.cuts)
    if (std::find(groups.begin(), groups.end(), cut.group) == groups.end())
      groups.push_back(cut.group);
}

/// Those by which ranks hold different values of a partition.
std::vector<uint32_t> groupsOf(const Program &program, int partition,
                               bool isSharded) {
  std::vector<uint32_t> groups;
  if (isSharded)
    groups.push_back(program.partitions[size_t(partition)].group);
  for (const Parameter &parameter : program.parameters)
    if (parameter.partition == partition)
      addCuts(parameter, groups);
  return groups;
}

void addPartition(const Program &program, int number,
                  std::vector<KeptState> &states) {
  const Partition &partition = program.partitions[size_t(number)];
  KeptState state;
  state.partition = number;
  state.name = kParameters;
  state.buffer = partition.parameters;
  state.type = partition.computeType;
  state.isSharded = partition.shardedParameters;
  state.isPacked = partition.isQuantized();
  state.groups = groupsOf(program, number, state.isSharded);
  states.push_back(state);
  state.isPacked = false;
  state.isSharded = partition.shardedOptimizer;
  state.groups = groupsOf(program, number, state.isSharded);
  const auto owners =
      uint64_t(state.isSharded ? program.ranksOf(partition.group) : 1);
  for (const State &kept : partition.states) {
    state.name = kept.name;
    state.type = kept.type;
    for (const StateRange &range : kept.ranges) {
      state.buffer = range.buffer;
      state.first = range.begin / owners;
      states.push_back(state);
    }
  }
}

} // namespace

std::vector<KeptState> zrt::keptStates(const Program &program) {
  std::vector<KeptState> states;
  for (size_t i = 0; i < program.partitions.size(); ++i)
    addPartition(program, int(i), states);
  for (const ResidentCopy &resident : program.residents) {
    KeptState state;
    const Parameter &parameter = program.parameters[resident.parameter];
    state.name = "resident";
    state.buffer = resident.buffer;
    state.type = parameter.computeType;
    state.parameter = resident.parameter;
    addCuts(parameter, state.groups);
    states.push_back(state);
  }
  return states;
}

std::vector<int64_t> zrt::placeOf(const Program &program,
                                  const KeptState &state, int rank) {
  std::vector<int64_t> place;
  if (program.pipeline.isCut())
    place.push_back(program.mesh.indexIn(program.pipeline.group, rank));
  for (const uint32_t group : state.groups)
    place.push_back(program.mesh.indexIn(group, rank));
  return place;
}

uint64_t zrt::sizeOfBlock(const BufferRef &buffer, size_t block) {
  return std::min(kStateBlock, buffer.bytes - block * kStateBlock);
}

std::string zrt::readBlock(const BufferRef &buffer, const Arenas &arenas,
                           int rank, size_t block) {
  std::string bytes(sizeOfBlock(buffer, block), '\0');
  const auto *base = static_cast<const char *>(arenas.resolve(buffer, rank));
  arenas.read(bytes.data(), base + block * kStateBlock, bytes.size());
  return bytes;
}

std::vector<uint64_t> zrt::hashBlocks(const KeptState &state,
                                      const Arenas &arenas, int rank) {
  const uint64_t blocks = (state.buffer.bytes + kStateBlock - 1) / kStateBlock;
  std::vector<uint64_t> hashes(blocks);
  for (uint64_t block = 0; block < blocks; ++block) {
    const std::string bytes = readBlock(state.buffer, arenas, rank, block);
    hashes[block] = digestBlock(0, bytes.data(), bytes.size());
  }
  return hashes;
}

std::string zrt::describeByte(const Program &program, const KeptState &state,
                              int rank, uint64_t offset) {
  if (state.partition < 0)
    return "the resident copy of parameter '" +
           program.parameters[state.parameter].name + "'";
  if (state.isPacked)
    return "a quantized parameter of the group '" +
           program.partitions[size_t(state.partition)].name + "'";
  const std::string element =
      describeElement(program, state.partition, state.isSharded, rank,
                      state.first + offset / sizeOf(state.type));
  return (state.name == kParameters ? "parameter '"
                                    : "state '" + state.name + "' of '") +
         element + "'";
}
