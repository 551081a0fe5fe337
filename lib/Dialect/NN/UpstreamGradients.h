//===- UpstreamGradients.h - how the models are written ---------*- C++ -*-===//
//
// A gradient rule is a function; attachRule makes an external model of it. A
// rule is called only with a gradient of the operation's one result, and asks
// `operands` which gradients are wanted.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_LIB_DIALECT_NN_UPSTREAMGRADIENTS_H
#define ZERO_LIB_DIALECT_NN_UPSTREAMGRADIENTS_H

#include "zero/Interfaces/Interfaces.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/TypeUtilities.h"

namespace mlir::zero::gradients {

/// The gradients of the operands that a rule is to fill in.
struct OperandGradients {
  ArrayRef<bool> wanted;
  MutableArrayRef<Value> values;

  /// Sets the gradient of operand `index` to what `build` returns, if it is
  /// wanted.
  template <typename Build> void set(unsigned index, Build build) const {
    if (wanted[index])
      values[index] = build();
  }
};

template <typename OpT>
using Rule = LogicalResult (*)(OpT op, ImplicitLocOpBuilder &builder,
                               Value gradient, OperandGradients operands);

template <typename OpT, Rule<OpT> rule>
struct Model : DifferentiableOpInterface::ExternalModel<Model<OpT, rule>, OpT> {
  LogicalResult buildGradient(Operation *op, OpBuilder &builder,
                              ArrayRef<Value> resultGradients,
                              ArrayRef<bool> wanted,
                              MutableArrayRef<Value> operandGradients) const {
    Value gradient = resultGradients.front();
    if (!gradient)
      return success();
    ImplicitLocOpBuilder b(op->getLoc(), builder);
    b.setListener(builder.getListener());
    return rule(cast<OpT>(op), b, gradient, {wanted, operandGradients});
  }
};

/// A rule that leaves every gradient zero.
template <typename OpT>
LogicalResult noGradient(OpT, ImplicitLocOpBuilder &, Value, OperandGradients) {
  return success();
}

template <typename OpT, Rule<OpT> rule> void attachRule(MLIRContext &context) {
  OpT::template attachInterface<Model<OpT, rule>>(context);
}

template <typename... OpTs> void attachNoGradient(MLIRContext &context) {
  (attachRule<OpTs, noGradient<OpTs>>(context), ...);
}

/// `value` as a constant of float type `type`, a scalar or a ranked tensor.
inline Value constant(ImplicitLocOpBuilder &b, Type type, double value) {
  Attribute scalar = b.getFloatAttr(getElementTypeOrSelf(type), value);
  if (auto shaped = dyn_cast<ShapedType>(type))
    scalar = DenseElementsAttr::get(shaped, scalar);
  return arith::ConstantOp::create(b, cast<TypedAttr>(scalar));
}

void attachArith(MLIRContext &context);
void attachMath(MLIRContext &context);
void attachTensor(MLIRContext &context);

} // namespace mlir::zero::gradients

#endif // ZERO_LIB_DIALECT_NN_UPSTREAMGRADIENTS_H
