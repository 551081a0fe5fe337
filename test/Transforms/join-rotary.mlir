// Queries and keys are rotated where their projection is.

// RUN: zero-opt %s --zero-join-rotary | FileCheck %s

!qkv = tensor<2x16x48xf32>
!q = tensor<2x16x4x8xf32>
!k = tensor<2x16x1x8xf32>

// CHECK-LABEL: zero.step @joint
zero.step @joint(%x: !qkv {zero.input = "x"}, %h: tensor<2x16x6x8xf32>, %l: tensor<f32>) {
  // CHECK: %[[H:.*]] = tensor.expand_shape {{.*}} into tensor<2x16x6x8xf32>
  // CHECK-NEXT: %[[R:.*]] = nn.rotary %[[H]] theta 1.000000e+04 interleaved heads [0, 5] : tensor<2x16x6x8xf32>
  // CHECK-NEXT: tensor.collapse_shape %[[R]]
  // CHECK-NEXT: %[[C:.*]] = tensor.expand_shape {{.*}} into tensor<2x16x48xf32>
  // CHECK-NEXT: %[[P:.*]]:3 = nn.split %[[C]] dim 2 sizes [32, 8, 8]
  // CHECK-NEXT: %[[Q:.*]] = tensor.expand_shape %[[P]]#0
  // CHECK-NEXT: %[[K:.*]] = tensor.expand_shape %[[P]]#1
  // CHECK-NEXT: %[[V:.*]] = tensor.expand_shape %[[P]]#2
  // CHECK-NEXT: nn.attention %[[Q]], %[[K]], %[[V]]
  %q, %k, %v = nn.split %x dim 2 sizes [32, 8, 8] : (!qkv) -> (tensor<2x16x32xf32>, tensor<2x16x8xf32>, tensor<2x16x8xf32>)
  %qh = tensor.expand_shape %q [[0], [1], [2, 3]] output_shape [2, 16, 4, 8] : tensor<2x16x32xf32> into !q
  %kh = tensor.expand_shape %k [[0], [1], [2, 3]] output_shape [2, 16, 1, 8] : tensor<2x16x8xf32> into !k
  %vh = tensor.expand_shape %v [[0], [1], [2, 3]] output_shape [2, 16, 1, 8] : tensor<2x16x8xf32> into !k
  %qr = nn.rotary %qh theta 10000.0 interleaved : !q
  %kr = nn.rotary %kh theta 10000.0 interleaved : !k
  %o, %lse = nn.attention %qr, %kr, %vh causal scale 1.0 : (!q, !k, !k) -> (!q, tensor<2x4x16xf32>)

  // Of heads, and one part alone.
  // CHECK-NEXT: %[[S:.*]] = nn.rotary %{{.*}} theta 1.000000e+02 heads [4, 5] : tensor<2x16x6x8xf32>
  // CHECK-NEXT: %[[T:.*]]:3 = nn.split %[[S]] dim 2 sizes [4, 1, 1]
  // CHECK-NEXT: nn.attention %[[T]]#0, %[[T]]#1, %[[T]]#2
  %a, %b, %c = nn.split %h dim 2 sizes [4, 1, 1] : (tensor<2x16x6x8xf32>) -> (!q, !k, !k)
  %br = nn.rotary %b theta 100.0 : !k
  %p, %lse2 = nn.attention %a, %br, %c causal scale 1.0 : (!q, !k, !k) -> (!q, tensor<2x4x16xf32>)
  zero.yield %l : tensor<f32>
}

// What is read before it is rotated, rotated by other angles or read whole, heads
// that are no neighbours, parts of heads, and one head of each part stay.
// CHECK-LABEL: zero.step @apart
// CHECK-NOT: heads [
zero.step @apart(%x: !qkv {zero.input = "x"}, %y: !qkv, %z: tensor<2x16x6x8xf32>, %w: tensor<2x16x6x8xf32>, %u: tensor<2x16x44xf32>, %v: tensor<2x16x24xf32>, %l: tensor<f32>) {
  %a, %b, %c = nn.split %x dim 2 sizes [32, 8, 8] : (!qkv) -> (tensor<2x16x32xf32>, tensor<2x16x8xf32>, tensor<2x16x8xf32>)
  %bh = tensor.expand_shape %b [[0], [1], [2, 3]] output_shape [2, 16, 1, 8] : tensor<2x16x8xf32> into !k
  %br = nn.rotary %bh theta 10000.0 : !k
  %bn = arith.negf %b : tensor<2x16x8xf32>

  %d, %e, %f = nn.split %y dim 2 sizes [32, 8, 8] : (!qkv) -> (tensor<2x16x32xf32>, tensor<2x16x8xf32>, tensor<2x16x8xf32>)
  %dh = tensor.expand_shape %d [[0], [1], [2, 3]] output_shape [2, 16, 4, 8] : tensor<2x16x32xf32> into !q
  %eh = tensor.expand_shape %e [[0], [1], [2, 3]] output_shape [2, 16, 1, 8] : tensor<2x16x8xf32> into !k
  %dr = nn.rotary %dh theta 10000.0 : !q
  %er = nn.rotary %eh theta 100.0 : !k

  %g, %h, %i = nn.split %z dim 2 sizes [4, 1, 1] : (tensor<2x16x6x8xf32>) -> (!q, !k, !k)
  %gr = nn.rotary %g theta 100.0 : !q
  %ir = nn.rotary %i theta 100.0 : !k

  %j, %k, %m = nn.split %w dim 2 sizes [4, 1, 1] : (tensor<2x16x6x8xf32>) -> (!q, !k, !k)
  %jr = nn.rotary %j theta 100.0 : !q
  %wn = arith.negf %w : tensor<2x16x6x8xf32>

  %n, %o = nn.split %u dim 2 sizes [12, 32] : (tensor<2x16x44xf32>) -> (tensor<2x16x12xf32>, tensor<2x16x32xf32>)
  %oh = tensor.expand_shape %o [[0], [1], [2, 3]] output_shape [2, 16, 4, 8] : tensor<2x16x32xf32> into !q
  %or = nn.rotary %oh theta 100.0 : !q

  %p, %q, %r = nn.split %v dim 2 sizes [8, 8, 8] : (tensor<2x16x24xf32>) -> (tensor<2x16x8xf32>, tensor<2x16x8xf32>, tensor<2x16x8xf32>)
  %ph = tensor.expand_shape %p [[0], [1], [2, 3]] output_shape [2, 16, 1, 8] : tensor<2x16x8xf32> into !k
  %qh = tensor.expand_shape %q [[0], [1], [2, 3]] output_shape [2, 16, 1, 8] : tensor<2x16x8xf32> into !k
  %pr = nn.rotary %ph theta 100.0 : !k
  %qr = nn.rotary %qh theta 100.0 : !k
  zero.yield %l : tensor<f32>
}
