//===- SecondarySlices.cpp - what a node keeps to gather again ------------===//

#include "Checks.h"

using namespace mlir;
using namespace mlir::zero;

LogicalResult mlir::zero::verifyIsSecondary(Operation *op, AxesAttr over) {
  AxesAttr secondary;
  for (MeshOp mesh : op->getParentOfType<ModuleOp>().getOps<MeshOp>())
    secondary = mesh.getSecondaryAttr();
  if (secondary == over)
    return success();
  InFlightDiagnostic error = op->emitOpError("runs over ") << over;
  if (secondary)
    return error << ", and the mesh has its secondary partition over "
                 << secondary;
  return error << ", and there is no 'zero.mesh' with a secondary partition";
}

LogicalResult
SecondarySliceOp::verifySymbolUses(SymbolTableCollection &tables) {
  auto names = ArrayAttr::get(getContext(), {getParameterAttr()});
  if (failed(verifyAreParameters(*this, names, tables)) ||
      failed(verifyIsSecondary(*this, getOver()))) // (C2)
    return failure();
  auto load = getValue().getDefiningOp<LoadOp>();
  if (load && load.getSource() &&
      load.getParameterAttr() == getParameterAttr()) // (C1)
    return success();
  InFlightDiagnostic error =
      emitOpError("cuts a slice of ")
      << getParameterAttr() << " from another value, wanted a 'zero.load' of "
      << getParameterAttr() << " from what a gather of it gave";
  error.attachNote(getValue().getLoc()) << "given by this";
  return error;
}
