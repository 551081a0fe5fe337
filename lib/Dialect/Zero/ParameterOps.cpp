//===- ParameterOps.cpp - parameters, and what files have beside them -----===//

#include "zero/Dialect/Zero/Zero.h"

#include "AttrBounds.h"

#include "mlir/IR/Builders.h"
#include "llvm/Support/InterleavedRange.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace mlir::zero;

/// A name that files of weights can have for a tensor.
static LogicalResult verifyStoredName(Operation *op, StringRef name) {
  if (name == "__metadata__")
    return op->emitOpError("has the name that weights files keep for their "
                           "metadata; give it another one");
  if (!llvm::json::isUTF8(name))
    return op->emitOpError("has a name that is not UTF-8, as names in weights "
                           "files are; give it another one");
  return success();
}

//===----------------------------------------------------------------------===//
// StoredTensorOp
//===----------------------------------------------------------------------===//

LogicalResult StoredTensorOp::verify() {
  if (failed(verifyStoredName(*this, getTensor()))) // (C1)
    return failure();
  std::optional<StringRef> digest = getDigest(); // (C3)
  uint64_t value = 0;
  if (digest && (digest->size() != 16 || digest->getAsInteger(16, value)))
    return emitOpError("has the digest \"")
           << *digest << "\", wanted 16 hexadecimal digits";
  if (digest && getParameter())
    return emitOpError("is another name of ")
           << getParameterAttr() << " and has a digest, wanted one of the two";
  return success();
}

LogicalResult StoredTensorOp::verifySymbolUses(SymbolTableCollection &tables) {
  if (tables.lookupNearestSymbolFrom<ParameterOp>(*this, getTensorAttr()))
    return emitOpError("has the name of a parameter"); // (C1)
  auto module = (*this)->getParentOfType<ModuleOp>();
  const bool isStage = module && module->getParentOfType<ModuleOp>();
  if (getParameter() && !isStage &&
      !tables.lookupNearestSymbolFrom<ParameterOp>(*this,
                                                   getParameterAttr())) // (C2)
    return emitOpError("names ")
           << getParameterAttr() << ", which is no 'zero.parameter'";
  for (auto *other = (*this)->getPrevNode(); other;
       other = other->getPrevNode())
    if (auto stored = dyn_cast<StoredTensorOp>(other);
        stored && stored.getTensor() == getTensor()) {
      InFlightDiagnostic error = emitOpError("is declared twice: \"")
                                 << getTensor() << '"';
      error.attachNote(stored.getLoc()) << "here before";
      return error;
    }
  return success();
}

//===----------------------------------------------------------------------===//
// ParameterOp
//===----------------------------------------------------------------------===//

LogicalResult ParameterOp::verify() {
  RankedTensorType type = getTensorType(); // (C1)
  if (!type.hasStaticShape() || !isa<FloatType>(type.getElementType()))
    return emitOpError("type ")
           << type << " must have a static shape and float elements";
  if (!isa<ZerosAttr, OnesAttr, ConstantAttr, NormalAttr, UniformAttr>(
          getInit()))
    return emitOpError("initial value ") // (C2)
           << getInit()
           << " is none of #zero.zeros, #zero.ones, #zero.constant, "
              "#zero.normal, #zero.uniform";
  if (failed(verifyStoredName(*this, getSymName()))) // (C3)
    return failure();
  if (failed(getAverage() ? verifyAverage() : success()))
    return failure();
  if (getUnused() && (getFrozen() || getAverage())) // (C6)
    return emitOpError("is 'unused' and ")
           << (getFrozen() ? "'frozen'" : "an average")
           << ": only a parameter that could be trained is unused; leave it "
              "out";
  if ((getCuts() && failed(verifyCuts())) ||
      (getStages() && failed(verifyStages())))
    return failure();
  return getRows() ? verifyRows() : success();
}

LogicalResult ParameterOp::verifyStages() { // (C8)
  std::optional<int64_t> here;
  if (auto module = (*this)->getParentOfType<ModuleOp>())
    for (MeshOp mesh : module.getOps<MeshOp>())
      here = mesh.getStage();
  ArrayRef<int64_t> stages = *getStages();
  bool rises = std::is_sorted(stages.begin(), stages.end()) &&
               std::adjacent_find(stages.begin(), stages.end()) == stages.end();
  if (getAverage() || stages.size() < 2 || stages.front() < 0 || !rises ||
      !here || !llvm::is_contained(stages, *here))
    return emitOpError("is in stages [")
           << llvm::interleaved(stages)
           << "], wanted two or more, rising, among them that of its module, "
              "and no average";
  return success();
}

LogicalResult ParameterOp::verifyCuts() { // (C7)
  if (getAverage())
    return emitOpError("is cut and an average, wanted one of the two");
  SmallVector<CutAttr, 2> cuts = getCutList();
  for (auto [index, cut] : llvm::enumerate(cuts)) {
    if (getRows() && (cut.getDim() != 0 || cut.getRepeats() != 1 ||
                      cut.getPieces().size() != 1))
      return emitOpError("is cut as ")
             << cut << " and has padding, which is behind all of its rows; "
             << "wanted a cut of dimension 0 in one piece";
    for (CutAttr other : ArrayRef(cuts).take_front(index))
      if (other.getDim() == cut.getDim() ||
          other.getOver().without(cut.getOver()) != other.getOver())
        return emitOpError("is cut as ")
               << other << " and as " << cut
               << ", wanted another dimension and other axes for each";
    if (!cut.fitsPart(getTensorType()))
      return emitOpError("is cut as ")
             << cut << ", which gives each rank " << cut.getPartSize()
             << " indices of dimension " << cut.getDim() << ", and its type is "
             << getTensorType();
  }
  return success();
}

SmallVector<CutAttr, 2> ParameterOp::getCutList() {
  SmallVector<CutAttr, 2> cuts;
  if (std::optional<ArrayAttr> given = getCuts())
    llvm::append_range(cuts, given->getAsRange<CutAttr>());
  return cuts;
}

CutAttr ParameterOp::getCutOver(AxesAttr axis) {
  for (CutAttr cut : getCutList())
    if (cut.getOver() == axis)
      return cut;
  return {};
}

AxesAttr ParameterOp::getCutAxes(AxesAttr mesh) {
  AxesAttr others = mesh;
  for (CutAttr cut : getCutList())
    others = others ? others.without(cut.getOver()) : others;
  return mesh.without(others);
}

void ParameterOp::addCut(CutAttr cut) {
  SmallVector<CutAttr, 2> cuts = getCutList();
  cuts.push_back(cut);
  setType(cut.getPartType(getTensorType()));
  setCutsAttr(
      Builder(getContext())
          .getArrayAttr(SmallVector<Attribute>(cuts.begin(), cuts.end())));
}

RankedTensorType ParameterOp::getWholeType() {
  RankedTensorType type = getTensorType();
  for (CutAttr cut : getCutList())
    type = cut.getWholeType(type);
  return type;
}

RankedTensorType ParameterOp::getFileType() {
  RankedTensorType type = getWholeType();
  if (!getRows())
    return type;
  SmallVector<int64_t> shape(type.getShape());
  shape.front() = static_cast<int64_t>(*getRows());
  return type.clone(shape);
}

LogicalResult ParameterOp::verifyRows() { // (C5)
  RankedTensorType type = getWholeType();
  if (getAverage())
    return emitOpError("is an average, which may have no padding; leave its "
                       "rows out");
  if (type.getRank() == 0)
    return emitOpError("has rows, but its type ")
           << type << " has no dimension; leave them out";
  auto rows = static_cast<int64_t>(*getRows());
  if (rows >= 1 && rows <= type.getDimSize(0))
    return success();
  return emitOpError("has ")
         << rows << " rows, wanted 1 to " << type.getDimSize(0)
         << ", the first dimension of " << type;
}

LogicalResult ParameterOp::verifyAverage() { // (C4)
  if (failed(expectWeight([&] { return emitOpError(); }, "average",
                          getAverage()->convertToDouble())))
    return failure();
  if (getFrozen() || getGroup() != "default")
    return emitOpError("is an average, which no optimizer changes: it has no "
                       "group and is not frozen");
  if (!getTensorType().getElementType().isF32())
    return emitOpError("is an average of type ")
           << getTensorType() << ", wanted f32 elements";
  return success();
}
