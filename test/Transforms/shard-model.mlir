// What one rank of the axis tensor computes.

// RUN: zero-opt %s --split-input-file --zero-shard-model --verify-diagnostics | FileCheck %s

zero.mesh @mesh <data = 2, tensor = 2>

// The hidden width is cut, and the width of the input and output is not. The bias
// behind the sum counts once.
// CHECK-DAG: zero.parameter @up : tensor<32x64xf32> = #zero.ones cut <dim 1 of [128] over <tensor = 2>>
// CHECK-DAG: zero.parameter @up.b : tensor<64xf32> = #zero.zeros cut <dim 0 of [128] over <tensor = 2>>
// CHECK-DAG: zero.parameter @down : tensor<32x64xf32> = #zero.ones cut <dim 1 of [128] over <tensor = 2>>
// CHECK-DAG: zero.parameter @down.b : tensor<32xf32> = #zero.zeros{{$}}
// expected-note @below {{1 left whole: they have no dimension that can be cut; the largest is @norm, 32 elements}}
zero.parameter @norm : tensor<32xf32> = #zero.ones
zero.parameter @up : tensor<32x128xf32> = #zero.ones
zero.parameter @up.b : tensor<128xf32> = #zero.zeros
zero.parameter @down : tensor<32x128xf32> = #zero.ones
// expected-note @below {{1 left whole: another dimension is cut where they are used; the largest is @down.b, 32 elements}}
zero.parameter @down.b : tensor<32xf32> = #zero.zeros

// CHECK-LABEL: zero.step @perceptron
// CHECK-SAME: %[[X:.*]]: tensor<8x32xf32>
// expected-remark @below {{over #zero.axes<tensor = 2> 3 of 5 parameters are cut, with 8320 of 8384 elements; what is left is whole on every rank of the axis}}
zero.step @perceptron(%x: tensor<8x32xf32> {zero.input = "x"}) {
  %n = zero.load @norm : tensor<32xf32>
  %u = zero.load @up : tensor<32x128xf32>
  %ub = zero.load @up.b : tensor<128xf32>
  %d = zero.load @down : tensor<32x128xf32>
  %db = zero.load @down.b : tensor<32xf32>
  // CHECK: %[[N:.*]], %{{.*}} = nn.rms_norm %[[X]]
  // CHECK-NEXT: %[[R:.*]] = zero.replicate %[[N]] over <tensor = 2> : tensor<8x32xf32>
  // CHECK-NEXT: %[[H:.*]] = nn.linear %[[R]], %up bias %up.b : (tensor<8x32xf32>, tensor<32x64xf32>, tensor<64xf32>) -> tensor<8x64xf32>
  // CHECK-NEXT: %[[G:.*]] = nn.gelu tanh %[[H]] : tensor<8x64xf32>
  %y, %rstd = nn.rms_norm %x, %n eps 1.0e-6 : (tensor<8x32xf32>, tensor<32xf32>) -> (tensor<8x32xf32>, tensor<8xf32>)
  %h = nn.linear %y, %u bias %ub : (tensor<8x32xf32>, tensor<32x128xf32>, tensor<128xf32>) -> tensor<8x128xf32>
  %g = nn.gelu tanh %h : tensor<8x128xf32>
  // CHECK: %[[P:.*]] = nn.linear %[[G]], %down transposed : (tensor<8x64xf32>, tensor<32x64xf32>) -> tensor<8x32xf32>
  %z = nn.linear %g, %d bias %db transposed : (tensor<8x128xf32>, tensor<32x128xf32>, tensor<32xf32>) -> tensor<8x32xf32>
  // CHECK-NEXT: %[[S:.*]] = zero.all_reduce_value %[[P]] over <tensor = 2> : tensor<8x32xf32>
  // CHECK-NEXT: %[[B:.*]] = nn.broadcast %down.b dims [1] : (tensor<32xf32>) -> tensor<8x32xf32>
  // CHECK-NEXT: %[[Z:.*]] = arith.addf %[[S]], %[[B]] : tensor<8x32xf32>
  // CHECK-NEXT: %[[L:.*]] = nn.reduce sum %[[Z]]
  // CHECK-NEXT: zero.yield %[[L]] : tensor<f32>
  %l = nn.reduce sum %z dims [0, 1] : (tensor<8x32xf32>) -> tensor<f32>
  zero.yield %l : tensor<f32>
}

// -----

// A joint projection is cut in each of its three parts. Two sums that meet are sent
// once, scaled before that.
zero.mesh @mesh <data = 1, tensor = 2>

// CHECK: zero.parameter @qkv : tensor<48x32xf32> = #zero.ones cut <dim 0 of [32, 32, 32] over <tensor = 2>>
// CHECK: zero.parameter @out : tensor<32x16xf32> = #zero.ones cut <dim 1 of [32] over <tensor = 2>>
zero.parameter @qkv : tensor<96x32xf32> = #zero.ones
zero.parameter @out : tensor<32x32xf32> = #zero.ones
zero.parameter @up : tensor<96x32xf32> = #zero.ones
zero.parameter @down : tensor<32x96xf32> = #zero.ones
// expected-note @below {{1 left whole: another dimension is cut where they are used; the largest is @gain, 1024 elements}}
zero.parameter @gain : tensor<2x16x32xf32> = #zero.ones

// CHECK-LABEL: zero.step @parallel
// CHECK-SAME: %[[X:.*]]: tensor<2x16x32xf32>
// expected-remark @below {{4 of 5 parameters are cut}}
zero.step @parallel(%x: tensor<2x16x32xf32> {zero.input = "x"}) {
  %w = zero.load @qkv : tensor<96x32xf32>
  %o = zero.load @out : tensor<32x32xf32>
  %u = zero.load @up : tensor<96x32xf32>
  %d = zero.load @down : tensor<32x96xf32>
  %s = zero.load @gain : tensor<2x16x32xf32>
  // The input has no gradient, so it is read as it is.
  // CHECK: nn.linear %[[X]], %qkv transposed
  // CHECK: nn.split %{{.*}} dim 2 sizes [16, 16, 16] : (tensor<2x16x48xf32>)
  // CHECK: tensor.expand_shape %{{.*}} output_shape [2, 16, 2, 8] : tensor<2x16x16xf32> into tensor<2x16x2x8xf32>
  %p = nn.linear %x, %w transposed : (tensor<2x16x32xf32>, tensor<96x32xf32>) -> tensor<2x16x96xf32>
  %q, %k, %v = nn.split %p dim 2 sizes [32, 32, 32] : (tensor<2x16x96xf32>) -> (tensor<2x16x32xf32>, tensor<2x16x32xf32>, tensor<2x16x32xf32>)
  %qh = tensor.expand_shape %q [[0], [1], [2, 3]] output_shape [2, 16, 4, 8] : tensor<2x16x32xf32> into tensor<2x16x4x8xf32>
  %kh = tensor.expand_shape %k [[0], [1], [2, 3]] output_shape [2, 16, 4, 8] : tensor<2x16x32xf32> into tensor<2x16x4x8xf32>
  %vh = tensor.expand_shape %v [[0], [1], [2, 3]] output_shape [2, 16, 4, 8] : tensor<2x16x32xf32> into tensor<2x16x4x8xf32>
  %a, %lse = nn.attention %qh, %kh, %vh causal scale 0.35 : (tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>) -> (tensor<2x16x4x8xf32>, tensor<2x4x16xf32>)
  %c = tensor.collapse_shape %a [[0], [1], [2, 3]] : tensor<2x16x4x8xf32> into tensor<2x16x32xf32>
  // CHECK: %[[A:.*]] = nn.linear %{{.*}}, %out transposed
  %y = nn.linear %c, %o transposed : (tensor<2x16x32xf32>, tensor<32x32xf32>) -> tensor<2x16x32xf32>
  %h = nn.linear %x, %u transposed : (tensor<2x16x32xf32>, tensor<96x32xf32>) -> tensor<2x16x96xf32>
  %g = nn.gelu tanh %h : tensor<2x16x96xf32>
  // CHECK: %[[M:.*]] = nn.linear %{{.*}}, %down transposed
  %z = nn.linear %g, %d transposed : (tensor<2x16x96xf32>, tensor<32x96xf32>) -> tensor<2x16x32xf32>
  // Each rank scales another term, so the gradient of the scale is a sum.
  // CHECK-NEXT: %[[T:.*]] = arith.addf %[[A]], %[[M]] : tensor<2x16x32xf32>
  // CHECK-NEXT: %[[R:.*]] = zero.replicate %gain over <tensor = 2>
  // CHECK-NEXT: %[[F:.*]] = arith.mulf %[[T]], %[[R]] : tensor<2x16x32xf32>
  // CHECK-NEXT: %[[S:.*]] = zero.all_reduce_value %[[F]] over <tensor = 2> : tensor<2x16x32xf32>
  // CHECK-NEXT: nn.softmax %[[S]]
  %t = arith.addf %y, %z : tensor<2x16x32xf32>
  %f = arith.mulf %t, %s : tensor<2x16x32xf32>
  %e = nn.softmax %f : tensor<2x16x32xf32>
  %l = nn.reduce sum %e dims [0, 1, 2] : (tensor<2x16x32xf32>) -> tensor<f32>
  zero.yield %l : tensor<f32>
}

// -----

// What needs all of a class gathers it; where it is cut again, it is sliced.
zero.mesh @mesh <data = 1, tensor = 2>
zero.parameter @up : tensor<32x128xf32> = #zero.ones
zero.parameter @down : tensor<128x32xf32> = #zero.ones
zero.parameter @bias : tensor<128xf32> = #zero.ones

// CHECK-LABEL: zero.step @boundary
// expected-remark @below {{3 of 3 parameters are cut}}
zero.step @boundary(%x: tensor<8x32xf32> {zero.input = "x"}) {
  %u = zero.load @up : tensor<32x128xf32>
  %d = zero.load @down : tensor<128x32xf32>
  %b = zero.load @bias : tensor<128xf32>
  %h = nn.linear %x, %u bias %b : (tensor<8x32xf32>, tensor<32x128xf32>, tensor<128xf32>) -> tensor<8x128xf32>
  // CHECK: %[[W:.*]] = zero.gather_value %{{.*}} cut <dim 1 of [128] over <tensor = 2>> : tensor<8x64xf32> -> tensor<8x128xf32>
  // CHECK-NEXT: %[[E:.*]] = nn.softmax %[[W]] : tensor<8x128xf32>
  // CHECK-NEXT: %[[P:.*]] = zero.slice_value %[[E]] cut <dim 1 of [128] over <tensor = 2>> : tensor<8x128xf32> -> tensor<8x64xf32>
  // CHECK-NEXT: nn.linear %[[P]], %down
  // expected-remark @below {{over #zero.axes<tensor = 2> every rank computes 'nn.softmax' of all of 'tensor<8x128xf32>', which it gathers: dimension 1 is cut, and the operation needs all of it}}
  %e = nn.softmax %h : tensor<8x128xf32>
  %z = nn.linear %e, %d : (tensor<8x128xf32>, tensor<128x32xf32>) -> tensor<8x32xf32>
  %l = nn.reduce sum %z dims [0, 1] : (tensor<8x32xf32>) -> tensor<f32>
  zero.yield %l : tensor<f32>
}

// -----

// Of a vocabulary each rank has a range. What is looked up is a sum; of the loss a
// number for each row and rank is gathered, and the target becomes that of a rank.
zero.mesh @mesh <data = 1, tensor = 2>

// CHECK: zero.parameter @table : tensor<50x8xf32> = #zero.ones rows 99 cut <dim 0 of [100] over <tensor = 2>>
zero.parameter @table : tensor<100x8xf32> = #zero.ones rows 99

// CHECK-LABEL: zero.step @vocabulary
// CHECK-SAME: %[[IDS:.*]]: tensor<4xi32> {zero.input = "ids"}, %[[Y:.*]]: tensor<4xi32>
// expected-remark @below {{1 of 1 parameters are cut}}
zero.step @vocabulary(%ids: tensor<4xi32> {zero.input = "ids"}, %y: tensor<4xi32> {zero.input = "y"}) {
  %w = zero.load @table : tensor<100x8xf32>
  // CHECK: %[[TABLE:.*]] = arith.constant dense<[0, 50]> : tensor<2xi32>
  // CHECK: %[[OWN:.*]] = zero.slice_value %[[TABLE]] cut <dim 0 of [2] over <tensor = 2>> : tensor<2xi32> -> tensor<1xi32>
  // CHECK: %[[FIRST:.*]] = tensor.collapse_shape %[[OWN]] [] : tensor<1xi32> into tensor<i32>
  // CHECK: %[[E:.*]] = nn.partial_embedding %[[IDS]], %{{.*}}, %[[FIRST]] num_embeddings 99 : (tensor<4xi32>, tensor<50x8xf32>, tensor<i32>) -> tensor<4x8xf32>
  // CHECK: %[[X:.*]] = zero.all_reduce_value %[[E]] over <tensor = 2>
  // CHECK: %[[R:.*]] = zero.replicate %[[X]] over <tensor = 2>
  // CHECK: %[[L:.*]] = nn.linear %[[R]], %{{.*}} transposed : (tensor<4x8xf32>, tensor<50x8xf32>) -> tensor<4x50xf32>
  %x = nn.embedding %ids, %w num_embeddings 99 : (tensor<4xi32>, tensor<100x8xf32>) -> tensor<4x8xf32>
  %l = nn.linear %x, %w transposed : (tensor<4x8xf32>, tensor<100x8xf32>) -> tensor<4x100xf32>
  // CHECK: %[[PART:.*]], %[[LSE:.*]] = nn.partial_cross_entropy %[[L]], %[[Y]], %{{.*}} ignore_index 3 classes 99 : (tensor<4x50xf32>, tensor<4xi32>, tensor<i32>) -> (tensor<f32>, tensor<4xf32>)
  // CHECK: %[[COLUMN:.*]] = tensor.expand_shape %[[LSE]] {{.*}} : tensor<4xf32> into tensor<4x1xf32>
  // CHECK: %[[ALL:.*]] = zero.gather_value %[[COLUMN]] cut <dim 1 of [2] over <tensor = 2>> : tensor<4x1xf32> -> tensor<4x2xf32>
  // CHECK: %[[RANGE:.*]] = arith.divsi %[[Y]], %{{.*}} : tensor<4xi32>
  // CHECK: %[[IGNORED:.*]] = arith.cmpi eq, %[[Y]], %{{.*}} : tensor<4xi32>
  // CHECK: %[[RANK:.*]] = arith.select %[[IGNORED]], %{{.*}}, %[[RANGE]]
  // CHECK: %[[AMONG:.*]], %{{.*}} = nn.cross_entropy %[[ALL]], %[[RANK]] : (tensor<4x2xf32>, tensor<4xi32>)
  // CHECK: %[[SUM:.*]] = zero.all_reduce_value %[[PART]] over <tensor = 2> : tensor<f32>
  // CHECK: %[[LOSS:.*]] = arith.addf %[[AMONG]], %[[SUM]] : tensor<f32>
  // CHECK: zero.yield %[[LOSS]]
  %loss, %lse = nn.cross_entropy %l, %y ignore_index 3 classes 99 : (tensor<4x100xf32>, tensor<4xi32>) -> (tensor<f32>, tensor<4xf32>)
  zero.yield %loss : tensor<f32>
}

// -----

// A vocabulary that the ranks do not divide is whole, and the width is cut.
zero.mesh @mesh <data = 1, tensor = 2>
// CHECK: zero.parameter @table : tensor<99x4xf32> = #zero.ones cut <dim 1 of [8] over <tensor = 2>>
zero.parameter @table : tensor<99x8xf32> = #zero.ones
// CHECK-LABEL: zero.step @whole
// expected-remark @below {{1 of 1 parameters are cut}}
zero.step @whole(%ids: tensor<4xi32> {zero.input = "ids"}, %y: tensor<4xi32> {zero.input = "y"}) {
  %w = zero.load @table : tensor<99x8xf32>
  // CHECK: nn.embedding
  %x = nn.embedding %ids, %w : (tensor<4xi32>, tensor<99x8xf32>) -> tensor<4x8xf32>
  %l = nn.linear %x, %w transposed : (tensor<4x8xf32>, tensor<99x8xf32>) -> tensor<4x99xf32>
  // CHECK: nn.cross_entropy
  %loss, %lse = nn.cross_entropy %l, %y : (tensor<4x99xf32>, tensor<4xi32>) -> (tensor<f32>, tensor<4xf32>)
  zero.yield %loss : tensor<f32>
}

// -----

// Positions but for the last are no class that could be cut: what is cut beside
// them still is.
zero.mesh @mesh <data = 1, tensor = 2>
// CHECK: zero.parameter @up : tensor<32x64xf32> = #zero.ones cut <dim 1 of [128] over <tensor = 2>>
zero.parameter @up : tensor<32x128xf32> = #zero.ones
zero.parameter @down : tensor<128x32xf32> = #zero.ones
// CHECK-LABEL: zero.step @shifted
// expected-remark @below {{2 of 2 parameters are cut}}
zero.step @shifted(%x: tensor<8x32xf32> {zero.input = "x"}) {
  %u = zero.load @up : tensor<32x128xf32>
  %d = zero.load @down : tensor<128x32xf32>
  %h = nn.linear %x, %u : (tensor<8x32xf32>, tensor<32x128xf32>) -> tensor<8x128xf32>
  // CHECK: tensor.extract_slice %{{.*}}[0, 0] [7, 64] [1, 1] : tensor<8x64xf32> to tensor<7x64xf32>
  %s = tensor.extract_slice %h[0, 0] [7, 128] [1, 1] : tensor<8x128xf32> to tensor<7x128xf32>
  %z = nn.linear %s, %d : (tensor<7x128xf32>, tensor<128x32xf32>) -> tensor<7x32xf32>
  %l = nn.reduce sum %z dims [0, 1] : (tensor<7x32xf32>) -> tensor<f32>
  zero.yield %l : tensor<f32>
}

// -----

// A class that is worth it, and is not divided, is named with its numbers.
zero.mesh @mesh <data = 1, tensor = 4>
// expected-error @below {{parameter @up is worth cutting over #zero.axes<tensor = 4> in dimension 1, which has 126 units of 1 that stay together, and 4 ranks do not divide 126; give the axis a divisor of it, or leave the parameter whole with -1 for it in zero.sharding}}
zero.parameter @up : tensor<32x126xf32> = #zero.ones
zero.parameter @down : tensor<126x32xf32> = #zero.ones
zero.step @odd(%x: tensor<8x32xf32> {zero.input = "x"}) {
  %u = zero.load @up : tensor<32x126xf32>
  %d = zero.load @down : tensor<126x32xf32>
  %h = nn.linear %x, %u : (tensor<8x32xf32>, tensor<32x126xf32>) -> tensor<8x126xf32>
  %g = nn.gelu tanh %h : tensor<8x126xf32>
  %z = nn.linear %g, %d : (tensor<8x126xf32>, tensor<126x32xf32>) -> tensor<8x32xf32>
  %l = nn.reduce sum %z dims [0, 1] : (tensor<8x32xf32>) -> tensor<f32>
  zero.yield %l : tensor<f32>
}

// -----

// Without the axis nothing changes.
zero.mesh @mesh <data = 4>
zero.parameter @w : tensor<32x128xf32> = #zero.ones
// CHECK-LABEL: zero.step @none
// CHECK-NEXT: zero.load @w : tensor<32x128xf32>
zero.step @none(%x: tensor<8x32xf32> {zero.input = "x"}) {
  %u = zero.load @w : tensor<32x128xf32>
  %h = nn.linear %x, %u : (tensor<8x32xf32>, tensor<32x128xf32>) -> tensor<8x128xf32>
  %l = nn.reduce sum %h dims [0, 1] : (tensor<8x128xf32>) -> tensor<f32>
  zero.yield %l : tensor<f32>
}
