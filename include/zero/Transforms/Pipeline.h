//===- Pipeline.h - from a model to a planned schedule --------------------===//
//
// One pipeline for all stages: stage 0 is the same code with nothing cut.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_TRANSFORMS_PIPELINE_H
#define ZERO_TRANSFORMS_PIPELINE_H

#include "zero/Config/Config.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

namespace mlir::zero {

/// The textual options of `zero-pipeline` and `zero-configure`: those that
/// stand for keys of a configuration, and those below. What is not given is
/// taken from `config`, or has the default of a run without a file.
struct ZeroPipelineOptions : public PassPipelineOptions<ZeroPipelineOptions> {
  ZeroPipelineOptions();

  Option<std::string> config{
      *this, "config",
      llvm::cl::desc("DeepSpeed JSON file; the other options override it")};
  Option<std::string> set{
      *this, "set",
      llvm::cl::desc("Keys of the configuration, as 'KEY=VALUE;KEY=VALUE'")};
  Option<int64_t> ranks{*this, "ranks", llvm::cl::desc("Data-parallel ranks"),
                        llvm::cl::init(1)};
  Option<std::string> target{
      *this, "target",
      llvm::cl::desc("Kernels to plan for: host or cuda; default: those of "
                     "the host, with the times of an h100")};
  Option<bool> keepTrivialCollectives{
      *this, "keep-trivial-collectives",
      llvm::cl::desc("Keep the collectives of a single rank, which move "
                     "nothing, to test what runs them"),
      llvm::cl::init(false)};
  Option<std::string> memoryBudget{
      *this, "memory-budget",
      llvm::cl::desc("Limit of a rank's device memory, such as 80GiB; empty: "
                     "none")};
  Option<std::string> hostMemoryBudget{
      *this, "host-memory-budget",
      llvm::cl::desc("Limit of what a rank offloads to host memory; empty: "
                     "none")};

  /// ` key=value`, of a value that may hold spaces, as `read` takes it.
  static std::string write(StringRef key, StringRef value);

  /// Reads options in the form `key=value key=value`; null, with an error that
  /// names the first one that cannot be read, or that an earlier one
  /// contradicts. Keys of several `set` add up.
  static std::unique_ptr<ZeroPipelineOptions> read(StringRef text,
                                                   std::string &error);

  /// The configuration that the options mean for `module`, whose micro-batch
  /// decides about accumulation. Complete and in range, or an error was
  /// reported: at the line of `config`, or at the module's place.
  FailureOr<TrainConfig> resolve(ModuleOp module) const;

private:
  /// The options that stand for keys and are given, with their values as text.
  std::vector<std::pair<std::string, std::string>> getGiven() const;

  /// The options that stand for keys.
  std::vector<std::unique_ptr<Option<bool>>> flags;
  std::vector<std::unique_ptr<Option<std::string>>> texts;
};

/// A `zero-configure` that takes its configuration from the caller.
std::unique_ptr<Pass> createConfigurePass(const TrainConfig &config);

/// A `zero-cut-pipeline` that cuts for a run as `config` says.
std::unique_ptr<Pass> createCutPipelinePass(const TrainConfig &config);

/// Ends a pipeline: fails where gradients travel in another type than
/// `config.communicationType`, and remarks where stage 3 saves little memory
/// and `config` is why.
std::unique_ptr<Pass> createCheckPlanPass(const TrainConfig &config);

/// Adds the passes from a model to kernels on one device, the same for every
/// stage: a part of the whole.
void buildModelPipeline(OpPassManager &manager, const TrainConfig &config);
/// Adds the passes of `buildModelPipeline` but those of `addExchangePasses`:
/// layers that may be recomputed are found in their result.
void buildOperationsPipeline(OpPassManager &manager, const TrainConfig &config);

/// Adds the passes of `buildModelPipeline` that each stage of several chunks
/// goes through by itself.
void buildKernelsPipeline(OpPassManager &manager, const TrainConfig &config);

/// Adds the passes from kernels on one device to a planned schedule. Without
/// `proves` the schedule is not verified: for plans that are measured and not
/// run.
void buildSchedulePipeline(OpPassManager &manager, const TrainConfig &config,
                           bool proves = true);

/// Sets the training of a module that went through the model's pipeline to that
/// of `config`, in which only settings that the schedule's pipeline reads may
/// have changed: the stage, sizes, overlap.
void setTraining(ModuleOp module, const TrainConfig &config);

/// Adds all passes from a model to a planned schedule.
void buildZeroPipeline(OpPassManager &manager, const TrainConfig &config);

/// Registers `zero-pipeline`.
void registerZeroPipelines();

} // namespace mlir::zero

#endif // ZERO_TRANSFORMS_PIPELINE_H
