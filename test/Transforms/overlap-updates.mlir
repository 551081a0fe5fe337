// DEFINE: %{options} = pipeline-updates=true
// DEFINE: %{prepare} = zero-opt %S/Inputs/mlp.mlir --zero-configure="options='stage=2 ranks=2 offload-optimizer=cpu sub-group-size=12 %{options}'" --zero-differentiate --cse --zero-partition="alignment=4 reduce-bucket-size=24" --zero-insert-reductions --zero-insert-gathers --zero-insert-updates
// RUN: %{prepare} --zero-overlap-updates | FileCheck %s
// REDEFINE: %{options} = pipeline-updates=false
// RUN: %{prepare} > %t.before
// RUN: zero-opt %t.before --zero-overlap-updates | diff %t.before -

// The pass by itself, in f32, whose rule reads the parameters too: the copies of
// the next sub-group start before an update, to run under it, and the last copy of
// a sub-group ends under the next one of its partition.
// CHECK: %[[G:.*]] = zero.copy_to_host "gradients" of @p0[24 to 72]
// CHECK-NEXT: %[[P:.*]] = zero.copy_to_host "parameters" of @p0[24 to 72]
// CHECK-NEXT: zero.update_on_host @p0[0 to 24]
// CHECK-NEXT: zero.wait
// CHECK-NEXT: %[[C:.*]] = zero.copy_to_device {{.*}} to @p0[0 to 24]
// CHECK-NEXT: zero.wait %[[G]]
// CHECK-NEXT: zero.wait %[[P]]
// CHECK: zero.update_on_host @p0[24 to 72]
// CHECK: zero.wait %[[C]] : <>
// The last one of a partition ends before what gathers it.
// CHECK-NEXT: %[[L:.*]] = zero.copy_to_device {{.*}} to @p0[24 to 72]
// CHECK-NEXT: zero.wait %[[L]] : <>
// CHECK-NEXT: zero.refresh @p0
