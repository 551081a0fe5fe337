// RUN: zero-opt %s --zero-set-precision=compute=bf16 | FileCheck %s

zero.parameter @w : tensor<8x8xf32> = #zero.normal<std = 0.02>

// What the model extends stays f32 until the model truncates it.
// CHECK-LABEL: zero.step @explicit
// CHECK:         %[[W:.*]] = zero.load @w : tensor<8x8xbf16>
// CHECK-NEXT:    %[[H:.*]] = nn.linear %{{.*}}, %[[W]]
// CHECK-NEXT:    %[[R:.*]] = arith.extf %[[H]] : tensor<4x8xbf16> to tensor<4x8xf32>
// CHECK-NEXT:    %[[E:.*]] = math.exp %[[R]] : tensor<4x8xf32>
// CHECK-NEXT:    %[[B:.*]] = arith.truncf %[[E]] : tensor<4x8xf32> to tensor<4x8xbf16>
// CHECK-NEXT:    %[[V:.*]] = arith.extf %[[B]] : tensor<4x8xbf16> to tensor<4x8xf32>
// CHECK-NEXT:    %[[WF:.*]] = arith.extf %[[W]]
// CHECK-NEXT:    nn.linear %[[V]], %[[WF]] : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
zero.step @explicit(%x: tensor<4x8xf32>, %y: tensor<4xi32>) {
  %w = zero.load @w : tensor<8x8xf32>
  %h = nn.linear %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %g = arith.truncf %h : tensor<4x8xf32> to tensor<4x8xbf16>
  %r = arith.extf %g : tensor<4x8xbf16> to tensor<4x8xf32>
  %e = math.exp %r : tensor<4x8xf32>
  %b = arith.truncf %e : tensor<4x8xf32> to tensor<4x8xbf16>
  %v = arith.extf %b : tensor<4x8xbf16> to tensor<4x8xf32>
  %l = nn.linear %v, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %loss, %lse = nn.cross_entropy %l, %y : (tensor<4x8xf32>, tensor<4xi32>) -> (tensor<f32>, tensor<4xf32>)
  zero.yield %loss : tensor<f32>
}

// Positions are computed in f32; their sum with an activation is rounded, and so is
// the product with a constant that is no bf16. A mask is never rounded.
// CHECK-LABEL: zero.step @neutral
// CHECK-SAME:    %[[X:.*]]: tensor<1x8x1x8xf32>, %[[I:.*]]: tensor<1x8x1x8xi32>, %[[MASK:.*]]: tensor<8x8xf32>
// CHECK:         %[[C:.*]] = arith.constant dense<1.001000e+00> : tensor<1x8x1x8xf32>
// CHECK:         %[[F:.*]] = arith.sitofp %[[I]] : tensor<1x8x1x8xi32> to tensor<1x8x1x8xf32>
// CHECK-NEXT:    %[[P:.*]] = arith.mulf %[[F]], %[[C]] : tensor<1x8x1x8xf32>
// CHECK-NEXT:    %[[S:.*]] = math.sin %[[P]] : tensor<1x8x1x8xf32>
// CHECK:         %[[H:.*]] = nn.linear
// CHECK-NEXT:    %[[HF:.*]] = arith.extf %[[H]]
// CHECK-NEXT:    %[[SUM:.*]] = arith.addf %[[HF]], %[[S]] : tensor<1x8x1x8xf32>
// CHECK-NEXT:    %[[A:.*]] = arith.truncf %[[SUM]]
// CHECK-NEXT:    %[[AF:.*]] = arith.extf %[[A]]
// CHECK-NEXT:    %[[PRODUCT:.*]] = arith.mulf %[[AF]], %[[C]] : tensor<1x8x1x8xf32>
// CHECK-NEXT:    %[[G:.*]] = arith.truncf %[[PRODUCT]]
// CHECK-NEXT:    nn.attention %[[G]], %[[G]], %[[G]] mask %[[MASK]] {{.*}} -> (tensor<1x8x1x8xbf16>, tensor<1x1x8xf32>)
zero.step @neutral(%x: tensor<1x8x1x8xf32>, %i: tensor<1x8x1x8xi32>, %mask: tensor<8x8xf32>) {
  %w = zero.load @w : tensor<8x8xf32>
  %c = arith.constant dense<1.001> : tensor<1x8x1x8xf32>
  %f = arith.sitofp %i : tensor<1x8x1x8xi32> to tensor<1x8x1x8xf32>
  %p = arith.mulf %f, %c : tensor<1x8x1x8xf32>
  %s = math.sin %p : tensor<1x8x1x8xf32>
  %h = nn.linear %x, %w : (tensor<1x8x1x8xf32>, tensor<8x8xf32>) -> tensor<1x8x1x8xf32>
  %a = arith.addf %h, %s : tensor<1x8x1x8xf32>
  %g = arith.mulf %a, %c : tensor<1x8x1x8xf32>
  %o, %lse = nn.attention %g, %g, %g mask %mask scale 1.0 : (tensor<1x8x1x8xf32>, tensor<1x8x1x8xf32>, tensor<1x8x1x8xf32>, tensor<8x8xf32>) -> (tensor<1x8x1x8xf32>, tensor<1x1x8xf32>)
  %loss = nn.reduce mean %o dims [0, 1, 2, 3] : (tensor<1x8x1x8xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}

// A padding value is rounded with the tensor.
// CHECK-LABEL: zero.step @pad
// CHECK:         %[[Z:.*]] = arith.constant 1.000000e+00 : bf16
// CHECK:         %[[P:.*]] = tensor.pad %{{.*}} low[1, 0] high[0, 0] {
// CHECK:           tensor.yield %[[Z]] : bf16
// CHECK-NEXT:    } : tensor<8x8xbf16> to tensor<9x8xbf16>
// CHECK:         arith.extf %[[P]]
zero.step @pad(%x: tensor<4x8xf32>) {
  %w = zero.load @w : tensor<8x8xf32>
  %one = arith.constant 1.0 : f32
  %p = tensor.pad %w low[1, 0] high[0, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %one : f32
  } : tensor<8x8xf32> to tensor<9x8xf32>
  %loss = nn.reduce sum %p dims [0, 1] : (tensor<9x8xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}
