//===- NNStatistics.cpp - which operands and results stay f32 -------------===//

#include "zero/Dialect/NN/NN.h"

using namespace mlir::nn;

// q, k, v, mask -> out, lse
bool AttentionOp::isStatisticOperand(unsigned index) { return index == 3; }
bool AttentionOp::isStatisticResult(unsigned index) { return index == 1; }

// dout, q, k, v, out, lse, mask -> dq, dk, dv
bool AttentionGradOp::isStatisticOperand(unsigned index) { return index >= 5; }
bool AttentionGradOp::isStatisticResult(unsigned) { return false; }

// x, w, b -> y, mean, rstd
bool LayerNormOp::isStatisticOperand(unsigned) { return false; }
bool LayerNormOp::isStatisticResult(unsigned index) { return index >= 1; }

// dy, x, w, mean, rstd -> dx, dw, db
bool LayerNormGradOp::isStatisticOperand(unsigned index) { return index >= 3; }
bool LayerNormGradOp::isStatisticResult(unsigned) { return false; }

// x, w -> y, rstd
bool RmsNormOp::isStatisticOperand(unsigned) { return false; }
bool RmsNormOp::isStatisticResult(unsigned index) { return index == 1; }

// dy, x, w, rstd -> dx, dw
bool RmsNormGradOp::isStatisticOperand(unsigned index) { return index == 3; }
bool RmsNormGradOp::isStatisticResult(unsigned) { return false; }

// x, residual, w, b -> y, mean, rstd, sum
bool AddLayerNormOp::isStatisticOperand(unsigned) { return false; }
bool AddLayerNormOp::isStatisticResult(unsigned index) {
  return index == 1 || index == 2;
}

// dy, dsum, x, w, mean, rstd -> dx, dw, db
bool AddLayerNormGradOp::isStatisticOperand(unsigned index) {
  return index >= 4;
}
bool AddLayerNormGradOp::isStatisticResult(unsigned) { return false; }

// x, residual, w -> y, rstd, sum
bool AddRmsNormOp::isStatisticOperand(unsigned) { return false; }
bool AddRmsNormOp::isStatisticResult(unsigned index) { return index == 1; }

// dy, dsum, x, w, rstd -> dx, dw
bool AddRmsNormGradOp::isStatisticOperand(unsigned index) { return index == 4; }
bool AddRmsNormGradOp::isStatisticResult(unsigned) { return false; }

// x, w, b -> y, mean, variance
bool BatchNormOp::isStatisticOperand(unsigned) { return false; }
bool BatchNormOp::isStatisticResult(unsigned index) { return index >= 1; }

// dy, x, w, mean, variance -> dx, dw, db
bool BatchNormGradOp::isStatisticOperand(unsigned index) { return index >= 3; }
bool BatchNormGradOp::isStatisticResult(unsigned) { return false; }

// logits, targets -> loss, lse
bool CrossEntropyOp::isStatisticOperand(unsigned) { return false; }
bool CrossEntropyOp::isStatisticResult(unsigned) { return true; }

// dloss, logits, targets, lse -> dlogits
bool CrossEntropyGradOp::isStatisticOperand(unsigned index) {
  return index == 0 || index == 3;
}
bool CrossEntropyGradOp::isStatisticResult(unsigned) { return false; }

// x, w, targets, bias -> loss
bool LinearCrossEntropyOp::isStatisticOperand(unsigned) { return false; }
bool LinearCrossEntropyOp::isStatisticResult(unsigned) { return true; }

// dloss, x, w, targets, bias -> loss, dx, dw, db
bool LinearCrossEntropyGradOp::isStatisticOperand(unsigned index) {
  return index == 0;
}
bool LinearCrossEntropyGradOp::isStatisticResult(unsigned index) {
  return index == 0;
}
