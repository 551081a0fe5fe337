//===- TrainingTesting.h - schedules that must train as stage 0 does ------===//
#ifndef ZERO_TEST_VERIFY_TRAININGTESTING_H
#define ZERO_TEST_VERIFY_TRAININGTESTING_H

#include "CompilerTesting.h"
#include "ScheduleInterpreter.h"

#include "gtest/gtest.h"

#include <map>
#include <tuple>

namespace mlir::zero {

/// What a schedule is made for.
struct Settings {
  int64_t stage, ranks, accumulation = 1;
  bool deterministic = false, contiguous = false;
  int64_t persistence = 0, reuse = 0;
  bool overlap = false;
  /// Operations recomputed together; 0: none.
  int64_t recompute = 0;
  /// Whether gradients are larger than a bucket, and cut.
  bool blocks = false;
  /// Groups of so many ranks hold whole states, and `ranks` are in all groups;
  /// 0: no mesh.
  int64_t shards = 0;
  /// Nodes of so many ranks have a secondary partition; 0: there is none.
  int64_t local = 0;
  /// Whether weights travel quantized, in blocks of two.
  bool quantized = false;
  /// Whether what is not trained is stored so.
  bool quantizedFrozen = false;
  /// Whether gradients travel quantized, added up first within nodes of `local`
  /// ranks.
  bool exchanged = false;
  /// Whether what these lose is fed back.
  bool feedback = false;
  /// The part of the optimizer's states that the host keeps; 0: none.
  double offload = 0;
  /// Whether the model has layers, and activations between recomputed spans
  /// wait on the host.
  bool offloadActivations = false;
  /// Whether the host keeps sharded parameters, with all states.
  bool offloadParameters = false;
  /// Whether states that the device does not keep are in files.
  bool files = false;
  /// Whether parameters are in them, too, but for the first one and small ones.
  bool parameterFiles = false;
  /// Whether micro-batches have weights.
  bool weighted = false;
};

/// Makes schedules and runs them, with what stage 0 on one rank gives.
class TrainingTest : public ::testing::Test, protected Compiler {
protected:
  OwningOpRef<ModuleOp> schedule(const Settings &settings);
  /// Why the module does not train as stage 0 does; empty where it does.
  std::string judge(ModuleOp module, int64_t batches);
  /// A schedule that is accepted, and trains as stage 0 does.
  OwningOpRef<ModuleOp> expectTrains(const Settings &settings);

private:
  RunResult train(ModuleOp module, Completion completion, bool clips);

  Interpreter interpreter;
  /// Of stage 0 on one rank, by features, whether it is the model with layers,
  /// micro-batches of an update and clipping.
  std::map<std::tuple<int64_t, bool, bool, int64_t, bool>, RunResult>
      references;
  int64_t width = 3;
  bool hasLayers = false, isWeighted = false;
};

} // namespace mlir::zero

#endif // ZERO_TEST_VERIFY_TRAININGTESTING_H
