#include "report/Ladder.h"

#include "program/Control.h"
#include "program/KernelKey.h"
#include "program/KernelSchema.h"

#include <set>

using namespace zrt;

namespace {

constexpr uint64_t kAlignment = 64;
/// Elements of the flat kernels.
constexpr int64_t kSizes[] = {1 << 8,  1 << 11, 1 << 14, 1 << 16,
                              1 << 18, 1 << 20, 1 << 22};
/// Bytes that the collectives span.
constexpr uint64_t kSpans[] = {1 << 8,  1 << 12, 1 << 14, 1 << 16, 1 << 18,
                               1 << 20, 1 << 22, 1 << 24, 1 << 26, 1 << 28};

/// A kernel that takes any number of elements.
bool isFlat(const KernelSpec &spec) {
  if (spec.name.rfind("zero.", 0) != 0 || !spec.results.empty() ||
      spec.operands.empty() || spec.operands.front().elements() == 1)
    return false;
  for (const TensorType &type : spec.operands)
    if (type.shape.size() != 1)
      return false;
  return true;
}

class LadderMaker {
public:
  LadderMaker(const Program &from, uint64_t bytes) : from(from), bytes(bytes) {}

  Program make();

private:
  void addKernels();
  void addFamilies();
  void addSizes(KernelSpec spec);
  void addCollectives();
  void addCollective(Collective kind, DataType type, uint64_t span);
  BufferRef take(uint64_t size);
  KernelSpec flat(const char *name, std::vector<DataType> types) const;

  const Program &from;
  uint64_t bytes;
  uint64_t cursor = 0;
  std::set<DataType> types; ///< of parameters and gradients
  std::set<std::string> families;
  Program ladder;
};

} // namespace

BufferRef LadderMaker::take(uint64_t size) {
  if (cursor + size > bytes)
    cursor = 0;
  BufferRef buffer;
  buffer.arena = Arena::Activations;
  buffer.offset = cursor;
  buffer.bytes = size;
  cursor += (size + kAlignment - 1) / kAlignment * kAlignment;
  return buffer;
}

KernelSpec LadderMaker::flat(const char *name,
                             std::vector<DataType> operands) const {
  KernelSpec spec;
  spec.name = name;
  for (const DataType type : operands)
    spec.operands.push_back({type, {1}});
  return spec;
}

/// `spec` over all sizes that fit, if its family is new.
void LadderMaker::addSizes(KernelSpec spec) {
  for (const char *whose : {"owner", "group", "copies"})
    spec.ints.erase(whose);
  if (!families.insert(familyOf(spec)).second)
    return;
  for (const int64_t elements : kSizes) {
    Command command;
    uint64_t all = 0;
    for (TensorType &type : spec.operands) {
      type.shape = {elements};
      all += type.bytes();
    }
    if (all > bytes / 2)
      return;
    for (const TensorType &type : spec.operands)
      command.buffers.push_back(take(type.bytes()));
    countWork(spec);
    command.kernel = uint32_t(ladder.kernels.size());
    command.label = spec.name;
    ladder.kernels.push_back(spec);
    ladder.micro.commands.push_back(command);
  }
}

void LadderMaker::addFamilies() {
  for (const KernelSpec &spec : from.kernels) {
    if (!isFlat(spec))
      continue;
    addSizes(spec);
    // Gradients are stored in f32 where micro-batches are added up.
    if (spec.has("partition") && spec.operands.size() > 1)
      for (const DataType gradient : types) {
        KernelSpec other = spec;
        other.operands.front().type = gradient;
        addSizes(other);
      }
  }
}

void LadderMaker::addKernels() {
  addFamilies();
  for (const DataType type : types) {
    addSizes(flat("zero.copy", {type, type}));
    addSizes(flat("zero.clear", {type}));
    addSizes(flat("zero.accumulate", {type, DataType::F32}));
    addSizes(flat("zero.accumulate", {type, type}));
    for (const int64_t exact : {0, 1}) {
      KernelSpec stats = flat("zero.grad_stats", {type});
      stats.ints = {{"partition", {0}},
                    {"first", {0}},
                    {"exact", {exact}},
                    {"base", {0}}};
      addSizes(stats);
    }
  }
}

void LadderMaker::addCollective(Collective kind, DataType type, uint64_t span) {
  const uint64_t ranks = uint64_t(from.training.ranks);
  const bool sends = sendsToEach(kind), receives = receivesFromEach(kind);
  const uint64_t part = std::max<uint64_t>(1, span / sizeOf(type) / ranks);
  const BufferRef whole = take(part * ranks * sizeOf(type));
  BufferRef slice = whole;
  slice.bytes = part * sizeOf(type);
  slice.stride = slice.bytes;
  Command start;
  start.opcode = Opcode::Start;
  start.collective = kind;
  start.ticket = 0;
  start.traffic = TrafficClass::Control;
  start.label = nameOf(kind);
  CollectivePart transfer;
  transfer.send = receives && !sends ? slice : whole;
  transfer.receive = sends && !receives ? slice : whole;
  transfer.count = sends || receives ? part : part * ranks;
  transfer.type = type;
  start.parts = {transfer};
  Command wait;
  wait.opcode = Opcode::Wait;
  wait.ticket = 0;
  wait.label = "wait";
  ladder.micro.commands.push_back(start);
  ladder.micro.commands.push_back(wait);
}

void LadderMaker::addCollectives() {
  for (const DataType type : types)
    for (const Collective kind :
         {Collective::AllReduce, Collective::ReduceScatter,
          Collective::AllGather, Collective::Reduce})
      for (const uint64_t span : kSpans)
        if (span <= bytes / 2)
          addCollective(kind, type, span);
}

Program LadderMaker::make() {
  types.insert(DataType::F32);
  for (const Partition &partition : from.partitions) {
    types.insert(partition.computeType);
    types.insert(partition.gradientType);
  }
  ladder.name = "calibration";
  ladder.training.ranks = from.training.ranks;
  ladder.training.accumulation = 1;
  ladder.partitions.resize(1);
  ladder.arenaBytes[static_cast<int>(Arena::Activations)] = bytes;
  ladder.arenaBytes[static_cast<int>(Arena::Control)] = sizeof(Control);
  addKernels();
  if (from.training.ranks > 1)
    addCollectives();
  return std::move(ladder);
}

Program zrt::makeLadder(const Program &program, uint64_t bytes) {
  return LadderMaker(program, bytes).make();
}
