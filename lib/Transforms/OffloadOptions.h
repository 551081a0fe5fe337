//===- OffloadOptions.h - options of what is not kept on the device
//--------===//
#ifndef ZERO_LIB_TRANSFORMS_OFFLOADOPTIONS_H
#define ZERO_LIB_TRANSFORMS_OFFLOADOPTIONS_H

#include "zero/Config/Config.h"
#include "zero/Transforms/Pipeline.h"

namespace mlir::zero {

/// Lets options about offload override `config`; an error where they contradict
/// each other or the rest.
LogicalResult applyOffload(const ZeroPipelineOptions &options,
                           TrainConfig &config,
                           function_ref<InFlightDiagnostic()> emitError);

} // namespace mlir::zero

#endif // ZERO_LIB_TRANSFORMS_OFFLOADOPTIONS_H
