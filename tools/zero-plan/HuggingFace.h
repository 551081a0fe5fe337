//===- HuggingFace.h - models that are given by their configuration -------===//
#ifndef ZERO_PLAN_HUGGINGFACE_H
#define ZERO_PLAN_HUGGINGFACE_H

#include "Imports.h"
#include "Model.h"

namespace mlir::zero {

/// Whether --hf names the model, instead of a word.
bool isHuggingFace();

/// Reads the model of the first word, or of --hf: that is imported once, by
/// zero-import-cached, and taken from where it keeps imports from then on.
LogicalResult readInputModel(ModelFile &model);

/// Whether the samples of a micro-batch are a search's to choose.
bool choosesMicroBatch();

/// Starts to import the model of --hf.
FailureOr<std::unique_ptr<Imports>> startImports();

/// What is said of a model of --hf where no option says it: 16 bits, on a GPU.
/// `choosesStage`: the command tries all stages.
void fillDefaults(PlanOptions &options, bool choosesStage);

} // namespace mlir::zero

#endif // ZERO_PLAN_HUGGINGFACE_H
