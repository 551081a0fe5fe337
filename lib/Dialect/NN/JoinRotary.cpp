//===- JoinRotary.cpp - rotations where a projection is -------------------===//

#include "zero/Dialect/NN/JoinRotary.h"

#include "Types.h"

#include "zero/Dialect/NN/TensorForms.h"

using namespace mlir;
using namespace mlir::nn;
using namespace mlir::nn::detail;

namespace {

/// A piece of a split that is rotated, and nothing else; its heads are
/// [begin, end) of those of the whole.
struct Rotation {
  RotaryOp op;
  int64_t begin, end;
};

} // namespace

static int64_t featuresOf(RotaryOp op) {
  return typeOf(op.getX()).getDimSize(3);
}

/// What rotates `piece`, as heads, and is all that reads it; null if there is
/// none.
static RotaryOp getRotation(Value piece) {
  if (!piece.hasOneUse())
    return nullptr;
  Operation *user = *piece.getUsers().begin();
  if (auto heads = dyn_cast<tensor::ExpandShapeOp>(user)) {
    RankedTensorType from = typeOf(piece), to = heads.getResultType();
    if (from.getRank() != 3 || to.getRank() != 4 || !heads->hasOneUse() ||
        from.getShape().take_front(2) != to.getShape().take_front(2))
      return nullptr;
    user = *heads->getUsers().begin();
  }
  auto rotary = dyn_cast<RotaryOp>(user);
  return rotary && !rotary.getHeads() && featuresOf(rotary) > 0 ? rotary
                                                                : nullptr;
}

/// Those of the pieces of `split`; none where they are not of neighbouring
/// heads by the same angles.
static SmallVector<Rotation> findRotations(SplitOp split) {
  SmallVector<Rotation> found;
  int64_t begin = 0;
  for (auto [piece, size] :
       llvm::zip_equal(split.getPieces(), split.getSizes())) {
    int64_t end = begin + size;
    if (RotaryOp op = getRotation(piece)) {
      int64_t unit = typeOf(piece).getRank() == 3 ? featuresOf(op) : 1;
      Rotation next = {op, begin / unit, end / unit};
      if (begin % unit || end % unit ||
          (!found.empty() &&
           (next.begin != found.back().end ||
            featuresOf(op) != featuresOf(found.back().op) ||
            op->getAttrDictionary() != found.back().op->getAttrDictionary())))
        return {};
      found.push_back(next);
    }
    begin = end;
  }
  return found;
}

/// Rotates before the split what its pieces are rotated by.
static void rotateWhole(SplitOp split, ArrayRef<Rotation> rotations) {
  RotaryOp first = rotations.front().op;
  RankedTensorType type = typeOf(split.getX());
  int64_t width = featuresOf(first);
  SmallVector<int64_t> heads(type.getShape().take_front(2));
  heads.push_back(type.getRank() == 3 ? type.getDimSize(2) / width
                                      : type.getDimSize(2));
  heads.push_back(width);
  ImplicitLocOpBuilder b(first.getLoc(), split);
  Value whole = buildReshape(b, split.getX(), type.clone(heads));
  auto rotary = RotaryOp::create(
      b, whole, first.getTheta(), first.getInterleaved(), first.getInverse(),
      b.getDenseI64ArrayAttr({rotations.front().begin, rotations.back().end}));
  split.getXMutable().assign(buildReshape(b, rotary.getY(), type));
  for (RotaryOp op : llvm::map_range(
           rotations, [](const Rotation &each) { return each.op; })) {
    op.getY().replaceAllUsesWith(op.getX());
    op.erase();
  }
}

void nn::joinRotary(Operation *root) {
  SmallVector<SplitOp> splits;
  root->walk([&](SplitOp split) { splits.push_back(split); });
  for (SplitOp split : splits) {
    RankedTensorType type = typeOf(split.getX());
    if (static_cast<int64_t>(split.getDim()) != 2 ||
        (type.getRank() != 3 && type.getRank() != 4) ||
        !split.getX().hasOneUse())
      continue;
    SmallVector<Rotation> rotations = findRotations(split);
    if (rotations.empty() ||
        (type.getRank() == 3 &&
         type.getDimSize(2) % featuresOf(rotations.front().op)))
      continue;
    rotateWhole(split, rotations);
  }
}
