// Scratch memory that kernels of a GPU take at most.
//
// Rows of the kernels' table name these bounds, so that a plan knows what a
// rank needs beside its arenas. `deterministic` is the program's.
#ifndef ZERO_RUNTIME_PROGRAM_WORKSPACES_H
#define ZERO_RUNTIME_PROGRAM_WORKSPACES_H

#include "program/KernelSchema.h"

namespace zrt::workspace {

/// cuBLASLt is asked for algorithms that want no more, and cuDNN for
/// convolutions that want no more.
inline constexpr uint64_t kProduct = uint64_t(32) << 20,
                          kConvolution = uint64_t(256) << 20;

using Shapes = const KernelShapes &;

uint64_t product(Shapes, bool deterministic);
/// A product, and sums over its rows or those of an operand.
uint64_t productAndSums(Shapes, bool deterministic);
uint64_t linearLoss(Shapes, bool deterministic);
uint64_t convolution(Shapes, bool deterministic);
uint64_t attention(Shapes, bool deterministic);
uint64_t attentionGrad(Shapes, bool deterministic);
uint64_t normGrad(Shapes, bool deterministic);
uint64_t loss(Shapes, bool deterministic);
uint64_t reduction(Shapes, bool deterministic);
uint64_t embeddingGrad(Shapes, bool deterministic);
uint64_t scatter(Shapes, bool deterministic);
uint64_t argsort(Shapes, bool deterministic);
uint64_t dispatch(Shapes, bool deterministic);
uint64_t statistics(Shapes, bool deterministic);

/// `row` with a bound.
inline KernelSchema with(uint64_t (*bound)(Shapes, bool), KernelSchema row) {
  row.workspace = bound;
  return row;
}

} // namespace zrt::workspace

#endif // ZERO_RUNTIME_PROGRAM_WORKSPACES_H
