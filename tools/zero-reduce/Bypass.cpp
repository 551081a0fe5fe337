//===- Bypass.cpp - leave an operation out --------------------------------===//

#include "Bypass.h"

#include "zero/Dialect/Zero/Zero.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Reducer/ReductionPatternInterface.h"
#include "mlir/Reducer/Tester.h"

using namespace mlir;

namespace {

/// Values of its type that a result may be replaced by: arguments of the block
/// and results before its operation.
SmallVector<Value> valuesInstead(OpResult result) {
  SmallVector<Value> values;
  const auto addFrom = [&](ValueRange from) {
    for (Value value : from)
      if (value.getType() == result.getType())
        values.push_back(value);
  };
  Block *block = result.getOwner()->getBlock();
  addFrom(block->getArguments());
  for (Operation &op : *block) {
    if (&op == result.getOwner())
      break;
    addFrom(op.getResults());
  }
  return values;
}

/// What results are replaced by, null where nobody uses one. Either the first
/// value that will do, which leaves out most, or the last one, which is likely
/// an operand. Empty where there is none for a result.
SmallVector<Value> choose(Operation *op, bool first) {
  SmallVector<Value> chosen;
  for (OpResult result : op->getResults()) {
    if (result.use_empty()) {
      chosen.emplace_back();
      continue;
    }
    const SmallVector<Value> values = valuesInstead(result);
    if (values.empty())
      return {};
    chosen.push_back(first ? values.front() : values.back());
  }
  return chosen;
}

/// Erases an operation that nobody uses, and what only it has used.
void eraseDead(Operation *unused, RewriterBase &rewriter) {
  SetVector<Operation *> candidates;
  const auto erase = [&](Operation *op) {
    for (Value operand : op->getOperands())
      if (Operation *source = operand.getDefiningOp())
        candidates.insert(source);
    rewriter.eraseOp(op);
  };
  erase(unused);
  while (!candidates.empty()) {
    Operation *op = candidates.pop_back_val();
    if (isOpTriviallyDead(op))
      erase(op);
  }
}

void bypass(Operation *op, ArrayRef<Value> instead, RewriterBase &rewriter) {
  for (auto [result, value] : llvm::zip_equal(op->getResults(), instead))
    if (value)
      rewriter.replaceAllUsesWith(result, value);
  eraseDead(op, rewriter);
}

/// A change of an operation that is made where a copy of the module in which it
/// was made first is interesting.
class TestedPattern : public RewritePattern {
public:
  TestedPattern(MLIRContext *context, const Tester &tester)
      : RewritePattern(MatchAnyOpTypeTag(), 1, context), tester(tester) {}

protected:
  /// `change` takes the operation in the copy, and where values are there.
  bool
  isInteresting(Operation *op,
                function_ref<void(Operation *, IRMapping &, RewriterBase &)>
                    change) const {
    IRMapping copies;
    OwningOpRef<ModuleOp> module =
        cast<ModuleOp>(op->getParentOfType<ModuleOp>()->clone(copies));
    IRRewriter rewriter(op->getContext());
    change(copies.lookup(op), copies, rewriter);
    return tester.isInteresting(*module).first == Tester::Interestingness::True;
  }

private:
  const Tester &tester;
};

class Bypass : public TestedPattern {
public:
  using TestedPattern::TestedPattern;

  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    if (op->getNumResults() == 0)
      return failure();
    SmallVector<Value> tried;
    for (bool first : {true, false}) {
      const SmallVector<Value> instead = choose(op, first);
      if (instead == tried || !isBypassed(op, instead)) {
        tried = instead;
        continue;
      }
      bypass(op, instead, rewriter);
      return success();
    }
    return failure();
  }

private:
  bool isBypassed(Operation *op, ArrayRef<Value> instead) const {
    return isInteresting(
        op, [&](Operation *copy, IRMapping &copies, RewriterBase &rewriter) {
          bypass(copy,
                 llvm::map_to_vector(instead,
                                     [&](Value value) {
                                       return copies.lookupOrDefault(value);
                                     }),
                 rewriter);
        });
  }
};

/// Erasing tries ranges, and may leave single symbols that nobody uses.
class EraseSymbol : public TestedPattern {
public:
  using TestedPattern::TestedPattern;

  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    Operation *table = op->getParentOp();
    if (!isa<SymbolOpInterface>(op) || !table ||
        !SymbolTable::symbolKnownUseEmpty(op, table))
      return failure();
    if (!isInteresting(op, [](Operation *copy, IRMapping &, RewriterBase &own) {
          own.eraseOp(copy);
        }))
      return failure();
    rewriter.eraseOp(op);
    return success();
  }
};

struct BypassInterface : DialectReductionPatternInterface {
  explicit BypassInterface(Dialect *dialect)
      : DialectReductionPatternInterface(dialect) {}

  void populateReductionPatterns(RewritePatternSet &) const override {}
  void populateReductionPatternsWithTester(RewritePatternSet &patterns,
                                           Tester &tester) const override {
    patterns.add<Bypass, EraseSymbol>(patterns.getContext(), tester);
  }
};

} // namespace

void zero_tools::registerBypass(DialectRegistry &registry) {
  // Each dialect whose interface is asked gives patterns for operations of all.
  registry.addExtension(+[](MLIRContext *, mlir::zero::ZeroDialect *dialect) {
    dialect->addInterfaces<BypassInterface>();
  });
}
