#include "program/Program.h"

#include <algorithm>
#include <limits>
#include <numeric>

using namespace zrt;

std::string zrt::nameOfSpace(int space) {
  std::string name = nameOf(arenaOf(space));
  if (tierOf(space) != Tier::Device)
    name += std::string(" on ") + nameOf(tierOf(space));
  return name;
}

const char *zrt::nameOf(const Command &command) {
  switch (command.opcode) {
  case Opcode::Kernel:
    return "kernel";
  case Opcode::Start:
    return nameOf(command.collective);
  case Opcode::Wait:
    return "wait";
  }
  return "unknown command";
}

uint64_t zrt::bytesOfTier(const Program &program, Tier tier) {
  uint64_t bytes = 0;
  for (int i = 0; i < kSpaceCount; ++i)
    bytes += tierOf(i) == tier ? program.arenaBytes[i] : 0;
  return bytes;
}

uint64_t zrt::bytesCopiedBeside(const Program &program,
                                const Command &command) {
  if (!runsBeside(command) || command.kernel >= program.kernels.size())
    return 0;
  const KernelSpec &spec = program.kernels[command.kernel];
  // A copy of updated parameters goes by the verdict.
  const bool isPlain = spec.name == "zero.copy" && !spec.has("updated") &&
                       spec.operands.size() == 2 &&
                       spec.operands[0].type == spec.operands[1].type;
  return isPlain ? spec.operands[0].bytes() : 0;
}

bool zrt::namesFile(const Command &command) {
  for (const BufferRef &buffer : command.buffers)
    if (buffer.tier == Tier::File)
      return true;
  return false;
}

bool zrt::isFileCopy(const Program &program, const Command &command) {
  if (!bytesCopiedBeside(program, command) || command.buffers.size() != 2)
    return false;
  const Tier from = command.buffers[0].tier, to = command.buffers[1].tier;
  return (from == Tier::File && to == Tier::Host) ||
         (from == Tier::Host && to == Tier::File);
}

/// The product of `shape`; at most one factor may exceed the others' room,
/// which the parser has checked.
static int64_t product(const std::vector<int64_t> &shape) {
  int64_t result = 1;
  for (int64_t size : shape)
    result *= size;
  return result;
}

int64_t TensorType::elements() const { return product(shape); }
uint64_t TensorType::span() const {
  if (strides.empty() || elements() == 0)
    return bytes();
  uint64_t last = 0;
  for (size_t i = 0; i < shape.size(); ++i)
    last += uint64_t(shape[i] - 1) * uint64_t(strides[i]);
  return (last + 1) * sizeOf(type);
}
int64_t Parameter::elements() const { return product(shape); }

const State *Partition::findState(StateStart start) const {
  for (const State &state : states)
    if (state.start == start)
      return &state;
  return nullptr;
}

const State *Partition::master() const {
  const State *whole = findState(StateStart::Parameter);
  return whole ? whole : findState(StateStart::LowerHalf);
}

bool TensorType::operator==(const TensorType &other) const {
  return type == other.type && shape == other.shape && strides == other.strides;
}

bool KernelSpec::operator==(const KernelSpec &other) const {
  return name == other.name && symbol == other.symbol &&
         operands == other.operands && results == other.results &&
         ints == other.ints && floats == other.floats;
}

int64_t KernelSpec::integer(const std::string &key, int64_t otherwise) const {
  auto found = ints.find(key);
  return found == ints.end() || found->second.empty() ? otherwise
                                                      : found->second.front();
}

double KernelSpec::real(const std::string &key, double otherwise) const {
  auto found = floats.find(key);
  return found == floats.end() ? otherwise : found->second;
}

uint64_t Partition::flatElements() const {
  uint64_t end = 0;
  for (const Segment &segment : segments)
    end = std::max(end, segment.offset + segment.size);
  return end;
}

std::string Program::nameOf(const Turn &turn) const {
  std::string name = turn.isBackward ? "backward" : "forward";
  if (forward.size() > 1)
    name += " of chunk " + std::to_string(turn.chunk);
  return name;
}

std::string Program::describe(const Command &command) const {
  std::string text;
  if (command.opcode == Opcode::Kernel && command.kernel < kernels.size())
    text = kernels[command.kernel].name;
  else if (command.opcode != Opcode::Start || !isBetweenTwo(command.collective))
    text = zrt::nameOf(command); // the label of a transfer says as much
  if (!command.label.empty())
    text += (text.empty() ? "'" : " '") + command.label + "'";
  if (!command.location.empty())
    text += " at " + command.location;
  return text;
}

std::string Program::describe(const Turn &turn) const {
  return std::string(turn.isBackward ? "backward" : "forward") +
         " pass of micro-batch " + std::to_string(turn.micro) +
         (forward.size() > 1 ? " through chunk " + std::to_string(turn.chunk)
                             : "");
}

std::vector<std::pair<std::string, const Region *>> Program::regions() const {
  std::vector<std::pair<std::string, const Region *>> all;
  all.emplace_back("initialize", &initialize);
  const auto chunks = uint32_t(forward.size());
  for (uint32_t chunk = 0; chunk < chunks; ++chunk)
    all.emplace_back(nameOf({false, chunk, 0}), &forward[chunk]);
  for (uint32_t chunk = chunks; chunk-- > 0;)
    all.emplace_back(nameOf({true, chunk, 0}), &backward[chunk]);
  all.emplace_back("micro", &micro);
  all.emplace_back("last micro", &microLast);
  all.emplace_back("apply", &apply);
  all.emplace_back("evaluate", &evaluate);
  return all;
}

int Program::firstLossRank() const {
  int rank = 0;
  while (mesh.indexIn(pipeline.group, rank) + 1 < int64_t(pipeline.stages))
    ++rank;
  return rank;
}

size_t Pipeline::ringOf(uint64_t offset, uint64_t bytes) const {
  uint64_t end = 0;
  for (size_t ring = 0; ring < rings.size(); ++ring) {
    end += rings[ring].bytes;
    if (offset < end)
      return bytes <= end - offset ? ring : rings.size();
  }
  return rings.size();
}

uint64_t Pipeline::stashOffset(uint64_t offset, uint32_t micro) const {
  uint64_t begin = 0, ofRing = 0; // among single slots, and in the arena
  for (size_t i = 0; i < ringOf(offset, 0); ++i) {
    begin += rings[i].bytes;
    ofRing += rings[i].bytes * rings[i].slots;
  }
  const size_t ring = ringOf(offset, 0);
  const uint64_t slot =
      ring < rings.size() ? micro % rings[ring].slots * rings[ring].bytes : 0;
  return ofRing + slot + (offset - begin); // outside, as the arena's end tells
}

uint64_t Pipeline::period() const {
  uint64_t micros = 1;
  for (const StashRing &ring : rings)
    micros = std::lcm(micros, uint64_t(ring.slots));
  return micros;
}

const Region &Program::regionOfMicro(int64_t index) const {
  const bool isLast = index + 1 == training.accumulation;
  return isLast && !microLast.commands.empty() ? microLast : micro;
}

namespace {

/// FNV-1a over 64-bit words, with a finishing mix so that low bits spread.
class Hash {
public:
  void add(uint64_t word) {
    for (int byte = 0; byte < 8; ++byte) {
      state ^= (word >> (8 * byte)) & 0xff;
      state *= 0x100000001b3ull;
    }
  }
  uint64_t value() const {
    uint64_t x = state;
    x ^= x >> 33;
    x *= 0xff51afd7ed558ccdull;
    x ^= x >> 33;
    return x;
  }

private:
  uint64_t state = 0xcbf29ce484222325ull;
};

} // namespace

static void hashCollectives(const Region &region, Hash &hash) {
  for (const Command &command : region.commands) {
    if (command.opcode != Opcode::Start)
      continue;
    hash.add(static_cast<uint64_t>(command.collective));
    hash.add(command.group);
    hash.add(static_cast<uint64_t>(command.stream));
    hash.add(command.prescaled);
    hash.add(command.parts.size());
    for (const CollectivePart &part : command.parts) {
      hash.add(part.count);
      hash.add(static_cast<uint64_t>(part.type));
      hash.add(static_cast<uint64_t>(part.root));
    }
  }
  hash.add(std::numeric_limits<uint64_t>::max()); // the region's end
}

uint64_t zrt::collectiveHash(const Program &program) {
  Hash hash;
  hash.add(program.training.ranks);
  hash.add(program.training.accumulation);
  hash.add(program.mesh.samples);
  for (const MeshAxis &axis : program.mesh.axes)
    hash.add(static_cast<uint64_t>(axis.size));
  for (const MeshGroup &group : program.mesh.groups) {
    hash.add(group.axes.size());
    for (uint32_t axis : group.axes)
      hash.add(axis);
  }
  for (const auto &[name, region] : program.regions())
    hashCollectives(*region, hash);
  return hash.value();
}

size_t zrt::stageOf(const std::vector<Program> &stages, int64_t rank) {
  const Mesh &mesh = stages.front().mesh;
  for (size_t axis = 0; axis < mesh.axes.size(); ++axis)
    if (holdsStages(mesh.axes[axis].name))
      return size_t(mesh.coordinate(axis, rank));
  return 0;
}
