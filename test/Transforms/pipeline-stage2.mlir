// RUN: zero-opt %models/gpt-small.mlir --zero-pipeline='stage=2 ranks=4' -o %t
// RUN: zero-opt %t --verify-roundtrip -o /dev/null
// RUN: zero-opt %t --zero-verify-schedule | FileCheck %s

// Gradients go to their owners bucket by bucket, and die there.
// CHECK: zero.partition @p0 bucketed over 4 ranks stage 2
// CHECK: zero.micro {
// CHECK: %[[P:.*]] = zero.reduce_scatter @p0[0 to {{[0-9]+}}] of [
// CHECK-NEXT: %[[R:.*]] = zero.wait %[[P]]
// CHECK-NEXT: zero.free
// CHECK-NEXT: zero.accumulate slice %[[R]] into @p0
// CHECK: zero.apply {
// CHECK-NEXT: zero.grad_stats
// CHECK: zero.update @p0
// CHECK: zero.refresh @p0[0 to
