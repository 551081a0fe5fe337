//===- Factors.h - the factors of any operation ---------------------------===//
#ifndef ZERO_INTERFACES_FACTORS_H
#define ZERO_INTERFACES_FACTORS_H

#include "zero/Interfaces/Interfaces.h"

namespace mlir::zero {

/// The factors of `op`, with one tensor for each operand and result. Dimensions
/// that the operation says nothing of are whole.
zrt::Factors getFactors(Operation *op);

/// Factors in which every dimension is a whole factor of its own.
zrt::Factors wholeFactors(Operation *op);

/// The factors of an operation that computes each element of its results from
/// the same element of its operands.
zrt::Factors elementwiseFactors(Operation *op);

/// A dimension that is a new factor of `factors`.
zrt::FactoredDim addFactor(zrt::Factors &factors, zrt::FactorKind kind,
                           int64_t size);

/// The factor that a dimension is, where it is one, whole and by itself.
std::optional<size_t> factorOf(const zrt::FactoredDim &dim);

/// A dimension of the dimensions `segments`, one behind the other.
zrt::FactoredDim concatenate(std::vector<zrt::FactoredDim> segments);

/// A dimension that is a product of `dims`, outer to inner.
zrt::FactoredDim multiply(ArrayRef<zrt::FactoredDim> dims);

/// Attributes of `part` that hold sizes of `factors` hold what `sizeOf` gives.
void setSizes(Operation *part, const zrt::Factors &factors,
              llvm::function_ref<int64_t(size_t factor)> sizeOf);

} // namespace mlir::zero

#endif // ZERO_INTERFACES_FACTORS_H
