//===- MemoryInterpreter.cpp - bytes, states, kernels ---------------------===//

#include "MemoryInterpreter.h"

#include "zero/Analysis/Schedule.h"
#include "zero/Analysis/Views.h"
#include "zero/Interfaces/Interfaces.h"
#include "zero/Memory/StatePlan.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::zero;

MemoryInterpreter::MemoryInterpreter(ModuleOp module, int64_t rank,
                                     bool completesEarly)
    : module(module), step(*module.getOps<StepOp>().begin()), rank(rank),
      ranks(step.getTraining()->getRanks()), completesEarly(completesEarly),
      arenas(MemorySpace::kCount) {}

bool MemoryInterpreter::fail(Operation *op, const Twine &why) {
  failure = (op->getName().getStringRef() + " " + why).str();
  return false;
}

//===----------------------------------------------------------------------===//
// Bytes
//===----------------------------------------------------------------------===//

ByteRange MemoryInterpreter::rangeOf(AtAttr at) const {
  int64_t begin = at.getOffset() + rank * at.getStride();
  return {at.getSpace(), begin, begin + at.getBytes()};
}

ByteRange MemoryInterpreter::part(const ByteRange &whole, int64_t offset,
                                  int64_t bytes) const {
  return {whole.space, whole.begin + offset, whole.begin + offset + bytes};
}

Marks MemoryInterpreter::fresh(int64_t bytes) {
  Marks marks(bytes);
  for (uint64_t &mark : marks)
    mark = next++;
  return marks;
}

bool MemoryInterpreter::write(const ByteRange &range, const Marks &marks,
                              Operation *op) {
  int64_t size = marks.size();
  if (range.begin < 0 || range.end - range.begin < size)
    return fail(op, "writes more than its place holds");
  Marks &arena = arenas[range.space.index()];
  if (static_cast<int64_t>(arena.size()) < range.begin + size)
    arena.resize(range.begin + size);
  llvm::copy(marks, arena.begin() + range.begin);
  return true;
}

bool MemoryInterpreter::read(const ByteRange &range, const Marks &marks,
                             Operation *op) {
  const Marks &arena = arenas[range.space.index()];
  int64_t size = marks.size();
  if (range.begin < 0 || range.end - range.begin < size ||
      range.begin + size > static_cast<int64_t>(arena.size()))
    return fail(op, "reads more than its place holds");
  for (int64_t i = 0; i < size; ++i)
    if (arena[range.begin + i] != marks[i])
      return fail(op, "finds something else in byte " + Twine(i) + " of " +
                          range.space.describe() + "[" + Twine(range.begin) +
                          "]");
  return true;
}

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

MemoryInterpreter::State &MemoryInterpreter::stateOf(PartitionOp partition,
                                                     StringRef name) {
  return states[partition.getSymName()][name];
}

ByteRange MemoryInterpreter::baseOf(const State &state, int64_t element) const {
  auto found = std::prev(state.places.upper_bound(element));
  ByteRange base = rangeOf(found->second);
  base.begin -= found->first / (state.isSharded ? ranks : 1) * state.bytes;
  return base;
}

ByteRange MemoryInterpreter::sliceOf(const State &state, int64_t begin,
                                     int64_t end) const {
  int64_t slice = (end - begin) / ranks;
  int64_t first = state.isSharded ? begin / ranks : begin + rank * slice;
  return part(baseOf(state, begin), first * state.bytes, slice * state.bytes);
}

bool MemoryInterpreter::readOwned(PartitionOp partition, StringRef name,
                                  Operation *op, int64_t begin, int64_t end) {
  State &state = stateOf(partition, name);
  return forOwned(partition, state, begin, end,
                  [&](ByteRange place, int64_t from, int64_t bytes) {
                    return read(place, cut(state.marks, from, bytes), op);
                  });
}

bool MemoryInterpreter::writeOwned(PartitionOp partition, StringRef name,
                                   Operation *op, int64_t begin, int64_t end) {
  State &state = stateOf(partition, name);
  llvm::copy(fresh((end - begin) * state.bytes),
             state.marks.begin() + begin * state.bytes);
  return forOwned(partition, state, begin, end,
                  [&](ByteRange place, int64_t from, int64_t bytes) {
                    return write(place, cut(state.marks, from, bytes), op);
                  });
}

/// This rank's elements of [begin, end), one after the other.
bool MemoryInterpreter::listOwned(PartitionOp partition, StringRef name,
                                  Operation *op, int64_t begin, int64_t end,
                                  Marks &owned) {
  State &state = stateOf(partition, name);
  return forOwned(partition, state, begin, end,
                  [&](ByteRange place, int64_t from, int64_t bytes) {
                    Marks marks = cut(state.marks, from, bytes);
                    llvm::append_range(owned, marks);
                    return read(place, marks, op);
                  });
}

void MemoryInterpreter::placeState(PartitionOp partition, StringRef name,
                                   bool isSharded, Type type) {
  State &state = stateOf(partition, name);
  state.isSharded = isSharded;
  state.bytes = elementBytes(type);
  state.marks = fresh(partition.getFlatElements() * state.bytes);
  if (!isSharded)
    for (const auto &[begin, at] : state.places)
      write(rangeOf(at), cut(state.marks, begin * state.bytes, at.getBytes()),
            partition);
  for (auto [begin, end] :
       partition.getSegmentsIn(0, partition.getFlatElements()))
    if (int64_t slice = (end - begin) / partition.getSlices() * state.bytes;
        isSharded)
      write(sliceOf(state, begin, end),
            cut(state.marks, begin * state.bytes + rank * slice, slice),
            partition);
}

static bool areErrors(StringRef name) {
  return name == "errors" || name == "errors_between";
}

/// A rank has two bytes for each element that a step of an exchange packs:
/// all of the flat space, or a node's part of it.
void MemoryInterpreter::placeErrors(PartitionOp partition, StringRef name,
                                    AtAttr at) {
  State &state = stateOf(partition, name);
  state.bytes = 2;
  int64_t each = 1;
  if (name == "errors_between")
    each = step.getTraining()->getPlanning().getGradientsWithin().getSize();
  state.marks = fresh(partition.getFlatElements() / each * state.bytes);
  write(rangeOf(at), state.marks, partition);
}

/// Integers, and a scale for each block from a multiple of four bytes on,
/// padded to sixteen: one slice after the other. What is unpacked of them has
/// marks of its own.
void MemoryInterpreter::placePacked(PartitionOp partition, AtAttr at) {
  State &state = stateOf(partition, "parameters");
  state.isSharded = true;
  state.bytes = elementBytes(partition.getComputeType());
  state.marks = fresh(partition.getFlatElements() * state.bytes);
  const int64_t bits = partition.getQuantized()->getBits();
  const int64_t block = partition.getQuantized()->getBlock();
  int64_t offset = 0;
  for (MemberAttr member : partition.getMemberRange()) {
    StringRef name = member.getParameter().getValue();
    auto [begin, end] = partition.getSegmentsOf(name);
    const int64_t slice = (end - begin) / ranks;
    const int64_t integers =
        llvm::alignTo(llvm::divideCeil(slice * bits, 8), 4);
    const int64_t bytes =
        llvm::alignTo(integers + 4 * llvm::divideCeil(slice, block), 16);
    Content &content = packedSlices[name];
    content.place = part(rangeOf(at), offset, bytes);
    content.marks = fresh(bytes);
    write(content.place, content.marks, partition);
    offset += bytes;
  }
}

/// Fills every state, as a run does before its first step, and constants.
void MemoryInterpreter::place() {
  for (PartitionOp partition : module.getOps<PartitionOp>()) {
    partitionOf[partition.getSymName()] = partition;
    for (MemberAttr member : partition.getMemberRange())
      partitionOf[member.getParameter().getValue()] = partition;
    for (NamedAttribute entry : partition.getAtAttr()) {
      StringRef name = entry.getName();
      stateOf(partition, name).places[0] = cast<AtAttr>(entry.getValue());
      if (areErrors(name)) {
        placeErrors(partition, name, cast<AtAttr>(entry.getValue()));
        continue;
      }
      if (name == "parameters" && partition.getQuantized()) {
        placePacked(partition, cast<AtAttr>(entry.getValue()));
        continue;
      }
      placeState(partition, name,
                 name == "parameters" ? partition.hasShardedParameters()
                                      : partition.hasShardedGradients(),
                 name == "parameters" ? partition.getComputeType()
                                      : partition.getGradientType());
    }
    if (!partition.isTrainable())
      continue;
    for (StateAttr state : partition.getStateRange()) {
      for (StateRangeAttr range : state.getRanges())
        stateOf(partition, state.getName()).places[range.getBegin()] =
            range.getAt();
      placeState(partition, state.getName(), partition.hasShardedOptimizer(),
                 state.getType());
    }
  }
  DenseMap<Attribute, Marks> byValue;
  step->walk([&](Operation *op) {
    auto at = op->getAttrOfType<ArrayAttr>("zero.at");
    if (!at || !op->hasTrait<OpTrait::ConstantLike>())
      return;
    Marks &marks = byValue[op->getAttr("value")];
    if (marks.empty())
      marks = fresh(tensorBytes(op->getResult(0).getType()));
    constants[op] = marks;
    write(rangeOf(cast<AtAttr>(at[0])), marks, op);
  });
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

bool MemoryInterpreter::visitLoad(LoadOp load) {
  Content &content = values[load];
  auto resident = residents.find(load.getParameter());
  if (resident != residents.end()) {
    content = resident->second;
    content.marks.resize(tensorBytes(load.getType()));
    return true;
  }
  PartitionOp partition = partitionOf[load.getParameter()];
  State &state = stateOf(partition, "parameters");
  MemberAttr member = partition.findMember(load.getParameter());
  int64_t from = member.getOffset() * state.bytes;
  int64_t bytes = member.getSize() * state.bytes;
  content = {part(baseOf(state, 0), from, bytes),
             cut(state.marks, from, bytes)};
  return true;
}

bool MemoryInterpreter::readValue(Value value, Operation *op) {
  if (!isa<RankedTensorType>(value.getType()))
    return true;
  // A load is no copy: what it gives is the parameter at the time of its use.
  if (auto load = getRoot(value).getDefiningOp<LoadOp>())
    visitLoad(load);
  if (std::optional<View> view = value.getDefiningOp()
                                     ? getView(value.getDefiningOp())
                                     : std::nullopt) {
    if (!readValue(view->source, op))
      return false;
    const Content source = values[view->source];
    int64_t bytes = tensorBytes(value.getType());
    values[value] = {part(source.place, view->offset, bytes),
                     cut(source.marks, view->offset, bytes)};
  }
  auto found = values.find(value);
  if (found == values.end())
    return fail(op, "reads a value without a place");
  return read(found->second.place, found->second.marks, op);
}

bool MemoryInterpreter::visitKernel(Operation *op) {
  auto at = op->getAttrOfType<ArrayAttr>("zero.at");
  SmallVector<std::pair<Type, ByteRange>> inputs;
  for (Value operand : op->getOperands()) {
    if (!readValue(operand, op))
      return false;
    if (isa<RankedTensorType>(operand.getType()))
      inputs.push_back({operand.getType(), values[operand].place});
  }
  size_t index = 0;
  for (Value result : op->getResults()) {
    if (!isa<RankedTensorType>(result.getType()))
      continue;
    Content content;
    content.place = rangeOf(cast<AtAttr>(at[index++]));
    // Some kernels read an element before they write it; others do not.
    for (const auto &[type, input] : inputs)
      if (input.overlaps(content.place) &&
          !(op->hasTrait<OverwritesOperands>() &&
            haveSameLayout(type, result.getType()) && input == content.place))
        return fail(op, "writes what it reads");
    auto known = constants.find(op);
    content.marks = known != constants.end()
                        ? known->second
                        : fresh(tensorBytes(result.getType()));
    if (known == constants.end() && !write(content.place, content.marks, op))
      return false;
    values[result] = content;
  }
  return true;
}

bool MemoryInterpreter::accumulateOwned(AccumulateOp op) {
  PartitionOp partition = partitionOf[op.getPartition()];
  State &state = stateOf(partition, "gradients");
  Content &value = values[op.getValue()];
  Type type = cast<RankedTensorType>(op.getValue().getType()).getElementType();
  int64_t bytes = elementBytes(type);
  int64_t slice = partition.getFlatElements() / partition.getSlices();
  bool isDirect = storesDirectly(partition, type, *step.getTraining());
  for (const OwnedRun &run : findOwnedRuns(partition, *op.getParameters(),
                                           op.getBegin(), op.getEnd())) {
    ByteRange target =
        part(baseOf(state, 0), (run.flat - rank * slice) * state.bytes,
             run.count * state.bytes);
    Marks marks = fresh(run.count * state.bytes);
    int64_t from = run.flat * state.bytes;
    if (isDirect)
      marks = cut(value.marks, run.inBucket * bytes, run.count * bytes);
    else if (!read(part(value.place, run.inBucket * bytes, run.count * bytes),
                   cut(value.marks, run.inBucket * bytes, run.count * bytes),
                   op) ||
             (!storesFirst &&
              !read(target, cut(state.marks, from, marks.size()), op)) ||
             !write(target, marks, op))
      return false;
    llvm::copy(marks, state.marks.begin() + from);
  }
  return true;
}

bool MemoryInterpreter::accumulate(AccumulateOp op) {
  if (op.getForm() == AccumulateForm::Owned)
    return accumulateOwned(op);
  PartitionOp partition = partitionOf[op.getPartition()];
  State &state = stateOf(partition, "gradients");
  if (!readValue(op.getValue(), op))
    return false;
  int64_t begin = op.getBegin(), end = op.getEnd();
  bool isSlice = op.getForm() == AccumulateForm::Slice;
  int64_t size = (end - begin) / (isSlice ? partition.getSlices() : 1);
  int64_t from = (begin + (isSlice ? rank * size : 0)) * state.bytes;
  ByteRange target = isSlice ? sliceOf(state, begin, end)
                             : part(baseOf(state, 0), from, size * state.bytes);
  const Content &value = values[op.getValue()];
  Marks marks = value.marks;
  // What is produced in its place is stored as it is.
  if (value.place.space != target.space || value.place.begin != target.begin) {
    marks = fresh(size * state.bytes);
    if (!storesFirst && !read(target, cut(state.marks, from, marks.size()), op))
      return false;
    if (!write(target, marks, op))
      return false;
  }
  if (static_cast<int64_t>(marks.size()) != size * state.bytes)
    return fail(op, "stores another size");
  llvm::copy(marks, state.marks.begin() + from);
  return true;
}

bool MemoryInterpreter::update(UpdateOp op) {
  PartitionOp partition = partitionOf[op.getPartition()];
  for (const auto &[name, at] : partition.getPlaces())
    if (!areErrors(name) && !readOwned(partition, name, op))
      return false;
  for (const auto &[name, at] : partition.getPlaces())
    if (name != "gradients" && !areErrors(name) &&
        !writeOwned(partition, name, op))
      return false;
  return true;
}

bool MemoryInterpreter::visit(Operation *op) {
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([&](AsyncOpInterface op) { return !op.getPending() || start(op); })
      .Case([&](WaitOp wait) { return this->wait(wait); })
      .Case([&](SecondarySliceOp op) { return cutSecondary(op); })
      .Case([&](AccumulateOp op) { return accumulate(op); })
      .Case([&](UpdateOp op) { return update(op); })
      .Case([&](GradStatsOp op) {
        for (auto [index, symbol] : llvm::enumerate(
                 op.getPartitions().getAsRange<FlatSymbolRefAttr>())) {
          PartitionOp partition = partitionOf[symbol.getValue()];
          auto [begin, end] = op.getRange(index, partition);
          if (!readOwned(partition, "gradients", op, begin, end))
            return false;
        }
        return true;
      })
      .Case([&](CarryOp op) {
        carried[op.getHandle()] = op.getPending();
        return true;
      })
      .Case([&](CarriedOp op) {
        taken[op.getPending()] = std::exchange(carried[op.getHandle()], {});
        return true;
      })
      .Case<FreeOp, JudgeOp, UpdateScaleOp, LoadOp>([](auto) { return true; })
      .Case([&](YieldOp yield) {
        return llvm::all_of(yield->getOperands(), [&](Value value) {
          return readValue(value, yield);
        });
      })
      .Default([&](Operation *) {
        return startsOperation(op) ? fail(op, "does not say what is in flight")
                                   : getView(op) || visitKernel(op);
      });
}

bool MemoryInterpreter::runRegion(Operation *region) {
  auto inputs = step->getAttrOfType<ArrayAttr>("zero.at");
  for (auto [argument, at] : llvm::zip_equal(step.getArguments(), inputs)) {
    values[argument] = {rangeOf(cast<AtAttr>(at)),
                        fresh(tensorBytes(argument.getType()))};
    if (!write(values[argument].place, values[argument].marks, step))
      return false;
  }
  for (Operation &op : region->getRegion(0).front())
    if (!visit(&op))
      return false;
  return true;
}

/// Every state still is what it was made.
bool MemoryInterpreter::findStates() {
  for (auto &entry : packedSlices)
    if (!read(entry.second.place, entry.second.marks, module))
      return false;
  for (PartitionOp partition : module.getOps<PartitionOp>())
    for (auto &entry : states[partition.getSymName()])
      if (partition.getQuantized())
        continue;
      else if (areErrors(entry.first())
                   ? !read(baseOf(entry.second, 0), entry.second.marks,
                           partition)
                   : !readOwned(partition, entry.first(), partition))
        return false;
  return true;
}

std::string MemoryInterpreter::run() {
  place();
  bool isClean = failure.empty();
  auto run = [&](Operation *region) {
    isClean = isClean && (!region || runRegion(region));
  };
  run(step.getRegionOp<InitializeOp>());
  int64_t micros = step.getTraining()->getAccumulation();
  for (int update = 0; update < 3; ++update) {
    if (update == 2) {
      isClean = isClean && drain();
      run(step.getRegionOp<EvaluateOp>());
    }
    for (int64_t micro = 0; micro < micros; ++micro) {
      storesFirst = micro == 0;
      run(micro + 1 == micros ? step.getLastMicro()
                              : step.getRegionOp<MicroOp>());
    }
    run(step.getRegionOp<ApplyOp>());
  }
  return isClean && drain() && findStates() ? "" : failure;
}
