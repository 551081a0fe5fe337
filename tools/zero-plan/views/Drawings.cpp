//===- Drawings.cpp - the files of --trace and --picture ------------------===//

#include "Drawings.h"
#include "../../Output.h"
#include "Picture.h"
#include "PredictedTrace.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::zero;

LogicalResult mlir::zero::writeDrawings(const DrawingFiles &files,
                                        ModuleOp planned,
                                        const Timeline &timeline,
                                        const Machine &machine) {
  if (!files.trace.empty() &&
      failed(writeTextFile(files.trace, formatTrace(timeline))))
    return failure();
  if (files.picture.empty())
    return success();
  const zrt::Training &training = timeline.program->training;
  std::string title =
      llvm::formatv("{0}: stage {1}, {2} rank{3}, on {4}",
                    timeline.program->name, training.stage, training.ranks,
                    training.ranks == 1 ? "" : "s", machine.name);
  FailureOr<std::string> picture = drawPlan(planned, machine, title);
  if (failed(picture))
    return failure();
  return writeTextFile(files.picture, *picture);
}
