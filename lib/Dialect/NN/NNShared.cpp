//===- NNShared.cpp - key heads that several query heads share -----------===//

#include "Types.h"

#include "zero/Dialect/NN/TensorForms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::nn;
using namespace mlir::nn::detail;

static constexpr int64_t kHeads = 2;

int64_t AttentionOp::getShared() { return typeOf(getK()).getDimSize(kHeads); }
int64_t AttentionOp::getSharing() { return typeOf(getQ()).getDimSize(kHeads); }

/// Heads in their order, each equally often.
static Value repeatEach(ImplicitLocOpBuilder &b, Value value,
                        RankedTensorType type) {
  const int64_t count = type.getDimSize(kHeads);
  const int64_t each = count / typeOf(value).getDimSize(kHeads);
  SmallVector<int32_t> heads;
  for (int64_t head = 0; head < count; ++head)
    heads.push_back(static_cast<int32_t>(head / each));
  Value ids = arith::ConstantOp::create(b, b.getI32TensorAttr(heads));
  auto rows = RankedTensorType::get(type.getShape().take_front(kHeads + 1),
                                    b.getI32Type());
  ids = buildBroadcast(b, b.getLoc(), ids, {kHeads}, rows);
  return GatherOp::create(b, type, value, ids, kHeads);
}

SmallVector<Value> AttentionOp::repeatShared(OpBuilder &builder,
                                             int64_t count) {
  ImplicitLocOpBuilder b(getLoc(), builder);
  for (OpOperand *operand : {&getKMutable(), &getVMutable()}) {
    RankedTensorType type = typeOf(operand->get());
    SmallVector<int64_t> shape(type.getShape());
    shape[kHeads] = count;
    operand->set(repeatEach(b, operand->get(), type.clone(shape)));
  }
  return {getK(), getV()};
}
