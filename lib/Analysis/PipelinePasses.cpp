//===- PipelinePasses.cpp - the passes of a stage, and its stash ----------===//

#include "zero/Analysis/PipelinePasses.h"

#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;
using namespace mlir::zero;

/// Rounds of about as many micro-batches as there are stages, which pass the
/// chunks one after the other: sizes of rounds that differ by one at most.
/// Source: Narayanan et al., Efficient Large-Scale Language Model Training on
/// GPU Clusters Using Megatron-LM, 2021, section 2.2; there a multiple.
static SmallVector<int64_t> sizeRounds(const MeshAxes &mesh, int64_t micros) {
  int64_t count =
      mesh.chunks > 1 ? std::max<int64_t>(1, micros / mesh.stages()) : 1;
  SmallVector<int64_t> sizes(count, micros / count);
  for (int64_t i = 0; i < micros % count; ++i)
    ++sizes[i];
  return sizes;
}

/// The passes of one direction.
static SmallVector<PipelinePass>
listHalf(const MeshAxes &mesh, ArrayRef<int64_t> rounds, bool isBackward) {
  SmallVector<PipelinePass> half;
  int64_t first = 0;
  for (int64_t size : rounds) {
    for (int64_t i = 0; i < mesh.chunks; ++i)
      for (int64_t micro = first; micro < first + size; ++micro)
        half.push_back(
            {isBackward, isBackward ? mesh.chunks - 1 - i : i, micro});
    first += size;
  }
  return half;
}

/// Forward passes before the first backward pass.
static int64_t countWarmUp(const MeshAxes &mesh, int64_t micros,
                           int64_t largestRound) {
  const int64_t behind = mesh.stages() - 1 - mesh.stage;
  const int64_t all = micros * mesh.chunks;
  if (mesh.forwardFirst)
    return all;
  return std::min(all, mesh.chunks > 1
                           ? 2 * behind + (mesh.chunks - 1) * largestRound
                           : behind);
}

SmallVector<PipelinePass> mlir::zero::listPasses(const MeshAxes &mesh,
                                                 int64_t micros) {
  const SmallVector<int64_t> rounds = sizeRounds(mesh, micros);
  const auto forward = listHalf(mesh, rounds, /*isBackward=*/false);
  const auto backward = listHalf(mesh, rounds, /*isBackward=*/true);
  const int64_t warmUp = countWarmUp(mesh, micros, rounds.front());
  SmallVector<PipelinePass> passes(forward.begin(), forward.begin() + warmUp);
  for (auto [index, pass] : llvm::enumerate(backward)) {
    if (warmUp + index < forward.size())
      passes.push_back(forward[warmUp + index]);
    passes.push_back(pass);
  }
  return passes;
}

//===----------------------------------------------------------------------===//
// Slots
//===----------------------------------------------------------------------===//

/// The most micro-batches that are under way in each chunk.
static SmallVector<int64_t> countAlive(ArrayRef<PipelinePass> passes,
                                       int64_t chunks) {
  SmallVector<int64_t> most(chunks, 1), now(chunks);
  for (const PipelinePass &pass : passes) {
    now[pass.chunk] += pass.isBackward ? -1 : 1;
    most[pass.chunk] = std::max(most[pass.chunk], now[pass.chunk]);
  }
  return most;
}

namespace {

/// Finds how many slots all stages need. What a stage sends lies in its slot
/// until the other one takes it, and where that one waits for this one, a slot
/// more lets both go on.
class SlotCounter {
public:
  SlotCounter(const MeshAxes &mesh, int64_t micros)
      : places(mesh.stages()), chunks(mesh.chunks), micros(micros) {
    for (int64_t place = 0; place < places; ++place) {
      MeshAxes at = mesh;
      at.stage = place;
      passes.push_back(listPasses(at, micros));
      slots.push_back(countAlive(passes.back(), chunks));
    }
  }

  SmallVector<int64_t> run(int64_t place) {
    while (!completes() && addSlot())
      ;
    return slots[place];
  }

private:
  bool &done(int64_t part, const PipelinePass &pass) {
    return isDone[(part * micros + pass.micro) * 2 + pass.isBackward];
  }
  /// Whether the pass has what it reads.
  bool hasOperands(int64_t place, const PipelinePass &pass) {
    const int64_t part = pass.chunk * places + place;
    if (pass.isBackward)
      return part + 1 == places * chunks || done(part + 1, pass);
    return part == 0 || done(part - 1, pass);
  }
  /// Whether the gradient that was sent from its slot is taken.
  bool hasSlot(int64_t place, const PipelinePass &pass) {
    const int64_t part = pass.chunk * places + place;
    const int64_t last = pass.micro - slots[place][pass.chunk];
    return pass.isBackward || part == 0 || last < 0 ||
           done(part - 1, {/*isBackward=*/true, 0, last});
  }
  bool advance(int64_t place) {
    if (next[place] == passes[place].size())
      return false;
    const PipelinePass &pass = passes[place][next[place]];
    if (!hasOperands(place, pass) || !hasSlot(place, pass))
      return false;
    done(pass.chunk * places + place, pass) = true;
    ++next[place];
    return true;
  }
  bool completes() {
    isDone.assign(2 * places * chunks * micros, false);
    next.assign(places, 0);
    for (bool moved = true; moved;) {
      moved = false;
      for (int64_t place = 0; place < places; ++place)
        while (advance(place))
          moved = true;
    }
    return llvm::all_of(llvm::seq(places), [&](int64_t place) {
      return next[place] == passes[place].size();
    });
  }
  /// A slot for the first pass that waits for one; false where none does.
  bool addSlot() {
    for (int64_t place = 0; place < places; ++place) {
      if (next[place] == passes[place].size())
        continue;
      const PipelinePass &pass = passes[place][next[place]];
      if (!hasOperands(place, pass) || hasSlot(place, pass))
        continue;
      ++slots[place][pass.chunk];
      return true;
    }
    return false;
  }

  int64_t places, chunks, micros;
  /// By place; slots by chunk as well.
  SmallVector<SmallVector<PipelinePass>> passes;
  SmallVector<SmallVector<int64_t>> slots;
  SmallVector<size_t> next;
  SmallVector<bool> isDone;
};

} // namespace

SmallVector<int64_t> mlir::zero::countSlots(const MeshAxes &mesh,
                                            int64_t micros) {
  return SlotCounter(mesh, micros).run(mesh.stage);
}

//===----------------------------------------------------------------------===//
// The stash
//===----------------------------------------------------------------------===//

static int64_t chunkOf(Operation *region) {
  if (auto forward = dyn_cast<ForwardOp>(region))
    return forward.getChunk();
  return cast<MicroOp>(region).getChunk();
}

DenseMap<StringAttr, int64_t> mlir::zero::findRings(StepOp step) {
  DenseMap<StringAttr, int64_t> rings;
  auto add = [&](Operation *op, StringAttr name) {
    int64_t chunk = chunkOf(op->getParentOp());
    auto [known, isNew] = rings.try_emplace(name, chunk);
    known->second = std::min(known->second, chunk);
  };
  step->walk([&](StashOp op) { add(op, op.getNameAttr()); });
  step->walk([&](UnstashOp op) { add(op, op.getNameAttr()); });
  return rings;
}

ArenaKind mlir::zero::getInputArena(BlockArgument input) {
  auto step = cast<StepOp>(input.getOwner()->getParentOp());
  return step.getRegionOp<ForwardOp>() && !input.use_empty()
             ? ArenaKind::Stash
             : ArenaKind::Inputs;
}

namespace {
/// The extent of the values of a ring, in a layout with one slot of each ring.
struct Extent {
  int64_t begin = std::numeric_limits<int64_t>::max(), end = 0;

  void add(Attribute place) {
    if (auto at = dyn_cast_or_null<AtAttr>(place)) {
      begin = std::min(begin, at.getOffset());
      end = std::max(end, at.getEnd());
    }
  }
};
} // namespace

static SmallVector<Extent> findExtents(StepOp step, const MeshAxes &mesh) {
  const DenseMap<StringAttr, int64_t> rings = findRings(step);
  SmallVector<Extent> extents(mesh.chunks);
  if (auto inputs = step->getAttrOfType<ArrayAttr>(kPlaces))
    for (Attribute place : inputs)
      if (cast<AtAttr>(place).getSpace().arena == ArenaKind::Stash)
        extents.front().add(place);
  step->walk([&](StashOp op) {
    int64_t ring = rings.at(op.getNameAttr());
    if (auto places = op->getAttrOfType<ArrayAttr>(kPlaces);
        places && ring < mesh.chunks)
      for (Attribute place : places)
        extents[ring].add(place);
  });
  return extents;
}

SmallVector<StashRing> mlir::zero::measureRings(StepOp step,
                                                const MeshAxes &mesh) {
  SmallVector<StashRing> rings;
  if (!step.getRegionOp<ForwardOp>())
    return rings;
  int64_t end = 0;
  for (auto [extent, slots] : llvm::zip_equal(
           findExtents(step, mesh),
           countSlots(mesh, step.getTraining()->getAccumulation()))) {
    const auto next = static_cast<int64_t>(llvm::alignTo(
        std::max(end, extent.end), static_cast<uint64_t>(kBufferAlignment)));
    rings.push_back({next - end, slots});
    end = next;
  }
  return rings;
}

int64_t mlir::zero::stashBytes(StepOp step, const MeshAxes &mesh) {
  int64_t bytes = 0;
  for (const StashRing &ring : measureRings(step, mesh))
    bytes += ring.bytes * ring.slots;
  return bytes;
}

LogicalResult mlir::zero::verifyRings(StepOp step, const MeshAxes &mesh) {
  int64_t end = 0;
  for (auto [chunk, extent] : llvm::enumerate(findExtents(step, mesh))) {
    if (extent.begin < end)
      return step.emitOpError("has what chunk ")
             << chunk << " stashes from byte " << extent.begin
             << " on, and the chunk before up to byte " << end
             << "; run zero-plan-memory again";
    end = std::max(end, extent.end);
  }
  return success();
}
