// RUN: zero-opt %models/gpt-small.mlir --zero-pipeline='stage=3 ranks=4' -o %t
// RUN: zero-opt %t --verify-roundtrip -o /dev/null
// RUN: zero-opt %t --zero-verify-schedule | FileCheck %s

// Parameters are gathered before use, freed after, and gathered again in the
// backward.
// CHECK: zero.partition @p0 parameter over 4 ranks stage 3
// CHECK: zero.micro {
// CHECK: %[[P:.*]] = zero.all_gather [@h.0.attn.c_attn.weight, @h.0.attn.c_attn.bias]
// The next layers' gathers are under way before this one is waited for.
// CHECK: %[[N:.*]] = zero.all_gather [@h.0.attn.c_proj.weight, @h.0.attn.c_proj.bias]
// CHECK-NEXT: %[[M:.*]] = zero.all_gather [@h.0.ln_2.weight, @h.0.ln_2.bias]
// CHECK-NEXT: zero.all_gather [@h.0.mlp.c_fc.weight, @h.0.mlp.c_fc.bias]
// CHECK-NEXT: %[[G:.*]]:2 = zero.wait %[[P]]
// CHECK-NEXT: %h.0.attn.c_attn.weight = zero.load @h.0.attn.c_attn.weight from %[[G]]#0
// CHECK-NEXT: %h.0.attn.c_attn.bias = zero.load @h.0.attn.c_attn.bias from %[[G]]#1
// CHECK-NEXT: nn.linear %{{.*}}, %h.0.attn.c_attn.weight bias %h.0.attn.c_attn.bias
// CHECK-NEXT: zero.free %[[G]]#0, %[[G]]#1
// CHECK: zero.wait %[[N]]
// CHECK: zero.wait %[[M]]
// CHECK: nn.cross_entropy
// CHECK: %[[Q:.*]] = zero.all_gather [@h.0.attn.c_attn.weight]
// CHECK: %[[H:.*]] = zero.wait %[[Q]]
// CHECK-NEXT: %[[W:.*]] = zero.load @h.0.attn.c_attn.weight from %[[H]]
// CHECK-NEXT: nn.linear %{{.*}}, %[[W]]
// CHECK-NEXT: zero.free %[[H]]
// CHECK: zero.reduce_scatter
// CHECK: zero.apply {
// CHECK-NOT: zero.refresh
// CHECK: zero.evaluate {
