//===- ZeroScheduleOps.cpp - verifiers of the schedule's operations -------===//

#include "zero/Dialect/Zero/Zero.h"

#include "Checks.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::zero;

//===----------------------------------------------------------------------===//
// Wait
//===----------------------------------------------------------------------===//

void WaitOp::build(OpBuilder &builder, OperationState &state, Value pending) {
  state.addOperands(pending);
  state.addTypes(cast<PendingType>(pending.getType()).getTypes());
}

ParseResult WaitOp::parse(OpAsmParser &parser, OperationState &result) {
  OpAsmParser::UnresolvedOperand operand;
  PendingType type;
  if (parser.parseOperand(operand) ||
      parser.parseOptionalAttrDict(result.attributes) || parser.parseColon() ||
      parser.parseCustomTypeWithFallback(type) ||
      parser.resolveOperand(operand, type, result.operands))
    return failure();
  result.addTypes(type.getTypes());
  return success();
}

void WaitOp::print(OpAsmPrinter &printer) {
  printer << ' ' << getPending();
  printer.printOptionalAttrDict((*this)->getAttrs());
  printer << " : ";
  printer.printStrippedAttrOrType(getPending().getType());
}

LogicalResult WaitOp::verify() {
  if (getResultTypes() == TypeRange(getPending().getType().getTypes()))
    return success();
  return emitOpError("results must be the tensors of ")
         << getPending().getType();
}

LogicalResult CarryOp::verify() {
  Operation *start = getPending().getDefiningOp();
  if (!isa_and_present<CarriedOp>(start)) // (C1)
    return success();
  InFlightDiagnostic error =
      emitOpError("carries what another region has started");
  error.attachNote(start->getLoc()) << "taken here";
  return error;
}

//===----------------------------------------------------------------------===//
// Accumulate and update
//===----------------------------------------------------------------------===//

LogicalResult AccumulateOp::verify() {
  int64_t elements =
      cast<RankedTensorType>(getValue().getType()).getNumElements();
  int64_t range = getEnd() - getBegin();
  if (range <= 0)
    return emitOpError("range [")
           << getBegin() << " to " << getEnd() << "] is empty";
  if (getForm() == AccumulateForm::Whole && elements != range)
    return emitOpError("value has ")
           << elements << " elements for a range of " << range;
  if (getForm() == AccumulateForm::Slice &&
      (elements == 0 || range % elements != 0))
    return emitOpError("value of ")
           << elements << " elements is no slice of a range of " << range;
  if ((getForm() == AccumulateForm::Owned) != getParameters().has_value())
    return emitOpError(
        "the form 'owned', and no other, names the bucket's parameters");
  return success();
}

LogicalResult AccumulateOp::verifySymbolUses(SymbolTableCollection &tables) {
  return success(lookUpPartition(*this, getPartitionAttr(), tables) != nullptr);
}

LogicalResult JudgeOp::verify() {
  if (getClip().isNegative() || !getClip().isFinite()) // (C1)
    return emitOpError("clips at ")
           << getClipAttr() << ", wanted a finite number from 0 on";
  if (getDivisor().isNegative() || !getDivisor().isFiniteNonZero())
    return emitOpError("divides by ")
           << getDivisorAttr() << ", wanted a finite number above 0";
  if (getMicroBatches() && *getMicroBatches() < 1) // (C2)
    return emitOpError("has ")
           << *getMicroBatches() << " micro-batches, wanted 1 or more";
  return success();
}

LogicalResult UpdateOp::verifySymbolUses(SymbolTableCollection &tables) {
  PartitionOp partition = lookUpPartition(*this, getPartitionAttr(), tables);
  if (!partition)
    return failure();
  if (!partition.isTrainable())
    return emitOpError("updates ")
           << getPartitionAttr() << ", which has no optimizer";
  if (partition.hasOffloadedParameters())
    return emitOpError("updates ")
           << getPartitionAttr() << " on the device, and its parameters are in "
           << (partition.hasParametersOnHost() ? "host memory" : "a file")
           << "; wanted 'zero.update_on_host'";
  auto [begin, end] = getRange(partition);
  return getBegin() ? verifyRange(*this, partition, begin, end) : success();
}

void UpdateOp::build(OpBuilder &builder, OperationState &state,
                     StringRef partition, Value verdict) {
  build(builder, state, partition, /*begin=*/IntegerAttr(),
        /*end=*/IntegerAttr(), verdict);
}

void GradStatsOp::build(OpBuilder &builder, OperationState &state,
                        ArrayAttr partitions) {
  build(builder, state, StatsType::get(builder.getContext()), partitions,
        /*ranges=*/nullptr, /*sum=*/Value());
}

std::pair<int64_t, int64_t> GradStatsOp::getRange(unsigned index,
                                                  PartitionOp partition) {
  if (auto ranges = getRanges())
    return {(*ranges)[2 * index], (*ranges)[2 * index + 1]};
  return {0, partition.getFlatElements()};
}

LogicalResult GradStatsOp::verify() {
  if (getPartitions().empty())
    return emitOpError("names no partition, and would keep what the update "
                       "before has found; wanted one at least");
  if (!getRanges() || getRanges()->size() == 2 * getPartitions().size())
    return success();
  return emitOpError("has ")
         << getRanges()->size() << " bounds for " << getPartitions().size()
         << " partitions, wanted two each";
}

LogicalResult GradStatsOp::verifySymbolUses(SymbolTableCollection &tables) {
  for (auto [index, symbol] :
       llvm::enumerate(getPartitions().getAsRange<FlatSymbolRefAttr>())) {
    PartitionOp partition = lookUpPartition(*this, symbol, tables);
    if (!partition)
      return failure();
    auto [begin, end] = getRange(index, partition);
    if (getRanges() && failed(verifyRange(*this, partition, begin, end)))
      return failure();
  }
  return success();
}
