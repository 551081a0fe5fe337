// RUN: zero-opt %models/gpt-small.mlir --zero-pipeline='stage=3 ranks=4' -o %t
// RUN: zero-opt %t --verify-roundtrip -o /dev/null
// RUN: zero-opt %t --zero-verify-schedule | FileCheck %s

// Parameters are gathered before use, freed after, and gathered again in the
// backward.
// CHECK: zero.partition @p0 parameter over 4 ranks stage 3
// CHECK: zero.micro {
// CHECK: %[[P:.*]] = zero.all_gather [@h.0.attn.c_attn.weight, @h.0.attn.c_attn.bias]
// What is small travels with what is needed before or after it, and the next gather
// is under way before this one is waited for.
// CHECK: %[[N:.*]] = zero.all_gather [@h.0.attn.c_proj.weight, @h.0.attn.c_proj.bias, @h.0.ln_2.weight, @h.0.ln_2.bias]
// CHECK-NEXT: %[[M:.*]] = zero.all_gather [@h.0.mlp.c_fc.weight, @h.0.mlp.c_fc.bias]
// CHECK-NEXT: zero.wait %[[P]]
// CHECK: %[[G:.*]]:4 = zero.wait %[[N]]
// CHECK-NEXT: %h.0.attn.c_proj.weight = zero.load @h.0.attn.c_proj.weight from %[[G]]#0
// CHECK-NEXT: %h.0.attn.c_proj.bias = zero.load @h.0.attn.c_proj.bias from %[[G]]#1
// CHECK-NEXT: nn.linear %{{.*}}, %h.0.attn.c_proj.weight bias %h.0.attn.c_proj.bias
// CHECK-NEXT: zero.free %[[G]]#0, %[[G]]#1
// CHECK-NEXT: zero.load @h.0.ln_2.weight from %[[G]]#2
// CHECK: zero.free %[[G]]#2, %[[G]]#3
// CHECK: zero.wait %[[M]]
// CHECK: nn.cross_entropy
// CHECK: %[[Q:.*]] = zero.all_gather [@h.0.attn.c_attn.weight, @h.0.ln_1.weight]
// CHECK: %[[H:.*]]:2 = zero.wait %[[Q]]
// CHECK-NEXT: %[[W:.*]] = zero.load @h.0.attn.c_attn.weight from %[[H]]#0
// CHECK-NEXT: nn.linear %{{.*}}, %[[W]]
// CHECK-NEXT: zero.free %[[H]]#0
// CHECK: zero.reduce_scatter
// CHECK: zero.apply {
// CHECK-NOT: zero.refresh
// CHECK: zero.evaluate {
