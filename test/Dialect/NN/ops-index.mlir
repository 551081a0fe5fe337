// RUN: zero-opt %s --verify-roundtrip | FileCheck %s
// RUN: zero-opt %s --mlir-print-op-generic | zero-opt | FileCheck %s
// RUN: zero-opt %s --verify-roundtrip | FileCheck %s --check-prefix=SPACES --match-full-lines --strict-whitespace

// CHECK-LABEL: func.func @positions
// CHECK: nn.gather %{{.*}}, %{{.*}} dim 1 : (tensor<4x16x64xf32>, tensor<4x8x64xi32>) -> tensor<4x8x64xf32>
// CHECK: nn.gather %{{.*}}, %{{.*}} dim 1 : (tensor<4x16x64xf32>, tensor<4x8xi32>) -> tensor<4x8x64xf32>
// CHECK: nn.scatter_add %{{.*}}, %{{.*}} dim 1 : (tensor<4x8x64xf32>, tensor<4x8x64xi32>) -> tensor<4x16x64xf32>
// CHECK: nn.scatter_add %{{.*}}, %{{.*}} init %{{.*}} dim 1 : (tensor<4x8x64xf32>, tensor<4x8xi32>, tensor<4x16x64xf32>) -> tensor<4x16x64xf32>
// CHECK: nn.scatter_add %{{.*}}, %{{.*}} dim 0 rows [2, 4] :
// CHECK: nn.scatter set %{{.*}}, %{{.*}} into %{{.*}} dim 0 : (tensor<8xi32>, tensor<8xi32>, tensor<8xi32>) -> tensor<8xi32>
// CHECK: nn.scatter max %{{.*}}, %{{.*}} into %{{.*}} dim 1 :
// SPACES:    %5 = nn.scatter set %arg3, %arg3 into %arg3 dim 0 : (tensor<8xi32>, tensor<8xi32>, tensor<8xi32>) -> tensor<8xi32>
func.func @positions(%x: tensor<4x16x64xf32>, %i: tensor<4x8x64xi32>, %r: tensor<4x8xi32>, %p: tensor<8xi32>, %s: tensor<9xi32>) {
  %0 = nn.gather %x, %i dim 1 : (tensor<4x16x64xf32>, tensor<4x8x64xi32>) -> tensor<4x8x64xf32>
  %1 = nn.gather %x, %r dim 1 : (tensor<4x16x64xf32>, tensor<4x8xi32>) -> tensor<4x8x64xf32>
  %2 = nn.scatter_add %0, %i dim 1 : (tensor<4x8x64xf32>, tensor<4x8x64xi32>) -> tensor<4x16x64xf32>
  %3 = nn.scatter_add %1, %r init %2 dim 1 : (tensor<4x8x64xf32>, tensor<4x8xi32>, tensor<4x16x64xf32>) -> tensor<4x16x64xf32>
  %f = arith.constant dense<0.0> : tensor<9x3xf32>
  %4 = nn.scatter_add %f, %s dim 0 rows [2, 4] : (tensor<9x3xf32>, tensor<9xi32>) -> tensor<2x3xf32>
  %5 = nn.scatter set %p, %p into %p dim 0 : (tensor<8xi32>, tensor<8xi32>, tensor<8xi32>) -> tensor<8xi32>
  %6 = nn.scatter max %1, %r into %x dim 1 : (tensor<4x8x64xf32>, tensor<4x8xi32>, tensor<4x16x64xf32>) -> tensor<4x16x64xf32>
  return
}

// CHECK-LABEL: func.func @orders
// CHECK: nn.argsort %{{.*}} : tensor<64xi32> -> tensor<64xi32>
// CHECK: nn.argsort %{{.*}} descending first 2 : tensor<32x8xf32> -> tensor<32x2xi32>
// CHECK: nn.cumsum %{{.*}} dim 0 : tensor<64xi32>
// CHECK: nn.cumsum %{{.*}} dim 1 reverse : tensor<32x8xf32>
// CHECK: nn.random_normal id 3 : tensor<4x16xbf16>
// CHECK: nn.random_uniform id 4 : tensor<4x16xf16>
// CHECK: nn.random_integers id 5 below 1000 : tensor<4xi32>
func.func @orders(%x: tensor<64xi32>, %p: tensor<32x8xf32>) {
  %0 = nn.argsort %x : tensor<64xi32> -> tensor<64xi32>
  %1 = nn.argsort %p descending first 2 : tensor<32x8xf32> -> tensor<32x2xi32>
  %2 = nn.cumsum %x dim 0 : tensor<64xi32>
  %3 = nn.cumsum %p dim 1 reverse : tensor<32x8xf32>
  %4 = nn.random_normal id 3 : tensor<4x16xbf16>
  %5 = nn.random_uniform id 4 : tensor<4x16xf16>
  %6 = nn.random_integers id 5 below 1000 : tensor<4xi32>
  return
}
