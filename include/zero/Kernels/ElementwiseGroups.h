//===- ElementwiseGroups.h - which operations one kernel can compute ------===//
#ifndef ZERO_KERNELS_ELEMENTWISEGROUPS_H
#define ZERO_KERNELS_ELEMENTWISEGROUPS_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

namespace mlir::zero {

/// Operations of one block, in its order, that one kernel computes.
struct ElementwiseGroup {
  SmallVector<Operation *> members;
};

/// The tensor from which a kernel reads an operand: element (i0, i1, ...) of
/// the loop is the element of `value` at the indices `dims`, which increase.
/// Looks through `nn.broadcast`.
struct ElementwiseSource {
  Value value;
  SmallVector<int64_t> dims;
};
ElementwiseSource findElementwiseSource(Value operand);

/// The scalar that every element of `value` equals, or null. Sees splat
/// constants and splats of constants.
TypedAttr getSplatConstant(Value value);

/// Whether a kernel can compute `op` element by element: one result, all
/// operands and the result ranked, static and of one shape, elements that
/// kernels know, and the `Elementwise` trait or ElementwiseOpInterface.
bool isElementwise(Operation *op);

/// The groups of `block`, in the order of their last members; each elementwise
/// operation is in exactly one.
///
/// A group stands for its members at the last one's place. So no value of it
/// is used outside before that place, and no path leaves a group and returns.
/// Operations join the groups that they use, and a group beside them that
/// reads the same tensor.
/// Besides, a group is moved down past other kernels only if the inputs that
/// it keeps alive by that are no larger than the results that it delays.
SmallVector<ElementwiseGroup> findElementwiseGroups(Block &block);

} // namespace mlir::zero

#endif // ZERO_KERNELS_ELEMENTWISEGROUPS_H
