//===- FuseMoves.cpp - kernels on parts of tensors ------------------------===//

#include "zero/Transforms/Passes.h"

#include "zero/Dialect/Zero/Zero.h"
#include "zero/Kernels/FusedMoves.h"

#include "mlir/IR/IRMapping.h"

namespace mlir::zero {
#define GEN_PASS_DEF_FUSEMOVES
#include "zero/Transforms/Passes.h.inc"
} // namespace mlir::zero

using namespace mlir;
using namespace mlir::zero;

namespace {

/// Rewrites the kernels of one block.
class Fusing {
public:
  void run(Block &block);

private:
  StridedOp build(const FusedKernel &kernel);

  /// What has taken the place of a value.
  IRMapping replaced;
  SmallVector<Operation *> dead;
};

} // namespace

/// The kernel with its moves, at its place.
StridedOp Fusing::build(const FusedKernel &kernel) {
  OpBuilder b(kernel.op);
  Location loc = kernel.op->getLoc();
  // Operations read what has taken the place of a source already.
  llvm::SetVector<Value> inputs;
  for (Value source : kernel.sources)
    inputs.insert(replaced.lookupOrDefault(source));
  auto strided = StridedOp::create(
      b, loc, ValueRange(kernel.outputs).getTypes(), inputs.getArrayRef());
  Block &body = strided.getBody().emplaceBlock();
  IRMapping inside;
  for (Value input : inputs)
    inside.map(input, body.addArgument(input.getType(), loc));
  b.setInsertionPointToStart(&body);
  for (Operation *move : kernel.before)
    b.clone(*move, inside);
  b.clone(*kernel.op, inside);
  for (Operation *move : kernel.after)
    b.clone(*move, inside);
  SmallVector<Value> values;
  for (Value output : kernel.outputs)
    values.push_back(inside.lookup(output));
  StridedYieldOp::create(b, loc, values);
  return strided;
}

void Fusing::run(Block &block) {
  FusedMoves fused(block);
  for (const KeptMove &kept : fused.getKept()) {
    InFlightDiagnostic remark = kept.move->emitRemark("'")
                                << kept.move->getName() << "' is a copy";
    remark.attachNote(kept.because->getLoc())
        << "'" << kept.because->getName()
        << (kept.isShared ? "' is the second kernel that makes a part of it"
                          : "' takes no part of a tensor where it is");
  }
  for (const FusedKernel &kernel : fused.getKernels()) {
    StridedOp strided = build(kernel);
    for (auto [output, result] :
         llvm::zip_equal(kernel.outputs, strided.getOutputs())) {
      replaced.map(output, result);
      Value(output).replaceAllUsesWith(result);
    }
    llvm::append_range(dead, kernel.before);
    dead.push_back(kernel.op);
    llvm::append_range(dead, kernel.after);
  }
  // A move that several kernels read is there once. What reads it comes later.
  llvm::SetVector<Operation *> unused(dead.begin(), dead.end());
  SmallVector<Operation *> order = unused.takeVector();
  llvm::sort(order,
             [](Operation *a, Operation *b) { return b->isBeforeInBlock(a); });
  for (Operation *op : order)
    op->erase();
}

namespace {

struct FuseMoves : mlir::zero::impl::FuseMovesBase<FuseMoves> {
  void runOnOperation() override {
    for (auto step : getOperation().getOps<StepOp>())
      for (Operation &region : step.getBody().front())
        for (Region &body : region.getRegions())
          for (Block &block : body)
            Fusing().run(block);
  }
};

} // namespace
