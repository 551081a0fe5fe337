// A loss of a product, with its gradient, becomes one operation; what cannot is
// left with a remark that says why.

// RUN: zero-opt %s --zero-fuse-cross-entropy=chunk-bytes=8192 -split-input-file -verify-diagnostics | FileCheck %s

!x = tensor<4x64x8xf32>
!w = tensor<16x8xf32>
!l = tensor<4x64x16xf32>
!y = tensor<4x64xi32>

// Rows of 64 bytes: 128 of them.
// CHECK-LABEL: zero.step @whole
// CHECK: %[[S:.*]] = zero.loss_seed
// CHECK-NEXT: %[[LOSS:.*]], %[[DX:.*]], %[[DW:.*]] = nn.linear_cross_entropy_grad %[[S]], %{{.*}}, %{{.*}}, %{{.*}} transposed chunk 128 ignore_index 3 : (tensor<f32>, tensor<4x64x8xf32>, tensor<16x8xf32>, tensor<4x64xi32>) -> (tensor<f32>, tensor<4x64x8xf32>, tensor<16x8xf32>)
// CHECK-NEXT: zero.yield %[[LOSS]], %[[DX]], %[[DW]]
zero.step @whole(%x: !x {zero.input = "x"}, %w: !w, %y: !y) {
  %l = nn.linear %x, %w transposed : (!x, !w) -> !l
  %loss, %lse = nn.cross_entropy %l, %y ignore_index 3 : (!l, !y) -> (tensor<f32>, tensor<4x64xf32>)
  %s = zero.loss_seed : tensor<f32>
  %dl = nn.cross_entropy_grad %s, %l, %y, %lse ignore_index 3 : (tensor<f32>, !l, !y, tensor<4x64xf32>) -> !l
  %dx = nn.linear %dl, %w : (!l, !w) -> !x
  %a = tensor.collapse_shape %dl [[0, 1], [2]] : !l into tensor<256x16xf32>
  %b = tensor.collapse_shape %x [[0, 1], [2]] : !x into tensor<256x8xf32>
  %dw = nn.matmul %a, %b transpose_a : (tensor<256x16xf32>, tensor<256x8xf32>) -> !w
  zero.yield %loss, %dx, %dw outputs ["dx", "dw"] : tensor<f32>, !x, !w
}

// -----

!x = tensor<4x64x8xf32>
!w = tensor<8x16xf32>
!m = tensor<256x16xf32>

// Logits that are rows of another shape, and a bias.
// CHECK-LABEL: zero.step @rows
// CHECK: nn.linear_cross_entropy_grad %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} bias %{{.*}} chunk 128 : (tensor<f32>, tensor<256x8xf32>, tensor<8x16xf32>, tensor<256xi32>, tensor<16xf32>) -> (tensor<f32>, tensor<256x8xf32>, tensor<8x16xf32>, tensor<16xf32>)
zero.step @rows(%x: !x {zero.input = "x"}, %w: !w, %bias: tensor<16xf32>, %y: tensor<256xi32>) {
  %l = nn.linear %x, %w bias %bias : (!x, !w, tensor<16xf32>) -> tensor<4x64x16xf32>
  %m = tensor.collapse_shape %l [[0, 1], [2]] : tensor<4x64x16xf32> into !m
  %loss, %lse = nn.cross_entropy %m, %y : (!m, tensor<256xi32>) -> (tensor<f32>, tensor<256xf32>)
  %s = zero.loss_seed : tensor<f32>
  %dm = nn.cross_entropy_grad %s, %m, %y, %lse : (tensor<f32>, !m, tensor<256xi32>, tensor<256xf32>) -> !m
  %dl = tensor.expand_shape %dm [[0, 1], [2]] output_shape [4, 64, 16] : !m into tensor<4x64x16xf32>
  %dx = nn.linear %dl, %w transposed : (tensor<4x64x16xf32>, !w) -> !x
  %b = tensor.collapse_shape %x [[0, 1], [2]] : !x into tensor<256x8xf32>
  %dw = nn.matmul %b, %dm transpose_a : (tensor<256x8xf32>, !m) -> !w
  %db = nn.reduce sum %dl dims [0, 1] : (tensor<4x64x16xf32>) -> tensor<16xf32>
  zero.yield %loss, %dx, %dw, %db outputs ["dx", "dw", "db"] : tensor<f32>, !x, !w, tensor<16xf32>
}

// -----

// Of a range of the classes the logarithms are combined between the loss and its
// gradient: two operations.
// CHECK-LABEL: zero.step @range
// CHECK: %[[LOSS:.*]], %[[LSE:.*]] = nn.linear_partial_cross_entropy %[[X:.*]], %[[W:.*]], %[[Y:.*]], %[[F:.*]] transposed chunk 5 classes 30 :
// CHECK-NEXT: %[[A:.*]] = math.exp %[[LSE]]
// CHECK-NEXT: %[[DX:.*]], %[[DW:.*]] = nn.linear_partial_cross_entropy_grad %[[LOSS]], %[[A]], %[[X]], %[[W]], %[[Y]], %[[F]], %[[LSE]] transposed chunk 5 classes 30 :
// CHECK-NEXT: zero.yield %[[LOSS]], %[[DX]], %[[DW]]
zero.step @range(%x: tensor<5x8xf32> {zero.input = "x"}, %w: tensor<16x8xf32>, %y: tensor<5xi32>, %f: tensor<i32>) {
  %l = nn.linear %x, %w transposed : (tensor<5x8xf32>, tensor<16x8xf32>) -> tensor<5x16xf32>
  %loss, %lse = nn.partial_cross_entropy %l, %y, %f classes 30 : (tensor<5x16xf32>, tensor<5xi32>, tensor<i32>) -> (tensor<f32>, tensor<5xf32>)
  %a = math.exp %lse : tensor<5xf32>
  %dl = nn.partial_cross_entropy_grad %loss, %a, %l, %y, %f, %lse classes 30 : (tensor<f32>, tensor<5xf32>, tensor<5x16xf32>, tensor<5xi32>, tensor<i32>, tensor<5xf32>) -> tensor<5x16xf32>
  %dx = nn.linear %dl, %w : (tensor<5x16xf32>, tensor<16x8xf32>) -> tensor<5x8xf32>
  %dw = nn.matmul %dl, %x transpose_a : (tensor<5x16xf32>, tensor<5x8xf32>) -> tensor<16x8xf32>
  zero.yield %loss, %dx, %dw outputs ["dx", "dw"] : tensor<f32>, tensor<5x8xf32>, tensor<16x8xf32>
}

// -----

// No gradient.
// CHECK-LABEL: zero.step @loss
// CHECK: %[[LOSS:.*]] = nn.linear_cross_entropy %{{.*}}, %{{.*}}, %{{.*}} chunk 5
// CHECK-NEXT: zero.yield %[[LOSS]]
zero.step @loss(%x: tensor<5x8xf32> {zero.input = "x"}, %w: tensor<8x16xf32>, %y: tensor<5xi32>) {
  %l = nn.linear %x, %w : (tensor<5x8xf32>, tensor<8x16xf32>) -> tensor<5x16xf32>
  %loss, %lse = nn.cross_entropy %l, %y : (tensor<5x16xf32>, tensor<5xi32>) -> (tensor<f32>, tensor<5xf32>)
  zero.yield %loss : tensor<f32>
}

// -----

// CHECK-LABEL: zero.step @outputs
// CHECK: nn.linear
// CHECK-NEXT: nn.cross_entropy
zero.step @outputs(%x: tensor<5x8xf32> {zero.input = "x"}, %w: tensor<8x16xf32>, %y: tensor<5xi32>) {
  %l = nn.linear %x, %w : (tensor<5x8xf32>, tensor<8x16xf32>) -> tensor<5x16xf32>
  // expected-remark @+1 {{the logits of this loss stay whole where it has no gradient, as in evaluations: its logits are also read by zero.yield}}
  %loss, %lse = nn.cross_entropy %l, %y : (tensor<5x16xf32>, tensor<5xi32>) -> (tensor<f32>, tensor<5xf32>)
  zero.yield %loss, %l outputs ["l"] : tensor<f32>, tensor<5x16xf32>
}

// -----

zero.step @statistics(%x: tensor<5x8xf32> {zero.input = "x"}, %w: tensor<8x16xf32>, %y: tensor<5xi32>) {
  %l = nn.linear %x, %w : (tensor<5x8xf32>, tensor<8x16xf32>) -> tensor<5x16xf32>
  // expected-remark @+1 {{stay whole: the logarithms of its sums are also read by zero.yield}}
  %loss, %lse = nn.cross_entropy %l, %y : (tensor<5x16xf32>, tensor<5xi32>) -> (tensor<f32>, tensor<5xf32>)
  zero.yield %loss, %lse outputs ["lse"] : tensor<f32>, tensor<5xf32>
}

// -----

zero.step @other(%x: tensor<5x16xf32> {zero.input = "x"}, %y: tensor<5xi32>) {
  // expected-remark @+1 {{stay whole where it has no gradient, as in evaluations: its logits are not those of an nn.linear}}
  %loss, %lse = nn.cross_entropy %x, %y : (tensor<5x16xf32>, tensor<5xi32>) -> (tensor<f32>, tensor<5xf32>)
  zero.yield %loss : tensor<f32>
}

// -----

// The input needs no gradient.
zero.step @input(%x: tensor<5x8xf32> {zero.input = "x"}, %w: tensor<8x16xf32>, %y: tensor<5xi32>) {
  %l = nn.linear %x, %w : (tensor<5x8xf32>, tensor<8x16xf32>) -> tensor<5x16xf32>
  // expected-remark @+1 {{stay whole: the gradient of what is projected is not computed}}
  %loss, %lse = nn.cross_entropy %l, %y : (tensor<5x16xf32>, tensor<5xi32>) -> (tensor<f32>, tensor<5xf32>)
  %s = zero.loss_seed : tensor<f32>
  %dl = nn.cross_entropy_grad %s, %l, %y, %lse : (tensor<f32>, tensor<5x16xf32>, tensor<5xi32>, tensor<5xf32>) -> tensor<5x16xf32>
  %dw = nn.matmul %x, %dl transpose_a : (tensor<5x8xf32>, tensor<5x16xf32>) -> tensor<8x16xf32>
  zero.yield %loss, %dw outputs ["dw"] : tensor<f32>, tensor<8x16xf32>
}

// -----

// The weight is not trained.
zero.step @weight(%x: tensor<5x8xf32> {zero.input = "x"}, %w: tensor<8x16xf32>, %y: tensor<5xi32>) {
  %l = nn.linear %x, %w : (tensor<5x8xf32>, tensor<8x16xf32>) -> tensor<5x16xf32>
  // expected-remark @+1 {{stay whole: the gradient of the projection's weight is not computed}}
  %loss, %lse = nn.cross_entropy %l, %y : (tensor<5x16xf32>, tensor<5xi32>) -> (tensor<f32>, tensor<5xf32>)
  %s = zero.loss_seed : tensor<f32>
  %dl = nn.cross_entropy_grad %s, %l, %y, %lse : (tensor<f32>, tensor<5x16xf32>, tensor<5xi32>, tensor<5xf32>) -> tensor<5x16xf32>
  %dx = nn.linear %dl, %w transposed : (tensor<5x16xf32>, tensor<8x16xf32>) -> tensor<5x8xf32>
  zero.yield %loss, %dx outputs ["dx"] : tensor<f32>, tensor<5x8xf32>
}

// -----

zero.step @both(%x: tensor<5x8xf32> {zero.input = "x"}, %w: tensor<8x16xf32>, %y: tensor<5xi32>) {
  %l = nn.linear %x, %w : (tensor<5x8xf32>, tensor<8x16xf32>) -> tensor<5x16xf32>
  // expected-remark @+1 {{stay whole: the gradient of its logits is also read by zero.yield}}
  %loss, %lse = nn.cross_entropy %l, %y : (tensor<5x16xf32>, tensor<5xi32>) -> (tensor<f32>, tensor<5xf32>)
  %s = zero.loss_seed : tensor<f32>
  %dl = nn.cross_entropy_grad %s, %l, %y, %lse : (tensor<f32>, tensor<5x16xf32>, tensor<5xi32>, tensor<5xf32>) -> tensor<5x16xf32>
  %dx = nn.linear %dl, %w transposed : (tensor<5x16xf32>, tensor<8x16xf32>) -> tensor<5x8xf32>
  %dw = nn.matmul %x, %dl transpose_a : (tensor<5x8xf32>, tensor<5x16xf32>) -> tensor<8x16xf32>
  zero.yield %loss, %dx, %dw, %dl outputs ["dx", "dw", "dl"] : tensor<f32>, tensor<5x8xf32>, tensor<8x16xf32>, tensor<5x16xf32>
}

// -----

// The gradient is made of the loss.
zero.step @early(%x: tensor<5x8xf32> {zero.input = "x"}, %w: tensor<8x16xf32>, %y: tensor<5xi32>) {
  %l = nn.linear %x, %w : (tensor<5x8xf32>, tensor<8x16xf32>) -> tensor<5x16xf32>
  // expected-remark @+1 {{stay whole: it is read by nn.cross_entropy_grad before its gradient is made}}
  %loss, %lse = nn.cross_entropy %l, %y : (tensor<5x16xf32>, tensor<5xi32>) -> (tensor<f32>, tensor<5xf32>)
  %twice = arith.addf %loss, %loss : tensor<f32>
  %dl = nn.cross_entropy_grad %twice, %l, %y, %lse : (tensor<f32>, tensor<5x16xf32>, tensor<5xi32>, tensor<5xf32>) -> tensor<5x16xf32>
  %dx = nn.linear %dl, %w transposed : (tensor<5x16xf32>, tensor<8x16xf32>) -> tensor<5x8xf32>
  %dw = nn.matmul %x, %dl transpose_a : (tensor<5x8xf32>, tensor<5x16xf32>) -> tensor<8x16xf32>
  zero.yield %twice, %dx, %dw outputs ["dx", "dw"] : tensor<f32>, tensor<5x8xf32>, tensor<8x16xf32>
}

// -----

// What the loss is part of goes behind its gradient.
// CHECK-LABEL: zero.step @part
// CHECK: %[[LOSS:.*]], %[[DX:.*]], %[[DW:.*]] = nn.linear_cross_entropy_grad {{.*}} chunk 5 sum :
// CHECK-NEXT: %[[MEAN:.*]] = arith.divf %[[LOSS]],
// CHECK-NEXT: %[[TWICE:.*]] = arith.addf %[[MEAN]], %[[MEAN]]
// CHECK-NEXT: zero.yield %[[TWICE]], %[[DX]], %[[DW]]
zero.step @part(%x: tensor<5x8xf32> {zero.input = "x"}, %w: tensor<8x16xf32>, %y: tensor<5xi32>, %count: tensor<f32>) {
  %l = nn.linear %x, %w : (tensor<5x8xf32>, tensor<8x16xf32>) -> tensor<5x16xf32>
  %loss, %lse = nn.cross_entropy %l, %y sum : (tensor<5x16xf32>, tensor<5xi32>) -> (tensor<f32>, tensor<5xf32>)
  %mean = arith.divf %loss, %count : tensor<f32>
  %twice = arith.addf %mean, %mean : tensor<f32>
  %s = zero.loss_seed : tensor<f32>
  %dl = nn.cross_entropy_grad %s, %l, %y, %lse sum : (tensor<f32>, tensor<5x16xf32>, tensor<5xi32>, tensor<5xf32>) -> tensor<5x16xf32>
  %dx = nn.linear %dl, %w transposed : (tensor<5x16xf32>, tensor<8x16xf32>) -> tensor<5x8xf32>
  %dw = nn.matmul %x, %dl transpose_a : (tensor<5x8xf32>, tensor<5x16xf32>) -> tensor<8x16xf32>
  zero.yield %twice, %dx, %dw outputs ["dx", "dw"] : tensor<f32>, tensor<5x8xf32>, tensor<8x16xf32>
}
