//===- OverrideOptions.h - options that a configuration follows -----------===//
#ifndef ZERO_LIB_TRANSFORMS_OVERRIDEOPTIONS_H
#define ZERO_LIB_TRANSFORMS_OVERRIDEOPTIONS_H

#include "zero/Transforms/Pipeline.h"

#include "mlir/IR/Diagnostics.h"

namespace mlir::zero {

/// Reads what the configuration's own rules depend on. A name that means
/// nothing is an error.
FailureOr<ConfigOverrides>
readOverrides(const ZeroPipelineOptions &options,
              function_ref<InFlightDiagnostic()> emitError);

} // namespace mlir::zero

#endif // ZERO_LIB_TRANSFORMS_OVERRIDEOPTIONS_H
