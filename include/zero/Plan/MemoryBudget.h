//===- MemoryBudget.h - what a plan may need ------------------------------===//
#ifndef ZERO_PLAN_MEMORYBUDGET_H
#define ZERO_PLAN_MEMORYBUDGET_H

#include "zero/Plan/PlanSummary.h"

namespace mlir::zero {

/// Reads the bytes that `option` gives, as `zrt::readByteCount` does; 0 where
/// `text` is empty. Fails, with an error, where it is no number of bytes.
FailureOr<int64_t> readBudget(StringRef option, StringRef text,
                              function_ref<InFlightDiagnostic()> emitError);

/// "1536 bytes (1.50 KiB)"; small numbers without the second form.
std::string describeBytes(int64_t bytes);

/// Fails where all arenas of `tier` together need more than `budget` bytes,
/// with an error at the step that names both, and a note for each arena with
/// what is alive when it is fullest, the largest first.
LogicalResult checkMemoryBudget(StepOp step, const PlanSummary &summary,
                                MemoryTier tier, int64_t budget);

/// A remark at the step: the bytes of each arena, and of those that are planned
/// the most that is alive at one time (`bounds`, by MemorySpace; 0: not
/// planned), the ratio of both, and what is alive then.
void remarkMemory(StepOp step, const PlanSummary &summary,
                  ArrayRef<int64_t> bounds);

} // namespace mlir::zero

#endif // ZERO_PLAN_MEMORYBUDGET_H
