//===- Model.h - a model or schedule that zero-plan reads -----------------===//
#ifndef ZERO_PLAN_MODEL_H
#define ZERO_PLAN_MODEL_H

#include "../Output.h"

#include "zero/Config/Config.h"
#include "zero/Cost/Machine.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/SourceMgr.h"

#include <memory>
#include <optional>
#include <string>

namespace mlir {
class SourceMgrDiagnosticHandler;
} // namespace mlir

namespace mlir::zero {

/// What zero-pipeline is to do: its configuration file, and options in text
/// that override it.
struct PlanOptions {
  std::string config, pipeline, stage, ranks, mesh, memoryBudget,
      hostMemoryBudget, target, machine;
  /// Keys of the configuration: KEY=VALUE;KEY=VALUE.
  std::string set;

  /// A machine is no option of the plan: times are predicted for it, too.
  bool empty() const;
  /// The options of zero-pipeline that these mean.
  std::string text() const;
};

/// A file of MLIR: a model, or a schedule that is planned already.
class ModelFile {
public:
  ModelFile();
  ~ModelFile();

  /// Reads and verifies `path`; '-' is standard input.
  LogicalResult read(StringRef path);
  /// The same of `text`, which messages call `name`.
  LogicalResult readText(StringRef text, StringRef name);
  /// A planned schedule of the model. A file that is a planned schedule is
  /// taken as it is; options are then an error.
  FailureOr<OwningOpRef<ModuleOp>> plan(const PlanOptions &options);
  /// What the options mean for the model.
  FailureOr<TrainConfig> resolve(const PlanOptions &options);
  /// The machine of what was planned or resolved last: the one that was asked
  /// for, else the configuration's, else the default.
  FailureOr<Machine> readMachine() const;
  /// Whether the file holds a model, not a schedule.
  bool isModel();

  ModuleOp get() { return *module; }
  StringRef getPath() const { return path; }

private:
  LogicalResult parse(std::unique_ptr<llvm::MemoryBuffer> buffer);
  LogicalResult runPipeline(ModuleOp target, const PlanOptions &options);

  MLIRContext context;
  llvm::SourceMgr sources;
  std::unique_ptr<SourceMgrDiagnosticHandler> diagnostics;
  OwningOpRef<ModuleOp> module;
  std::string path;
  std::string machine = TrainConfig().machine;
  int64_t memoryBudget = 0;
};

} // namespace mlir::zero

#endif // ZERO_PLAN_MODEL_H
