//===- PlanBuffers.cpp - what is alive when a plan needs most -------------===//

#include "zero/Analysis/PlanSummary.h"
#include "zero/Analysis/RegionBuffers.h"
#include "zero/Analysis/Views.h"

using namespace mlir;
using namespace mlir::zero;

namespace {

/// The buffers of one region that have a place of their own.
class RegionBuffers {
public:
  explicit RegionBuffers(Block &block);

  SmallVector<PlacedBuffer> take() { return std::move(buffers); }

  /// Lists what is alive in `arena` where most is; returns its bytes. `peak`
  /// becomes that position.
  int64_t findPeak(ArenaKind arena, SmallVectorImpl<MemoryLine> &alive,
                   int64_t &peak) const;

private:
  void number(Block &block);
  void visit(Operation &op);
  void visitGather(AllGatherOp gather, ArrayAttr places);
  void visitReduction(Operation &op, ArrayAttr places);
  void visitKernel(Operation &op, ArrayAttr places);
  void add(std::string name, Attribute place, int64_t begin, int64_t end);
  int64_t lastUse(Value value) const {
    auto found = uses.find(value);
    return found == uses.end() ? 0 : found->second;
  }
  /// The position of the wait for what `op` started.
  int64_t waitOf(Operation *op) const;

  SmallVector<PlacedBuffer> buffers;
  /// From a value with a place to its buffer.
  DenseMap<Value, size_t> owners;
  DenseMap<Operation *, int64_t> positions;
  /// Last position that needs a value or a view of it.
  DenseMap<Value, int64_t> uses;
};

} // namespace

static bool isReduction(Operation *op) {
  return isa<AllReduceOp, ReduceScatterOp, BucketedReduceOp>(op);
}

static bool contains(AtAttr outer, AtAttr inner) {
  return outer.getArena() == inner.getArena() &&
         inner.getOffset() >= outer.getOffset() &&
         inner.getOffset() + inner.getBytes() <=
             outer.getOffset() + outer.getBytes();
}

int64_t RegionBuffers::waitOf(Operation *op) const {
  int64_t last = positions.lookup(op);
  for (Operation *user : op->getUsers())
    last = std::max(last, positions.lookup(user));
  return last;
}

void RegionBuffers::number(Block &block) {
  int64_t next = 0;
  for (Operation &op : block)
    positions[&op] = next++;
  for (Operation &op : block) {
    // A reduction borrows its operands until its wait.
    int64_t last = isReduction(&op) ? waitOf(&op) : positions.lookup(&op);
    for (Value operand : op.getOperands()) {
      int64_t &use = uses[getRoot(operand)];
      use = std::max(use, last);
    }
  }
}

RegionBuffers::RegionBuffers(Block &block) {
  number(block);
  for (Operation &op : block)
    visit(op);
}

void RegionBuffers::add(std::string name, Attribute place, int64_t begin,
                        int64_t end) {
  buffers.push_back(
      {std::move(name), cast<AtAttr>(place), begin, std::max(begin, end)});
}

void RegionBuffers::visit(Operation &op) {
  auto places = op.getAttrOfType<ArrayAttr>("zero.at");
  if (!places || getView(&op))
    return;
  if (auto gather = dyn_cast<AllGatherOp>(op))
    return visitGather(gather, places);
  if (isReduction(&op))
    return visitReduction(op, places);
  visitKernel(op, places);
}

void RegionBuffers::visitGather(AllGatherOp gather, ArrayAttr places) {
  int64_t begin = positions.lookup(gather);
  WaitOp wait;
  for (Operation *user : gather->getUsers())
    wait = dyn_cast<WaitOp>(user);
  for (auto [index, symbol] : llvm::enumerate(
           gather.getParameters().getAsRange<FlatSymbolRefAttr>())) {
    int64_t end = waitOf(gather);
    if (wait)
      end = std::max(end, lastUse(wait.getResult(index)));
    add(("gathered @" + symbol.getValue()).str(), places[index], begin, end);
  }
}

void RegionBuffers::visitReduction(Operation &op, ArrayAttr places) {
  auto bucket = cast<AtAttr>(places[0]);
  int64_t begin = positions.lookup(&op), end = waitOf(&op);
  for (Operation *user : op.getUsers())
    for (Value result : user->getResults())
      end = std::max(end, lastUse(result));
  // Gradients that were made in the bucket are part of it.
  for (Value operand : op.getOperands())
    if (auto found = owners.find(getRoot(operand)); found != owners.end()) {
      for (int64_t index = found->second; index >= 0;
           index = buffers[index].predecessor) {
        PlacedBuffer &inside = buffers[index];
        if (!contains(bucket, inside.place))
          break;
        begin = std::min(begin, inside.begin);
        inside.end = inside.begin - 1;
      }
    }
  auto partition = op.getAttrOfType<FlatSymbolRefAttr>("partition");
  std::string name = ("bucket of @" + partition.getValue()).str();
  if (auto first = op.getAttrOfType<IntegerAttr>("begin"))
    name += "[" + std::to_string(first.getInt()) + " to " +
            std::to_string(op.getAttrOfType<IntegerAttr>("end").getInt()) + "]";
  add(name, bucket, begin, end);
}

void RegionBuffers::visitKernel(Operation &op, ArrayAttr places) {
  int64_t begin = positions.lookup(&op);
  size_t index = 0;
  for (Value result : op.getResults()) {
    if (!isa<RankedTensorType>(result.getType()) || index >= places.size())
      continue;
    auto place = cast<AtAttr>(places[index++]);
    // A result in the place of an input that dies here takes over from it.
    int64_t predecessor = -1;
    for (Value operand : op.getOperands())
      if (auto found = owners.find(getRoot(operand)); found != owners.end())
        if (buffers[found->second].place == place)
          predecessor = found->second;
    if (predecessor >= 0)
      buffers[predecessor].end = begin - 1;
    std::string name = op.getName().getStringRef().str();
    if (auto launch = dyn_cast<LaunchOp>(op))
      name += (" @" + launch.getKernel()).str();
    std::string where = describePlace(op.getLoc());
    add(where.empty() ? name : name + " at " + where, place, begin,
        lastUse(result));
    buffers.back().predecessor = predecessor;
    owners[result] = buffers.size() - 1;
  }
}

int64_t RegionBuffers::findPeak(ArenaKind arena,
                                SmallVectorImpl<MemoryLine> &alive,
                                int64_t &peak) const {
  SmallVector<int64_t> changes(positions.size() + 2, 0);
  for (const PlacedBuffer &buffer : buffers)
    if (buffer.place.getArena() == arena && buffer.begin <= buffer.end) {
      changes[buffer.begin] += buffer.place.getBytes();
      changes[buffer.end + 1] -= buffer.place.getBytes();
    }
  int64_t live = 0, most = 0;
  for (auto [position, change] : llvm::enumerate(changes))
    if ((live += change) > most) {
      most = live;
      peak = position;
    }
  for (const PlacedBuffer &buffer : buffers)
    if (most > 0 && buffer.place.getArena() == arena && buffer.begin <= peak &&
        buffer.end >= peak)
      alive.push_back({buffer.name, buffer.place.getBytes()});
  return most;
}

SmallVector<PlacedBuffer> mlir::zero::listRegionBuffers(Block &block) {
  return RegionBuffers(block).take();
}

void mlir::zero::detail::summarizeBuffers(StepOp step, PlanSummary &summary) {
  int64_t most[getMaxEnumValForArenaKind() + 1] = {};
  for (Operation &region : step.getBody().front()) {
    Block &block = region.getRegion(0).front();
    RegionBuffers buffers(block);
    for (ArenaKind kind : {ArenaKind::Activations, ArenaKind::Communication}) {
      int index = static_cast<int>(kind);
      SmallVector<MemoryLine> alive;
      int64_t position = 0;
      int64_t bytes = buffers.findPeak(kind, alive, position);
      if (bytes <= most[index])
        continue;
      most[index] = bytes;
      Operation &op = *std::next(block.begin(), position);
      summary.arenas[index].lines = std::move(alive);
      summary.arenas[index].peak =
          (region.getName().stripDialect() + ", " + op.getName().getStringRef())
              .str();
      if (std::string where = describePlace(op.getLoc()); !where.empty())
        summary.arenas[index].peak += " at " + where;
    }
  }
}
