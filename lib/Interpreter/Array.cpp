//===- Array.cpp - values of the interpreter ------------------------------===//

#include "zero/Interpreter/Array.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::zero;

Array Array::zeros(Type type) {
  Array array;
  int64_t elements = 1;
  if (auto tensor = dyn_cast<RankedTensorType>(type)) {
    array.shape.assign(tensor.getShape().begin(), tensor.getShape().end());
    // Of a dynamic shape, what computes it gives all of the array.
    elements = tensor.hasStaticShape() ? tensor.getNumElements() : 0;
  }
  array.isFloat = isa<FloatType>(getElementTypeOrSelf(type));
  if (array.isFloat)
    array.reals.assign(elements, 0.0);
  else
    array.integers.assign(elements, 0);
  return array;
}

int64_t Array::innerSize(int64_t first) const {
  int64_t elements = 1;
  for (int64_t size : ArrayRef(shape).drop_front(first))
    elements *= size;
  return elements;
}

int64_t Array::offset(ArrayRef<int64_t> index) const {
  int64_t position = 0;
  for (auto [size, entry] : llvm::zip_equal(shape, index))
    position = position * size + entry;
  return position;
}

void Array::copyElement(int64_t to, const Array &source, int64_t from) {
  if (isFloat)
    reals[to] = source.reals[from];
  else
    integers[to] = source.integers[from];
}

void mlir::zero::forEachIndex(
    ArrayRef<int64_t> shape, llvm::function_ref<void(ArrayRef<int64_t>)> body) {
  if (llvm::is_contained(shape, 0))
    return;
  SmallVector<int64_t> index(shape.size(), 0);
  while (true) {
    body(index);
    int64_t dim = static_cast<int64_t>(shape.size()) - 1;
    while (dim >= 0 && ++index[dim] == shape[dim])
      index[dim--] = 0;
    if (dim < 0)
      return;
  }
}
