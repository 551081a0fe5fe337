//===- Mesh.cpp - the ranks of a module -----------------------------------===//

#include "zero/Analysis/Mesh.h"

#include "program/ByteCount.h"
#include "program/Mesh.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::zero;

MeshAxes mlir::zero::getMesh(ModuleOp module, TrainingAttr training) {
  for (MeshOp mesh : module.getOps<MeshOp>())
    return {mesh.getAxesAttr(),
            mesh.getAxes().getStateAxes(),
            mesh.getAxes().getPartAxes(),
            mesh.getAxes().getBatchAxes(),
            mesh.getCutAxes(),
            mesh.getSecondaryAttr(),
            mesh.getAxes().getStageAxes(),
            static_cast<int64_t>(mesh.getStage().value_or(0)),
            mesh.getPassOrder() == zrt::PassOrder::Gpipe,
            static_cast<int64_t>(mesh.getChunks())};
  AxesAttr line = AxesAttr::getLine(module.getContext(), training.getRanks());
  return {line, line, {}, line, line, {}};
}

AxesAttr MeshAxes::copiesOf(PartitionOp partition, bool sharded) const {
  AxesAttr same = ranks.without(partition.getPartsAttr());
  if (same)
    same = same.without(pipe);
  return same && sharded ? same.without(partition.getCut()) : same;
}

bool MeshAxes::hasWholeModels() const {
  return llvm::none_of(
      llvm::zip_equal(ranks.getNames(), ranks.getSizes()), [](auto axis) {
        auto [name, size] = axis;
        return size > 1 &&
               (zrt::cutsModel(name.str()) || zrt::holdsStages(name.str()));
      });
}

int64_t MeshAxes::slicesOf(AtAttr place) const {
  return (place.getOver() ? place.getOver() : cut).getSize();
}

AtAttr MeshAxes::placeOn(AtAttr place, int64_t rank) const {
  int64_t index = all.getIndexIn(place.getOver() ? place.getOver() : cut, rank);
  return place.getPart(index * place.getStride(), place.getBytes(),
                       /*stride=*/0, /*over=*/{});
}

SmallVector<AxesAttr> mlir::zero::listModelAxes(ModuleOp module) {
  SmallVector<AxesAttr> found;
  for (MeshOp mesh : module.getOps<MeshOp>())
    for (auto [name, size] :
         llvm::zip_equal(mesh.getAxes().getNames(), mesh.getAxes().getSizes()))
      if (size > 1 && zrt::cutsModel(name.str()))
        found.push_back(AxesAttr::get(module.getContext(), {name}, {size}));
  return found;
}

bool mlir::zero::cutsExperts(AxesAttr axis) {
  return zrt::cutsExperts(axis.getNames().front().str());
}

bool mlir::zero::cutsPositions(AxesAttr axis) {
  return zrt::cutsPositions(axis.getNames().front().str());
}

bool mlir::zero::cutTogether(AxesAttr axis, AxesAttr other) {
  return zrt::cutTogether(axis.getNames().front().str(),
                          other.getNames().front().str());
}

LogicalResult mlir::zero::verifyMesh(ModuleOp module, TrainingAttr training) {
  auto meshes = module.getOps<MeshOp>();
  if (meshes.empty())
    return success();
  MeshOp mesh = *meshes.begin();
  if (llvm::range_size(meshes) > 1)
    return (*std::next(meshes.begin()))
        .emitOpError("is a second mesh, wanted one");
  int64_t ranks = mesh.getAxes().getStateAxes().getSize();
  if (ranks != training.getRanks())
    return mesh.emitOpError("has ")
           << zrt::plural(ranks, "rank")
           << " with the same parameters, and the step runs on "
           << training.getRanks();
  return success();
}
