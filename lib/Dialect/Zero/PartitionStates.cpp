//===- PartitionStates.cpp - the states of a partition --------------------===//

#include "PartitionStates.h"

#include "zero/Dialect/Zero/PartitionTable.h"
#include "zero/Dialect/Zero/Zero.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::zero;

//===----------------------------------------------------------------------===//
// StateAttr
//===----------------------------------------------------------------------===//

StateAttr StateAttr::get(MLIRContext *context, StringRef name, Type type,
                         MemoryTier tier) {
  return get(context, name, type,
             StateRangeAttr::get(context, 0, -1, tier, AtAttr()));
}

/// One range: `[0 to 64] on host at #zero.at<..>`, every part of it optional.
static FailureOr<StateRangeAttr> parseRange(AsmParser &parser, bool isBounded) {
  int64_t begin = 0, end = -1;
  if (isBounded && (parser.parseInteger(begin) || parser.parseKeyword("to") ||
                    parser.parseInteger(end) || parser.parseRSquare()))
    return failure();
  MemoryTier tier = MemoryTier::Device;
  if (succeeded(parser.parseOptionalKeyword("on"))) {
    StringRef name;
    SMLoc loc = parser.getCurrentLocation();
    if (parser.parseKeyword(&name))
      return failure();
    std::optional<MemoryTier> found = symbolizeMemoryTier(name);
    if (!found)
      return parser.emitError(loc, "tier '")
             << name << "' is none of device, host, file";
    tier = *found;
  }
  AtAttr at;
  if (succeeded(parser.parseOptionalKeyword("at")) && parser.parseAttribute(at))
    return failure();
  return StateRangeAttr::get(parser.getContext(), begin, end, tier, at);
}

StateAttr StateAttr::parseBody(AsmParser &parser) {
  StringRef name;
  Type type;
  if (parser.parseKeyword(&name) || parser.parseType(type))
    return {};
  SmallVector<StateRangeAttr> ranges;
  bool isBounded = succeeded(parser.parseOptionalLSquare());
  do {
    FailureOr<StateRangeAttr> range = parseRange(parser, isBounded);
    if (failed(range))
      return {};
    ranges.push_back(*range);
  } while (isBounded && succeeded(parser.parseOptionalLSquare()));
  return get(parser.getContext(), name, type, ranges);
}

void StateAttr::printBody(AsmPrinter &printer) const {
  printer << getName() << ' ' << getType();
  for (StateRangeAttr range : getRanges()) {
    if (range.getBegin() != 0 || range.getEnd() >= 0)
      printer << " [" << range.getBegin() << " to " << range.getEnd() << ']';
    if (range.getTier() != MemoryTier::Device)
      printer << " on " << stringifyMemoryTier(range.getTier());
    if (range.getAt())
      printer << " at " << range.getAt();
  }
}

Attribute StateAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return {};
  StateAttr state = parseBody(parser);
  return state && succeeded(parser.parseGreater()) ? state : StateAttr();
}

void StateAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printBody(printer);
  printer << '>';
}

//===----------------------------------------------------------------------===//
// The list of a partition
//===----------------------------------------------------------------------===//

SmallVector<OptimizerState> PartitionOp::describeStates(Type computeType,
                                                        bool splitMaster,
                                                        Attribute optimizer) {
  SmallVector<OptimizerState> states;
  auto rule = dyn_cast_or_null<OptimizerAttrInterface>(optimizer);
  if (!rule)
    return states;
  MLIRContext *context = computeType.getContext();
  if (splitMaster)
    states.push_back({"remainder",
                      IntegerType::get(context, 16, IntegerType::Unsigned),
                      StateStart::LowerHalf});
  else if (!computeType.isF32())
    states.push_back(
        {"master", Float32Type::get(context), StateStart::Parameter});
  llvm::append_range(states, rule.getStates());
  return states;
}

ArrayAttr PartitionOp::makeStates(Type computeType, bool splitMaster,
                                  Attribute optimizer) {
  MLIRContext *context = computeType.getContext();
  SmallVector<Attribute> states;
  for (const OptimizerState &state :
       describeStates(computeType, splitMaster, optimizer))
    states.push_back(
        StateAttr::get(context, state.name, state.type, MemoryTier::Device));
  return ArrayAttr::get(context, states);
}

ParseResult mlir::zero::parseStates(OpAsmParser &parser, ArrayAttr &states) {
  SmallVector<Attribute> list;
  if (parser.parseCommaSeparatedList(
          AsmParser::Delimiter::Square, [&]() -> ParseResult {
            list.push_back(StateAttr::parseBody(parser));
            return success(list.back() != nullptr);
          }))
    return failure();
  states = ArrayAttr::get(parser.getContext(), list);
  return success();
}

void mlir::zero::printStates(OpAsmPrinter &printer, Operation *,
                             ArrayAttr states) {
  printer << '[';
  llvm::interleaveComma(states, printer, [&](Attribute state) {
    cast<StateAttr>(state).printBody(printer);
  });
  printer << ']';
}

/// (C7): the ranges of a state.
static LogicalResult verifyRanges(PartitionOp partition, StateAttr state) {
  ArrayRef<int64_t> segments = partition.getSegments();
  int64_t next = 0;
  for (StateRangeAttr range : state.getRanges()) {
    auto [begin, end] = partition.getBounds(range);
    if (begin != next || end < begin || !llvm::binary_search(segments, begin) ||
        !llvm::binary_search(segments, end))
      return partition.emitOpError("state '")
             << state.getName() << "' has the range [" << begin << " to " << end
             << "], wanted one that begins at " << next
             << " and ends at a segment boundary";
    if (range.getAt() && range.getAt().getTier() != range.getTier())
      return partition.emitOpError("state '")
             << state.getName() << "' is at " << range.getAt()
             << ", wanted a place in the tier '"
             << stringifyMemoryTier(range.getTier()) << "'";
    next = end;
  }
  if (next == partition.getFlatElements())
    return success();
  return partition.emitOpError("state '")
         << state.getName() << "' covers " << next << " of "
         << partition.getFlatElements() << " elements";
}

/// "[exp_avg f32, exp_avg_sq f32]".
static std::string describe(ArrayRef<OptimizerState> states) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << '[';
  llvm::interleaveComma(states, os, [&](const OptimizerState &state) {
    os << state.name << ' ' << state.type;
  });
  os << ']';
  return text;
}

/// Describes a list of states; one with an entry that is no state is shown as
/// it is.
static std::string describe(ArrayAttr states) {
  SmallVector<OptimizerState> known;
  std::string text;
  for (Attribute attribute : states)
    if (auto state = dyn_cast<StateAttr>(attribute))
      known.push_back({state.getName(), state.getType()});
    else
      llvm::raw_string_ostream(text) << states;
  return text.empty() ? describe(known) : text;
}

/// Whether `states` are those that are wanted, but for where they are.
static bool matches(ArrayAttr states, ArrayRef<OptimizerState> wanted) {
  return states.size() == wanted.size() &&
         llvm::all_of(llvm::zip_equal(states, wanted), [](auto both) {
           auto [attribute, description] = both;
           auto state = dyn_cast<StateAttr>(attribute);
           return state && state.getName() == description.name &&
                  state.getType() == description.type;
         });
}

LogicalResult mlir::zero::verifyStates(PartitionOp partition) {
  SmallVector<OptimizerState> wanted = partition.describeStates();
  ArrayAttr states = partition.getStateList();
  if (!matches(states, wanted))
    return partition.emitOpError("has the states ")
           << describe(states) << ", wanted " << describe(wanted);
  for (auto state : states.getAsRange<StateAttr>())
    if (failed(verifyRanges(partition, state)))
      return failure();
  return success();
}

StateAttr PartitionOp::findState(StringRef name) {
  for (StateAttr state : getStateRange())
    if (state.getName() == name)
      return state;
  return {};
}

//===----------------------------------------------------------------------===//
// Parameters that are stored quantized
//===----------------------------------------------------------------------===//

int64_t PartitionOp::getParameterBytes(int64_t begin, int64_t end) {
  if (!getQuantized())
    return (end - begin) / (hasShardedParameters() ? getSlices() : 1) *
           elementBytes(getComputeType());
  ArrayRef<int64_t> segments = getSegments();
  int64_t bytes = 0;
  for (MemberAttr member : getMemberRange()) {
    const int64_t first = member.getOffset();
    if (first < begin || first >= end)
      continue;
    const int64_t last = *llvm::lower_bound(segments, first + member.getSize());
    bytes += getPackedBytes(first, last);
  }
  return bytes;
}

/// (C11)
LogicalResult mlir::zero::verifyQuantized(PartitionOp partition) {
  if (!partition.getQuantized() ||
      (!partition.isTrainable() && partition.hasShardedParameters() &&
       partition.getLayout() == LayoutKind::Parameter))
    return success();
  return partition.emitOpError("stores parameters quantized, wanted a "
                               "partition that is not trained, and sharded "
                               "by parameter: stage 3");
}

//===----------------------------------------------------------------------===//
// The update
//===----------------------------------------------------------------------===//

SmallVector<UpdateOperand> PartitionOp::getUpdateOperands() {
  Type compute = getComputeType();
  bool isWide = compute.isF32();
  SmallVector<UpdateOperand> operands = {
      {UpdateOperand::Gradients, "gradients", getGradientType(),
       hasShardedGradients(), /*isRead=*/true, /*isWritten=*/false}};
  if (isWide)
    operands.push_back({UpdateOperand::Parameters, "parameters", compute,
                        hasShardedParameters()});
  for (StateAttr state : getStateRange())
    operands.push_back({UpdateOperand::State, state.getName(), state.getType(),
                        hasShardedOptimizer()});
  // The upper half of a split master is read as well.
  if (!isWide)
    operands.push_back({UpdateOperand::Parameters, "parameters", compute,
                        hasShardedParameters(), /*isRead=*/getSplitMaster(),
                        /*isWritten=*/true});
  return operands;
}

bool PartitionOp::readsParameters() {
  return llvm::any_of(getUpdateOperands(), [](const UpdateOperand &operand) {
    return operand.kind == UpdateOperand::Parameters && operand.isRead;
  });
}

SmallVector<UpdateOperand> PartitionOp::getOperandsInFile(int64_t begin,
                                                          int64_t end) {
  bool hasStates = getStateTier(begin, end) == MemoryTier::File;
  SmallVector<UpdateOperand> operands;
  for (const UpdateOperand &operand : getUpdateOperands())
    if (operand.kind == UpdateOperand::State        ? hasStates
        : operand.kind == UpdateOperand::Parameters ? hasParametersInFile()
                                                    : false)
      operands.push_back(operand);
  return operands;
}

SmallVector<Type> PartitionOp::getOwnedTypesInFile(int64_t begin, int64_t end) {
  SmallVector<Type> types;
  for (const UpdateOperand &operand : getOperandsInFile(begin, end))
    types.push_back(getOwnedType(begin, end, operand.type));
  return types;
}

std::optional<MemoryTier> PartitionOp::getStateTier(int64_t begin,
                                                    int64_t end) {
  std::optional<MemoryTier> found;
  for (StateAttr state : getStateRange())
    for (StateRangeAttr range : state.getRanges()) {
      auto [first, last] = getBounds(range);
      if (first >= end || begin >= last)
        continue;
      if (found && *found != range.getTier())
        return std::nullopt;
      found = range.getTier();
    }
  if (!found && hasOffloadedParameters())
    return getParameterTier();
  return found;
}

int64_t PartitionOp::getHostEnd() {
  int64_t hostEnd = 0;
  for (auto [begin, end] : getSegmentsIn(0, getFlatElements())) {
    std::optional<MemoryTier> tier = getStateTier(begin, end);
    if (!tier || *tier == MemoryTier::Device)
      break;
    hostEnd = end;
  }
  return hostEnd;
}

SmallVector<std::pair<int64_t, int64_t>>
PartitionOp::getSubGroups(int64_t begin, int64_t end, int64_t elements) {
  SmallVector<std::pair<int64_t, int64_t>> groups;
  for (auto [first, last] : getSegmentsIn(begin, end)) {
    if (!groups.empty() &&
        getOwnedElements(groups.back().first, last) <= elements)
      groups.back().second = last;
    else
      groups.push_back({first, last});
  }
  return groups;
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

SmallVector<std::pair<std::string, AtAttr>> PartitionOp::getPlaces() {
  SmallVector<std::pair<std::string, AtAttr>> places;
  DictionaryAttr at = getAtAttr();
  if (!at)
    return places;
  for (NamedAttribute entry : at)
    places.push_back(
        {entry.getName().str(), dyn_cast<AtAttr>(entry.getValue())});
  for (StateAttr state : getStateRange())
    for (StateRangeAttr range : state.getRanges()) {
      std::string name = state.getName().str();
      if (state.getRanges().size() > 1)
        name += "[" + std::to_string(range.getBegin()) + " to " +
                std::to_string(range.getEnd()) + "]";
      places.push_back({std::move(name), range.getAt()});
    }
  return places;
}

bool PartitionOp::hasPlaces() {
  if (getAtAttr())
    return true;
  for (StateAttr state : getStateRange())
    for (StateRangeAttr range : state.getRanges())
      if (range.getAt())
        return true;
  return false;
}

void PartitionOp::setPlaces(ArrayRef<AtAttr> places) {
  NamedAttrList at;
  for (NamedAttribute entry : getAtAttr()) {
    at.append(entry.getName(), places.front());
    places = places.drop_front();
  }
  setAtAttr(at.getDictionary(getContext()));
  if (!isTrainable())
    return;
  SmallVector<Attribute> states;
  for (StateAttr state : getStateRange()) {
    SmallVector<StateRangeAttr> ranges;
    for (StateRangeAttr range : state.getRanges()) {
      ranges.push_back(StateRangeAttr::get(getContext(), range.getBegin(),
                                           range.getEnd(), range.getTier(),
                                           places.front()));
      places = places.drop_front();
    }
    states.push_back(
        StateAttr::get(getContext(), state.getName(), state.getType(), ranges));
  }
  setStatesAttr(ArrayAttr::get(getContext(), states));
}
