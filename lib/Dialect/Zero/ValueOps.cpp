//===- ValueOps.cpp - values of a model on the ranks of a mesh ------------===//

#include "Checks.h"

#include "zero/Dialect/Zero/Zero.h"
#include "zero/Interfaces/Factors.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::zero;

//===----------------------------------------------------------------------===//
// The cut of a dimension
//===----------------------------------------------------------------------===//

LogicalResult CutAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                              int64_t dim, int64_t repeats,
                              ArrayRef<int64_t> pieces, AxesAttr over) {
  if (dim < 0 || repeats < 1) // (C1)
    return emitError() << "found dimension " << dim << " repeated " << repeats
                       << " times, wanted at least 0 and 1";
  if (pieces.empty()) // (C2)
    return emitError() << "found no pieces, wanted at least one";
  int64_t whole = 0, ranks = over.getSize();
  bool overflows = false;
  for (int64_t piece : pieces) {
    if (piece < 1 || piece % ranks != 0)
      return emitError() << "found a piece of " << piece << " over " << ranks
                         << " ranks, wanted a multiple of the ranks";
    overflows |= llvm::AddOverflow(whole, piece, whole);
  }
  if (overflows || llvm::MulOverflow(whole, repeats, whole)) // (C3)
    return emitError() << "the pieces have more than 2^63 indices";
  return success();
}

int64_t CutAttr::getWholeSize() const {
  return getRepeats() * llvm::sum_of(getPieces(), int64_t(0));
}

int64_t CutAttr::getWholeIndex(int64_t at, int64_t index) const {
  int64_t ranks = getOver().getSize();
  int64_t whole = llvm::sum_of(getPieces(), int64_t(0));
  int64_t begin = at / (whole / ranks) * whole;
  at %= whole / ranks;
  for (int64_t piece : getPieces()) {
    int64_t part = piece / ranks;
    if (at < part)
      return begin + index * part + at;
    at -= part;
    begin += piece;
  }
  llvm_unreachable("the index is in a piece");
}

bool CutAttr::fitsWhole(RankedTensorType type) const {
  return getDim() < type.getRank() &&
         type.getDimSize(getDim()) == getWholeSize();
}

bool CutAttr::fitsPart(RankedTensorType type) const {
  return getDim() < type.getRank() &&
         type.getDimSize(getDim()) == getPartSize();
}

static RankedTensorType withSize(RankedTensorType type, int64_t dim,
                                 int64_t size) {
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = size;
  return type.clone(shape);
}

RankedTensorType CutAttr::getPartType(RankedTensorType whole) const {
  return withSize(whole, getDim(), getPartSize());
}

RankedTensorType CutAttr::getWholeType(RankedTensorType part) const {
  return withSize(part, getDim(), getWholeSize());
}

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

static LogicalResult verifyCut(Operation *op, CutAttr cut, Value whole,
                               Value part) {
  auto wholeType = cast<RankedTensorType>(whole.getType());
  if (!cut.fitsWhole(wholeType)) // (C2)
    return op->emitOpError("cuts ")
           << wholeType << ", wanted " << cut.getWholeSize()
           << " indices in dimension " << cut.getDim();
  RankedTensorType wanted = cut.getPartType(wholeType);
  if (part.getType() == wanted)
    return success();
  return op->emitOpError("has a part of ")
         << part.getType() << ", wanted " << wanted;
}

LogicalResult SliceValueOp::verify() {
  return verifyCut(*this, getCut(), getValue(), getResult());
}

LogicalResult GatherValueOp::verify() {
  return verifyCut(*this, getCut(), getResult(), getValue());
}

LogicalResult ScatterValueOp::verify() {
  if (getCut().getPieces().size() != 1) // (C3)
    return emitOpError("cuts dimension ")
           << getCut().getDim() << " in " << getCut().getPieces().size()
           << " pieces, wanted one";
  return verifyCut(*this, getCut(), getValue(), getResult());
}

RankedTensorType ExchangeValueOp::getWholeType() {
  return getFrom().getWholeType(cast<RankedTensorType>(getValue().getType()));
}

LogicalResult ExchangeValueOp::verify() {
  CutAttr from = getFrom(), to = getTo();
  auto part = cast<RankedTensorType>(getValue().getType());
  if (from.getOver() != to.getOver()) // (C1)
    return emitOpError("cuts over ") << from.getOver() << " and over "
                                     << to.getOver() << ", wanted one group";
  if (from.getDim() == to.getDim()) // (C3)
    return emitOpError("is cut along dimension ")
           << from.getDim() << " and gives that, wanted another one";
  for (CutAttr cut : {from, to})
    if (cut.getPieces().size() != 1)
      return emitOpError("cuts dimension ")
             << cut.getDim() << " in " << cut.getPieces().size()
             << " pieces, wanted one";
  if (!from.fitsPart(part)) // (C2)
    return emitOpError("has a part of ")
           << part << ", wanted " << from.getPartSize()
           << " indices in dimension " << from.getDim();
  RankedTensorType whole = getWholeType();
  if (!to.fitsWhole(whole))
    return emitOpError("cuts ") << whole << ", wanted " << to.getWholeSize()
                                << " indices in dimension " << to.getDim();
  RankedTensorType wanted = to.getPartType(whole);
  if (getResult().getType() == wanted)
    return success();
  return emitOpError("gives ")
         << getResult().getType() << ", wanted " << wanted;
}

LogicalResult ReplicateOp::verifySymbolUses(SymbolTableCollection &) {
  return verifyIsOfMesh(*this, getOver());
}
LogicalResult CountOnceOp::verifySymbolUses(SymbolTableCollection &) {
  return verifyIsOfMesh(*this, getOver());
}
LogicalResult TermValueOp::verifySymbolUses(SymbolTableCollection &) {
  return verifyIsOfMesh(*this, getOver());
}
LogicalResult AllReduceValueOp::verifySymbolUses(SymbolTableCollection &) {
  return verifyIsOfMesh(*this, getOver());
}
LogicalResult SliceValueOp::verifySymbolUses(SymbolTableCollection &) {
  return verifyIsOfMesh(*this, getCut().getOver());
}
LogicalResult GatherValueOp::verifySymbolUses(SymbolTableCollection &) {
  return verifyIsOfMesh(*this, getCut().getOver());
}
LogicalResult ScatterValueOp::verifySymbolUses(SymbolTableCollection &) {
  return verifyIsOfMesh(*this, getCut().getOver());
}
LogicalResult ExchangeValueOp::verifySymbolUses(SymbolTableCollection &) {
  return verifyIsOfMesh(*this, getFrom().getOver());
}

//===----------------------------------------------------------------------===//
// Factors
//===----------------------------------------------------------------------===//

static zrt::Factors linear(zrt::Factors factors) {
  factors.operands.front().isLinear = true;
  return factors;
}

zrt::Factors ReplicateOp::getFactors() {
  return linear(elementwiseFactors(*this));
}
zrt::Factors CountOnceOp::getFactors() {
  return linear(elementwiseFactors(*this));
}
zrt::Factors TermValueOp::getFactors() {
  return linear(elementwiseFactors(*this));
}
zrt::Factors AllReduceValueOp::getFactors() {
  return linear(elementwiseFactors(*this));
}

/// Factors of an operation that needs all of the dimensions `cut`, and computes
/// each index of the others by itself.
static zrt::Factors factorsAround(Operation *op, ArrayRef<int64_t> cut) {
  zrt::Factors factors;
  zrt::FactoredTensor from, to;
  auto shapeOf = [](Value value) {
    return cast<RankedTensorType>(value.getType()).getShape();
  };
  for (auto [dim, sizes] : llvm::enumerate(llvm::zip_equal(
           shapeOf(op->getOperand(0)), shapeOf(op->getResult(0))))) {
    auto [before, after] = sizes;
    bool isCut = llvm::is_contained(cut, static_cast<int64_t>(dim));
    auto kind = isCut ? zrt::FactorKind::Whole : zrt::FactorKind::Parallel;
    from.dimensions.push_back(addFactor(factors, kind, before));
    to.dimensions.push_back(isCut ? addFactor(factors, kind, after)
                                  : from.dimensions.back());
  }
  factors.operands.push_back(from);
  factors.results.push_back(to);
  return linear(std::move(factors));
}

zrt::Factors SliceValueOp::getFactors() {
  return factorsAround(*this, getCut().getDim());
}
zrt::Factors GatherValueOp::getFactors() {
  return factorsAround(*this, getCut().getDim());
}
zrt::Factors ScatterValueOp::getFactors() {
  return factorsAround(*this, getCut().getDim());
}
zrt::Factors ExchangeValueOp::getFactors() {
  return factorsAround(*this, {getFrom().getDim(), getTo().getDim()});
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

LogicalResult ReplicateOp::buildGradient(OpBuilder &builder,
                                         ArrayRef<Value> results,
                                         ArrayRef<bool>,
                                         MutableArrayRef<Value> gradients) {
  gradients[0] = AllReduceValueOp::create(
      builder, getLoc(), getValue().getType(), results[0], getOver());
  return success();
}

LogicalResult CountOnceOp::buildGradient(OpBuilder &builder,
                                         ArrayRef<Value> results,
                                         ArrayRef<bool>,
                                         MutableArrayRef<Value> gradients) {
  gradients[0] = TermValueOp::create(builder, getLoc(), getValue().getType(),
                                     results[0], getOver());
  return success();
}

LogicalResult TermValueOp::buildGradient(OpBuilder &, ArrayRef<Value> results,
                                         ArrayRef<bool>,
                                         MutableArrayRef<Value> gradients) {
  gradients[0] = results[0];
  return success();
}

LogicalResult
AllReduceValueOp::buildGradient(OpBuilder &, ArrayRef<Value> results,
                                ArrayRef<bool>,
                                MutableArrayRef<Value> gradients) {
  gradients[0] = results[0];
  return success();
}

LogicalResult SliceValueOp::buildGradient(OpBuilder &builder,
                                          ArrayRef<Value> results,
                                          ArrayRef<bool>,
                                          MutableArrayRef<Value> gradients) {
  gradients[0] = GatherValueOp::create(builder, getLoc(), getValue().getType(),
                                       results[0], getCut());
  return success();
}

LogicalResult GatherValueOp::buildGradient(OpBuilder &builder,
                                           ArrayRef<Value> results,
                                           ArrayRef<bool>,
                                           MutableArrayRef<Value> gradients) {
  Type type = getValue().getType();
  if (getReplicated())
    gradients[0] =
        ScatterValueOp::create(builder, getLoc(), type, results[0], getCut());
  else
    gradients[0] =
        SliceValueOp::create(builder, getLoc(), type, results[0], getCut());
  return success();
}

LogicalResult ScatterValueOp::buildGradient(OpBuilder &builder,
                                            ArrayRef<Value> results,
                                            ArrayRef<bool>,
                                            MutableArrayRef<Value> gradients) {
  gradients[0] = GatherValueOp::create(builder, getLoc(), getValue().getType(),
                                       results[0], getCut());
  return success();
}

LogicalResult ExchangeValueOp::buildGradient(OpBuilder &builder,
                                             ArrayRef<Value> results,
                                             ArrayRef<bool>,
                                             MutableArrayRef<Value> gradients) {
  gradients[0] = ExchangeValueOp::create(
      builder, getLoc(), getValue().getType(), results[0], getTo(), getFrom());
  return success();
}
