//===- TranslateStages.cpp - the programs of a pipeline -------------------===//

#include "zero/Conversion/Translate.h"
#include "zero/Conversion/VerifyStages.h"

#include "CommandBuilder.h"

#include "zero/Analysis/PipelinePasses.h"

#include "program/StoredParameters.h"

#include <algorithm>
#include <map>

using namespace mlir;
using namespace mlir::zero;

//===----------------------------------------------------------------------===//
// The order of passes
//===----------------------------------------------------------------------===//

zrt::Pipeline mlir::zero::describePipeline(StepOp step, const MeshAxes &mesh) {
  zrt::Pipeline pipeline;
  pipeline.stage = static_cast<uint32_t>(mesh.stage);
  pipeline.stages = static_cast<uint32_t>(mesh.stages());
  for (const StashRing &ring : measureRings(step, mesh))
    pipeline.rings.push_back(
        {static_cast<uint64_t>(ring.bytes), static_cast<uint32_t>(ring.slots)});
  for (const PipelinePass &pass :
       listPasses(mesh, step.getTraining()->getAccumulation()))
    pipeline.order.push_back({pass.isBackward,
                              static_cast<uint32_t>(pass.chunk),
                              static_cast<uint32_t>(pass.micro)});
  return pipeline;
}

//===----------------------------------------------------------------------===//
// All stages
//===----------------------------------------------------------------------===//

SmallVector<ModuleOp> mlir::zero::listStages(ModuleOp module) {
  SmallVector<ModuleOp> stages;
  for (auto inner : module.getOps<ModuleOp>())
    if (!inner.getOps<StepOp>().empty())
      stages.push_back(inner);
  if (stages.empty())
    stages.push_back(module);
  return stages;
}

bool mlir::zero::isCutIntoStages(ModuleOp module) {
  return listStages(module).size() > 1;
}

/// Gives each function of a stage a name that no other stage has.
static LogicalResult renameFunctions(ModuleOp stage) {
  // Names of kernels on GPUs have no dots.
  std::string prefix = (stage.getSymName().value_or("") + "_").str();
  for (auto function : stage.getOps<func::FuncOp>()) {
    if (function.getSymName().starts_with(prefix))
      continue;
    auto name =
        StringAttr::get(stage.getContext(), prefix + function.getSymName());
    if (failed(SymbolTable::replaceAllSymbolUses(function, name, stage)))
      return function.emitError("is used where it cannot get another name");
    function.setSymNameAttr(name);
  }
  return success();
}

/// The places of parameters in the order of their declarations, which the
/// module of the stages keeps.
static std::map<std::string, size_t> listDeclared(ModuleOp module) {
  std::map<std::string, size_t> places;
  auto names = module->getAttrOfType<ArrayAttr>(kDeclaredParameters);
  for (Attribute name : names ? names.getValue() : ArrayRef<Attribute>())
    places.try_emplace(cast<StringAttr>(name).str(), places.size());
  return places;
}

/// Tells each stage of all. The first that has a parameter writes it.
static void introduce(std::vector<zrt::Program> &stages,
                      const std::map<std::string, size_t> &declared) {
  std::map<std::string, zrt::StoredParameter> byName;
  for (const zrt::Program &stage : stages)
    for (const zrt::Parameter &parameter : stage.parameters)
      byName.try_emplace(parameter.name, zrt::describeStored(stage, parameter));
  std::vector<zrt::StoredParameter> all;
  for (const auto &[name, stored] : byName)
    all.push_back(stored);
  auto placeOf = [&](const zrt::StoredParameter &stored) {
    auto known = declared.find(stored.name);
    return known == declared.end() ? declared.size() : known->second;
  };
  std::stable_sort(all.begin(), all.end(), [&](const auto &a, const auto &b) {
    return placeOf(a) < placeOf(b);
  });
  for (zrt::Program &stage : stages) {
    stage.pipeline.outputs = stages.back().evaluate.outputs;
    stage.pipeline.stored = all;
  }
}

FailureOr<std::vector<zrt::Program>>
mlir::zero::translateStages(ModuleOp module) {
  std::vector<zrt::Program> programs;
  SmallVector<ModuleOp> stages = listStages(module);
  for (ModuleOp stage : stages) {
    if (stages.size() > 1 && failed(renameFunctions(stage)))
      return failure();
    FailureOr<zrt::Program> program = translateToProgram(stage);
    if (failed(program))
      return failure();
    programs.push_back(std::move(*program));
  }
  if (programs.size() == 1)
    return programs;
  introduce(programs, listDeclared(module));
  if (std::string fault = zrt::findStageFault(programs); !fault.empty())
    return emitError(module.getLoc())
               << "the stages of the pipeline do not fit together: " << fault,
           failure();
  return programs;
}

OwningOpRef<ModuleOp> mlir::zero::joinFunctions(ModuleOp module) {
  OwningOpRef<ModuleOp> joined = ModuleOp::create(module.getLoc());
  OpBuilder builder = OpBuilder::atBlockEnd(joined->getBody());
  for (ModuleOp stage : listStages(module))
    for (auto function : stage.getOps<func::FuncOp>())
      builder.clone(*function);
  return joined;
}
