//===- LaunchRows.h - launches on some rows of their operands ---*- C++ -*-===//
#ifndef ZERO_TRANSFORMS_LAUNCHROWS_H
#define ZERO_TRANSFORMS_LAUNCHROWS_H

namespace mlir {
class DialectRegistry;

namespace zero {

/// Gives `zero.launch` RowBlockOpInterface: a block launches a kernel for fewer
/// rows, which is made beside the whole's. Apart from the dialect, because it
/// changes loop nests of linalg.
void registerLaunchRowBlocks(DialectRegistry &registry);

} // namespace zero
} // namespace mlir

#endif // ZERO_TRANSFORMS_LAUNCHROWS_H
