// RUN: zero-opt %models/gpt-small.mlir --zero-pipeline='stage=0 ranks=4' -o %t
// RUN: zero-opt %t --verify-roundtrip -o /dev/null
// RUN: zero-opt %t --zero-verify-schedule | FileCheck %s

// Everything is whole on every rank; buckets are combined in the backward.
// CHECK: zero.partition @p0 whole over 4 ranks stage 0
// CHECK: zero.step @train
// CHECK: zero.micro {
// CHECK: %wte.weight = zero.load @wte.weight : tensor<256x256xf32>
// CHECK: nn.embedding %arg0, %wte.weight
// CHECK: nn.attention {{.*}} causal
// CHECK: nn.cross_entropy
// CHECK: zero.loss_seed
// CHECK: nn.attention_grad
// CHECK: %[[P:.*]] = zero.all_reduce @p0[0 to {{[0-9]+}}] of [@{{.*}}h.0.attn.c_attn.weight
// CHECK-NEXT: %[[R:.*]] = zero.wait %[[P]]
// CHECK: zero.accumulate whole %[[R]] into @p0
// CHECK: zero.yield %loss : tensor<f32>
// CHECK: zero.apply {
// CHECK-NEXT: %[[S:.*]] = zero.grad_stats [@p0, @p1]
// CHECK-NEXT: %[[T:.*]] = zero.reduce_stats loss_only %[[S]]
// CHECK-NEXT: %[[V:.*]] = zero.judge %[[T]] clip 1.000000e+00 divisor 4.000000e+00 skip
// CHECK-NEXT: zero.update @p0 if %[[V]]
// CHECK-NEXT: zero.update @p1 if %[[V]]
// CHECK-NEXT: zero.update_scale %[[V]]
// CHECK-NEXT: }
// CHECK: zero.evaluate {
// CHECK: zero.yield %{{.*}} outputs ["logits"]
