//===- NNKernels.cpp - kernels of nn operations ---------------------------===//
//
// A kernel bears its operation's name and attributes. Here are the operations
// of which that does not say all, or says more than the kernel takes.
//
//===----------------------------------------------------------------------===//

#include "zero/Dialect/NN/NN.h"
#include "zero/Interfaces/KernelSpec.h"

using namespace mlir;
using namespace mlir::nn;
using zero::KernelDescription;

/// The kernel takes the number of a case.
template <typename Kind> static SmallVector<int64_t> numberOf(Kind kind) {
  return {static_cast<int64_t>(toRuntime(kind))};
}

KernelDescription ReduceOp::describeKernel() {
  KernelDescription kernel;
  kernel.name = getOperationName().str();
  kernel.ints.emplace_back("kind", numberOf(getKind()));
  kernel.ints.emplace_back("dims", SmallVector<int64_t>(getDims()));
  return kernel;
}

KernelDescription ScatterOp::describeKernel() {
  KernelDescription kernel;
  kernel.name = getOperationName().str();
  kernel.ints.emplace_back("kind", numberOf(getKind()));
  kernel.ints.emplace_back(
      "dim", SmallVector<int64_t>{static_cast<int64_t>(getDim())});
  return kernel;
}
