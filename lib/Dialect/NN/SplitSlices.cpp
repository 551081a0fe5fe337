//===- SplitSlices.cpp - slices that are the pieces of a tensor -----------===//

#include "zero/Dialect/NN/TensorForms.h"

#include "Types.h"

using namespace mlir;
using namespace mlir::nn;
using namespace mlir::nn::detail;

namespace {

/// A slice that takes [begin, end) of one dimension and all of the others.
struct Piece {
  tensor::ExtractSliceOp slice;
  int64_t dim, begin, end;
};

} // namespace

static std::optional<Piece> getPiece(Operation *op) {
  auto slice = dyn_cast<tensor::ExtractSliceOp>(op);
  if (!slice || !slice.hasUnitStride() || !slice.getOffsets().empty() ||
      !slice.getSizes().empty() || !slice.getStrides().empty())
    return std::nullopt;
  RankedTensorType from = slice.getSourceType(), to = slice.getType();
  if (from.getRank() != to.getRank() || !from.hasStaticShape())
    return std::nullopt;
  std::optional<int64_t> cut;
  for (int64_t dim = 0; dim < from.getRank(); ++dim)
    if (from.getDimSize(dim) != to.getDimSize(dim)) {
      if (cut)
        return std::nullopt;
      cut = dim;
    }
  if (!cut)
    return std::nullopt;
  int64_t begin = slice.getStaticOffsets()[*cut];
  return Piece{slice, *cut, begin, begin + to.getDimSize(*cut)};
}

/// The slices of `source` that, in this order, are all of it, once; none where
/// they are not. A slice of leading dimensions is a view, and stays one.
static SmallVector<Piece> findPieces(Value source) {
  SmallVector<Piece> pieces;
  for (Operation *user : source.getUsers())
    if (std::optional<Piece> piece = getPiece(user))
      pieces.push_back(*piece);
  if (pieces.empty())
    return {};
  llvm::sort(pieces,
             [](const Piece &a, const Piece &b) { return a.begin < b.begin; });
  RankedTensorType type = typeOf(source);
  int64_t dim = pieces.front().dim, end = 0;
  for (const Piece &piece : pieces) {
    if (piece.dim != dim || piece.begin != end ||
        piece.slice->getBlock() != pieces.front().slice->getBlock())
      return {};
    end = piece.end;
  }
  bool areViews =
      ShapedType::getNumElements(type.getShape().take_front(dim)) == 1;
  return end == type.getDimSize(dim) && !areViews ? pieces
                                                  : SmallVector<Piece>();
}

void nn::splitSlices(Block &block) {
  SmallVector<tensor::ExtractSliceOp> slices(
      block.getOps<tensor::ExtractSliceOp>());
  DenseSet<Value> seen;
  SmallVector<SmallVector<Piece>> wholes;
  for (tensor::ExtractSliceOp slice : slices)
    if (seen.insert(slice.getSource()).second)
      if (SmallVector<Piece> pieces = findPieces(slice.getSource());
          !pieces.empty())
        wholes.push_back(std::move(pieces));
  for (ArrayRef<Piece> pieces : wholes) {
    const auto *first =
        llvm::min_element(pieces, [](const Piece &a, const Piece &b) {
          return a.slice->isBeforeInBlock(b.slice);
        });
    tensor::ExtractSliceOp place = first->slice;
    SmallVector<Type> types;
    SmallVector<int64_t> sizes;
    for (const Piece &piece : pieces) {
      types.push_back(tensor::ExtractSliceOp(piece.slice).getType());
      sizes.push_back(piece.end - piece.begin);
    }
    OpBuilder builder(place);
    auto split = SplitOp::create(builder, place.getLoc(), types,
                                 place.getSource(), pieces.front().dim, sizes);
    for (auto [piece, value] : llvm::zip_equal(pieces, split.getPieces())) {
      Operation *slice = tensor::ExtractSliceOp(piece.slice);
      slice->replaceAllUsesWith(ValueRange{value});
      slice->erase();
    }
  }
}
