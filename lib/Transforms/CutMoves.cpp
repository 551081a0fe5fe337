//===- CutMoves.cpp - parts of a dimension as rows ------------------------===//

#include "CutMoves.h"

#include "zero/Dialect/NN/TensorForms.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::zero;

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

namespace {
/// A tensor as [outer, repeats, pieces, inner]: what is before the dimension of
/// the pieces, how often they repeat, the pieces, and what is behind. Repeats
/// have a dimension of their own, which another axis may cut.
struct Flattened {
  Flattened(RankedTensorType type, CutAttr cut)
      : type(type), repeats(cut.getRepeats()) {
    ArrayRef<int64_t> shape = type.getShape();
    outer = llvm::product_of(shape.take_front(cut.getDim()));
    inner = llvm::product_of(shape.drop_front(cut.getDim() + 1));
  }
  RankedTensorType with(ArrayRef<int64_t> shape) const {
    return RankedTensorType::get(shape, type.getElementType());
  }
  RankedTensorType type;
  int64_t outer, repeats, inner;
};
} // namespace

bool mlir::zero::cutsRows(SliceValueOp slice) {
  CutAttr cut = slice.getCut();
  return cut.getDim() == 0 && cut.getRepeats() == 1 &&
         cut.getPieces().size() == 1;
}

/// `value` [outer, repeats, pieces, inner] by pieces.
static SmallVector<Value> splitPieces(ImplicitLocOpBuilder &b, Value value,
                                      ArrayRef<int64_t> sizes) {
  if (sizes.size() == 1)
    return {value};
  return nn::buildSplit(b, value, /*dim=*/2, sizes);
}

static Value joinPieces(ImplicitLocOpBuilder &b, ValueRange pieces) {
  if (pieces.size() == 1)
    return pieces.front();
  return tensor::ConcatOp::create(b, b.getLoc(), /*dim=*/2, pieces);
}

/// A piece [outer, repeats, size, inner] as the parts of all ranks,
/// [ranks, outer, repeats, part, inner].
static Value bringRanksToFront(ImplicitLocOpBuilder &b, Value piece,
                               int64_t ranks) {
  RankedTensorType type = typeOf(piece);
  int64_t outer = type.getDimSize(0), repeats = type.getDimSize(1);
  int64_t part = type.getDimSize(2) / ranks, inner = type.getDimSize(3);
  return nn::buildMove(
      b,
      nn::buildReshape(b, piece,
                       type.clone({outer, repeats, ranks, part, inner})),
      {2, 0, 1, 3, 4});
}

/// This rank's part of a piece [outer, repeats, size, inner].
static Value slicePiece(ImplicitLocOpBuilder &b, Value piece, AxesAttr over) {
  RankedTensorType type = typeOf(piece);
  int64_t outer = type.getDimSize(0), repeats = type.getDimSize(1);
  int64_t size = type.getDimSize(2), inner = type.getDimSize(3);
  int64_t ranks = over.getSize(), part = size / ranks;
  Value rows = bringRanksToFront(b, piece, ranks);
  auto cut =
      CutAttr::get(b.getContext(), /*dim=*/0, /*repeats=*/1, {ranks}, over);
  Value own = SliceValueOp::create(
      b, type.clone({1, outer, repeats, part, inner}), rows, cut);
  return nn::buildReshape(b, own, type.clone({outer, repeats, part, inner}));
}

Value mlir::zero::buildFromRows(OpBuilder &builder, SliceValueOp slice) {
  ImplicitLocOpBuilder b(slice.getLoc(), builder);
  CutAttr cut = slice.getCut();
  Flattened flat(typeOf(slice.getValue()), cut);
  int64_t whole = llvm::sum_of(cut.getPieces(), int64_t(0));
  SmallVector<Value> parts;
  for (Value piece :
       splitPieces(b,
                   nn::buildReshape(b, slice.getValue(),
                                    flat.with({flat.outer, flat.repeats, whole,
                                               flat.inner})),
                   cut.getPieces()))
    parts.push_back(slicePiece(b, piece, cut.getOver()));
  return nn::buildReshape(b, joinPieces(b, parts), typeOf(slice.getResult()));
}

Value mlir::zero::buildParts(ImplicitLocOpBuilder &b, CutAttr cut,
                             Value value) {
  Flattened flat(typeOf(value), cut);
  Value piece =
      nn::buildReshape(b, value,
                       flat.with({flat.outer, flat.repeats,
                                  cut.getPieces().front(), flat.inner}));
  return bringRanksToFront(b, piece, cut.getOver().getSize());
}

Value mlir::zero::buildWhole(ImplicitLocOpBuilder &b, CutAttr cut,
                             RankedTensorType type, Value parts) {
  int64_t ranks = cut.getOver().getSize();
  Flattened flat(type, cut);
  int64_t whole = llvm::sum_of(cut.getPieces(), int64_t(0));
  // [ranks, outer, repeats, part of the pieces, inner], then ranks behind.
  Value rows =
      nn::buildMove(b,
                    nn::buildReshape(b, parts,
                                     flat.with({ranks, flat.outer, flat.repeats,
                                                whole / ranks, flat.inner})),
                    {1, 2, 0, 3, 4});
  SmallVector<int64_t> sizes;
  for (int64_t piece : cut.getPieces())
    sizes.push_back(piece / ranks);
  if (sizes.size() == 1)
    return nn::buildReshape(b, rows, type);
  // Of each rank its part of each piece; of each piece all ranks.
  Value split = nn::buildReshape(
      b, rows,
      flat.with({flat.outer, flat.repeats * ranks, whole / ranks, flat.inner}));
  SmallVector<Value> pieces;
  for (auto [part, piece] :
       llvm::zip_equal(splitPieces(b, split, sizes), cut.getPieces()))
    pieces.push_back(nn::buildReshape(
        b, part, flat.with({flat.outer, flat.repeats, piece, flat.inner})));
  return nn::buildReshape(b, joinPieces(b, pieces), type);
}
