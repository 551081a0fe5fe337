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

/// The operation that rotates `piece`, as heads, if nothing else reads it; else
/// null.
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

/// The rotations of the pieces of `split`; none unless they are of neighbouring
/// heads, and by the same angles.
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

/// Whether the joint dimension has one head of each piece. Where an axis cuts
/// it, the sizes of a rank's part then do not tell a part of the heads from a
/// part of each head's features, which a rotation needs whole.
static bool isOneHeadEach(SplitOp split, RotaryOp rotation) {
  return typeOf(split.getX()).getRank() == 3 &&
         llvm::all_equal(split.getSizes()) &&
         split.getSizes().front() == featuresOf(rotation);
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
    if (rotations.empty() || isOneHeadEach(split, rotations.front().op) ||
        (type.getRank() == 3 &&
         type.getDimSize(2) % featuresOf(rotations.front().op)))
      continue;
    rotateWhole(split, rotations);
  }
}
