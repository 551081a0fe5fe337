// DEFINE: %{stage} = stage=1
// DEFINE: %{run} = zero-opt %S/Inputs/mlp.mlir --zero-configure="options='%{stage} ranks=2'" --zero-differentiate --cse --zero-partition="alignment=4 reduce-bucket-size=20" --zero-insert-reductions --zero-insert-updates
// RUN: %{run} --zero-reduce-early --zero-split-statistics | FileCheck %s
// RUN: %{run} --zero-split-statistics | FileCheck %s --check-prefix=HERE
// REDEFINE: %{stage} = stage=2
// RUN: %{run} > %t.before
// RUN: %{run} --zero-split-statistics | diff %t.before -

// What has arrived is read while the next range travels, whether its reduction
// started here or in the backward. At stage 2 the backward has waited for all.
// CHECK: zero.apply {
// CHECK-NEXT: %[[A:.*]] = zero.carried "gradients of p0[48 to 64]"
// CHECK-NEXT: zero.wait %[[A]]
// CHECK-NEXT: %[[S:.*]] = zero.grad_stats [@p0] ranges [48, 64]
// CHECK-NEXT: zero.carried "gradients of p0[64 to 80]"
// CHECK-NEXT: zero.wait
// CHECK-NEXT: zero.grad_stats [@p0] ranges [64, 80] to %[[S]]
// CHECK: %[[LAST:.*]] = zero.grad_stats [@p1] ranges [0, 8] to
// CHECK-NEXT: zero.reduce_stats %[[LAST]]

// HERE: %[[A:.*]] = zero.reduce_scatter @p0[0 to 16]
// HERE-NEXT: zero.wait %[[A]]
// HERE-NEXT: %[[S:.*]] = zero.grad_stats [@p0] ranges [0, 16]
// HERE-NEXT: zero.reduce_scatter @p0[16 to 32]
// HERE-NEXT: zero.wait
// HERE-NEXT: zero.grad_stats [@p0] ranges [16, 32] to %[[S]]
