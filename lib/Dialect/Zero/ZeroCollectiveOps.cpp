//===- ZeroCollectiveOps.cpp - verifiers of collectives -------------------===//

#include "zero/Dialect/Zero/Zero.h"

#include "Checks.h"

using namespace mlir;
using namespace mlir::zero;

//===----------------------------------------------------------------------===//
// Shared checks
//===----------------------------------------------------------------------===//

static LogicalResult verifyMembers(Operation *op, PartitionOp partition,
                                   ArrayAttr parameters, ValueRange gradients,
                                   int64_t begin, int64_t end) {
  for (auto [symbol, gradient] :
       llvm::zip_equal(parameters.getAsRange<FlatSymbolRefAttr>(), gradients)) {
    MemberAttr member = partition.findMemberIn(symbol.getValue(), begin, end);
    auto type = cast<RankedTensorType>(gradient.getType());
    auto [first, last] = partition.getElementsIn(symbol.getValue(), begin, end);
    bool isInside = member && (first < last || (member.getSize() == 0 &&
                                                member.getOffset() >= begin &&
                                                member.getOffset() <= end));
    if (!isInside)
      return op->emitOpError("parameter ")
             << symbol << " is no member inside [" << begin << " to " << end
             << "] of @" << partition.getSymName();
    if (type.getNumElements() != last - first)
      return op->emitOpError("gradient of ")
             << symbol << " has " << type.getNumElements()
             << " elements, wanted " << last - first;
  }
  return success();
}

template <typename ReduceOp>
static LogicalResult verifyReduce(ReduceOp op, SymbolTableCollection &tables) {
  PartitionOp partition = lookUpPartition(op, op.getPartitionAttr(), tables);
  if (!partition ||
      failed(verifyRange(op, partition, op.getBegin(), op.getEnd())))
    return failure();
  if (!op.getParameters())
    return success();
  return verifyMembers(op, partition, *op.getParameters(), op.getGradients(),
                       op.getBegin(), op.getEnd());
}

/// (C2): as many gradients as parameters.
template <typename ReduceOp> static LogicalResult verifyCounts(ReduceOp op) {
  size_t parameters = op.getParameters() ? op.getParameters()->size() : 0;
  if (parameters != op.getGradients().size())
    return op.emitOpError("names ") << parameters << " parameters for "
                                    << op.getGradients().size() << " gradients";
  return success();
}

/// The sizes of the pending's flat tensors must be `wanted`.
static LogicalResult verifyFlatResults(Operation *op, PendingType pending,
                                       ArrayRef<int64_t> wanted) {
  auto sizeIs = [](Type type, int64_t elements) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.getRank() == 1 && tensor.getDimSize(0) == elements;
  };
  if (pending.getTypes().size() == wanted.size() &&
      llvm::all_of(llvm::zip(pending.getTypes(), wanted), [&](auto pair) {
        return sizeIs(std::get<0>(pair), std::get<1>(pair));
      }))
    return success();
  InFlightDiagnostic error = op->emitOpError("gives ")
                             << pending << ", wanted flat tensors of ";
  llvm::interleaveComma(wanted, error);
  return error << " elements";
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

LogicalResult AllReduceOp::verify() { return verifyCounts(*this); }
LogicalResult AllReduceOp::verifySymbolUses(SymbolTableCollection &tables) {
  if (failed(verifyReduce(*this, tables)))
    return failure();
  return verifyFlatResults(*this, getPending().getType(),
                           static_cast<int64_t>(getEnd() - getBegin()));
}

LogicalResult ReduceScatterOp::verify() { return verifyCounts(*this); }
LogicalResult ReduceScatterOp::verifySymbolUses(SymbolTableCollection &tables) {
  if (failed(verifyReduce(*this, tables)))
    return failure();
  PartitionOp partition = lookUpPartition(*this, getPartitionAttr(), tables);
  SmallVector<int64_t> slices;
  for (auto [begin, end] : partition.getSegmentsIn(getBegin(), getEnd()))
    slices.push_back((end - begin) / partition.getSlices());
  return verifyFlatResults(*this, getPending().getType(), slices);
}

LogicalResult BucketedReduceOp::verify() {
  if (getParameters().size() != getGradients().size())
    return emitOpError("names ") << getParameters().size() << " parameters for "
                                 << getGradients().size() << " gradients";
  int64_t elements = 0;
  for (Value gradient : getGradients())
    elements += cast<RankedTensorType>(gradient.getType()).getNumElements();
  return verifyFlatResults(*this, getPending().getType(), elements);
}
LogicalResult
BucketedReduceOp::verifySymbolUses(SymbolTableCollection &tables) {
  PartitionOp partition = lookUpPartition(*this, getPartitionAttr(), tables);
  if (!partition)
    return failure();
  auto [begin, end] = getRange(partition);
  if (begin < 0 || begin > end || end > partition.getFlatElements())
    return emitOpError("range [")
           << begin << " to " << end << "] is none of the "
           << partition.getFlatElements() << " elements of @"
           << partition.getSymName();
  return verifyMembers(*this, partition, getParameters(), getGradients(), begin,
                       end);
}

std::pair<int64_t, int64_t> BucketedReduceOp::getRange(PartitionOp partition) {
  return {getBegin().value_or(0),
          getEnd().value_or(partition.getFlatElements())};
}

//===----------------------------------------------------------------------===//
// Gathers
//===----------------------------------------------------------------------===//

LogicalResult AllGatherOp::verify() {
  if (getParameters().size() != getPending().getType().getTypes().size())
    return emitOpError("gathers ")
           << getParameters().size() << " parameters into "
           << getPending().getType();
  return success();
}

LogicalResult mlir::zero::verifyAreParameters(Operation *op, ArrayAttr symbols,
                                              SymbolTableCollection &tables) {
  SmallPtrSet<Attribute, 16> seen;
  for (auto symbol : symbols.getAsRange<FlatSymbolRefAttr>())
    if (!seen.insert(symbol).second)
      return op->emitOpError("names ") << symbol << " twice";
    else if (!tables.lookupNearestSymbolFrom<ParameterOp>(op, symbol))
      return op->emitOpError("names ")
             << symbol << ", which is no 'zero.parameter'";
  return success();
}

/// A copy of each slice, or of none.
template <typename GatherOp> static LogicalResult verifySlices(GatherOp op) {
  if (op.getSlices().empty() ||
      op.getSlices().size() == op.getParameters().size())
    return success();
  return op.emitOpError("is given copies of ")
         << op.getSlices().size() << " slices for " << op.getParameters().size()
         << " parameters, wanted one each, or none";
}

LogicalResult AllGatherOp::verifySymbolUses(SymbolTableCollection &tables) {
  if (failed(verifyAreParameters(*this, getParameters(), tables)) ||
      failed(verifySlices(*this)))
    return failure();
  if (AxesAttr over = getOverAttr()) {
    if (failed(verifyIsSecondary(*this, over)))
      return failure();
    if (getQuantized())
      return emitOpError("is quantized and over ")
             << over << ", wanted one of them";
    if (getSlices().empty())
      return emitOpError("gathers over ")
             << over << ", and is given no slices; wanted those that "
             << "'zero.secondary_slice' makes: 'from'";
  }
  for (auto [symbol, type] :
       llvm::zip_equal(getParameters().getAsRange<FlatSymbolRefAttr>(),
                       getPending().getType().getTypes())) {
    auto parameter = tables.lookupNearestSymbolFrom<ParameterOp>(*this, symbol);
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || tensor.getShape() != parameter.getTensorType().getShape())
      return emitOpError("gathers ")
             << symbol << " as " << type << ", wanted the shape of "
             << parameter.getTensorType();
  }
  return success();
}

/// Checks that the wait gives no tensors: gathered parameters land in memory
/// that ranks keep.
template <typename StateOp> static LogicalResult verifyNoTensors(StateOp op) {
  if (op.getPending().getType().getTypes().empty())
    return success();
  return op.emitOpError("gives ")
         << op.getPending().getType()
         << ", wanted no tensors: what arrives is in what ranks keep";
}

LogicalResult
RefreshResidentOp::verifySymbolUses(SymbolTableCollection &tables) {
  return success(
      succeeded(verifyNoTensors(*this)) && succeeded(verifySlices(*this)) &&
      succeeded(verifyAreParameters(*this, getParameters(), tables)));
}

LogicalResult
AllReduceOwnedOp::verifySymbolUses(SymbolTableCollection &tables) {
  PartitionOp partition = lookUpPartition(*this, getPartitionAttr(), tables);
  if (!partition || failed(verifyRange(*this, partition, getBegin(), getEnd())))
    return failure();
  if (partition.getReplicas() == 1) // (C2)
    return emitOpError("combines the replicas of ")
           << getPartitionAttr() << ", which has none";
  return verifyNoTensors(*this); // (C3)
}

LogicalResult RefreshOp::verifySymbolUses(SymbolTableCollection &tables) {
  PartitionOp partition = lookUpPartition(*this, getPartitionAttr(), tables);
  return success(
      partition &&
      succeeded(verifyRange(*this, partition, getBegin(), getEnd())) &&
      succeeded(verifyNoTensors(*this)));
}
