//===- Mesh.cpp - the ranks of a module -----------------------------------===//

#include "zero/Analysis/Mesh.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::zero;

MeshAxes mlir::zero::getMesh(ModuleOp module, TrainingAttr training) {
  for (MeshOp mesh : module.getOps<MeshOp>())
    return {mesh.getAxesAttr(), mesh.getCutAxes(), mesh.getSecondaryAttr()};
  AxesAttr line = AxesAttr::getLine(module.getContext(), training.getRanks());
  return {line, line, {}};
}

AxesAttr mlir::zero::findTensorAxis(ModuleOp module) {
  for (MeshOp mesh : module.getOps<MeshOp>())
    for (auto [name, size] : llvm::zip_equal(mesh.getAxes().getNames(),
                                             mesh.getAxes().getSizes()))
      if (name == "tensor" && size > 1)
        return AxesAttr::get(module.getContext(), name, size);
  return {};
}

LogicalResult mlir::zero::verifyMesh(ModuleOp module, TrainingAttr training) {
  auto meshes = module.getOps<MeshOp>();
  if (meshes.empty())
    return success();
  MeshOp mesh = *meshes.begin();
  if (llvm::range_size(meshes) > 1)
    return (*std::next(meshes.begin()))
        .emitOpError("is a second mesh, wanted one");
  if (mesh.getAxes().getSize() != training.getRanks())
    return mesh.emitOpError("has ")
           << mesh.getAxes().getSize() << " ranks, and the step runs on "
           << training.getRanks();
  return success();
}
