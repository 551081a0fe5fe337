//===- ZeroPartitionOps.cpp - the mesh and its partitions -----------------===//

#include "zero/Dialect/Zero/Zero.h"

#include "Checks.h"
#include "PartitionStates.h"
#include "program/ByteCount.h"
#include "program/Collective.h"
#include "program/Mesh.h"

#include "mlir/IR/Builders.h"
#include "llvm/Support/InterleavedRange.h"

using namespace mlir;
using namespace mlir::zero;

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
  // Only axes of samples count: ranks that have positions of one sample give
  // terms of a sum, and no mean. Gradients of a part of the parameters come
  // from the samples of all ranks of the axes over which the parameters are
  // cut.
  auto countSamples = [](AxesAttr axes) {
    AxesAttr samples = axes ? axes.getBatchAxes() : AxesAttr();
    return samples ? static_cast<double>(samples.getSize()) : 1.0;
  };
  const double ranks = countSamples(getOver()) * countSamples(getPartsAttr());
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

std::optional<zrt::PassOrder> MeshOp::getPassOrder() {
  return zrt::findByName<zrt::PassOrder>(getOrder().value_or(""));
}

LogicalResult MeshOp::verifyStage() { // (C3)
  AxesAttr stages = getAxes().getStageAxes();
  std::optional<int64_t> stage = getStage();
  if (!stage)
    return success();
  if (!stages || *stage < 0 || *stage >= stages.getSize())
    return emitOpError("is of stage ")
           << *stage << ", wanted a place of an axis 'pipe' of " << getAxes();
  if (!getPassOrder())
    return emitOpError("has the order ")
           << getOrderAttr() << ", wanted one of "
           << llvm::interleaved(llvm::map_range(
                  zrt::kCasesOf<zrt::PassOrder>,
                  [](zrt::PassOrder each) { return nameOf(each); }));
  const bool isInterleaved = getPassOrder() == zrt::PassOrder::Interleaved;
  if (isInterleaved == (getChunks() > 1) && getChunks() > 0)
    return success();
  return emitOpError("has ")
         << zrt::plural(getChunks(), "chunk") << " with the order "
         << getOrderAttr() << ", wanted "
         << (isInterleaved ? "2 or more" : "1");
}

LogicalResult MeshOp::verify() {
  if (!getAxes().getBatchAxes()) // (C1)
    return emitOpError("has the axes ")
           << getAxes()
           << " alone, wanted one whose ranks have samples of their own, such "
              "as data = 1";
  AxesAttr states = getAxes().getStateAxes();
  if (!states.contains(getCutAxes()))
    return emitOpError("cuts states over ")
           << getCutAxes() << ", wanted axes of " << states
           << " in their order";
  auto isOfExperts = [](StringAttr name) {
    return zrt::cutsExperts(name.str());
  };
  if (llvm::all_of(getCutAxes().getNames(), isOfExperts))
    return emitOpError("cuts states over ")
           << getCutAxes()
           << " alone, over which those of experts are not cut; wanted another "
              "axis beside";
  if (failed(verifyStage()))
    return failure();
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
  if (std::optional<Type> wire = getWire();
      wire && !(isTrainable() && isa<FloatType>(*wire) &&
                wire->getIntOrFloatBitWidth() >
                    getComputeType().getIntOrFloatBitWidth()))
    return emitOpError("has gradients that travel in ")
           << *wire << ", and computes in " << getComputeType()
           << (isTrainable() ? "; wanted a wider float type"
                             : " and is not trained; wanted no 'wire'");
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

/// Whether `parts` are the axes that a parameter is cut over.
static bool isCutOver(ParameterOp parameter, AxesAttr parts) {
  AxesAttr left = parts;
  for (CutAttr cut : parameter.getCutList()) {
    if (!parts || !parts.contains(cut.getOver()))
      return false;
    left = left ? left.without(cut.getOver()) : left;
  }
  return !left;
}

LogicalResult PartitionOp::verifySymbolUses(SymbolTableCollection &tables) {
  for (MemberAttr member : getMemberRange()) { // (C3)
    auto parameter = tables.lookupNearestSymbolFrom<ParameterOp>(
        *this, member.getParameter());
    if (!parameter)
      return emitOpError("names ")
             << member.getParameter() << ", which is no 'zero.parameter'";
    if (!isCutOver(parameter, getPartsAttr())) { // (C12)
      InFlightDiagnostic error = emitOpError("holds ") << member.getParameter();
      parameter.getCuts()
          ? error << ", which is cut as " << *parameter.getCuts()
          : error << ", which is whole";
      error << "; wanted the parameters of a partition to be cut alike";
      error.attachNote(parameter.getLoc()) << "parameter declared here";
      return error;
    }
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
