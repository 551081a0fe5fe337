// RUN: zero-opt %s --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @identities
// CHECK-SAME:    %[[X:.*]]: tensor<4x16xf32>
// CHECK-NEXT:    return %[[X]]
func.func @identities(%x: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %0 = nn.transpose %x permutation [0, 1] : (tensor<4x16xf32>) -> tensor<4x16xf32>
  %1 = nn.reduce max %0 dims [] : (tensor<4x16xf32>) -> tensor<4x16xf32>
  %2 = nn.broadcast %1 dims [0, 1] : (tensor<4x16xf32>) -> tensor<4x16xf32>
  return %2 : tensor<4x16xf32>
}

// All operations are pure: an unused one goes.
// CHECK-LABEL: func.func @unused
// CHECK-NEXT:    return
func.func @unused(%x: tensor<4x16xf32>) {
  %0 = nn.dropout %x p 0.5 id 0 : tensor<4x16xf32>
  %1 = nn.softmax %0 : tensor<4x16xf32>
  return
}
