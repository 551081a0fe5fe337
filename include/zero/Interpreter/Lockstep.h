//===- Lockstep.h - the ranks of a mesh side by side ------------*- C++ -*-===//
//
// Evaluates what one rank computes of a model on all ranks of a mesh at once:
// each operation on every rank before the next one, and operations between
// ranks by their definition. What it gives is compared with the model that was
// not cut, so it shares no code with what cuts it.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_INTERPRETER_LOCKSTEP_H
#define ZERO_INTERPRETER_LOCKSTEP_H

#include "zero/Dialect/Zero/Zero.h"
#include "zero/Interpreter/Interpreter.h"

#include <map>

namespace mlir::zero {

/// The computation of the ranks of one stage: `block`, whose operations use the
/// values of `argumentValues`. `arguments` and `contexts` have one entry a
/// rank.
struct RankBlock {
  Block *block = nullptr;
  ValueRange argumentValues;
  ArrayRef<std::vector<Array>> arguments;
  MutableArrayRef<InterpreterContext> contexts;
};

class Lockstep {
public:
  /// `mesh`: all ranks, in row-major order.
  Lockstep(const Interpreter &interpreter, AxesAttr mesh)
      : interpreter(interpreter), mesh(mesh) {}

  /// Evaluates `block`, whose operations use the values of `argumentValues`, on
  /// every rank. `arguments` and `contexts` have one entry a rank; so have the
  /// results, each with the operands of the terminator.
  FailureOr<std::vector<std::vector<Array>>>
  run(Block &block, ValueRange argumentValues,
      ArrayRef<std::vector<Array>> arguments,
      MutableArrayRef<InterpreterContext> contexts) const;

  /// Evaluates all stages of a pipeline, where `mesh` is that of the ranks of
  /// one stage. A value that is sent is received by the rank at the same place
  /// of another stage, under its name. Fails if no stage can go on, with an
  /// error at the operation that it waits for.
  FailureOr<std::vector<std::vector<std::vector<Array>>>>
  runStages(ArrayRef<RankBlock> stages) const;

  /// The ranks that differ from `rank` in axes of `group` only, and itself.
  SmallVector<int64_t> membersOf(AxesAttr group, int64_t rank) const;

private:
  using Values = DenseMap<Value, Array>;
  struct Stage;
  /// Messages under way, by direction and name: an array a rank.
  using Messages = std::map<std::pair<bool, std::string>, std::vector<Array>>;

  LogicalResult evaluate(Operation &op, MutableArrayRef<Values> ranks,
                         MutableArrayRef<InterpreterContext> contexts) const;
  LogicalResult exchange(Operation &op, MutableArrayRef<Values> ranks) const;
  FailureOr<bool> advance(Stage &stage, Messages &messages) const;

  const Interpreter &interpreter;
  AxesAttr mesh;
};

/// The part of `whole` that rank `index` of the group has.
Array takePart(const Array &whole, CutAttr cut, int64_t index);

/// The whole of the parts that the ranks of a group have, in their order.
Array joinParts(ArrayRef<const Array *> parts, CutAttr cut);

} // namespace mlir::zero

#endif // ZERO_INTERPRETER_LOCKSTEP_H
