//===- CommandBuilder.cpp - operations of a region as commands ------------===//

#include "CommandBuilder.h"

#include "zero/Analysis/Views.h"

#include "program/KernelSchema.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::zero;

std::string mlir::zero::describeLocation(Operation *op) {
  std::string text;
  op->getLoc()->walk([&](Location loc) {
    auto file = dyn_cast<FileLineColLoc>(loc);
    if (!file)
      return WalkResult::advance();
    text = (file.getFilename().getValue() + ":" + Twine(file.getLine()) + ":" +
            Twine(file.getColumn()))
               .str();
    return WalkResult::interrupt();
  });
  return text;
}

zrt::BufferRef mlir::zero::toBufferRef(AtAttr place, uint32_t group) {
  zrt::BufferRef ref;
  ref.arena = toRuntime(place.getArena());
  ref.tier = toRuntime(place.getTier());
  ref.offset = place.getOffset();
  ref.stride = place.getStride();
  ref.group = ref.stride ? group : zrt::kAllRanks;
  ref.bytes = place.getBytes();
  return ref;
}

MeshGroups mlir::zero::groupsOf(const MeshAxes &mesh) {
  // In the order of `describeMesh`.
  MeshGroups groups;
  groups.cut = mesh.cut == mesh.ranks ? zrt::kAllRanks : 1;
  groups.replicas = mesh.replicas() > 1 ? 2 : zrt::kAllRanks;
  return groups;
}

/// The indices of `axes` in the mesh.
static zrt::MeshGroup toGroup(const MeshAxes &mesh, AxesAttr axes) {
  zrt::MeshGroup group;
  for (auto [index, name] : llvm::enumerate(mesh.ranks.getNames()))
    if (axes && llvm::is_contained(axes.getNames(), name))
      group.axes.push_back(index);
  return group;
}

/// Every other group of axes, in one order: programs of different stages then
/// mean the same groups by their numbers.
static void addAllGroups(const MeshAxes &mesh, zrt::Mesh &described) {
  ArrayRef<StringAttr> names = mesh.ranks.getNames();
  ArrayRef<int64_t> sizes = mesh.ranks.getSizes();
  for (uint64_t chosen = 1; chosen < uint64_t(1) << names.size(); ++chosen) {
    SmallVector<StringAttr> some;
    SmallVector<int64_t> ranks;
    for (size_t axis = 0; axis < names.size(); ++axis)
      if (chosen >> axis & 1) {
        some.push_back(names[axis]);
        ranks.push_back(sizes[axis]);
      }
    numberOf(AxesAttr::get(names.front().getContext(), some, ranks), mesh,
             described);
  }
}

zrt::Mesh mlir::zero::describeMesh(const MeshAxes &mesh) {
  zrt::Mesh described;
  if (mesh.ranks.isLine())
    return described;
  for (auto [name, size] :
       llvm::zip_equal(mesh.ranks.getNames(), mesh.ranks.getSizes()))
    described.axes.push_back({name.str(), size});
  described.groups.push_back(toGroup(mesh, mesh.ranks));
  if (mesh.cut != mesh.ranks)
    described.groups.push_back(toGroup(mesh, mesh.cut));
  if (mesh.replicas() > 1)
    described.groups.push_back(toGroup(mesh, mesh.replicaAxes()));
  if (mesh.pipe)
    addAllGroups(mesh, described);
  if (mesh.batch != mesh.ranks)
    described.samples = numberOf(mesh.batch, mesh, described);
  return described;
}

uint32_t mlir::zero::numberOf(AxesAttr axes, const MeshAxes &mesh,
                              zrt::Mesh &described) {
  if (!axes || axes == mesh.ranks)
    return zrt::kAllRanks;
  zrt::MeshGroup group = toGroup(mesh, axes);
  std::vector<zrt::MeshGroup> &known = described.groups;
  for (uint32_t number = 0; number < known.size(); ++number)
    if (known[number].axes == group.axes)
      return number;
  known.push_back(std::move(group));
  return known.size() - 1;
}

CommandBuilder::CommandBuilder(
    zrt::Program &program, const StatePlaces &state, StepOp step,
    const DenseMap<StringRef, int32_t> &partitionNumbers, KernelTable &kernels,
    const Handles &handles, Tickets &tickets)
    : program(program), state(state), step(step),
      partitionNumbers(partitionNumbers), kernels(kernels), handles(handles),
      tickets(tickets),
      mesh(getMesh(step->getParentOfType<ModuleOp>(), *step.getTraining())),
      groups(groupsOf(mesh)) {
  auto inputs = step->getAttrOfType<ArrayAttr>(kPlaces);
  for (auto [argument, place] : llvm::zip_equal(step.getArguments(), inputs))
    places[argument] = cast<AtAttr>(place);
}

LogicalResult
CommandBuilder::build(Block &block, zrt::Region &target,
                      DenseMap<Operation *, size_t> *firstCommands) {
  region = &target;
  for (Operation &op : block) {
    if (firstCommands)
      (*firstCommands)[&op] = region->commands.size();
    if (failed(visit(op)))
      return failure();
  }
  return success();
}

void CommandBuilder::record(Operation &op) {
  auto attribute = op.getAttrOfType<ArrayAttr>(kPlaces);
  if (!attribute)
    return;
  size_t next = 0;
  for (Value result : op.getResults())
    if (isa<RankedTensorType>(result.getType()))
      places[result] = cast<AtAttr>(attribute[next++]);
}

LogicalResult CommandBuilder::visit(Operation &op) {
  if (std::optional<View> view = getView(&op)) {
    AtAttr source = placeOf(view->source);
    places[op.getResult(0)] =
        source.getPart(view->offset, tensorBytes(op.getResult(0).getType()));
    return success();
  }
  if (std::optional<zrt::KernelSpec> kernel = describeKernel(&op, &symbols)) {
    record(op);
    return visitKernel(op, std::move(*kernel));
  }
  return llvm::TypeSwitch<Operation *, LogicalResult>(&op)
      .Case([&](arith::ConstantOp) { return visitConstant(op); })
      .Case([&](LoadOp load) {
        places[load] = state.getWhole(load.getParameterAttr().getAttr());
        return success();
      })
      .Case<FreeOp, CarryOp, CarriedOp>([&](auto) { return success(); })
      .Case([&](SecondarySliceOp op) {
        return visitSecondarySlice(op), success();
      })
      .Case([&](SliceValueOp op) { return visitSliceValue(op); })
      .Case([&](StashOp op) { return visitStash(op), success(); })
      .Case([&](UnstashOp op) { return record(*op), success(); })
      .Case([&](AccumulateOp op) { return visitAccumulate(op), success(); })
      .Case([&](YieldOp yield) { return visitYield(yield), success(); })
      .Case([&](AsyncOpInterface start) { return visitStart(start); })
      .Case([&](WaitOp wait) { return visitWait(wait); })
      .Default([&](Operation *) { return visitUpdateCommand(op); });
}

LogicalResult CommandBuilder::visitUpdateCommand(Operation &op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(&op)
      .Case([&](GradStatsOp op) { return visitGradStats(op), success(); })
      .Case([&](JudgeOp op) { return visitJudge(op), success(); })
      .Case([&](UpdateOp op) { return visitUpdate(op), success(); })
      .Case([&](UpdateScaleOp) {
        return addFlatKernel(&op, "zero.update_scale", {}, {}), success();
      })
      .Default([&](Operation *) {
        return op.emitOpError(
            "has no runtime kernel; implement KernelOpInterface for it");
      });
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

zrt::Command &CommandBuilder::newCommand(Operation *op, std::string label) {
  zrt::Command &command = region->commands.emplace_back();
  command.label = std::move(label);
  command.location = describeLocation(op);
  return command;
}

zrt::Command &CommandBuilder::addKernel(Operation *op, zrt::KernelSpec spec,
                                        std::vector<zrt::BufferRef> buffers,
                                        std::string label) {
  zrt::Command &command = newCommand(op, std::move(label));
  command.opcode = zrt::Opcode::Kernel;
  command.buffers = std::move(buffers);
  command.kernel = kernels.number(program, std::move(spec));
  return command;
}

void CommandBuilder::addStridedKernel(StridedOp op, zrt::KernelSpec spec) {
  StridedParts parts = op.getParts();
  std::vector<zrt::BufferRef> buffers;
  auto add = [&](ArrayRef<StridedPart> parts, ValueRange wholes,
                 ArrayRef<zrt::TensorType> types) {
    for (auto [part, type] : llvm::zip_equal(parts, types)) {
      int64_t begin =
          part.layout.offset * static_cast<int64_t>(sizeOf(type.type));
      AtAttr whole = placeOf(wholes[part.index]);
      buffers.push_back(
          referTo(whole.getPart(begin, static_cast<int64_t>(type.span()))));
    }
  };
  add(parts.operands, op.getInputs(), spec.operands);
  add(parts.results, op.getOutputs(), spec.results);
  std::string label = spec.name;
  addKernel(op, std::move(spec), std::move(buffers), std::move(label));
}

LogicalResult CommandBuilder::visitKernel(Operation &op, zrt::KernelSpec spec) {
  if (spec.name.empty())
    return op.emitOpError("has no runtime kernel for what it is given");
  zrt::KernelShapes shapes(spec);
  if (std::string wrong = zrt::checkKernel(spec, shapes); !wrong.empty())
    return op.emitOpError("cannot be the kernel '")
           << spec.name << "': " << wrong;
  std::vector<zrt::BufferRef> buffers;
  auto add = [&](Value value) -> LogicalResult {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type) // A scalar is part of the description.
      return success();
    if (!toDataType(type.getElementType()))
      return op.emitOpError("has a value of type ")
             << type << ", which no kernel takes";
    AtAttr place = placeOf(value);
    if (!place)
      return op.emitOpError(
          "has a value without a place; run zero-plan-memory");
    buffers.push_back(referTo(place));
    return success();
  };
  for (Value operand : op.getOperands())
    if (failed(add(operand)))
      return failure();
  for (Value result : op.getResults())
    if (failed(add(result)))
      return failure();
  if (auto strided = dyn_cast<StridedOp>(op))
    return addStridedKernel(strided, std::move(spec)), success();
  std::string label =
      spec.symbol.empty() ? spec.name : "launch @" + spec.symbol;
  addKernel(&op, std::move(spec), std::move(buffers), std::move(label));
  return success();
}

zrt::Command &CommandBuilder::addFlatKernel(Operation *op, StringRef name,
                                            ArrayRef<AtAttr> flat,
                                            ArrayRef<Type> types,
                                            zrt::KernelSpec spec) {
  std::vector<zrt::BufferRef> buffers;
  SmallVector<FlatRange> ranges;
  for (auto [place, type] : llvm::zip_equal(flat, types)) {
    ranges.push_back({place.getBytes() / elementBytes(type), type});
    buffers.push_back(referTo(place));
  }
  return addKernel(op, describeFlatKernel(name, ranges, std::move(spec)),
                   std::move(buffers), name.str());
}

/// The elements of a constant in the runtime's layout.
static std::string constantBytes(DenseElementsAttr elements) {
  Type type = elements.getElementType();
  std::string bytes;
  auto append = [&](const APInt &bits) {
    int64_t width = elementBytes(type);
    uint64_t word = bits.getZExtValue();
    for (int64_t i = 0; i < width; ++i)
      bytes.push_back(static_cast<char>(word >> (8 * i)));
  };
  if (isa<FloatType>(type))
    for (const APFloat &value : elements.getValues<APFloat>())
      append(value.bitcastToAPInt());
  else
    for (const APInt &value : elements.getValues<APInt>())
      append(value);
  return bytes;
}

LogicalResult CommandBuilder::visitConstant(Operation &op) {
  auto constant = cast<arith::ConstantOp>(op);
  if (!isa<RankedTensorType>(constant.getType()))
    return success();
  record(op);
  auto elements = dyn_cast<DenseElementsAttr>(constant.getValue());
  if (!elements || !toDataType(elements.getElementType()))
    return op.emitOpError("has no dense value of a type that kernels take");
  zrt::BufferRef buffer = referTo(placeOf(op.getResult(0)));
  // Regions share constants; each is filled once.
  for (const zrt::Constant &known : program.constants)
    if (known.buffer.offset == buffer.offset)
      return success();
  program.constants.push_back({buffer, constantBytes(elements)});
  return success();
}

//===----------------------------------------------------------------------===//
// Gradients and outputs
//===----------------------------------------------------------------------===//

void CommandBuilder::visitAccumulate(AccumulateOp accumulate) {
  PartitionOp partition = state.find(accumulate.getPartitionAttr());
  if (accumulate.getForm() == AccumulateForm::Owned)
    return accumulateOwned(accumulate, partition);
  auto type = cast<RankedTensorType>(accumulate.getValue().getType());
  AtAttr source = placeOf(accumulate.getValue());
  AtAttr target =
      state.getGradient(partition, accumulate.getBegin(), accumulate.getEnd(),
                        accumulate.getForm() == AccumulateForm::Slice);
  bool isInPlace =
      source.beginsWith(target) && source.getStride() == target.getStride();
  if (!isInPlace)
    addFlatKernel(accumulate, "zero.accumulate", {source, target},
                  {type.getElementType(), partition.getGradientType()});
}

void CommandBuilder::visitYield(YieldOp yield) {
  if (yield.getValues().empty()) // a stage without the loss
    return;
  if (isa<MicroOp>(yield->getParentOp())) {
    SmallVector<Value> scalars = {yield.getValues().front()};
    if (Value weight = yield.getWeight())
      scalars.push_back(weight);
    SmallVector<AtAttr> places;
    SmallVector<Type> types;
    for (Value scalar : scalars) {
      places.push_back(placeOf(scalar));
      types.push_back(getElementTypeOrSelf(scalar));
    }
    addFlatKernel(yield, "zero.record_loss", places, types);
  }
  auto outputOf = [&](StringRef name, Value value) {
    zrt::Output output;
    output.name = name.str();
    output.type = toTensorType(cast<RankedTensorType>(value.getType()));
    output.buffer = referTo(placeOf(value));
    return output;
  };
  if (Value weight = yield.getWeight())
    region->weight = outputOf("weight", weight);
  for (auto [index, value] : llvm::enumerate(yield.getValues()))
    region->outputs.push_back(outputOf(
        index == 0
            ? "loss"
            : cast<StringAttr>((*yield.getOutputs())[index - 1]).getValue(),
        value));
}
