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

/// The enumeration is the dialect's; the kernel takes its number.
KernelDescription ReduceOp::describeKernel() {
  KernelDescription kernel;
  kernel.name = getOperationName().str();
  kernel.ints.emplace_back(
      "kind", SmallVector<int64_t>{static_cast<int64_t>(getKind())});
  kernel.ints.emplace_back("dims", SmallVector<int64_t>(getDims()));
  return kernel;
}

/// The enumeration is the dialect's; the kernel takes its number.
KernelDescription ScatterOp::describeKernel() {
  KernelDescription kernel;
  kernel.name = getOperationName().str();
  kernel.ints.emplace_back(
      "kind", SmallVector<int64_t>{static_cast<int64_t>(getKind())});
  kernel.ints.emplace_back(
      "dim", SmallVector<int64_t>{static_cast<int64_t>(getDim())});
  return kernel;
}
