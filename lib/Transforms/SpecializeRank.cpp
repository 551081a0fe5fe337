//===- SpecializeRank.cpp - one program a rank ----------------------------===//

#include "zero/Analysis/Mesh.h"
#include "zero/Dialect/Zero/Zero.h"
#include "zero/Transforms/Passes.h"

#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/Builders.h"

namespace mlir::zero {
#define GEN_PASS_DEF_SPECIALIZERANK
#include "zero/Transforms/Passes.h.inc"
} // namespace mlir::zero

using namespace mlir;
using namespace mlir::zero;

namespace {
struct SpecializeRank : public zero::impl::SpecializeRankBase<SpecializeRank> {
  using SpecializeRankBase::SpecializeRankBase;
  void runOnOperation() override;
};
} // namespace

/// Gives every place of `module` the address that it has on `rank`.
static void specializeModule(ModuleOp module, int64_t rank) {
  StepOp configured = *module.getOps<StepOp>().begin();
  MeshAxes mesh = getMesh(module, *configured.getTraining());
  AttrTypeReplacer replacer;
  replacer.addReplacement(
      [&](AtAttr place) { return mesh.placeOn(place, rank); });
  replacer.recursivelyReplaceElementsIn(module);
  for (StepOp step : module.getOps<StepOp>())
    step->setAttr(kRank, Builder(module.getContext()).getI64IntegerAttr(rank));
}

void SpecializeRank::runOnOperation() {
  ModuleOp module = getOperation();
  auto steps = module.getOps<StepOp>();
  if (steps.empty() || !(*steps.begin()).getTraining()) {
    module.emitError("has no configured 'zero.step' to specialize; run "
                     "zero-configure first");
    return signalPassFailure();
  }
  if (getMesh(module, *(*steps.begin()).getTraining()).model) {
    (*steps.begin())
        .emitOpError("runs on a mesh whose ranks compute parts of one model, "
                     "and addresses "
                     "of one rank are known only where each has a whole one; "
                     "leave the axis "
                     "'tensor' out");
    return signalPassFailure();
  }
  int64_t ranks = (*steps.begin()).getTraining()->getRanks();
  if (rank >= ranks) {
    (*steps.begin()).emitOpError("runs on ")
        << ranks << " ranks, and there is no rank " << rank.getValue();
    return signalPassFailure();
  }
  if (rank >= 0)
    return specializeModule(module, rank);
  OwningOpRef<ModuleOp> program = module.clone();
  module.getBody()->clear();
  for (int64_t own = 0; own < ranks; ++own) {
    ModuleOp copy = program->clone();
    copy.setSymName("rank" + std::to_string(own));
    specializeModule(copy, own);
    module.push_back(copy);
  }
}
