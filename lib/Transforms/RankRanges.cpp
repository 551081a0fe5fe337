//===- RankRanges.cpp - a rank's range of a cut dimension -----------------===//

#include "RankRanges.h"

#include "zero/Dialect/NN/TensorForms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::zero;

/// One program serves all ranks, so each takes its number from a table.
Value AxisRange::getFirst() {
  SmallVector<int32_t> firsts;
  for (int64_t rank = 0; rank < over.getSize(); ++rank)
    firsts.push_back(static_cast<int32_t>(rank * getSize()));
  auto type = RankedTensorType::get({over.getSize()}, builder.getI32Type());
  Value table = arith::ConstantOp::create(
      builder, loc, DenseElementsAttr::get(type, ArrayRef(firsts)));
  auto cut = CutAttr::get(builder.getContext(), /*dim=*/0, /*repeats=*/1,
                          {over.getSize()}, over);
  Value own =
      SliceValueOp::create(builder, loc, cut.getPartType(type), table, cut);
  ImplicitLocOpBuilder b(loc, builder);
  return nn::buildReshape(b, own,
                          RankedTensorType::get({}, builder.getI32Type()));
}

Value AxisRange::sum(Value term) {
  return AllReduceValueOp::create(builder, loc, term.getType(), term, over);
}

Value AxisRange::gather(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape.push_back(1);
  ImplicitLocOpBuilder b(loc, builder);
  return gatherAlong(nn::buildReshape(b, value, type.clone(shape)),
                     type.getRank());
}

Value AxisRange::gatherAlong(Value value, int64_t dim) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = over.getSize();
  auto cut = CutAttr::get(builder.getContext(), dim, /*repeats=*/1,
                          {over.getSize()}, over);
  return GatherValueOp::create(builder, loc, type.clone(shape), value, cut);
}
