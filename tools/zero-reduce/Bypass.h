//===- Bypass.h - leave an operation out ------------------------*- C++ -*-===//
#ifndef ZERO_TOOLS_ZERO_REDUCE_BYPASS_H
#define ZERO_TOOLS_ZERO_REDUCE_BYPASS_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace zero_tools {

/// Adds to reduction-tree what it cannot do by erasing: an operation with uses
/// is left out, and who used a result takes a value of its type instead that
/// was there before, so that what only computed the operands goes as well; and
/// symbols that nobody uses go one by one. Each time the test script decides.
void registerBypass(mlir::DialectRegistry &registry);

} // namespace zero_tools

#endif // ZERO_TOOLS_ZERO_REDUCE_BYPASS_H
