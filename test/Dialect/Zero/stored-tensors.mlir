// RUN: zero-opt %s --verify-roundtrip | FileCheck %s

zero.parameter @wte : tensor<8x4xf32> = #zero.zeros
// CHECK: zero.stored_tensor "lm_head.weight" of @wte
zero.stored_tensor "lm_head.weight" of @wte
// CHECK: zero.stored_tensor "h.0.attn.bias" digest "7f3a90c41be2d5f8"
zero.stored_tensor "h.0.attn.bias" digest "7f3a90c41be2d5f8"
// CHECK: zero.stored_tensor "bn.num_batches_tracked"{{$}}
zero.stored_tensor "bn.num_batches_tracked"
