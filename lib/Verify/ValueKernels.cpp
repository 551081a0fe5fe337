//===- ValueKernels.cpp - what outlined kernels make of their operands ----===//
//
// A kernel is one loop nest over elements, each computed by arithmetic on
// numbers: which dimensions go together, its maps say, and what becomes of
// terms of sums, its body.
//
//===----------------------------------------------------------------------===//

#include "ValueRules.h"

#include "zero/Interfaces/Factors.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::zero;
using namespace mlir::zero::verify;
using zrt::FactorKind;
using zrt::Factors;

/// A factor for each loop. A loop whose position is computed with is whole.
static std::optional<Factors> factorsOf(linalg::GenericOp loops) {
  Factors factors;
  std::vector<zrt::FactoredDim> dims;
  for (int64_t size : loops.getStaticLoopRanges())
    dims.push_back(addFactor(factors, FactorKind::Parallel, size));
  for (auto index : loops.getBody()->getOps<linalg::IndexOp>())
    factors.factors[index.getDim()].kind = FactorKind::Whole;
  for (utils::IteratorType type : loops.getIteratorTypesArray())
    if (type != utils::IteratorType::parallel)
      return std::nullopt;
  auto add = [&](OpOperand &operand,
                 std::vector<zrt::FactoredTensor> &tensors) {
    zrt::FactoredTensor &tensor = tensors.emplace_back();
    for (AffineExpr expr :
         loops.getMatchingIndexingMap(&operand).getResults()) {
      auto dim = dyn_cast<AffineDimExpr>(expr);
      if (!dim && !isa<AffineConstantExpr>(expr))
        return false;
      tensor.dimensions.push_back(dim ? dims[dim.getPosition()]
                                      : zrt::FactoredDim());
    }
    return true;
  };
  for (OpOperand *input : loops.getDpsInputOperands())
    if (!add(*input, factors.operands))
      return std::nullopt;
  for (OpOperand &output : loops.getDpsInitsMutable())
    if (!add(output, factors.results))
      return std::nullopt;
  return factors;
}

/// The states of the results of a loop's body, which computes with single
/// elements, some of which are terms.
static FailureOr<States> applyBody(linalg::GenericOp loops,
                                   ArrayRef<State> operands, AxesAttr over,
                                   Operation *at) {
  DenseMap<Value, State> states;
  for (auto [argument, state] :
       llvm::zip(loops.getBody()->getArguments(), operands))
    states[argument] = state;
  for (Operation &op : loops.getBody()->without_terminator()) {
    States given;
    for (Value operand : op.getOperands())
      given.push_back(states.lookup(operand));
    if (matchPattern(&op, m_AnyZeroFloat())) {
      states[op.getResult(0)].isZero = true;
      continue;
    }
    FailureOr<States> results =
        applyFactors(&op, getFactors(&op), given, over, at);
    if (failed(results))
      return failure();
    for (auto [result, state] : llvm::zip_equal(op.getResults(), *results))
      states[result] = state;
  }
  States results;
  for (Value value : loops.getBody()->getTerminator()->getOperands())
    results.push_back(states.lookup(value));
  return results;
}

static FailureOr<States> applyLoops(linalg::GenericOp loops,
                                    ArrayRef<State> operands, AxesAttr over,
                                    Operation *at) {
  std::optional<Factors> factors = factorsOf(loops);
  if (!factors)
    factors = wholeFactors(loops);
  factors->operands.resize(operands.size());
  auto is = [&](State::Kind kind) {
    return llvm::any_of(operands,
                        [&](const State &state) { return state.kind == kind; });
  };
  bool hasFirsts = llvm::any_of(
      operands, [](const State &state) { return !state.numbers.empty(); });
  if ((is(State::Term) && !is(State::Cut)) || hasFirsts)
    return applyBody(loops, operands, over, at);
  return applyFactors(loops, *factors, operands, over, at);
}

FailureOr<States> verify::applyKernel(FunctionOpInterface kernel,
                                      ArrayRef<State> operands, AxesAttr over,
                                      Operation *at) {
  DenseMap<Value, State> states;
  for (auto [argument, state] :
       llvm::zip_equal(kernel.getArguments(), operands))
    states[argument] = state;
  for (Operation &op : kernel.getFunctionBody().front().without_terminator()) {
    auto loops = dyn_cast<linalg::GenericOp>(op);
    States given;
    for (Value operand :
         loops ? ValueRange(loops.getInputs()) : ValueRange(op.getOperands()))
      given.push_back(states.lookup(operand));
    FailureOr<States> results =
        applyReadings(given, at, [&](ArrayRef<State> operands, Operation *at) {
          return loops ? applyLoops(loops, operands, over, at)
                       : applyOperation(&op, operands, over, at);
        });
    if (failed(results))
      return failure();
    for (auto [result, state] : llvm::zip_equal(op.getResults(), *results))
      states[result] = state;
  }
  States results;
  for (Value value :
       kernel.getFunctionBody().front().getTerminator()->getOperands())
    results.push_back(states.lookup(value));
  return results;
}
