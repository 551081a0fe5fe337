//===- CutPrograms.cpp - random models over axes that cut them ------------===//

#include "CutPrograms.h"

#include "Interpreter/CutMutants.h"
#include "Interpreter/StagedModel.h"

#include "program/Mesh.h"

using namespace mlir;
using namespace mlir::zero;
using namespace mlir::zero::test;

AxisSizes mlir::zero::test::readMesh(StringRef options) {
  AxisSizes axes;
  for (StringRef option : llvm::split(options, ' ')) {
    if (!option.consume_front("mesh="))
      continue;
    for (StringRef axis : llvm::split(option, ',')) {
      auto [name, size] = axis.split('=');
      int64_t count = 0;
      if (!size.getAsInteger(10, count))
        axes.emplace_back(name, count);
    }
  }
  return axes;
}

bool mlir::zero::test::hasStages(const AxisSizes &mesh) {
  return llvm::any_of(mesh,
                      [](auto axis) { return axis.first == zrt::kPipeAxis; });
}

bool mlir::zero::test::cutsModel(const AxisSizes &mesh) {
  return hasStages(mesh) || llvm::any_of(mesh, [](auto axis) {
           return zrt::cutsModel(axis.first.str());
         });
}

namespace {

/// The first error while a model is cut.
class FirstError {
public:
  explicit FirstError(MLIRContext &context)
      : handler(&context, [this](Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() == DiagnosticSeverity::Error &&
              text.empty())
            text = diagnostic.str();
          return success();
        }) {}
  std::string text;

private:
  ScopedDiagnosticHandler handler;
};

bool isTheModel(Model &model) {
  return findDistance(model) <= kNear &&
         findDistance(model, /*evaluating=*/true) <= kNear;
}

bool complain(const std::string &path, const Twine &what) {
  llvm::outs() << path << ": " << what << "\n";
  return false;
}

} // namespace

bool CutPrograms::runCut(const std::string &path, const AxisSizes &mesh) {
  Model model;
  FirstError error(model.context);
  if (!model.read(path))
    return complain(path, "is no model: " + error.text);
  AxesAttr axes = model.makeMesh(mesh);
  model.fill(/*samples=*/axes.getBatchAxes().getSize());
  if (!model.cutOnly(path, axes)) {
    ++cuts.refused;
    llvm::outs() << path << ": refused: " << error.text << "\n";
    return true;
  }
  ++cuts.programs;
  if (!isAccepted(model))
    return complain(path, "is cut, and refused: " + error.text);
  OwningOpRef<ModuleOp> cut = model.local->clone();
  if (!model.finish())
    return complain(path, "has no gradients: " + error.text);
  if (!isAccepted(model))
    return complain(path, "has gradients, and is refused: " + error.text);
  if (!isTheModel(model))
    return complain(path, "ranks compute something else");
  OwningOpRef<ModuleOp> differentiated = model.local->clone();
  AxesAttr other = model.makeMesh({{"data", 2}});
  bool isClean = true;
  for (auto [original, isFinished] :
       {std::pair(*cut, false), std::pair(*differentiated, true)}) {
    std::vector<CutMutant> mutants = listCutMutants(original, other);
    llvm::append_range(mutants, listNeedlessSums(original));
    for (size_t i = 0; i < mutantsEach && !mutants.empty(); ++i) {
      const CutMutant &mutant = mutants[random() % mutants.size()];
      model.local = original.clone();
      mutant.change(*model.local);
      const bool isAccepted = test::isAccepted(model);
      const bool isSame = (isFinished || model.finish()) && isTheModel(model);
      if (!cuts.count(isAccepted, !isSame))
        isClean = complain(path, "accepted: " + mutant.name);
    }
  }
  return isClean;
}

bool CutPrograms::runStages(const std::string &path, const AxisSizes &mesh) {
  StagedModel model;
  FirstError error(model.context);
  if (!model.read(path))
    return complain(path, "is no model: " + error.text);
  AxesAttr axes = model.makeMesh(mesh);
  model.fill(/*samples=*/axes.getBatchAxes().getSize());
  if (!model.cutStages(path, axes, /*chunks=*/1)) {
    ++stages.refused;
    llvm::outs() << path << ": refused: " << error.text << "\n";
    return true;
  }
  ++stages.programs;
  const double distance =
      std::max(findStageDistance(model, false), findStageDistance(model, true));
  return distance <= kNear ||
         complain(path, "stages compute something else: " + error.text);
}

bool CutPrograms::run(const std::string &path, const AxisSizes &mesh) {
  return hasStages(mesh) ? runStages(path, mesh) : runCut(path, mesh);
}

void CutPrograms::report() const {
  cuts.print("cut models");
  stages.print("models in stages");
}
