// Exchanges of values are started where the value is, and waited for where it is read.

// RUN: zero-opt %s --zero-start-exchanges | FileCheck %s

zero.mesh @mesh <data = 2, tensor = 2>

// CHECK-LABEL: func.func @sum
func.func @sum(%x: tensor<8x4xf32>, %y: tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>) {
  // CHECK-NEXT: %[[P:.*]] = zero.start_all_reduce %arg0 over <tensor = 2> : tensor<8x4xf32> -> <tensor<8x4xf32>>
  %s = zero.all_reduce_value %x over <tensor = 2> : tensor<8x4xf32>
  // CHECK-NEXT: %[[A:.*]] = arith.addf
  %a = arith.addf %y, %y : tensor<8x4xf32>
  // CHECK-NEXT: %[[S:.*]] = zero.wait %[[P]]
  // CHECK-NEXT: arith.addf %[[S]], %[[A]]
  %b = arith.addf %s, %a : tensor<8x4xf32>
  %c = arith.addf %s, %b : tensor<8x4xf32>
  return %b, %c : tensor<8x4xf32>, tensor<8x4xf32>
}

// What arrives rank by rank is brought into the order of the whole, piece by piece.
// CHECK-LABEL: func.func @gather
func.func @gather(%x: tensor<8x6xf32>) -> tensor<8x12xf32> {
  // CHECK: %[[P:.*]] = zero.start_all_gather %arg0 over <tensor = 2> : tensor<8x6xf32> -> <tensor<2x8x6xf32>>
  // CHECK: %[[W:.*]] = zero.wait %[[P]]
  // CHECK: %[[T:.*]] = nn.transpose {{.*}} permutation [1, 2, 0, 3, 4] : (tensor<2x8x1x6x1xf32>) -> tensor<8x1x2x6x1xf32>
  // CHECK: %[[S:.*]]:2 = nn.split {{.*}} dim 2 sizes [4, 2] : (tensor<8x2x6x1xf32>)
  // CHECK: tensor.concat dim(2) {{.*}} : (tensor<8x1x8x1xf32>, tensor<8x1x4x1xf32>) -> tensor<8x1x12x1xf32>
  %y = zero.gather_value %x cut <dim 1 of [8, 4] over <tensor = 2>> : tensor<8x6xf32> -> tensor<8x12xf32>
  return %y : tensor<8x12xf32>
}

// Rows lie side by side: nothing moves.
// CHECK-LABEL: func.func @rows
func.func @rows(%x: tensor<8x4xf32>) -> tensor<4x4xf32> {
  // CHECK-NEXT: zero.slice_value %arg0 cut <dim 0 of [8] over <tensor = 2>>
  // CHECK-NEXT: return
  %y = zero.slice_value %x cut <dim 0 of [8] over <tensor = 2>> : tensor<8x4xf32> -> tensor<4x4xf32>
  return %y : tensor<4x4xf32>
}

// CHECK-LABEL: func.func @columns
func.func @columns(%x: tensor<8x4xf32>) -> tensor<8x2xf32> {
  // CHECK: nn.transpose {{.*}} permutation [2, 0, 1, 3, 4] : (tensor<8x1x2x2x1xf32>) -> tensor<2x8x1x2x1xf32>
  // CHECK: zero.slice_value {{.*}} cut <dim 0 of [2] over <tensor = 2>> : tensor<2x8x1x2x1xf32> -> tensor<1x8x1x2x1xf32>
  %y = zero.slice_value %x cut <dim 1 of [4] over <tensor = 2>> : tensor<8x4xf32> -> tensor<8x2xf32>
  return %y : tensor<8x2xf32>
}

// Each rank sends the others their heads, and brings the positions that arrive
// into their order.
// CHECK-LABEL: func.func @exchange
func.func @exchange(%x: tensor<2x8x4x3xf32>) -> tensor<2x16x2x3xf32> {
  // CHECK: nn.transpose {{.*}} permutation [2, 0, 1, 3, 4] : (tensor<16x1x2x2x3xf32>) -> tensor<2x16x1x2x3xf32>
  // CHECK: %[[P:.*]] = zero.all_to_all {{.*}} over <tensor = 2> : tensor<2x16x1x2x3xf32> -> <tensor<2x16x1x2x3xf32>>
  // CHECK: %[[W:.*]] = zero.wait %[[P]]
  // CHECK: nn.transpose {{.*}} permutation [1, 2, 0, 3, 4] : (tensor<2x2x1x8x6xf32>) -> tensor<2x1x2x8x6xf32>
  %y = zero.exchange_value %x from <dim 1 of [16] over <tensor = 2>> to <dim 2 of [4] over <tensor = 2>> : tensor<2x8x4x3xf32> -> tensor<2x16x2x3xf32>
  return %y : tensor<2x16x2x3xf32>
}

// Each rank gets what all have of its rows, and adds it up. What moves no element
// is a move all the same, which says where the ranks' dimension comes from.
// CHECK-LABEL: func.func @scatter
func.func @scatter(%x: tensor<8x4xf32>) -> tensor<4x4xf32> {
  // CHECK: %[[R:.*]] = nn.transpose {{.*}} permutation [2, 0, 1, 3, 4] : (tensor<1x1x2x4x4xf32>) -> tensor<2x1x1x4x4xf32>
  // CHECK: %[[P:.*]] = zero.all_to_all %[[R]] over <tensor = 2> : tensor<2x1x1x4x4xf32> -> <tensor<2x1x1x4x4xf32>>
  // CHECK: %[[W:.*]] = zero.wait %[[P]]
  // CHECK: nn.reduce sum %[[W]] dims [0] : (tensor<2x1x1x4x4xf32>) -> tensor<1x1x4x4xf32>
  // CHECK: tensor.expand_shape {{.*}} into tensor<4x4xf32>
  %y = zero.scatter_value %x cut <dim 0 of [8] over <tensor = 2>> : tensor<8x4xf32> -> tensor<4x4xf32>
  return %y : tensor<4x4xf32>
}
