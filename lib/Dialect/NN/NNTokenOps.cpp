//===- NNTokenOps.cpp - constraints of embeddings and the loss ------------===//

#include "Verification.h"

using namespace mlir;
using namespace mlir::nn;
using namespace mlir::nn::detail;

LogicalResult EmbeddingOp::verify() {
  Checker check(*this);
  if (failed(check.rank("table", getTable(), 2))) // C1
    return failure();
  RankedTensorType table = typeOf(getTable());
  if (failed(
          check.type("y", getY(), // C2
                     RankedTensorType::get(append(typeOf(getIds()).getShape(),
                                                  table.getDimSize(1)),
                                           table.getElementType()))))
    return failure();
  return check.count("num_embeddings", getNumEmbeddings(), 0, // C3
                     table.getDimSize(0));
}

LogicalResult EmbeddingGradOp::verify() {
  Checker check(*this);
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
  if (!getRows()) // C4
    return success();
  ArrayRef<int64_t> rows = *getRows();
  if (failed(check.rows(rows)))
    return failure();
  if (rows[1] - rows[0] != table.getDimSize(0))
    return check.error("result has " + Twine(table.getDimSize(0)) +
                       " rows, wanted " + Twine(rows[1] - rows[0]));
  return success();
}

zero::CountedElements CrossEntropyOp::getCounted() {
  return {getTargets(), static_cast<int64_t>(getIgnoreIndex())};
}

LogicalResult CrossEntropyOp::verify() {
  Checker check(*this);
  if (failed(check.minimumRank("logits", getLogits(), 1))) // C1
    return failure();
  RankedTensorType logits = typeOf(getLogits());
  if (failed(check.shape("targets", getTargets(), // C2
                         logits.getShape().drop_back())))
    return failure();
  if (failed(check.type("loss", getLoss(), statistics(logits, {})))) // C3
    return failure();
  if (failed(check.type("lse", getLse(), rowStatistics(logits))))
    return failure();
  return check.count("classes", getClasses(), 1,
                     logits.getShape().back()); // C4
}

LogicalResult CrossEntropyGradOp::verify() {
  Checker check(*this);
  if (failed(check.minimumRank("logits", getLogits(), 1))) // C1
    return failure();
  RankedTensorType logits = typeOf(getLogits());
  if (failed(check.shape("targets", getTargets(), // C2
                         logits.getShape().drop_back())) ||
      failed(check.type("dloss", getDloss(), statistics(logits, {}))) || // C3
      failed(check.type("lse", getLse(), rowStatistics(logits))))
    return failure();
  if (failed(check.type("dlogits", getDlogits(), logits))) // C4
    return failure();
  return check.count("classes", getClasses(), 1,
                     logits.getShape().back()); // C5
}
