// DEFINE: %{options} = stage=2 ranks=2
// DEFINE: %{passes} =
// DEFINE: %{run} = zero-opt %S/Inputs/mlp.mlir --zero-configure="options='offload-optimizer=cpu sub-group-size=12 %{options}'" --zero-differentiate --cse --zero-partition="alignment=4 reduce-bucket-size=24" --zero-insert-reductions --zero-insert-updates %{passes}
// REDEFINE: %{passes} = --zero-overlap-reductions --zero-copy-early
// RUN: %{run} | FileCheck %s
// REDEFINE: %{passes} = --zero-copy-early
// RUN: %{run} | FileCheck %s --check-prefix=WAITED
// REDEFINE: %{passes} = --zero-overlap-reductions --zero-overlap-updates --zero-copy-early
// REDEFINE: %{options} = stage=2 ranks=2 pipeline-updates=true
// RUN: %{run} | FileCheck %s
// REDEFINE: %{options} = stage=1 ranks=2
// REDEFINE: %{passes} = --zero-reduce-early --zero-split-statistics --zero-copy-early
// RUN: %{run} | FileCheck %s --check-prefix=STORED

// A sub-group is copied once all of it is stored: in the backward pass, if it is by
// then. Its update waits for the copy where it did.
// CHECK: zero.micro {
// CHECK: zero.accumulate slice %{{.*}} into @p0[0 to 24]
// CHECK-NEXT: %[[A:.*]] = zero.copy_to_host "gradients" of @p0[0 to 24] : <tensor<12xf32>>
// CHECK-NEXT: zero.carry %[[A]] as "gradients to host of p0[0 to 24]"
// CHECK: zero.accumulate slice %{{.*}} into @p0[24 to 72]
// CHECK-NEXT: zero.copy_to_host "gradients" of @p0[24 to 72]
// CHECK: zero.apply {
// CHECK: zero.accumulate slice %{{.*}} into @p1[0 to 8]
// CHECK-NEXT: %[[L:.*]] = zero.copy_to_host "gradients" of @p1[0 to 8]
// CHECK-NEXT: zero.grad_stats
// CHECK: %[[V:.*]] = zero.judge
// CHECK: %[[B:.*]] = zero.carried "gradients to host of p0[0 to 24]"
// CHECK-NEXT: %[[G:.*]] = zero.wait %[[B]]
// CHECK: zero.update_on_host @p0[0 to 24] of %[[G]]
// CHECK: zero.carried "gradients to host of p0[24 to 72]"
// CHECK: zero.wait %[[L]]
// CHECK: zero.update_on_host @p1[0 to 8]

// The last one, too, where the micro-batch waits for all reductions.
// WAITED: zero.accumulate slice %{{.*}} into @p1[0 to 8]
// WAITED-NEXT: zero.copy_to_host "gradients" of @p1[0 to 8]
// WAITED-NEXT: zero.carry
// WAITED-NEXT: zero.yield
// WAITED: zero.apply {
// WAITED-NOT: zero.copy_to_host "gradients"

// Gradients that are stored whole are reduced in place, and complete where
// `zero.apply` waits; the check of a range comes after its copy has started.
// STORED: zero.micro {
// STORED-NOT: zero.copy_to_host
// STORED: zero.apply {
// STORED: zero.wait
// STORED-NEXT: zero.copy_to_host "gradients" of @p0[48 to 72]
// STORED-NEXT: zero.grad_stats [@p0] ranges [48, 72]

// Only the last of several micro-batches completes gradients: the pass that gives it
// a form of its own must have run.
// REDEFINE: %{options} = stage=2 ranks=2 accumulation=3
// REDEFINE: %{passes} = --zero-copy-early
// RUN: %{run} | FileCheck %s --check-prefix=ONE
// ONE: zero.micro {
// ONE-NOT: zero.copy_to_host
// ONE: zero.apply {
// ONE: zero.judge
// ONE: zero.copy_to_host "gradients" of @p0[0 to 24]
// REDEFINE: %{passes} = --zero-peel-last-micro --zero-copy-early
// RUN: %{run} | FileCheck %s --check-prefix=LAST
// REDEFINE: %{options} = stage=1 ranks=1 accumulation=3
// RUN: %{run} | FileCheck %s --check-prefix=LAST
// LAST: zero.micro {
// LAST-NOT: zero.copy_to_host
// LAST: zero.micro last {
// LAST: zero.accumulate {{.*}} into @p0[0 to {{[0-9]+}}]
// LAST-NEXT: zero.copy_to_host "gradients" of @p0[0 to

// A second run finds every copy where it belongs.
// REDEFINE: %{options} = stage=2 ranks=2
// REDEFINE: %{passes} = --zero-overlap-reductions --zero-copy-early
// RUN: %{run} > %t.once
// RUN: zero-opt %t.once --zero-copy-early | diff %t.once -
