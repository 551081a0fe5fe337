//===- ZeroOps.cpp - optimizers, steps, regions, uses of parameters -------===//

#include "zero/Dialect/Zero/Zero.h"

#include "zero/Interfaces/Factors.h"

#include "PartitionStates.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionImplementation.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace mlir::zero;

static ParseResult parseCuts(OpAsmParser &parser, ArrayAttr &cuts) {
  SmallVector<Attribute> found;
  auto parse = [&]() -> ParseResult {
    auto cut = dyn_cast_if_present<CutAttr>(CutAttr::parse(parser, {}));
    found.push_back(cut);
    return success(cut != nullptr);
  };
  if (parser.parseCommaSeparatedList(parse))
    return failure();
  cuts = parser.getBuilder().getArrayAttr(found);
  return success();
}

static void printCuts(OpAsmPrinter &printer, Operation *, ArrayAttr cuts) {
  llvm::interleaveComma(
      cuts, printer, [&](Attribute cut) { cast<CutAttr>(cut).print(printer); });
}

LogicalResult OptimizerOp::verify() {
  auto rule = dyn_cast<OptimizerAttrInterface>(getOptimizer());
  if (rule && rule.takesGradients())
    return success();
  return emitOpError("optimizer ")
         << getOptimizer()
         << " is no optimizer, wanted one such as #zero.adam<>";
}

//===----------------------------------------------------------------------===//
// StepOp
//===----------------------------------------------------------------------===//

bool StepOp::isModel() {
  Block &body = getBody().front();
  return !body.empty() && isa<YieldOp>(body.back());
}

bool StepOp::hasWeights() {
  MicroOp micro = getLastMicro();
  if (micro && !beginsBackward(micro)) // of a stage with several chunks
    micro = getRegionOp<MicroOp>();
  Block *body = micro ? &micro.getBody().front() : nullptr;
  auto yield =
      body && !body->empty() ? dyn_cast<YieldOp>(body->back()) : YieldOp();
  return (*this)->hasAttr(getWeightedName()) || (yield && yield.getWeight());
}

/// A region whose text has a fault is destroyed while operations before it may
/// still name its values: the parser would follow them.
static ParseResult parsePhaseBody(OpAsmParser &parser, Region &body) {
  ParseResult result = parser.parseRegion(body);
  if (failed(result))
    for (Block &block : body)
      block.dropAllDefinedValueUses();
  else if (body.empty())
    body.emplaceBlock();
  return result;
}

static void printPhaseBody(OpAsmPrinter &printer, Operation *, Region &body) {
  printer.printRegion(body);
}

ParseResult StepOp::parse(OpAsmParser &parser, OperationState &result) {
  StringAttr name;
  if (parser.parseSymbolName(name, getSymNameAttrName(result.name),
                             result.attributes))
    return failure();
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<DictionaryAttr> resultAttrs;
  SmallVector<Type> resultTypes;
  bool isVariadic = false;
  if (function_interface_impl::parseFunctionSignatureWithArguments(
          parser, /*allowVariadic=*/false, arguments, isVariadic, resultTypes,
          resultAttrs))
    return failure();
  SmallVector<Type> types;
  for (auto &argument : arguments)
    types.push_back(argument.type);
  result.addAttribute(
      getFunctionTypeAttrName(result.name),
      TypeAttr::get(parser.getBuilder().getFunctionType(types, resultTypes)));
  call_interface_impl::addArgAndResultAttrs(
      parser.getBuilder(), result, arguments, resultAttrs,
      getArgAttrsAttrName(result.name), getResAttrsAttrName(result.name));
  if (succeeded(parser.parseOptionalKeyword("training"))) {
    TrainingAttr training;
    if (parser.parseAttribute(training))
      return failure();
    result.addAttribute(getTrainingAttrName(result.name), training);
  }
  if (parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  Region *body = result.addRegion();
  if (parser.parseRegion(*body, arguments))
    return failure();
  if (body->empty()) {
    Block &block = body->emplaceBlock();
    for (auto &argument : arguments)
      block.addArgument(argument.type, result.location);
  }
  return success();
}

void StepOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  printer.printSymbolName(getSymName());
  call_interface_impl::printFunctionSignature(
      printer, getArgumentTypes(), getArgAttrsAttr(), /*isVariadic=*/false,
      getResultTypes(), getResAttrsAttr(), &getBody(),
      /*printEmptyResult=*/false);
  if (getTraining())
    printer << " training " << getTrainingAttr();
  printer.printOptionalAttrDictWithKeyword(
      (*this)->getAttrs(),
      {getSymNameAttrName(), getFunctionTypeAttrName(), getArgAttrsAttrName(),
       getResAttrsAttrName(), getTrainingAttrName()});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false,
                      /*printBlockTerminators=*/true);
}

/// The data loader's name for an argument of `step`.
static std::string inputName(StepOp step, unsigned index) {
  auto name = step.getArgAttrOfType<StringAttr>(index, kInput);
  return name ? name.str() : "input" + std::to_string(index);
}

/// Upstream's verifier of this operation crashes at an empty group. It runs
/// after that of the operation around it.
static LogicalResult verifyGroups(StepOp step) {
  auto isEmpty = [](Attribute group) {
    auto dimensions = dyn_cast<ArrayAttr>(group);
    return dimensions && dimensions.empty();
  };
  WalkResult walked = step->walk([&](tensor::ExpandShapeOp expand) {
    ArrayAttr groups = expand.getReassociationAttr();
    if (!groups || llvm::none_of(groups, isEmpty))
      return WalkResult::advance();
    expand.emitOpError("has an empty group of dimensions in its reassociation; "
                       "each dimension of the operand becomes one or more");
    return WalkResult::interrupt();
  });
  return failure(walked.wasInterrupted());
}

/// The attribute of an input that this dialect does not know; or null.
static StringAttr unknownAttribute(StepOp step, unsigned index) {
  ArrayAttr attributes = step.getArgAttrsAttr();
  if (attributes)
    for (NamedAttribute each : cast<DictionaryAttr>(attributes[index]))
      if (each.getName() != kInput && each.getName() != kGradientOf &&
          each.getName().getValue().starts_with("zero."))
        return each.getName();
  return {};
}

LogicalResult StepOp::verify() {
  if (failed(verifyGroups(*this)))
    return failure();
  if (!getResultTypes().empty()) // (C1)
    return emitOpError("has results; yield outputs inside the body instead");
  for (auto [index, type] : llvm::enumerate(getArgumentTypes())) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || !tensor.hasStaticShape())
      return emitOpError("argument ")
             << index << " of type " << type
             << " must be a ranked tensor of static shape";
    if (StringAttr unknown = unknownAttribute(*this, index))
      return emitOpError("argument ")
             << index << " has the attribute '" << unknown.getValue()
             << "', wanted 'zero.input' or one of another dialect";
    Attribute given = getArgAttr(index, kInput); // (C3)
    auto text = dyn_cast_or_null<StringAttr>(given);
    if (given && (!text || text.empty() || !llvm::json::isUTF8(text)))
      return emitOpError("argument ")
             << index << " has 'zero.input' = " << given
             << ", wanted a name in quotes, in UTF-8";
    std::string name = inputName(*this, index);
    for (unsigned other = 0; other < index; ++other)
      if (inputName(*this, other) == name)
        return emitOpError("arguments ")
               << other << " and " << index << " are both the input '" << name
               << "'; give each a 'zero.input' of its own";
  }
  if (isModel()) // (C2)
    return success();
  unsigned micros = 0, applies = 0, lasts = 0;
  DenseMap<OperationName, Operation *> once;
  for (Operation &op : getBody().front()) {
    auto micro = dyn_cast<MicroOp>(op);
    applies += isa<ApplyOp>(op);
    micros += micro && !micro.getLast();
    lasts += micro && micro.getLast();
    if (!op.hasTrait<StepRegion>())
      return op.emitOpError("stands between the regions of a schedule; a model "
                            "must end in 'zero.yield'");
    if (micro && micro.getLast() && (lasts > 1 || micros == 0))
      return op.emitOpError("'last' stands once, after the 'zero.micro' that "
                            "runs for the micro-batches before");
    if (isa<ForwardOp>(op) && micros > 0)
      return op.emitOpError("stands behind 'zero.micro', which runs after it");
    if (!isa<EvaluateOp, InitializeOp>(op))
      continue;
    if (auto [first, isNew] = once.try_emplace(op.getName(), &op); !isNew) {
      InFlightDiagnostic error = op.emitOpError(
          "stands twice in one schedule, and only one would run; wanted one");
      error.attachNote(first->second->getLoc()) << "the first one";
      return error;
    }
  }
  const auto chunks =
      static_cast<unsigned>(llvm::range_size(getBody().getOps<ForwardOp>()));
  if (micros != std::max(chunks, 1u) || applies != 1)
    return emitOpError("a schedule needs ")
           << (chunks > 1 ? "a 'zero.micro' for each 'zero.forward'"
                          : "one 'zero.micro'")
           << " and one 'zero.apply', found " << micros << " and " << applies;
  return verifyChunks();
}

MicroOp StepOp::getLastMicro() {
  MicroOp last;
  for (auto micro : getBody().getOps<MicroOp>())
    last = micro;
  return last;
}

int64_t StepOp::getRunsPerUpdate(Operation *region) {
  if (isa<ApplyOp>(region))
    return 1;
  if (isa<ForwardOp>(region))
    return getTraining()->getAccumulation();
  auto micro = dyn_cast<MicroOp>(region);
  if (!micro)
    return 0;
  bool hasLast = getLastMicro().getLast();
  return micro.getLast() ? 1 : getTraining()->getAccumulation() - hasLast;
}

//===----------------------------------------------------------------------===//
// YieldOp
//===----------------------------------------------------------------------===//

/// Whether `op` ends what has no loss: that is in the last stage of a pipeline,
/// and there in the last chunk.
static bool isBeforeLastStage(Operation *op) {
  auto module = op->getParentOfType<ModuleOp>();
  if (!module)
    return false;
  auto pass = dyn_cast<MicroOp>(op->getParentOp());
  for (MeshOp mesh : module.getOps<MeshOp>())
    if (std::optional<int64_t> stage = mesh.getStage())
      if (AxesAttr stages = mesh.getAxes().getStageAxes())
        return *stage + 1 < stages.getSize() ||
               (pass &&
                !cast<StepOp>(pass->getParentOp()).beginsBackward(pass));
  return false;
}

LogicalResult YieldOp::verify() {
  if (getValues().empty() && isBeforeLastStage(*this)) {
    if (getWeight() || getOutputs())
      return emitOpError("has a weight or outputs and no loss; the last stage "
                         "of the pipeline has them");
    return success();
  }
  if (getValues().empty())
    return emitOpError("has no loss to yield");
  auto loss = cast<RankedTensorType>(getValues().front().getType());
  if (loss.getRank() != 0 ||
      !(loss.getElementType().isF32() || loss.getElementType().isF64()))
    return emitOpError("the loss has type ") << loss << ", wanted tensor<f32>";
  size_t names = getOutputs() ? getOutputs()->size() : 0;
  if (names != getValues().size() - 1) // (C2)
    return emitOpError("names ") << names << " outputs but yields "
                                 << getValues().size() - 1 << " after the loss";
  llvm::SmallDenseSet<Attribute> seen; // (C3)
  seen.insert(StringAttr::get(getContext(), "loss"));
  for (unsigned i = 0; i < names; ++i) {
    auto name = cast<StringAttr>((*getOutputs())[i]);
    if (!seen.insert(name).second)
      return emitOpError("has two outputs named ")
             << name << "; the loss is named \"loss\"";
    if (name.empty() || name.getValue() == "__metadata__")
      return emitOpError("has an output named ")
             << name << ", as no tensor in a file can be; give it another one";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Uses of parameters
//===----------------------------------------------------------------------===//

/// (C1) and (C2) of operations that use `symbol` as a tensor of `type`, which
/// may be a gradient.
static LogicalResult verifyParameterUse(Operation *op, FlatSymbolRefAttr symbol,
                                        Type type,
                                        SymbolTableCollection &tables) {
  auto parameter = tables.lookupNearestSymbolFrom<ParameterOp>(op, symbol);
  if (!parameter)
    return op->emitOpError("names ")
           << symbol << ", which is no 'zero.parameter'";
  auto tensor = cast<RankedTensorType>(type);
  RankedTensorType declared = parameter.getTensorType();
  Type element = tensor.getElementType();
  bool convertible = element == declared.getElementType() || element.isBF16() ||
                     element.isF16() ||
                     (element.isF32() && isa<GradientOp>(op));
  if (tensor.getShape() == declared.getShape() && convertible)
    return success();
  InFlightDiagnostic error = op->emitOpError("has type ")
                             << tensor << " for a parameter of type "
                             << declared;
  error.attachNote(parameter.getLoc()) << "parameter declared here";
  return error;
}

LogicalResult LoadOp::verifySymbolUses(SymbolTableCollection &tables) {
  return verifyParameterUse(*this, getParameterAttr(), getType(), tables);
}

zrt::Factors LoadOp::getFactors() { return elementwiseFactors(*this); }

LogicalResult LoadOp::verify() {
  if (!getSource() || getSource().getType() == getType()) // (C3)
    return success();
  return emitOpError("has type ")
         << getType() << " and is from a " << getSource().getType()
         << ", wanted one type";
}

ParseResult LoadOp::parse(OpAsmParser &parser, OperationState &result) {
  FlatSymbolRefAttr parameter;
  OpAsmParser::UnresolvedOperand source;
  Type type;
  if (parser.parseAttribute(parameter, getParameterAttrName(result.name),
                            result.attributes))
    return failure();
  bool hasSource = succeeded(parser.parseOptionalKeyword("from"));
  if ((hasSource && parser.parseOperand(source)) ||
      parser.parseOptionalAttrDict(result.attributes) ||
      parser.parseColonType(type) ||
      (hasSource && parser.resolveOperand(source, type, result.operands)))
    return failure();
  result.addTypes(type);
  return success();
}

void LoadOp::print(OpAsmPrinter &printer) {
  printer << ' ' << getParameterAttr();
  if (getSource())
    printer << " from " << getSource();
  printer.printOptionalAttrDict((*this)->getAttrs(),
                                {getParameterAttrName().getValue()});
  printer << " : " << getType();
}

void LoadOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), getParameter());
}

LogicalResult GradientOp::verifySymbolUses(SymbolTableCollection &tables) {
  if (isBlock()) { // (C3)
    auto parameter =
        tables.lookupNearestSymbolFrom<ParameterOp>(*this, getParameterAttr());
    auto value = cast<RankedTensorType>(getValue().getType());
    auto [begin, end] = getElements();
    if (parameter && begin >= 0 && begin < end &&
        end <= parameter.getElements() && value.getNumElements() == end - begin)
      return success();
    return emitOpError("gives ")
           << value << " as elements [" << begin << " to " << end << ") of "
           << getParameterAttr() << ", wanted a range of its elements";
  }
  return verifyParameterUse(*this, getParameterAttr(), getValue().getType(),
                            tables);
}

LogicalResult TrackOp::verifySymbolUses(SymbolTableCollection &tables) {
  auto parameter =
      tables.lookupNearestSymbolFrom<ParameterOp>(*this, getParameterAttr());
  if (!parameter || !parameter.getAverage()) // (C1)
    return emitOpError("names ")
           << getParameterAttr()
           << ", wanted a 'zero.parameter' that is an 'average'";
  if (getValue().getType() == parameter.getTensorType()) // (C2)
    return success();
  return emitOpError("follows a ")
         << getValue().getType() << ", and " << getParameterAttr() << " is a "
         << parameter.getTensorType();
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &tables) {
  auto kernel =
      tables.lookupNearestSymbolFrom<func::FuncOp>(*this, getKernelAttr());
  if (!kernel)
    return emitOpError("names ") << getKernelAttr() << ", which is no function";
  auto type = FunctionType::get(getContext(), getInputs().getTypes(),
                                getOutputs().getTypes());
  if (kernel.getFunctionType() == type)
    return success();
  InFlightDiagnostic error = emitOpError("has type ")
                             << type << " but the kernel has "
                             << kernel.getFunctionType();
  error.attachNote(kernel.getLoc()) << "kernel declared here";
  return error;
}

/// "4 ranks", "<replica = 2, shard = 3> cut <shard = 3>".
static ParseResult parseOwners(OpAsmParser &parser, AxesAttr &over,
                               AxesAttr &cut) {
  int64_t ranks = 0;
  SMLoc place = parser.getCurrentLocation();
  OptionalParseResult isLine = parser.parseOptionalInteger(ranks);
  if (isLine.has_value()) {
    if (failed(*isLine) || parser.parseKeyword("ranks"))
      return failure();
    if (ranks < 1)
      return parser.emitError(place)
             << "found " << ranks << " ranks, wanted at least 1";
    cut = over = AxesAttr::getLine(parser.getContext(), ranks);
    return success();
  }
  if (parser.parseCustomAttributeWithFallback(over))
    return failure();
  cut = over;
  if (failed(parser.parseOptionalKeyword("cut")))
    return success();
  return parser.parseCustomAttributeWithFallback(cut);
}

static void printOwners(OpAsmPrinter &printer, PartitionOp, AxesAttr over,
                        AxesAttr cut) {
  if (over == cut && over.isLine()) {
    printer << over.getSize() << " ranks";
    return;
  }
  printer.printStrippedAttrOrType(over);
  if (over == cut)
    return;
  printer << " cut ";
  printer.printStrippedAttrOrType(cut);
}

#define GET_OP_CLASSES
#include "zero/Dialect/Zero/ZeroOps.cpp.inc"
