//===- Schedule.h - what every pass on a schedule asks first --------------===//
#ifndef ZERO_ANALYSIS_SCHEDULE_H
#define ZERO_ANALYSIS_SCHEDULE_H

#include "zero/Dialect/Zero/Zero.h"

namespace mlir::zero {

/// The module's only step, which must be a configured schedule: it has its
/// regions and its `training`, and every operation that starts something says
/// what is in flight (AsyncOpInterface). Anything else is an error at its
/// place, which says what to run first.
FailureOr<StepOp> getConfiguredSchedule(ModuleOp module);

/// The setting of a pass: its option if one is given, which is then not
/// negative, otherwise the training's.
inline int64_t getSetting(int64_t option, int64_t ofTraining) {
  return option < 0 ? ofTraining : option;
}

/// Whether `op` gives a handle to wait for, or has effects on the link: it must
/// say what is in flight. Ends and names of handles are none.
bool startsOperation(Operation *op);
/// Checks that all operations inside `op` that start something implement
/// AsyncOpInterface. The error is at the operation.
LogicalResult verifyStarts(Operation *op);
/// Checks that a partition holds each parameter that something started in
/// `step` names. The error is at the operation.
LogicalResult verifyOwners(ModuleOp module, StepOp step);

/// Whether `op` combines gradients over the ranks that states are cut over. A
/// reduction between replicas that follows it does not count.
bool isReduction(Operation *op);

/// Whether `op` is a reduction whose sums another one takes: no rank has any
/// part of a gradient after it.
bool isPartialReduction(Operation *op);
/// Whether `op` is a reduction that takes the sums of a partial one, and no
/// gradients.
bool takesSums(Operation *op);
/// Whether `op` combines what replicas have each reduced in their own group.
bool combinesReplicas(Operation *op);
/// Whether `op` is a collective.
bool isCollective(Operation *op);
/// Whether `op` gathers parameters for operations that follow: its wait gives
/// them whole.
bool isGather(Operation *op);
/// Whether `op` brings copies of parameters that outlive a region up to date.
bool isRefresh(Operation *op);

/// Whether gradients are reduced bucket by bucket in the backward and a rank
/// stores its own elements only: at stages 2 and 3, and at stage 1 where every
/// micro-batch of several is reduced. Otherwise they are stored whole first, or
/// every rank stores all of the sum.
bool scattersInBackward(TrainingAttr training);

/// The stream of a start; of any other operation, compute.
StreamKind getStream(Operation *op);

/// Whether kernels read and write tensors of `elementType`: f32, f16, bf16,
/// f64, i1, i8, i32 or i64.
bool isKernelType(Type elementType);

/// Checks what the executable stores: parameters and their compute types are
/// f32, f16 or bf16; inputs have types that the data loader fills; every other
/// tensor has a kernel type. The error is at the operation.
LogicalResult verifyElementTypes(ModuleOp module, StepOp step);

} // namespace mlir::zero

#endif // ZERO_ANALYSIS_SCHEDULE_H
