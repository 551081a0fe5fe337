// One rank's part is a multiple of four elements here, so that padding shows.
// DEFINE: %{model} = %S/Inputs/mlp.mlir
// DEFINE: %{options} =
// DEFINE: %{layout} =
// DEFINE: %{run} = zero-opt %{model} --zero-configure="options='%{options}'" --zero-differentiate --cse --zero-partition="alignment=4 %{layout}"

// REDEFINE: %{options} = stage=0 ranks=2
// RUN: %{run} | FileCheck %s --check-prefix=WHOLE
// REDEFINE: %{options} = stage=1 ranks=2
// REDEFINE: %{layout} = reduce-bucket-size=20
// RUN: %{run} | FileCheck %s --check-prefix=INTERVAL
// REDEFINE: %{options} = stage=1 ranks=2 accumulation=2
// RUN: %{run} | FileCheck %s --check-prefix=INTERVAL
// REDEFINE: %{options} = stage=1 ranks=2 deterministic=true
// RUN: %{run} | FileCheck %s --check-prefix=INTERVAL
// REDEFINE: %{options} = stage=1 ranks=2 accumulation=2 deterministic=true
// RUN: %{run} | FileCheck %s --check-prefix=EXACT
// REDEFINE: %{options} = stage=2 ranks=2
// REDEFINE: %{layout} =
// RUN: %{run} | FileCheck %s --check-prefix=BUCKETED
// REDEFINE: %{layout} = reduce-bucket-size=20
// RUN: %{run} | FileCheck %s --check-prefix=SMALL
// REDEFINE: %{layout} = contiguous
// RUN: %{run} | FileCheck %s --check-prefix=CONTIGUOUS
// REDEFINE: %{options} = stage=3 ranks=5 precision=bf16 accumulation=2
// REDEFINE: %{layout} =
// RUN: %{run} | FileCheck %s --check-prefix=PARAMETER
// RUN: not zero-opt %{model} --zero-differentiate --zero-partition 2>&1 | FileCheck %s --check-prefix=UNCONFIGURED

// Declared: @fc1.w (48), @fc1.b (6, a group of its own), @fc2.w (18). The
// backward makes @fc2.w first.

// WHOLE: zero.partition @p0 whole over 2 ranks stage 0 segments [0, 68] members [#zero.member<@fc2.w at 0 size 18>, #zero.member<@fc1.w at 18 size 48>] compute f32 gradient f32 optimizer #zero.adam<>
// WHOLE: zero.partition @p1 whole over 2 ranks stage 0 segments [0, 8] members [#zero.member<@fc1.b at 0 size 6>]

// The largest interval of whole slices is 16 of 20 elements; 66 pad to 80.
// INTERVAL: zero.partition @p0 interval over 2 ranks stage 1 segments [0, 16, 32, 48, 64, 80] members [#zero.member<@fc1.w at 0 size 48>, #zero.member<@fc2.w at 48 size 18>]
// INTERVAL: zero.partition @p1 interval over 2 ranks stage 1 segments [0, 8]

// Where every micro-batch is reduced, segments are buckets, as at stage 2.
// EXACT: zero.partition @p0 bucketed over 2 ranks stage 1 segments [0, 24, 72] members [#zero.member<@fc2.w at 0 size 18>, #zero.member<@fc1.w at 24 size 48>] compute f32 gradient f32

// BUCKETED: zero.partition @p0 bucketed over 2 ranks stage 2 segments [0, 72] members [#zero.member<@fc2.w at 0 size 18>, #zero.member<@fc1.w at 18 size 48>]

// A gradient larger than a bucket goes by itself.
// SMALL: zero.partition @p0 bucketed over 2 ranks stage 2 segments [0, 24, 72] members [#zero.member<@fc2.w at 0 size 18>, #zero.member<@fc1.w at 24 size 48>]

// CONTIGUOUS: zero.partition @p0 contiguous over 2 ranks stage 2 segments [0, 72] members [#zero.member<@fc1.w at 0 size 48>, #zero.member<@fc2.w at 48 size 18>]

// A parameter's slice is a multiple of 16 bytes; sums of micro-batches are f32.
// PARAMETER: zero.partition @p0 parameter over 5 ranks stage 3 segments [0, 20, 80] members [#zero.member<@fc2.w at 0 size 18>, #zero.member<@fc1.w at 20 size 48>] compute f32 gradient f32
// PARAMETER: zero.partition @p1 parameter over 5 ranks stage 3 segments [0, 20] members [#zero.member<@fc1.b at 0 size 6>]

// UNCONFIGURED: error: 'zero.step' has no 'training'; run zero-configure first
