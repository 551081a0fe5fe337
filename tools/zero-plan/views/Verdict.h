//===- Verdict.h - whether a plan fits, how fast it is, and why -----------===//
#ifndef ZERO_PLAN_VERDICT_H
#define ZERO_PLAN_VERDICT_H

#include "zero/Plan/PlanSummary.h"
#include "zero/Timeline/StagesTimeline.h"

#include "llvm/Support/JSON.h"

namespace mlir::zero {

/// How fast an update is.
struct Speed {
  /// "token" where an input has positions, else "sample".
  std::string unit;
  /// Units and operations a second of one rank.
  double units = 0, operations = 0;
};

/// What a person wants to know of a plan before all else.
struct Verdict {
  Machine machine;
  /// Bytes of a rank on its device, of several stages in the one with most.
  int64_t planned = 0;
  /// Scratch memory of its kernels, at most.
  int64_t workspace = 0;
  int64_t stages = 1;
  double seconds = 0;
  Speed speed;
  /// Of the machine's rate in the type that the model computes in.
  double peak = 0;
  TimeShares shares;
  /// The same schedule where a framework runs its kernels; nothing where no
  /// such machine is known.
  std::optional<Machine> frameworks;
  Speed speedOfFrameworks;

  int64_t needed() const {
    return planned + workspace + machine.reservedMemory;
  }
  bool knowsMemory() const { return machine.memory > 0 || machine.budget > 0; }
  /// Whether a budget leaves less than the machine does.
  bool isOfBudget() const {
    return machine.budget != 0 &&
           (machine.memory == 0 ||
            machine.budget + machine.reservedMemory < machine.memory);
  }
  int64_t left() const {
    return isOfBudget() ? machine.budget - planned - workspace
                        : machine.memory - needed();
  }
  bool fits() const { return left() >= 0; }
  double utilization() const { return speed.operations / peak; }
};

Verdict judge(const PlanSummary &plan, const Timeline &timeline,
              const Machine &machine);

/// The same of all stages of a pipeline.
Verdict judgeStages(ArrayRef<PlanSummary> plans,
                    const std::vector<zrt::Program> &programs,
                    const StagesTimeline &timeline, const Machine &machine);

/// Some lines, the first of which says whether the plan fits.
std::string describeVerdict(const Verdict &verdict);

/// The same as an attribute `verdict` of the object that is being written.
void writeVerdict(llvm::json::OStream &json, const Verdict &verdict);

} // namespace mlir::zero

#endif // ZERO_PLAN_VERDICT_H
