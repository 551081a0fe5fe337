// Gradients of what is gathered and of grouped matrices, in blocks of rows.

// RUN: zero-opt %s --zero-configure="options='stage=2 ranks=2'" --zero-set-precision="compute=f32" --zero-differentiate --canonicalize --cse --zero-split-gradients="reduce-bucket-size=40 alignment=4" | FileCheck %s

// CHECK: nn.grouped_matmul_grad %{{.*}}, %{{.*}} offsets %{{.*}} rows [0, 1] : {{.*}} -> tensor<1x6x4xf32>
// CHECK-NEXT: zero.gradient @experts[0 to 24]
// CHECK-NEXT: nn.grouped_matmul_grad {{.*}} rows [1, 2]
// CHECK-NEXT: zero.gradient @experts[24 to 48]

// Along dimension 0 blocks pass over positions elsewhere.
// CHECK: nn.scatter_add %{{.*}}, %{{.*}} dim 0 rows [0, 4] : {{.*}} -> tensor<4x6xf32>
// CHECK-NEXT: zero.gradient @rows[0 to 24]
// CHECK-NEXT: nn.scatter_add %{{.*}}, %{{.*}} dim 0 rows [4, 8]
// CHECK-NEXT: zero.gradient @rows[24 to 48]

// Along another one they are blocks of the operands.
// CHECK: nn.scatter_add %{{.*}}, %{{.*}} dim 1 : (tensor<4x3xf32>, tensor<4x3xi32>) -> tensor<4x6xf32>
// CHECK-NEXT: zero.gradient @columns[0 to 24]

zero.parameter @rows : tensor<8x6xf32> = #zero.ones
zero.parameter @columns : tensor<8x6xf32> = #zero.ones
zero.parameter @experts : tensor<2x6x4xf32> = #zero.ones
zero.step @train(%ids: tensor<5xi32> {zero.input = "ids"}, %at: tensor<8x3xi32> {zero.input = "at"}, %ends: tensor<2xi32> {zero.input = "ends"}) {
  %c = zero.load @columns : tensor<8x6xf32>
  %r = zero.load @rows : tensor<8x6xf32>
  %e = zero.load @experts : tensor<2x6x4xf32>
  %p = nn.gather %c, %at dim 1 : (tensor<8x6xf32>, tensor<8x3xi32>) -> tensor<8x3xf32>
  %s = nn.reduce mean %p dims [0, 1] : (tensor<8x3xf32>) -> tensor<f32>
  %x = nn.gather %r, %ids dim 0 : (tensor<8x6xf32>, tensor<5xi32>) -> tensor<5x6xf32>
  %y = nn.grouped_matmul %x, %e offsets %ends : (tensor<5x6xf32>, tensor<2x6x4xf32>, tensor<2xi32>) -> tensor<5x4xf32>
  %m = nn.reduce mean %y dims [0, 1] : (tensor<5x4xf32>) -> tensor<f32>
  %loss = arith.addf %s, %m : tensor<f32>
  zero.yield %loss : tensor<f32>
}
