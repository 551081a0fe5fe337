// RUN: zero-opt %models/gpt-small.mlir --zero-pipeline='stage=1 ranks=4' -o %t
// RUN: zero-opt %t --verify-roundtrip -o /dev/null
// RUN: zero-opt %t --zero-verify-schedule | FileCheck %s

// Optimizer state is cut into intervals; nothing travels in the backward.
// CHECK: zero.partition @p0 interval over 4 ranks stage 1 segments [0, {{[0-9]+}}]
// CHECK: zero.micro {
// CHECK-NOT: zero.reduce_scatter
// CHECK: zero.accumulate whole %{{.*}} into @p0
// CHECK: zero.apply {
// CHECK-NEXT: %[[P:.*]] = zero.reduce_scatter @p0[0 to
// CHECK-NEXT: zero.wait %[[P]]
// CHECK: %[[S:.*]] = zero.grad_stats [@p0, @p1]
// CHECK-NEXT: zero.reduce_stats %[[S]]
// CHECK: zero.update @p0
// CHECK-NEXT: %[[F:.*]] = zero.refresh @p0[0 to
// CHECK-NEXT: zero.wait %[[F]]
// CHECK: zero.update @p1
// CHECK: zero.update_scale
