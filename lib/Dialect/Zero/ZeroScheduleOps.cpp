//===- ZeroScheduleOps.cpp - verifiers of the schedule's operations -------===//

#include "zero/Dialect/Zero/Zero.h"

#include "Checks.h"
#include "PartitionStates.h"
#include "program/Collective.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::zero;

//===----------------------------------------------------------------------===//
// PartitionOp
//===----------------------------------------------------------------------===//

MemberAttr PartitionOp::findMember(StringRef parameter) {
  auto name = StringAttr::get(getContext(), parameter);
  for (MemberAttr member : getMemberRange())
    if (member.getParameter().getAttr() == name)
      return member;
  return {};
}

MemberAttr PartitionOp::findMemberIn(StringRef parameter, int64_t begin,
                                     int64_t end) {
  ArrayRef<Attribute> members = getMembers().getValue();
  const Attribute *next = llvm::partition_point(members, [&](Attribute entry) {
    auto member = cast<MemberAttr>(entry);
    return member.getOffset() + member.getSize() < begin;
  });
  auto name = StringAttr::get(getContext(), parameter);
  for (; next != members.end(); ++next)
    if (auto member = cast<MemberAttr>(*next); member.getOffset() > end)
      break;
    else if (member.getParameter().getAttr() == name)
      return member;
  return {};
}

double PartitionOp::getDivisor(bool prescaled) {
  const double ranks = static_cast<double>(getOver().getSize());
  return prescaled ? ranks * zrt::prescaleOf(getSlices()) *
                         zrt::prescaleOf(getReplicas())
                   : ranks;
}

SmallVector<std::pair<int64_t, int64_t>>
PartitionOp::getSegmentRuns(int64_t elements) {
  SmallVector<std::pair<int64_t, int64_t>> runs;
  ArrayRef<int64_t> segments = getSegments();
  for (size_t first = 0; first + 1 < segments.size();) {
    size_t last = first + 1;
    while (last + 1 < segments.size() &&
           segments[last + 1] - segments[first] <= elements)
      ++last;
    if (segments[last] > segments[first])
      runs.emplace_back(segments[first], segments[last]);
    first = last;
  }
  return runs;
}

SmallVector<std::pair<int64_t, int64_t>>
PartitionOp::getSegmentsIn(int64_t begin, int64_t end) {
  ArrayRef<int64_t> segments = getSegments();
  SmallVector<std::pair<int64_t, int64_t>> found;
  const int64_t *boundary = llvm::lower_bound(segments, begin);
  for (; boundary != segments.end() && boundary + 1 != segments.end() &&
         boundary[1] <= end;
       ++boundary)
    if (boundary[0] < boundary[1])
      found.push_back({boundary[0], boundary[1]});
  return found;
}

std::pair<int64_t, int64_t> PartitionOp::getSegmentsOf(StringRef parameter) {
  MemberAttr member = findMember(parameter);
  ArrayRef<int64_t> segments = getSegments();
  return {member.getOffset(),
          *llvm::lower_bound(segments, member.getOffset() + member.getSize())};
}

std::pair<int64_t, int64_t>
PartitionOp::getElementsIn(StringRef parameter, int64_t begin, int64_t end) {
  MemberAttr member = findMemberIn(parameter, begin, end);
  if (!member)
    return {end, end};
  int64_t first = std::max(begin, member.getOffset());
  return {first, std::max(first, std::min(end, member.getOffset() +
                                                   member.getSize()))};
}

LogicalResult MeshOp::verify() {
  if (!getAxes().contains(getCutAxes())) // (C1)
    return emitOpError("cuts states over ")
           << getCutAxes() << ", wanted axes of " << getAxes()
           << " in their order";
  AxesAttr secondary = getSecondaryAttr();
  if (!secondary ||
      (getCutAxes().contains(secondary) && getCutAxes() != secondary)) // (C2)
    return success();
  return emitOpError("has a secondary partition over ")
         << secondary << ", wanted some, not all, of " << getCutAxes()
         << " in their order";
}

/// (C9)
static LogicalResult verifyParameterTier(PartitionOp partition) {
  if (!partition.hasOffloadedParameters())
    return success();
  StringRef where =
      partition.hasParametersOnHost() ? "in host memory" : "in a file";
  if (!partition.hasShardedParameters())
    return partition.emitOpError("keeps parameters ")
           << where
           << " that no gather brings to the device, wanted sharded ones: "
              "stage 3";
  if (partition.isTrainable() &&
      partition.getHostEnd() != partition.getFlatElements())
    return partition.emitOpError("keeps parameters ")
           << where
           << " and states on the device, wanted no state there: only the host "
              "updates such parameters";
  return success();
}

/// (C10)
static LogicalResult verifyErrors(PartitionOp partition) {
  std::optional<ArrayRef<int64_t>> errors = partition.getErrors();
  if (!errors)
    return success();
  if (!partition.isTrainable() ||
      partition.getLayout() != LayoutKind::Parameter)
    return partition.emitOpError("keeps errors of gradients, wanted a "
                                 "partition that is trained and cut by "
                                 "parameter");
  ArrayRef<int64_t> list = *errors;
  bool isValid = !list.empty() && list.size() <= 2 && list.front() == 1;
  if (isValid && list.size() == 2)
    isValid = list[1] > 1 && list[1] < partition.getSlices() &&
              partition.getSlices() % list[1] == 0;
  if (isValid)
    return success();
  InFlightDiagnostic error = partition.emitOpError("keeps errors [");
  llvm::interleaveComma(list, error);
  return error << "], wanted [1], or [1, n] where groups of n ranks divide "
                  "the "
               << partition.getSlices() << " slices";
}

LogicalResult PartitionOp::verify() {
  ArrayRef<int64_t> segments = getSegments();
  if (!getOver().contains(getCut())) // (C6)
    return emitOpError("is cut over ")
           << getCut() << ", wanted axes of " << getOver() << " in their order";
  for (Type type : {getComputeType(), getGradientType()}) // (C8)
    if (!isa<FloatType>(type))
      return emitOpError("holds parameters or gradients of ")
             << type << ", wanted a float type such as f32";
  if (getStage() < 0 || getStage() > 3)
    return emitOpError("is of stage ") << getStage() << ", wanted 0 to 3";
  if (segments.empty() || segments.front() != 0 || !llvm::is_sorted(segments))
    return emitOpError("segments must begin at 0 and not decrease"); // (C1)
  for (size_t i = 1; i < segments.size(); ++i)
    if (getLayout() != LayoutKind::Whole &&
        (segments[i] - segments[i - 1]) % getSlices())
      return emitOpError("segment [")
             << segments[i - 1] << ", " << segments[i]
             << ") does not split over " << getSlices() << " ranks";
  if (getSplitMaster() && !getComputeType().isBF16()) // (C4)
    return emitOpError("splits the master of ")
           << getComputeType() << ", wanted bf16, which is a prefix of f32";
  int64_t end = 0;
  for (Attribute attribute : getMembers()) { // (C2)
    auto member = dyn_cast<MemberAttr>(attribute);
    if (!member)
      return emitOpError("member ") << attribute << " is no #zero.member";
    if (member.getOffset() < end ||
        member.getOffset() + member.getSize() > getFlatElements())
      return emitOpError("member ")
             << member.getParameter() << " at " << member.getOffset()
             << " overlaps its neighbour or leaves the " << getFlatElements()
             << " elements of the group";
    if (getLayout() == LayoutKind::Parameter && // (C5)
        !llvm::binary_search(segments, member.getOffset()))
      return emitOpError("member ")
             << member.getParameter() << " at " << member.getOffset()
             << " shares a segment, wanted segments of its own";
    end = member.getOffset() + member.getSize();
  }
  return success(succeeded(verifyStates(*this)) && // (C7)
                 succeeded(verifyParameterTier(*this)) &&
                 succeeded(verifyErrors(*this)) &&
                 succeeded(verifyQuantized(*this)));
}

LogicalResult PartitionOp::verifySymbolUses(SymbolTableCollection &tables) {
  for (MemberAttr member : getMemberRange()) { // (C3)
    auto parameter = tables.lookupNearestSymbolFrom<ParameterOp>(
        *this, member.getParameter());
    if (!parameter)
      return emitOpError("names ")
             << member.getParameter() << ", which is no 'zero.parameter'";
    if (parameter.getElements() == member.getSize())
      continue;
    InFlightDiagnostic error = emitOpError("gives ")
                               << member.getParameter() << " "
                               << member.getSize() << " elements, wanted "
                               << parameter.getElements();
    error.attachNote(parameter.getLoc()) << "parameter declared here";
    return error;
  }
  return success();
}

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

/// What lands in states that ranks keep leaves the wait nothing to give.
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
