//===- KernelTable.h - equal kernels are one ------------------------------===//
#ifndef ZERO_LIB_CONVERSION_KERNELTABLE_H
#define ZERO_LIB_CONVERSION_KERNELTABLE_H

#include "program/Program.h"

#include <map>

namespace mlir::zero {

/// Numbers kernel specs; equal ones share a number.
class KernelTable {
public:
  /// The number of `spec` in `program.kernels`, where it is added if new.
  uint32_t number(zrt::Program &program, zrt::KernelSpec spec);

private:
  std::multimap<size_t, uint32_t> byHash;
};

} // namespace mlir::zero

#endif // ZERO_LIB_CONVERSION_KERNELTABLE_H
