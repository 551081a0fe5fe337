//===- PlanBuffers.cpp - what is alive when a plan needs most -------------===//

#include "zero/Analysis/LastUse.h"
#include "zero/Analysis/Schedule.h"
#include "zero/Analysis/Views.h"
#include "zero/Dialect/Zero/PartitionTable.h"
#include "zero/Memory/BufferPlan.h"
#include "zero/Memory/LineBuffers.h"
#include "zero/Plan/PlanSummary.h"

using namespace mlir;
using namespace mlir::zero;

namespace {

/// The buffers of one line of time (see `getTimelines`) that have a place of
/// their own.
class LineBuffers {
public:
  LineBuffers(ArrayRef<Block *> line, const Handles &handles);

  SmallVector<PlacedBuffer> take() { return std::move(buffers); }

  /// Lists what is alive in `space` where most is; returns its bytes. `peak`
  /// becomes that position.
  int64_t findPeak(MemorySpace space, SmallVectorImpl<MemoryLine> &alive,
                   int64_t &peak) const;

private:
  void number(ArrayRef<Block *> line);
  void visit(Operation &op);
  void visitStart(AsyncOpInterface op, DictionaryAttr places);
  void takeOver(AtAttr bucket, ValueRange operands, int64_t &begin);
  void visitKernel(Operation &op, ArrayAttr places);
  void add(std::string name, Attribute place, int64_t begin, int64_t end);
  int64_t lastUse(Value value) const {
    auto found = uses.find(value);
    return found == uses.end() ? 0 : found->second;
  }
  /// The position of the wait for what `op` started.
  int64_t waitOf(Operation *op) const;

  const Handles &handles;
  BlockOrder order;
  StepOp step;
  PartitionTable partitions;
  SmallVector<PlacedBuffer> buffers;
  /// From a value with a place to its buffer.
  DenseMap<Value, size_t> owners;
  /// Last position that needs a value or a view of it.
  DenseMap<Value, int64_t> uses;
};

} // namespace

static bool contains(AtAttr outer, AtAttr inner) {
  return outer.getSpace() == inner.getSpace() &&
         inner.getOffset() >= outer.getOffset() &&
         inner.getEnd() <= outer.getEnd();
}

int64_t LineBuffers::waitOf(Operation *op) const {
  Operation *wait = handles.findWait(op);
  return std::max(order[op], wait ? order[wait] : 0);
}

void LineBuffers::number(ArrayRef<Block *> line) {
  for (Block *block : line)
    for (Operation &op : *block) {
      // What is started borrows its operands until its wait.
      int64_t last = isa<AsyncOpInterface>(op) ? waitOf(&op) : order[&op];
      for (Value operand : op.getOperands()) {
        int64_t &use = uses[getRoot(operand)];
        use = std::max(use, last);
      }
    }
}

LineBuffers::LineBuffers(ArrayRef<Block *> line, const Handles &handles)
    : handles(handles), order(line),
      step(line.front()->getParentOp()->getParentOfType<StepOp>()),
      partitions(step) {
  number(line);
  for (Block *block : line)
    for (Operation &op : *block)
      visit(op);
}

void LineBuffers::add(std::string name, Attribute place, int64_t begin,
                      int64_t end) {
  buffers.push_back(
      {std::move(name), cast<AtAttr>(place), begin, std::max(begin, end)});
}

void LineBuffers::visit(Operation &op) {
  if (auto places = op.getAttrOfType<DictionaryAttr>(kPlaces))
    return visitStart(cast<AsyncOpInterface>(op), places);
  auto places = op.getAttrOfType<ArrayAttr>(kPlaces);
  if (places && !getView(&op))
    visitKernel(op, places);
}

/// Operands that were made in the bucket are part of it.
void LineBuffers::takeOver(AtAttr bucket, ValueRange operands, int64_t &begin) {
  for (Value operand : operands)
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
}

/// "gathered @w", "bucket of @p0[0 to 12]", "gradients to host of p0[0 to 12]".
static std::string describeBuffer(AsyncOpInterface start,
                                  const AsyncBuffer &buffer, AtAttr place,
                                  const PartitionTable &partitions) {
  if (buffer.parameter)
    return ("gathered @" + buffer.parameter.getValue()).str();
  if (buffer.state == "parameters" && buffer.form == AccumulateForm::Slice)
    return "uploaded slice of @" + buffer.name;
  if (!buffer.partition)
    return place.getSpace().tier == MemoryTier::Device ? buffer.name
                                                       : start.getHandleName();
  std::string name =
      (buffer.name + " of @" + buffer.partition.getValue()).str();
  bool isAll =
      buffer.form == AccumulateForm::Owned && buffer.begin == 0 &&
      buffer.end == partitions.find(buffer.partition).getFlatElements();
  if (!isAll)
    name += "[" + std::to_string(buffer.begin) + " to " +
            std::to_string(buffer.end) + "]";
  return name;
}

void LineBuffers::visitStart(AsyncOpInterface op, DictionaryAttr places) {
  auto described = op.getBuffers(partitions, *step.getTraining());
  WaitOp wait = handles.findWait(op);
  // By buffer, the last use of what it holds.
  SmallVector<int64_t> ends(described.size(), waitOf(op));
  for (auto [index, buffer] : llvm::enumerate(described))
    if (wait && buffer.result >= 0) {
      int64_t &end =
          ends[buffer.memory == AsyncBuffer::Memory::Part ? buffer.index
                                                          : index];
      end = std::max(end, lastUse(wait.getResult(buffer.result)));
    }
  for (auto [index, buffer] : llvm::enumerate(described)) {
    auto place = places.getAs<AtAttr>(buffer.name);
    if (!buffer.isPlaced || !place)
      continue;
    using Memory = AsyncBuffer::Memory;
    bool isBucket = buffer.memory == Memory::State && buffer.isRead;
    bool isUpdated = buffer.memory == Memory::Operand && buffer.result >= 0;
    if (buffer.memory != Memory::Own && !isBucket && !isUpdated)
      continue;
    int64_t begin = buffer.isMadeAtWait() && wait ? order[wait] : order[op];
    if (buffer.isRead)
      takeOver(place, op->getOperands(), begin);
    add(describeBuffer(op, buffer, place, partitions), place, begin,
        ends[index]);
    if (wait && buffer.result >= 0)
      owners[wait.getResult(buffer.result)] = buffers.size() - 1;
  }
}

void LineBuffers::visitKernel(Operation &op, ArrayAttr places) {
  int64_t begin = order[&op];
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
    if (auto strided = dyn_cast<StridedOp>(op))
      name = strided.getKernel()->getName().getStringRef().str();
    if (auto launch = dyn_cast<LaunchOp>(op))
      name += (" @" + launch.getKernel()).str();
    std::string where = describePlace(op.getLoc());
    add(where.empty() ? name : name + " at " + where, place, begin,
        lastUse(result));
    buffers.back().predecessor = predecessor;
    owners[result] = buffers.size() - 1;
  }
}

int64_t LineBuffers::findPeak(MemorySpace space,
                              SmallVectorImpl<MemoryLine> &alive,
                              int64_t &peak) const {
  SmallVector<int64_t> changes(order.size() + 2, 0);
  for (const PlacedBuffer &buffer : buffers)
    if (buffer.place.getSpace() == space && buffer.begin <= buffer.end) {
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
    if (most > 0 && buffer.place.getSpace() == space && buffer.begin <= peak &&
        buffer.end >= peak)
      alive.push_back({buffer.name, buffer.place.getBytes()});
  return most;
}

SmallVector<PlacedBuffer> mlir::zero::listLineBuffers(ArrayRef<Block *> line,
                                                      const Handles &handles) {
  return LineBuffers(line, handles).take();
}

/// "micro, nn.linear at file.mlir:3:1" for the operation at `position`.
static std::string describePeak(ArrayRef<Block *> line, int64_t position) {
  for (Block *block : line) {
    int64_t size = block->getOperations().size();
    if (position >= size) {
      position -= size;
      continue;
    }
    Operation &op = *std::next(block->begin(), position);
    std::string text = describeRegion(block->getParentOp()) + ", " +
                       op.getName().getStringRef().str();
    std::string where = describePlace(op.getLoc());
    return where.empty() ? text : text + " at " + where;
  }
  return "";
}

void mlir::zero::detail::summarizeBuffers(StepOp step, PlanSummary &summary) {
  int64_t most[MemorySpace::kCount] = {};
  Handles handles(step);
  for (const SmallVector<Block *> &line : getTimelines(step)) {
    LineBuffers buffers(line, handles);
    for (MemorySpace space : BufferPlan::getSpaces()) {
      int index = space.index();
      SmallVector<MemoryLine> alive;
      int64_t position = 0;
      int64_t bytes = buffers.findPeak(space, alive, position);
      if (bytes <= most[index])
        continue;
      most[index] = bytes;
      summary.arenas[index].lines = std::move(alive);
      summary.arenas[index].peak = describePeak(line, position);
    }
  }
}
