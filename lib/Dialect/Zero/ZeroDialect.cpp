//===- ZeroDialect.cpp - types, attributes, dialect -----------------------===//

#include "zero/Dialect/Zero/Zero.h"

#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FoldInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/Format.h"

#include <cstdlib>

using namespace mlir;
using namespace mlir::zero;

FailureOr<Real> mlir::zero::parseDouble(AsmParser &parser) {
  double value;
  if (failed(parser.parseFloat(value)))
    return failure();
  return Real(value);
}

void mlir::zero::printDouble(AsmPrinter &printer, double value) {
  // Seventeen digits always suffice; fewer read better where they do.
  char text[64];
  for (int digits = 6; digits <= 17; ++digits) {
    snprintf(text, sizeof(text), "%.*g", digits, value);
    if (strtod(text, nullptr) == value)
      break;
  }
  StringRef spelled(text);
  if (spelled.contains('e') && !spelled.contains('.')) {
    // MLIR's float literals need a point before the exponent.
    auto [mantissa, exponent] = spelled.split('e');
    printer << mantissa << ".0e" << exponent;
    return;
  }
  printer << spelled;
  if (!spelled.contains('.'))
    printer << ".0";
}

FailureOr<bool> mlir::zero::parseBool(AsmParser &parser) {
  if (succeeded(parser.parseOptionalKeyword("true")))
    return true;
  if (succeeded(parser.parseKeyword("false")))
    return false;
  return failure();
}

std::string MemorySpace::describe() const {
  std::string text = stringifyArenaKind(arena).str();
  if (tier != MemoryTier::Device)
    text += " on " + stringifyMemoryTier(tier).str();
  return text;
}

Type PendingType::parse(AsmParser &parser) {
  SmallVector<Type> types;
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater, [&] {
        return parser.parseType(types.emplace_back());
      }))
    return {};
  return PendingType::get(parser.getContext(), types);
}

void PendingType::print(AsmPrinter &printer) const {
  printer << '<';
  llvm::interleaveComma(getTypes(), printer);
  printer << '>';
}

/// The buffers of what is started have their places under their names; inputs
/// and results, in their order.
static LogicalResult verifyPlaces(Operation *op, Attribute value) {
  auto isPlace = [](NamedAttribute entry) {
    return isa<AtAttr>(entry.getValue());
  };
  if (isa<AsyncOpInterface>(op)) {
    auto places = dyn_cast<DictionaryAttr>(value);
    if (places && llvm::all_of(places, isPlace))
      return success();
    return op->emitOpError("attribute 'zero.at' must be a dictionary of "
                           "#zero.at, each under the name of its buffer");
  }
  auto places = dyn_cast<ArrayAttr>(value);
  if (places && llvm::all_of(places, llvm::IsaPred<AtAttr>))
    return success();
  return op->emitOpError("attribute 'zero.at' must be an array of #zero.at, "
                         "one a buffer");
}

LogicalResult ZeroDialect::verifyOperationAttribute(Operation *op,
                                                    NamedAttribute attribute) {
  if (attribute.getName() == kPlaces)
    return verifyPlaces(op, attribute.getValue());
  // The rank that a specialised program is for.
  if (attribute.getName() == kRank) {
    auto step = dyn_cast<StepOp>(op);
    auto rank = dyn_cast<IntegerAttr>(attribute.getValue());
    if (!step || !step.getTraining() || !rank || rank.getInt() < 0 ||
        rank.getInt() >= step.getTraining()->getRanks())
      return op->emitOpError("attribute 'zero.rank' must be a rank of a "
                             "configured step");
    return success();
  }
  // The dimension of a parameter that an axis is to cut; -1: none.
  if (attribute.getName() == ParameterOp::getShardingName()) {
    auto parameter = dyn_cast<ParameterOp>(op);
    auto dim = dyn_cast<IntegerAttr>(attribute.getValue());
    if (!parameter || !dim || dim.getInt() < -1 ||
        dim.getInt() >= parameter.getTensorType().getRank())
      return op->emitOpError("attribute 'zero.sharding' must be a dimension of "
                             "a parameter, or -1 for none");
    return success();
  }
  // The parameters of the model that the stages of a pipeline were cut from.
  if (attribute.getName() == kDeclaredParameters) {
    auto names = dyn_cast<ArrayAttr>(attribute.getValue());
    if (!isa<ModuleOp>(op) || !names ||
        !llvm::all_of(names, llvm::IsaPred<StringAttr>))
      return op->emitOpError("attribute '")
             << kDeclaredParameters << "' must be names, of a module of stages";
    return success();
  }
  // The model has weights beside it, from which its runs start; the stage with
  // the loss weighs micro-batches.
  if (attribute.getName() == "zero.pretrained" ||
      attribute.getName() == StepOp::getWeightedName()) {
    if (!isa<StepOp>(op) || !isa<UnitAttr>(attribute.getValue()))
      return op->emitOpError("attribute '")
             << attribute.getName().getValue()
             << "' must be a unit attribute of a step";
    return success();
  }
  return op->emitOpError("unknown attribute '") << attribute.getName() << "'";
}

#include "zero/Dialect/Zero/ZeroDialect.cpp.inc"
#include "zero/Dialect/Zero/ZeroEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "zero/Dialect/Zero/ZeroAttrs.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "zero/Dialect/Zero/ZeroTypes.cpp.inc"

namespace {
/// Keeps constants inside the region of the step that uses them: between the
/// regions nothing may stand.
struct ZeroFoldInterface : public DialectFoldInterface {
  using DialectFoldInterface::DialectFoldInterface;
  bool shouldMaterializeInto(Region *region) const final {
    return region->getParentOp()->hasTrait<StepRegion>();
  }
};
} // namespace

void ZeroDialect::initialize() {
  addInterfaces<ZeroFoldInterface>();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "zero/Dialect/Zero/ZeroAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "zero/Dialect/Zero/ZeroTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "zero/Dialect/Zero/ZeroOps.cpp.inc"
      >();
}
