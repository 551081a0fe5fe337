//===- NNExpertGradients.cpp - gradients of rows that go to experts -------===//

#include "Constants.h"
#include "Types.h"

#include "zero/Dialect/NN/TensorForms.h"

using namespace mlir;
using namespace mlir::nn;
using namespace mlir::nn::detail;

/// A row's gradient is the sum of those of its copies.
LogicalResult DispatchOp::buildGradient(OpBuilder &builder,
                                        ArrayRef<Value> resultGradients,
                                        ArrayRef<bool> wanted,
                                        MutableArrayRef<Value> gradients) {
  if (resultGradients[0] && wanted[0])
    gradients[0] = CombineOp::create(builder, getLoc(), getRows().getType(),
                                     resultGradients[0], getPlaces(),
                                     /*weights=*/Value());
  return success();
}

LogicalResult CapacityDispatchOp::buildGradient(
    OpBuilder &builder, ArrayRef<Value> resultGradients, ArrayRef<bool> wanted,
    MutableArrayRef<Value> gradients) {
  if (!resultGradients[0] || !wanted[0])
    return success();
  ImplicitLocOpBuilder b(getLoc(), builder);
  RankedTensorType sorted = typeOf(getSorted());
  Value flat =
      buildReshape(b, resultGradients[0],
                   sorted.clone({sorted.getDimSize(0) * sorted.getDimSize(1),
                                 sorted.getDimSize(2)}));
  gradients[0] = CombineOp::create(b, getRows().getType(), flat, getPlaces(),
                                   /*weights=*/Value());
  return success();
}

LogicalResult CombineOp::buildGradient(OpBuilder &builder,
                                       ArrayRef<Value> resultGradients,
                                       ArrayRef<bool> wanted,
                                       MutableArrayRef<Value> gradients) {
  if (!resultGradients[0])
    return success();
  Value weights = getWeights();
  auto both = CombineGradOp::create(builder, getLoc(), getRows().getType(),
                                    weights ? weights.getType() : Type(),
                                    resultGradients[0], getRows(), getPlaces(),
                                    weights);
  if (wanted[0])
    gradients[0] = both.getDrows();
  if (weights && wanted[2])
    gradients[2] = both.getDweights();
  return success();
}

LogicalResult GroupedMatmulOp::buildGradient(OpBuilder &builder,
                                             ArrayRef<Value> resultGradients,
                                             ArrayRef<bool> wanted,
                                             MutableArrayRef<Value> gradients) {
  Value dc = resultGradients[0];
  if (!dc)
    return success();
  if (wanted[0])
    gradients[0] = GroupedMatmulOp::create(
        builder, getLoc(), getA().getType(), dc, getB(), getOffsets(),
        /*transpose_b=*/!getTransposeB(), getRangesAttr());
  if (wanted[1]) {
    Value left = getA(), right = dc;
    if (getTransposeB())
      std::swap(left, right);
    gradients[1] = GroupedMatmulGradOp::create(
        builder, getLoc(), getB().getType(), left, right, getOffsets(),
        /*rows=*/DenseI64ArrayAttr(), getRangesAttr());
  }
  return success();
}
