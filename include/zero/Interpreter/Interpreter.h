//===- Interpreter.h - the reference meaning of operations ------*- C++ -*-===//
//
// Evaluates functions and steps on arrays: each operation by a plain loop
// written from its definition, every float type in f64. It is what kernels,
// gradients and schedules are judged by, so it shares no code with them.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_INTERPRETER_INTERPRETER_H
#define ZERO_INTERPRETER_INTERPRETER_H

#include "zero/Interpreter/Array.h"

#include "mlir/IR/Operation.h"

#include "llvm/ADT/StringMap.h"

#include <functional>
#include <memory>
#include <vector>

namespace mlir::zero {

/// The data of a micro-batch besides its arguments: what it depends on, and the
/// gradients that it writes.
struct InterpreterContext {
  uint64_t seed = 0;                 ///< of the run; dropout masks depend on it
  uint64_t firstSample = 0;          ///< global sample of the arguments' row 0
  bool evaluating = false;           ///< dropout is off
  double lossSeed = 1.0;             ///< value of zero.loss_seed
  llvm::StringMap<Array> parameters; ///< read by zero.load
  llvm::StringMap<Array> gradients;  ///< written by zero.gradient
};

/// One operation being evaluated: its operands' values, and its results'
/// preset to zeros of their types.
struct Evaluation {
  InterpreterContext &context;
  ArrayRef<const Array *> in;
  MutableArrayRef<Array> out;
};

/// How one operation is evaluated; emits an error at it on failure.
using EvaluationRule = std::function<LogicalResult(Operation *, Evaluation &)>;

/// The rules by operation name.
class EvaluationRules {
public:
  template <typename OpT>
  void add(std::function<LogicalResult(OpT, Evaluation &)> rule) {
    rules[OpT::getOperationName()] = [rule](Operation *op, Evaluation &e) {
      return rule(cast<OpT>(op), e);
    };
  }
  const EvaluationRule *find(StringRef name) const {
    auto found = rules.find(name);
    return found == rules.end() ? nullptr : &found->second;
  }

private:
  llvm::StringMap<EvaluationRule> rules;
};

class Interpreter {
public:
  Interpreter();

  /// Adds or replaces rules, for operations of other dialects.
  EvaluationRules &getRules() { return rules; }

  /// Evaluates the one block of `callable` (a func.func, or a zero.step in
  /// model form) on `arguments` and returns the operands of its terminator.
  FailureOr<std::vector<Array>> run(Operation *callable,
                                    ArrayRef<Array> arguments,
                                    InterpreterContext &context) const;

  /// Evaluates `block` (for example a zero.micro's), whose operations use the
  /// values of `callable`'s arguments.
  FailureOr<std::vector<Array>> run(Block &block, ValueRange argumentValues,
                                    ArrayRef<Array> arguments,
                                    InterpreterContext &context) const;

  /// Evaluates one operation, no terminator, on the values of its operands, and
  /// adds those of its results.
  LogicalResult evaluate(Operation &op, DenseMap<Value, Array> &values,
                         InterpreterContext &context) const;

private:
  EvaluationRules rules;
};

} // namespace mlir::zero

#endif // ZERO_INTERPRETER_INTERPRETER_H
