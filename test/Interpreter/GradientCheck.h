//===- GradientCheck.h - gradients against finite differences ---*- C++ -*-===//
#ifndef ZERO_TEST_INTERPRETER_GRADIENTCHECK_H
#define ZERO_TEST_INTERPRETER_GRADIENTCHECK_H

#include "zero/Interpreter/Interpreter.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <string>
#include <vector>

namespace mlir::zero::test {

/// Differentiates `function` for its float arguments (see
/// test/Gradients/README.md), and says what is wrong with the gradients: one
/// line a fault, none if they are right. Checked are
/// - every element against central differences, to 1e-6 relative,
/// - <Jv, u> against <v, J'u> for random v and u, to 1e-8,
/// - all outputs together and each alone,
/// - the gradient of each argument when no other is asked for.
std::vector<std::string> checkGradients(func::FuncOp function,
                                        const Interpreter &interpreter);

} // namespace mlir::zero::test

#endif // ZERO_TEST_INTERPRETER_GRADIENTCHECK_H
