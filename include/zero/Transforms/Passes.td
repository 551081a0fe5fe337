//===- Passes.td - the passes of zero --------------------*- tablegen -*-===//
#ifndef ZERO_TRANSFORMS_PASSES_TD
#define ZERO_TRANSFORMS_PASSES_TD

include "zero/Transforms/ModelPasses.td"
include "zero/Transforms/AxisPasses.td"
include "zero/Transforms/KernelPasses.td"
include "zero/Transforms/SchedulePasses.td"
include "zero/Transforms/OverlapPasses.td"
include "zero/Transforms/MemoryPasses.td"

#endif // ZERO_TRANSFORMS_PASSES_TD
