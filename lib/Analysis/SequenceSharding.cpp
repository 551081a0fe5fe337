//===- SequenceSharding.cpp - what an axis cuts of the positions ----------===//
//
// Ranks have parts of the positions of a sequence. What depends on no
// parameter, such as labels, counts, masks and positions, each of them has
// whole. An operation that needs all positions, such as attention, is cut along
// another class that all it reads has, such as heads, and so is what follows as
// long as it can: parts are exchanged before the first and behind the last of
// these.
//
//===----------------------------------------------------------------------===//

#include "zero/Analysis/Sharding.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::zero;

std::optional<unsigned> mlir::zero::findInputOfPositions(StepOp model) {
  std::optional<unsigned> first;
  for (auto [index, type] : llvm::enumerate(model.getArgumentTypes())) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || tensor.getRank() != 2 ||
        !tensor.getElementType().isInteger() ||
        tensor.getElementType().isInteger(1))
      continue;
    auto name = model.getArgAttrOfType<StringAttr>(index, kInput);
    if (name && name.getValue() == "input_ids")
      return index;
    if (!first)
      first = index;
  }
  return first;
}

/// The class of the positions; nothing if there is no such input, or its
/// positions are several classes.
std::optional<DimensionId> Sharding::findPositions() {
  std::optional<unsigned> input = findInputOfPositions(model);
  if (!input)
    return std::nullopt;
  SmallVector<DimensionId> atoms =
      dimensions.atomsOf(dimensions.of(body->getArgument(*input))[1]);
  return atoms.size() == 1 ? std::optional(atoms.front()) : std::nullopt;
}

LogicalResult Sharding::verifyPositions() const {
  StepOp model = this->model;
  auto error = [&] {
    return model.emitError() << "the model @" << model.getSymName() << ' ';
  };
  std::optional<unsigned> input = findInputOfPositions(model);
  if (!input)
    return error() << "has no input of integers [samples, positions], of which "
                   << over << " would cut the positions; leave the axis out";
  int64_t size =
      cast<RankedTensorType>(body->getArgument(*input).getType()).getDimSize(1);
  if (size == 0 || size % over.getSize() != 0)
    return error() << "has " << size << " positions in input " << *input
                   << ", which " << over.getSize() << " ranks of " << over
                   << " do not divide; give the axis a divisor of " << size
                   << ", or pad the samples";
  if (!positions)
    return error() << "takes the positions of input " << *input
                   << " apart in equal segments, each of which " << over
                   << " would have to cut; leave the axis out";
  if (cutOperations.empty())
    return error() << "computes nothing of the positions of input " << *input
                   << " with parameters, so that " << over
                   << " would cut nothing; name the input with the positions "
                      "'input_ids', or leave the axis out";
  return success();
}

bool Sharding::hasPositions(ValueRange values) const {
  return llvm::any_of(values, [&](Value value) {
    return llvm::any_of(dimensions.of(value), [&](DimensionId dim) {
      return dimensions.contains(dim, *positions);
    });
  });
}

/// Whether `op` has parts along `atom`, and needs nothing to make the results
/// of them: of all that it reads in parts it has a part along it.
bool Sharding::hasParts(Operation *op, DimensionId atom) const {
  std::optional<OperationCut> cut = findCut(op, atom);
  if (!cut || cut->isSum || (cut->isCombined && !isOfResults(op, atom)))
    return false;
  return llvm::all_of(op->getOperands(), [&](Value operand) {
    return !along.contains(operand) ||
           findDimension(dimensions.of(operand), atom).has_value();
  });
}

/// Whether ranks can have such parts. Of what another axis has parts of, a rank
/// has one index: the verifier could not tell several of them from parts of
/// each.
bool Sharding::fitsRanks(DimensionId atom) const {
  const int64_t size = dimensions.sizeOf(atom);
  return isBesideParts && atom != *positions ? size == over.getSize()
                                             : size % over.getSize() == 0;
}

bool Sharding::canGo(Operation *op, DimensionId atom) const {
  return fitsRanks(atom) && hasParts(op, atom);
}

/// The class, other than that of the positions, along which all that `op` reads
/// in parts is cut, where it can be as well.
std::optional<DimensionId> Sharding::findStay(Operation *op) const {
  std::optional<DimensionId> found;
  for (Value operand : op->getOperands()) {
    auto known = along.find(operand);
    if (known == along.end())
      continue;
    if (found.value_or(known->second) != known->second)
      return std::nullopt;
    found = known->second;
  }
  bool stays = found && *found != *positions && canGo(op, *found);
  return stays ? found : std::nullopt;
}

/// The first other class along which `op` can be cut. Samples are those of all
/// ranks of the axis.
std::optional<DimensionId> Sharding::findOther(Operation *op) const {
  for (DimensionId dim : dimensions.of(op).dimensions)
    for (DimensionId atom : dimensions.atomsOf(dim))
      if (atom != *positions && !llvm::is_contained(samples, atom) &&
          canGo(op, atom))
        return atom;
  return std::nullopt;
}

std::optional<Sharding::OtherDim>
Sharding::findIndivisible(Operation *op) const {
  for (auto [operand, value] : llvm::enumerate(op->getOperands()))
    for (auto [dim, id] : llvm::enumerate(dimensions.of(value)))
      for (DimensionId atom : dimensions.atomsOf(id))
        if (atom != *positions && !llvm::is_contained(samples, atom) &&
            dimensions.sizeOf(atom) > 1 && hasParts(op, atom))
          return OtherDim{static_cast<unsigned>(operand),
                          static_cast<unsigned>(dim), dimensions.sizeOf(atom),
                          isBesideParts};
  return std::nullopt;
}

std::optional<Sharding::OperationCut> Sharding::findBest(Operation *op) const {
  if (std::optional<DimensionId> atom = findStay(op))
    return findCut(op, *atom);
  if (std::optional<OperationCut> cut = findCut(op, *positions);
      cut && (!cut->isCombined || cut->isSum || isOfResults(op, *positions)))
    return cut;
  if (std::optional<DimensionId> atom = findOther(op))
    return findCut(op, *atom);
  return std::nullopt;
}

void Sharding::cutAlong(Operation *op, const OperationCut &cut) {
  cutOperations[op] = cut;
  for (Value result : op->getResults())
    if (findDimension(dimensions.of(result), cut.atom))
      along[result] = cut.atom;
}

/// Cuts an operation that reads no positions, such as a broadcast, as its
/// readers are cut, so that nothing of it is sent: along their dimension if
/// they agree, else along the positions. It stays whole if no reader is cut, or
/// if it cannot be cut so.
void Sharding::cutRepeated(Operation *op) {
  std::optional<DimensionId> atom;
  for (Operation *user : op->getUsers()) {
    auto known = cutOperations.find(user);
    if (known == cutOperations.end())
      continue;
    if (atom.value_or(known->second.atom) != known->second.atom)
      atom = *positions;
    else
      atom = known->second.atom;
  }
  if (!atom || (*atom != *positions && !canGo(op, *atom)))
    return;
  if (auto cut = *atom == *positions ? findBest(op) : findCut(op, *atom))
    cutAlong(op, *cut);
}

void Sharding::cutPositions() {
  positions = findPositions();
  if (!positions || dimensions.sizeOf(*positions) % over.getSize() != 0)
    return;
  for (BlockArgument input : body->getArguments())
    if (ArrayRef<DimensionId> dims = dimensions.of(input); !dims.empty())
      llvm::append_range(samples, dimensions.atomsOf(dims.front()));
  DenseSet<Value> computed;
  SmallVector<Operation *> repeated;
  for (Operation &op : *body) {
    bool isComputed =
        isa<LoadOp>(op) || llvm::any_of(op.getOperands(), [&](Value operand) {
          return computed.contains(operand);
        });
    bool isFloat = llvm::any_of(op.getResultTypes(), [](Type type) {
      return isa<FloatType>(getElementTypeOrSelf(type));
    });
    if (!isComputed)
      continue;
    computed.insert(op.result_begin(), op.result_end());
    const bool readsPositions = hasPositions(op.getOperands());
    if (isa<LoadOp>(op) || !isFloat ||
        !(readsPositions || hasPositions(op.getResults())))
      continue;
    if (!readsPositions) // it repeats what has none, or takes a table's
      repeated.push_back(&op);
    else if (std::optional<OperationCut> cut = findBest(&op))
      cutAlong(&op, *cut);
    else
      whole.push_back(&op);
  }
  for (Operation *op : llvm::reverse(repeated))
    cutRepeated(op);
}
