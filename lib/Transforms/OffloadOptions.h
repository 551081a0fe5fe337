//===- OffloadOptions.h - options of what is not on the device ------------===//
#ifndef ZERO_LIB_TRANSFORMS_OFFLOADOPTIONS_H
#define ZERO_LIB_TRANSFORMS_OFFLOADOPTIONS_H

#include "zero/Config/Config.h"
#include "zero/Transforms/Pipeline.h"

namespace mlir::zero {

/// The options about offload that are given; an error where one is none of its
/// words, or out of range.
FailureOr<OffloadOverrides>
readOffloadOverrides(const ZeroPipelineOptions &options,
                     function_ref<InFlightDiagnostic()> emitError);

/// An error where an option says how to offload, and `config`, of which it is a
/// part, offloads nothing; or where `state-tiers` is given beside them.
LogicalResult
verifyOffloadOptions(const OffloadOverrides &overrides,
                     const TrainConfig &config,
                     function_ref<InFlightDiagnostic()> emitError);

} // namespace mlir::zero

#endif // ZERO_LIB_TRANSFORMS_OFFLOADOPTIONS_H
