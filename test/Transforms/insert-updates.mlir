// DEFINE: %{options} =
// DEFINE: %{gather} =
// DEFINE: %{precision} = f32
// DEFINE: %{update} =
// DEFINE: %{run} = zero-opt %S/Inputs/mlp.mlir --zero-configure="options='%{options}'" --zero-set-precision="compute=%{precision}" --zero-differentiate --zero-partition="alignment=4 reduce-bucket-size=20" --zero-insert-reductions --zero-insert-gathers="%{gather}" --zero-insert-updates="%{update}"

// REDEFINE: %{options} = stage=0
// RUN: %{run} | FileCheck %s --check-prefix=ONE
// REDEFINE: %{options} = stage=0 ranks=2
// RUN: %{run} | FileCheck %s --check-prefix=STAGE0
// REDEFINE: %{options} = stage=2 ranks=2 clip=0.5
// RUN: %{run} | FileCheck %s --check-prefix=STAGE2
// REDEFINE: %{update} = allgather-bucket-size=24
// RUN: %{run} | FileCheck %s --check-prefix=SMALL
// REDEFINE: %{options} = stage=3 ranks=2
// REDEFINE: %{gather} = parameter-persistence-threshold=6
// RUN: %{run} | FileCheck %s --check-prefix=STAGE3
// REDEFINE: %{options} = stage=2 ranks=2 precision=f16
// REDEFINE: %{precision} = f16
// REDEFINE: %{gather} =
// RUN: %{run} | FileCheck %s --check-prefix=F16
// REDEFINE: %{options} = stage=2 ranks=3 precision=f16
// RUN: %{run} | FileCheck %s --check-prefix=THREE

// ONE: zero.apply {
// ONE-NEXT: %[[S:.*]] = zero.grad_stats [@p0, @p1]
// ONE-NEXT: %[[V:.*]] = zero.judge %[[S]] clip 1.000000e+00 divisor 1.000000e+00 skip
// ONE-NEXT: zero.update @p0 if %[[V]]
// ONE-NEXT: zero.update @p1 if %[[V]]
// ONE-NEXT: zero.update_scale %[[V]]
// ONE-NEXT: }

// Every rank has seen all gradients: only the loss is to be combined.
// STAGE0: %[[S:.*]] = zero.grad_stats
// STAGE0: zero.reduce_stats loss_only %[[S]]
// STAGE0-NOT: zero.refresh

// STAGE2: %[[S:.*]] = zero.grad_stats
// STAGE2: %[[T:.*]] = zero.reduce_stats %[[S]]
// STAGE2: zero.judge %[[T]] clip 5.000000e-01 divisor 2.000000e+00 skip
// STAGE2: zero.update @p0
// STAGE2-NEXT: %[[P:.*]] = zero.refresh @p0[0 to 72] : <>
// STAGE2-NEXT: zero.wait %[[P]]
// STAGE2-NEXT: zero.update @p1
// STAGE2-NEXT: zero.refresh @p1[0 to 8]
// STAGE2: zero.update_scale

// SMALL: zero.refresh @p0[0 to 24]
// SMALL: zero.refresh @p0[24 to 72]

// STAGE3: zero.apply
// STAGE3-NOT: zero.refresh @
// STAGE3: zero.refresh_resident [@fc1.b]

// fp16 reductions are prescaled.
// F16: zero.reduce_scatter prescaled
// F16: zero.judge {{.*}} divisor 1.000000e+00 skip

// The sum over three ranks is multiplied by a fourth, and the update divides by
// what is left of the mean.
// THREE: zero.reduce_scatter prescaled
// THREE: zero.judge {{.*}} divisor 7.500000e-01 skip
