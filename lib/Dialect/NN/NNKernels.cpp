//===- NNKernels.cpp - kernels and costs of nn operations -----------------===//
//
// A kernel bears its operation's name. Matrix products count two operations a
// multiplication; everything else counts what its formula does an element,
// an exponential as one.
//
//===----------------------------------------------------------------------===//

#include "Verification.h"

using namespace mlir;
using namespace mlir::nn;
using namespace mlir::nn::detail;
using zero::KernelDescription;

static int64_t elements(Value value) { return typeOf(value).getNumElements(); }

/// The kernel of `op`: its name, its traffic and `flops`.
static KernelDescription describe(Operation *op, int64_t flops) {
  KernelDescription kernel;
  kernel.name = op->getName().getStringRef().str();
  kernel.flops = flops;
  kernel.bytes = zero::tensorBytes(op);
  return kernel;
}

static void addInts(KernelDescription &kernel, StringRef key,
                    ArrayRef<int64_t> values) {
  kernel.ints.emplace_back(key.str(), SmallVector<int64_t>(values));
}

static void addFloat(KernelDescription &kernel, StringRef key,
                     const APFloat &value) {
  kernel.floats.emplace_back(key.str(), value.convertToDouble());
}

//===----------------------------------------------------------------------===//
// Matrix products and attention
//===----------------------------------------------------------------------===//

KernelDescription LinearOp::describeKernel() {
  int64_t k = typeOf(getX()).getShape().back();
  int64_t flops = 2 * elements(getY()) * k;
  if (getBias())
    flops += elements(getY());
  KernelDescription kernel = describe(*this, flops);
  addInts(kernel, "transposed", {getTransposed()});
  addInts(kernel, "bias", {getBias() != nullptr});
  return kernel;
}

/// What gelu takes an element, tanh as one operation, and its derivative.
static constexpr int64_t kGeluFlops = 9, kGeluGradFlops = 18;

KernelDescription LinearGeluOp::describeKernel() {
  int64_t k = typeOf(getX()).getShape().back();
  int64_t each = 2 * k + (getBias() ? 1 : 0) + kGeluFlops;
  KernelDescription kernel = describe(*this, elements(getY()) * each);
  addInts(kernel, "transposed", {getTransposed()});
  addInts(kernel, "bias", {getBias() != nullptr});
  return kernel;
}

KernelDescription LinearGeluGradOp::describeKernel() {
  int64_t k = typeOf(getDy()).getShape().back();
  int64_t each = 2 * k + (getDb() ? 1 : 0) + kGeluGradFlops;
  KernelDescription kernel = describe(*this, elements(getDh()) * each);
  addInts(kernel, "transposed", {getTransposed()});
  return kernel;
}

KernelDescription MatmulOp::describeKernel() {
  RankedTensorType a = typeOf(getA());
  int64_t k = a.getDimSize(a.getRank() - (getTransposeA() ? 2 : 1));
  KernelDescription kernel = describe(*this, 2 * elements(getC()) * k);
  addInts(kernel, "transpose_a", {getTransposeA()});
  addInts(kernel, "transpose_b", {getTransposeB()});
  if (getRows()) {
    addInts(kernel, "rows", *getRows());
    // Of the left operand only what belongs to these rows is read.
    int64_t m = a.getDimSize(getTransposeA() ? 1 : 0);
    if (m > 0)
      kernel.bytes -=
          zero::tensorBytes(a) / m * (m - typeOf(getC()).getDimSize(0));
  }
  return kernel;
}

/// Attention's kernel and its gradient's: `products` matrix products over all
/// pairs of a query and a key, of which `causal` needs half.
template <typename OpT>
static KernelDescription describeAttention(OpT op, int64_t products) {
  int64_t keys = typeOf(op.getK()).getDimSize(1);
  int64_t width = typeOf(op.getQ()).getDimSize(3);
  int64_t scores = elements(op.getLse()) * keys;
  if (op.getCausal())
    scores = (scores + elements(op.getLse())) / 2;
  // A score is scaled, compared, exponentiated and summed.
  KernelDescription kernel = describe(op, scores * (2 * products * width + 4));
  addInts(kernel, "causal", {op.getCausal()});
  addInts(kernel, "mask", {op.getMask() != nullptr});
  addFloat(kernel, "scale", op.getScale());
  return kernel;
}

KernelDescription AttentionOp::describeKernel() {
  return describeAttention(*this, 2);
}

KernelDescription AttentionGradOp::describeKernel() {
  return describeAttention(*this, 5);
}

KernelDescription RotaryOp::describeKernel() {
  KernelDescription kernel = describe(*this, 3 * elements(getX()));
  addInts(kernel, "interleaved", {getInterleaved()});
  addInts(kernel, "inverse", {getInverse()});
  addFloat(kernel, "theta", getTheta());
  return kernel;
}

//===----------------------------------------------------------------------===//
// Normalisations, softmax, dropout
//===----------------------------------------------------------------------===//

KernelDescription LayerNormOp::describeKernel() {
  KernelDescription kernel = describe(*this, 8 * elements(getX()));
  addFloat(kernel, "eps", getEps());
  return kernel;
}

KernelDescription LayerNormGradOp::describeKernel() {
  return describe(*this, 14 * elements(getX()));
}

KernelDescription RmsNormOp::describeKernel() {
  KernelDescription kernel = describe(*this, 4 * elements(getX()));
  addFloat(kernel, "eps", getEps());
  return kernel;
}

KernelDescription RmsNormGradOp::describeKernel() {
  return describe(*this, 10 * elements(getX()));
}

KernelDescription SoftmaxOp::describeKernel() {
  return describe(*this, 5 * elements(getX()));
}

KernelDescription SoftmaxGradOp::describeKernel() {
  return describe(*this, 4 * elements(getY()));
}

KernelDescription DropoutOp::describeKernel() {
  // Philox4x32-10 makes four numbers in about 60 integer operations.
  KernelDescription kernel = describe(*this, 17 * elements(getX()));
  addInts(kernel, "id", {static_cast<int64_t>(getId())});
  addFloat(kernel, "p", getP());
  return kernel;
}

//===----------------------------------------------------------------------===//
// Embeddings and the loss
//===----------------------------------------------------------------------===//

KernelDescription EmbeddingOp::describeKernel() {
  KernelDescription kernel = describe(*this, 0);
  // Only the rows that are looked up are read.
  kernel.bytes = zero::tensorBytes(getIds().getType()) +
                 2 * zero::tensorBytes(getY().getType());
  return kernel;
}

KernelDescription EmbeddingGradOp::describeKernel() {
  KernelDescription kernel = describe(*this, elements(getDy()));
  addInts(kernel, "init", {getInit() != nullptr});
  if (getRows())
    addInts(kernel, "rows", *getRows());
  return kernel;
}

KernelDescription CrossEntropyOp::describeKernel() {
  KernelDescription kernel = describe(*this, 4 * elements(getLogits()));
  addInts(kernel, "ignore_index", {static_cast<int64_t>(getIgnoreIndex())});
  return kernel;
}

KernelDescription CrossEntropyGradOp::describeKernel() {
  KernelDescription kernel = describe(*this, 4 * elements(getLogits()));
  addInts(kernel, "ignore_index", {static_cast<int64_t>(getIgnoreIndex())});
  return kernel;
}

//===----------------------------------------------------------------------===//
// Shape operations
//===----------------------------------------------------------------------===//

KernelDescription BroadcastOp::describeKernel() {
  KernelDescription kernel = describe(*this, 0);
  addInts(kernel, "dims", getDims());
  return kernel;
}

KernelDescription ReduceOp::describeKernel() {
  KernelDescription kernel = describe(*this, elements(getX()));
  addInts(kernel, "kind", {static_cast<int64_t>(getKind())});
  addInts(kernel, "dims", getDims());
  return kernel;
}

KernelDescription TransposeOp::describeKernel() {
  KernelDescription kernel = describe(*this, 0);
  addInts(kernel, "permutation", getPermutation());
  return kernel;
}

KernelDescription SplitOp::describeKernel() {
  KernelDescription kernel = describe(*this, 0);
  addInts(kernel, "dim", {static_cast<int64_t>(getDim())});
  return kernel;
}
