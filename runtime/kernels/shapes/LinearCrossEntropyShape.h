// The shape of a loss of a product, from the spec of its kernel.
#ifndef ZERO_RUNTIME_KERNELS_SHAPES_LINEARCROSSENTROPYSHAPE_H
#define ZERO_RUNTIME_KERNELS_SHAPES_LINEARCROSSENTROPYSHAPE_H

#include "kernels/shapes/ProductShape.h"
#include "kernels/shapes/TensorShapes.h"
#include "program/Loss.h"

#include <algorithm>

namespace zrt {

/// The shape of nn.linear_cross_entropy and nn.linear_partial_cross_entropy,
/// and of their gradients, whose first operands are those of the results.
struct LinearCrossEntropyShape {
  DataType type;
  bool isPartial, isGradient, transposed, bias;
  bool sum;                     ///< of the losses of rows, no mean
  int64_t rows, depth, columns; ///< x is rows x depth, logits rows x columns
  int64_t classes;              ///< of the loss: columns behind are padding
  int64_t chunk;                ///< rows of logits at a time
  int64_t ignored;

  explicit LinearCrossEntropyShape(const KernelSpec &spec)
      : isPartial(spec.name.find("partial") != std::string::npos),
        isGradient(spec.name.find("_grad") != std::string::npos),
        transposed(spec.integer("transposed") != 0),
        bias(spec.integer("bias") != 0), sum(spec.integer("sum") != 0),
        ignored(spec.integer("ignore_index", kIgnoreIndex)) {
    const TensorType &x = spec.operands[this->x()];
    const TensorType &w = spec.operands[this->w()];
    type = x.type;
    rows = rowsOf(x).count;
    depth = rowsOf(x).width;
    columns = w.shape[transposed ? 0 : 1];
    classes = spec.integer("classes", columns);
    chunk = std::min(std::max<int64_t>(rows, 1), spec.integer("chunk"));
  }

  /// The buffers of operands and results. A partial loss has a first class, and
  /// gives the logarithms that its gradient takes, with what they weigh; the
  /// gradient of another gives the loss as well.
  int dlse() const { return 1; }
  int x() const { return isGradient ? 1 + isPartial : 0; }
  int w() const { return x() + 1; }
  int targets() const { return x() + 2; }
  int first() const { return x() + 3; }
  int biasAt() const { return x() + 3 + isPartial + (isPartial && isGradient); }
  int loss() const { return biasAt() + bias; }
  int lse() const { return isGradient ? first() + 1 : loss() + 1; }
  int dx() const { return loss() + !isPartial; }
  int dw() const { return dx() + 1; }
  int db() const { return dx() + 2; }

  int64_t chunks() const { return (rows + chunk - 1) / chunk; }

  /// The logits of `count` rows.
  MatrixShape logitsOf(int64_t count) const {
    MatrixShape shape;
    shape.type = type;
    shape.m = count;
    shape.k = depth;
    shape.n = columns;
    shape.transposedB = transposed;
    shape.bias = bias;
    return shape;
  }

  /// Their gradient times the weight.
  MatrixShape dxOf(int64_t count) const {
    MatrixShape shape;
    shape.type = type;
    shape.m = count;
    shape.k = columns;
    shape.n = depth;
    shape.transposedB = !transposed;
    return shape;
  }

  /// What they add to the gradient of the weight: x and the gradient, or the
  /// gradient and x where the weight is transposed.
  MatrixShape dwOf(int64_t count) const {
    MatrixShape shape;
    shape.type = type;
    shape.m = transposed ? columns : depth;
    shape.n = transposed ? depth : columns;
    shape.k = count;
    shape.transposedA = true;
    shape.adds = true;
    return shape;
  }
};

} // namespace zrt

#endif // ZERO_RUNTIME_KERNELS_SHAPES_LINEARCROSSENTROPYSHAPE_H
