// DEFINE: %{options} = stage=1 ranks=2
// DEFINE: %{early} = --zero-reduce-early
// DEFINE: %{run} = zero-opt %S/Inputs/mlp.mlir --zero-configure="options='%{options}'" --zero-differentiate --cse --zero-partition="alignment=4 reduce-bucket-size=20" --zero-insert-reductions --zero-insert-updates %{early}
// RUN: %{run} | FileCheck %s
// REDEFINE: %{options} = stage=1 ranks=2 accumulation=2
// REDEFINE: %{early} = --zero-peel-last-micro --zero-reduce-early
// RUN: %{run} | FileCheck %s --check-prefix=LAST
// REDEFINE: %{options} = stage=2 ranks=2
// REDEFINE: %{early} =
// RUN: %{run} > %t.before
// REDEFINE: %{early} = --zero-reduce-early
// RUN: %{run} | diff %t.before -

// A range of the stored gradients is reduced as soon as the last of it has been
// made, and waited for where its reduction stood.
// CHECK: zero.micro {
// CHECK: zero.accumulate whole %{{.*}} into @p0[48 to 66]
// CHECK-NEXT: %[[A:.*]] = zero.reduce_scatter @p0[48 to 64]
// CHECK-NEXT: zero.carry %[[A]] as "gradients of p0[48 to 64]" : <tensor<8xf32>>
// CHECK-NEXT: zero.reduce_scatter @p0[64 to 80]
// CHECK: zero.accumulate whole %{{.*}} into @p0[0 to 48]
// CHECK-NEXT: zero.reduce_scatter @p0[0 to 16]
// CHECK: zero.accumulate whole %{{.*}} into @p1[0 to 6]
// CHECK-NEXT: zero.reduce_scatter @p1[0 to 8]
// CHECK: zero.apply {
// CHECK-NEXT: %[[B:.*]] = zero.carried "gradients of p0[48 to 64]" : <tensor<8xf32>>
// CHECK-NEXT: zero.wait %[[B]]
// CHECK-NOT: zero.reduce_scatter
// CHECK: zero.grad_stats

// With several micro-batches only the last one has all of a gradient.
// LAST: zero.micro {
// LAST-NOT: zero.reduce_scatter
// LAST: zero.micro last {
// LAST: zero.reduce_scatter @p0[48 to 64]
// LAST: zero.apply {
// LAST-NOT: zero.reduce_scatter
