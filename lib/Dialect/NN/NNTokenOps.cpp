//===- NNTokenOps.cpp - constraints of embeddings and the loss ------------===//

#include "Verification.h"

using namespace mlir;
using namespace mlir::nn;
using namespace mlir::nn::detail;

LogicalResult EmbeddingOp::inferReturnTypes(MLIRContext *,
                                            std::optional<Location> location,
                                            Adaptor op,
                                            SmallVectorImpl<Type> &results) {
  Checker check(getOperationName(), location);
  if (failed(check.rank("table", op.getTable(), 2))) // C1
    return failure();
  RankedTensorType table = typeOf(op.getTable());
  results.push_back(RankedTensorType::get( // C2
      append(typeOf(op.getIds()).getShape(), table.getDimSize(1)),
      table.getElementType()));
  return success();
}

LogicalResult EmbeddingGradOp::verify() {
  Checker check(getOperationName(), getLoc());
  if (failed(check.rank("result", getDtable(), 2))) // C1
    return failure();
  RankedTensorType table = typeOf(getDtable());
  auto dy = RankedTensorType::get(
      append(typeOf(getIds()).getShape(), table.getDimSize(1)),
      table.getElementType());
  if (failed(check.type("dy", getDy(), dy))) // C2
    return failure();
  if (getInit() && failed(check.type("init", getInit(), table))) // C3
    return failure();
  return success();
}

LogicalResult CrossEntropyOp::inferReturnTypes(MLIRContext *,
                                               std::optional<Location> location,
                                               Adaptor op,
                                               SmallVectorImpl<Type> &results) {
  Checker check(getOperationName(), location);
  if (failed(check.minimumRank("logits", op.getLogits(), 1))) // C1
    return failure();
  RankedTensorType logits = typeOf(op.getLogits());
  if (failed(check.shape("targets", op.getTargets(), // C2
                         logits.getShape().drop_back())))
    return failure();
  results.append({statistics(logits, {}), rowStatistics(logits)}); // C3
  return success();
}

LogicalResult CrossEntropyGradOp::inferReturnTypes(
    MLIRContext *, std::optional<Location> location, Adaptor op,
    SmallVectorImpl<Type> &results) {
  Checker check(getOperationName(), location);
  if (failed(check.minimumRank("logits", op.getLogits(), 1))) // C1
    return failure();
  RankedTensorType logits = typeOf(op.getLogits());
  if (failed(check.shape("targets", op.getTargets(), // C2
                         logits.getShape().drop_back())) ||
      failed(
          check.type("dloss", op.getDloss(), statistics(logits, {}))) || // C3
      failed(check.type("lse", op.getLse(), rowStatistics(logits))))
    return failure();
  results.push_back(logits); // C4
  return success();
}
