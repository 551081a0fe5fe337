//===- Interpreter.cpp - evaluation of a block ----------------------------===//

#include "zero/Interpreter/Interpreter.h"

#include "Rules.h"

#include "zero/Dialect/Zero/Zero.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::zero;

Interpreter::Interpreter() {
  rules::addElementwise(rules);
  rules::addTensor(rules);
  rules::addContractions(rules);
  rules::addAttention(rules);
  rules::addNormalizations(rules);
  rules::addBatchNorm(rules);
  rules::addWindows(rules);
  rules::addActivations(rules);
  rules::addLookups(rules);
  rules::addExperts(rules);
  rules::addIndexing(rules);
  rules::addShapes(rules);
  rules::addRandom(rules);
  rules::addStep(rules);
}

FailureOr<std::vector<Array>>
Interpreter::run(Operation *callable, ArrayRef<Array> arguments,
                 InterpreterContext &context) const {
  if (callable->getNumRegions() != 1 || !callable->getRegion(0).hasOneBlock()) {
    callable->emitOpError("cannot be interpreted: expected one region with one "
                          "block");
    return failure();
  }
  Block &block = callable->getRegion(0).front();
  return run(block, block.getArguments(), arguments, context);
}

/// Whether `array` is a value of `type`.
static bool matches(const Array &array, Type type) {
  Array expected = Array::zeros(type);
  return expected.isFloat == array.isFloat && expected.shape == array.shape &&
         expected.size() == array.size();
}

static FailureOr<SmallVector<const Array *>>
findOperands(Operation &op, const DenseMap<Value, Array> &values) {
  SmallVector<const Array *> operands;
  for (Value operand : op.getOperands()) {
    auto found = values.find(operand);
    if (found == values.end()) {
      op.emitOpError("uses a value that is computed outside the block");
      return failure();
    }
    operands.push_back(&found->second);
  }
  return operands;
}

/// The values of the operands of `op`.
static FailureOr<std::vector<Array>>
readAll(Operation &op, const DenseMap<Value, Array> &values) {
  FailureOr<SmallVector<const Array *>> operands = findOperands(op, values);
  if (failed(operands))
    return failure();
  std::vector<Array> results;
  for (const Array *array : *operands)
    results.push_back(*array);
  return results;
}

FailureOr<std::vector<Array>>
Interpreter::run(Block &block, ValueRange argumentValues,
                 ArrayRef<Array> arguments, InterpreterContext &context) const {
  Operation *parent = block.getParentOp();
  if (argumentValues.size() != arguments.size()) {
    parent->emitOpError() << "takes " << argumentValues.size()
                          << " arguments, found " << arguments.size();
    return failure();
  }
  DenseMap<Value, Array> values;
  for (auto [value, array] : llvm::zip_equal(argumentValues, arguments)) {
    if (!matches(array, value.getType())) {
      parent->emitOpError() << "has an argument of " << value.getType()
                            << ", and the array given for it has another "
                               "shape or kind";
      return failure();
    }
    values[value] = array;
  }
  for (Operation &op : block) {
    if (op.hasTrait<OpTrait::IsTerminator>())
      return readAll(op, values);
    if (failed(evaluate(op, values, context)))
      return failure();
  }
  return std::vector<Array>();
}

LogicalResult Interpreter::evaluate(Operation &op,
                                    DenseMap<Value, Array> &values,
                                    InterpreterContext &context) const {
  FailureOr<SmallVector<const Array *>> in = findOperands(op, values);
  if (failed(in))
    return failure();
  const EvaluationRule *rule = rules.find(op.getName().getStringRef());
  if (!rule)
    return op.emitOpError(
        "has no meaning in the interpreter: add a rule for it in "
        "lib/Interpreter or through Interpreter::getRules");
  SmallVector<Array> out;
  for (Type type : op.getResultTypes())
    out.push_back(Array::zeros(type));
  Evaluation evaluation{context, *in, out};
  if (failed((*rule)(&op, evaluation)))
    return failure();
  for (auto [result, array] : llvm::zip_equal(op.getResults(), out))
    values[result] = std::move(array);
  return success();
}

void rules::addStep(EvaluationRules &rules) {
  rules.add<LoadOp>([](LoadOp op, Evaluation &e) -> LogicalResult {
    if (op.getSource()) {
      e.out[0] = *e.in[0];
      return success();
    }
    auto found = e.context.parameters.find(op.getParameter());
    if (found == e.context.parameters.end())
      return op.emitOpError() << "reads parameter @" << op.getParameter()
                              << ", which the interpreter was not given";
    if (!matches(found->second, op.getType()))
      return op.emitOpError() << "reads parameter @" << op.getParameter()
                              << ", whose value has another shape";
    e.out[0] = found->second;
    return success();
  });
  rules.add<RecomputeOp>([](RecomputeOp, Evaluation &e) {
    e.out[0] = *e.in[0];
    return success();
  });
  rules.add<LossSeedOp>([](LossSeedOp, Evaluation &e) {
    const double weight = e.in.empty() ? 1.0 : e.in[0]->reals[0];
    e.out[0].reals.assign(e.out[0].size(), e.context.lossSeed * weight);
    return success();
  });
  rules.add<GradientOp>([](GradientOp op, Evaluation &e) -> LogicalResult {
    if (!e.context.gradients.insert({op.getParameter(), *e.in[0]}).second)
      return op.emitOpError()
             << "is the second gradient of @" << op.getParameter()
             << ": a step has one a parameter";
    e.out[0] = *e.in[0];
    return success();
  });
}
