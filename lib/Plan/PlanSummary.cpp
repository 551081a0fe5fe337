//===- PlanSummary.cpp - what a planned schedule needs --------------------===//

#include "zero/Plan/PlanSummary.h"

#include "zero/Analysis/GivenGradients.h"
#include "zero/Analysis/Mesh.h"
#include "zero/Analysis/PipelinePasses.h"
#include "zero/Memory/StatePlan.h"

#include "program/Control.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::zero;

int64_t PlanSummary::totalBytes(MemoryTier tier) const {
  int64_t total = 0;
  for (const ArenaSummary &arena : arenas)
    if (arena.space.tier == tier)
      total += arena.bytes;
  return total;
}

int64_t PlanSummary::stateBytes() const {
  return arena({ArenaKind::Parameters}).bytes +
         arena({ArenaKind::Gradients}).bytes +
         arena({ArenaKind::Optimizer}).bytes;
}

std::string mlir::zero::describeRegion(Operation *region) {
  auto micro = dyn_cast<MicroOp>(region);
  return (micro && micro.getLast() ? "last " : "") +
         region->getName().stripDialect().str();
}

std::string mlir::zero::describePlace(Location loc) {
  std::string text;
  loc->walk([&](Location part) {
    auto file = dyn_cast<FileLineColLoc>(part);
    if (!file)
      return WalkResult::advance();
    text = file.getFilename().str() + ":" + std::to_string(file.getLine()) +
           ":" + std::to_string(file.getColumn());
    return WalkResult::interrupt();
  });
  return text;
}

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

namespace {

/// What a partition keeps of elements [begin, end) in one memory space.
struct State {
  MemorySpace space;
  /// Those that have it together; 1 where each rank has all of it.
  int64_t slices;
  int64_t begin, end;
  /// Bytes an element.
  int64_t bytes;
};

class StateSummary {
public:
  explicit StateSummary(PlanSummary &summary) : summary(summary) {}
  void add(PartitionOp partition);
  void addResident(StringRef name, AtAttr place);
  void finish();

private:
  void addErrors(PartitionOp partition);
  void addPacked(PartitionOp partition);
  /// Elements that all ranks together hold per rank, times the bytes.
  int64_t share(const State &state, int64_t elements) const {
    return elements * state.bytes / state.slices;
  }

  PlanSummary &summary;
  /// Of each memory space, bytes times slices by the closed form.
  int64_t formulas[MemorySpace::kCount] = {};
  int64_t padding[MemorySpace::kCount] = {};
  /// Of what quantized gradients lose, by the step of their exchange.
  int64_t errors[2] = {};
};

} // namespace

/// The optimizer's states of the same elements in the same space are one.
static SmallVector<State> statesOf(PartitionOp partition) {
  int64_t flat = partition.getFlatElements();
  auto slices = [&](bool sharded) {
    return sharded ? partition.getSlices() : 1;
  };
  SmallVector<State> states = {
      {{ArenaKind::Parameters, partition.getParameterTier()},
       slices(partition.hasShardedParameters()),
       0,
       flat,
       elementBytes(partition.getComputeType())}};
  if (!partition.isTrainable())
    return states;
  states.push_back({ArenaKind::Gradients,
                    slices(partition.hasShardedGradients()), 0, flat,
                    elementBytes(partition.getGradientType())});
  for (StateAttr state : partition.getStateRange())
    for (StateRangeAttr range : state.getRanges()) {
      auto [begin, end] = partition.getBounds(range);
      State kept = {{ArenaKind::Optimizer, range.getTier()},
                    slices(partition.hasShardedOptimizer()),
                    begin,
                    end,
                    elementBytes(state.getType())};
      auto same = llvm::find_if(states, [&](const State &other) {
        return other.space == kept.space && other.begin == kept.begin &&
               other.end == kept.end;
      });
      if (same == states.end())
        states.push_back(kept);
      else
        same->bytes += kept.bytes;
    }
  return states;
}

/// A rank's slices of parameters as integers and scales.
void StateSummary::addPacked(PartitionOp partition) {
  const int index =
      MemorySpace{ArenaKind::Parameters, partition.getParameterTier()}.index();
  const QuantizationAttr quantized = partition.getQuantizedAttr();
  int64_t left = partition.getParameterBytes(0, partition.getFlatElements());
  for (MemberAttr member : partition.getMemberRange()) {
    const int64_t bytes = quantized.getPackedBytes(
        llvm::divideCeilSigned(member.getSize(), partition.getSlices()));
    summary.arenas[index].lines.push_back(
        {("@" + member.getParameter().getValue() + ", quantized").str(),
         bytes});
    formulas[index] += bytes * summary.slices;
    left -= bytes;
  }
  padding[index] += left;
}

void StateSummary::add(PartitionOp partition) {
  for (MemberAttr member : partition.getMemberRange())
    (partition.isTrainable() ? summary.trained : summary.untrained) +=
        member.getSize();
  if (partition.getQuantized())
    return addPacked(partition);
  for (const State &state : statesOf(partition)) {
    int index = state.space.index();
    int64_t elements = 0;
    for (MemberAttr member : partition.getMemberRange()) {
      int64_t first = std::max(state.begin, member.getOffset());
      int64_t last = std::min(state.end, member.getOffset() + member.getSize());
      bool isElsewhere = first >= last && member.getSize() > 0;
      if (isElsewhere)
        continue;
      int64_t inside = std::max<int64_t>(last - first, 0);
      elements += inside;
      summary.arenas[index].lines.push_back(
          {("@" + member.getParameter().getValue()).str(),
           share(state, inside)});
    }
    formulas[index] += elements * state.bytes * (summary.slices / state.slices);
    padding[index] += share(state, state.end - state.begin - elements);
  }
  addErrors(partition);
}

/// Every rank has those of its own gradients.
void StateSummary::addErrors(PartitionOp partition) {
  int index = MemorySpace{ArenaKind::Gradients}.index();
  int64_t elements = 0;
  for (MemberAttr member : partition.getMemberRange())
    elements += member.getSize();
  for (auto [step, each] :
       llvm::enumerate(partition.getErrors().value_or(ArrayRef<int64_t>()))) {
    int64_t bytes = elementBytes(BFloat16Type::get(partition.getContext()));
    int64_t kept = llvm::divideCeil(elements * bytes, each);
    errors[step] += kept;
    formulas[index] += elements * bytes * summary.slices / each;
    padding[index] += partition.getFlatElements() / each * bytes - kept;
  }
}

void StateSummary::addResident(StringRef name, AtAttr place) {
  summary.arenas[place.getSpace().index()].lines.push_back(
      {("resident copy of @" + name).str(), place.getBytes()});
}

void StateSummary::finish() {
  for (int index = 0; index < MemorySpace::kCount; ++index) {
    ArenaKind kind = MemorySpace::at(index).arena;
    if (kind != ArenaKind::Parameters && kind != ArenaKind::Gradients &&
        kind != ArenaKind::Optimizer)
      continue;
    ArenaSummary &arena = summary.arenas[index];
    if (index == MemorySpace{ArenaKind::Gradients}.index())
      for (auto [name, bytes] :
           {std::pair("errors of quantized gradients", errors[0]),
            std::pair("errors of their sums within groups", errors[1])})
        if (bytes)
          arena.lines.push_back({name, bytes});
    arena.formula = llvm::divideCeil(formulas[index], summary.slices);
    if (padding[index])
      arena.lines.push_back({"padding", padding[index]});
  }
}

void mlir::zero::detail::summarizeStates(ModuleOp module,
                                         PlanSummary &summary) {
  StateSummary states(summary);
  for (PartitionOp partition : module.getOps<PartitionOp>())
    states.add(partition);
  StepOp step = *module.getOps<StepOp>().begin();
  StatePlaces places(module);
  for (FlatSymbolRefAttr name : getResidentParameters(step))
    states.addResident(name.getValue(), places.getWhole(name.getAttr()));
  for (auto [index, argument] :
       llvm::enumerate(step->getAttrOfType<ArrayAttr>(kPlaces))) {
    auto name = step.getArgAttrOfType<StringAttr>(index, kInput);
    FlatSymbolRefAttr gradient = getGradientOf(step, index);
    auto place = cast<AtAttr>(argument);
    summary.arenas[place.getSpace().index()].lines.push_back(
        {gradient ? "given gradient of " + gradient.getValue().str()
         : name   ? name.str()
                  : "input " + std::to_string(index),
         place.getBytes()});
  }
  states.finish();
}

//===----------------------------------------------------------------------===//
// Arenas
//===----------------------------------------------------------------------===//

/// The size of each arena: the end of the last place in it, on the last rank.
static void measureArenas(ModuleOp module, const MeshAxes &mesh,
                          PlanSummary &summary) {
  auto measure = [&](Attribute attribute) {
    auto place = dyn_cast_or_null<AtAttr>(attribute);
    if (!place)
      return;
    int64_t &bytes = summary.arenas[place.getSpace().index()].bytes;
    bytes = std::max(bytes, place.getEnd() +
                                place.getStride() * (mesh.slicesOf(place) - 1));
  };
  for (PartitionOp partition : module.getOps<PartitionOp>())
    for (const auto &[name, place] : partition.getPlaces())
      measure(place);
  module->walk([&](Operation *op) { llvm::for_each(listPlaces(op), measure); });
  summary.arenas[MemorySpace{ArenaKind::Stash}.index()].bytes =
      stashBytes(*module.getOps<StepOp>().begin(), mesh);
}

/// Sorts the lines and names what is left of the arena.
static void completeLines(ArenaSummary &arena) {
  int64_t left = arena.bytes;
  for (const MemoryLine &line : arena.lines)
    left -= line.bytes;
  llvm::sort(arena.lines, [](const MemoryLine &a, const MemoryLine &b) {
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.name < b.name;
  });
  bool isPlanned = arena.space.arena == ArenaKind::Activations ||
                   arena.space.arena == ArenaKind::Communication;
  if (left != 0)
    arena.lines.push_back(
        {isPlanned ? "gaps and alignment at the peak" : "alignment of buffers",
         left});
}

/// The work of one micro-batch, in all of its passes.
static void measureMicro(StepOp step, PlanSummary &summary) {
  for (Operation &region : step.getBody().front()) {
    auto micro = dyn_cast<MicroOp>(region);
    if (!isa<ForwardOp>(region) && (!micro || micro.getLast()))
      continue;
    Block &block = region.getRegion(0).front();
    summary.work += measureWork(block);
    if (micro)
      summary.recomputed += measureRecomputation(block);
  }
}

PlanSummary mlir::zero::summarizePlan(ModuleOp module) {
  StepOp step = *module.getOps<StepOp>().begin();
  TrainingAttr training = *step.getTraining();
  PlanSummary summary;
  summary.stage = training.getStage();
  MeshAxes mesh = getMesh(module, training);
  summary.ranks = mesh.ranks.getSize();
  summary.slices = mesh.slices();
  summary.accumulation = training.getAccumulation();
  const PartitionTable partitions(module);
  for (ParameterOp parameter : module.getOps<ParameterOp>())
    if (partitions.getPartition(parameter.getSymNameAttr()))
      summary.ofModel += parameter.getFileType().getNumElements();
  for (int index = 0; index < MemorySpace::kCount; ++index)
    summary.arenas.emplace_back().space = MemorySpace::at(index);
  measureArenas(module, mesh, summary);
  // What every rank keeps of its own run: loss scale, step count, norm.
  ArenaSummary &control =
      summary.arenas[MemorySpace{ArenaKind::Control}.index()];
  control.bytes = sizeof(zrt::Control);
  control.lines.push_back({"control block", control.bytes});
  detail::summarizeStates(module, summary);
  detail::summarizeBuffers(step, summary);
  detail::summarizeTraffic(module, summary);
  measureMicro(step, summary);
  for (ArenaSummary &arena : summary.arenas)
    completeLines(arena);
  return summary;
}
