//===- Drawings.cpp - the files of --trace and --picture ------------------===//

#include "Drawings.h"
#include "../../Output.h"
#include "Picture.h"
#include "PredictedTrace.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::zero;

static std::string titleOf(const Timeline &timeline, const Machine &machine) {
  const zrt::Training &training = timeline.program->training;
  return llvm::formatv("{0}: stage {1}, {2} rank{3}, on {4}",
                       timeline.program->name, training.stage, training.ranks,
                       training.ranks == 1 ? "" : "s", machine.name);
}

LogicalResult mlir::zero::writeDrawings(const DrawingFiles &files,
                                        ModuleOp planned,
                                        const Timeline &timeline,
                                        const Machine &machine,
                                        ArrayRef<FrontPlan> front) {
  if (!files.trace.empty() &&
      failed(writeTextFile(files.trace, formatTrace(timeline))))
    return failure();
  auto write = [](StringRef path, FailureOr<std::string> text) {
    return failed(text) ? failure() : writeTextFile(path, *text);
  };
  const std::string title = titleOf(timeline, machine);
  if (!files.picture.empty() &&
      failed(write(files.picture, drawPlan(planned, machine, title))))
    return failure();
  if (files.page.empty())
    return success();
  return write(files.page, writePage(planned, machine, title, front));
}
