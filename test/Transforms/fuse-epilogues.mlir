// Gelu and its gradient become part of the products before them.

// RUN: zero-opt %s --zero-fuse-epilogues | FileCheck %s
// RUN: zero-opt %s --zero-fuse-epilogues=gradients-only | FileCheck %s --check-prefix=ONLY

zero.step @train(%x: tensor<4x8xbf16> {zero.input = "x"}, %w: tensor<8x16xbf16>, %b: tensor<16xbf16>, %v: tensor<16x8xbf16>, %q: tensor<8x12xbf16>, %f: tensor<4x8xf32>, %g: tensor<8x16xf32>, %k: tensor<2x4x8xf16>, %m: tensor<8x16xf16>, %n: tensor<2x4x16xf16>) {
  // The product has another reader, so gelu's operand is a result.
  // CHECK: %[[Y:.*]], %[[H:.*]] = nn.linear_gelu %{{.*}}, %{{.*}} bias %{{.*}} : {{.*}} -> (tensor<4x16xbf16>, tensor<4x16xbf16>)
  // ONLY: %[[H:.*]] = nn.linear %{{.*}} bias
  // ONLY: %[[Y:.*]] = nn.gelu tanh %[[H]]
  %h = nn.linear %x, %w bias %b : (tensor<4x8xbf16>, tensor<8x16xbf16>, tensor<16xbf16>) -> tensor<4x16xbf16>
  %y = nn.gelu tanh %h : tensor<4x16xbf16>

  // Nobody else reads this one.
  // CHECK-NEXT: nn.linear_gelu %[[Y]], %{{.*}} : (tensor<4x16xbf16>, tensor<16x8xbf16>) -> tensor<4x8xbf16>
  %i = nn.linear %y, %v : (tensor<4x16xbf16>, tensor<16x8xbf16>) -> tensor<4x8xbf16>
  %z = nn.gelu tanh %i : tensor<4x8xbf16>

  // The exact form, rows of twelve and f32 stay.
  // CHECK-NEXT: nn.linear
  // CHECK-NEXT: nn.gelu exact
  %i2 = nn.linear %y, %v : (tensor<4x16xbf16>, tensor<16x8xbf16>) -> tensor<4x8xbf16>
  %z2 = nn.gelu exact %i2 : tensor<4x8xbf16>
  // CHECK-NEXT: nn.linear
  // CHECK-NEXT: nn.gelu tanh
  %i3 = nn.linear %z, %q : (tensor<4x8xbf16>, tensor<8x12xbf16>) -> tensor<4x12xbf16>
  %z3 = nn.gelu tanh %i3 : tensor<4x12xbf16>
  // CHECK-NEXT: nn.linear
  // CHECK-NEXT: nn.gelu tanh
  %i4 = nn.linear %f, %g : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %z4 = nn.gelu tanh %i4 : tensor<4x16xf32>

  // The gradient takes the sums over rows with it, as they are those of a bias.
  // CHECK-NEXT: %[[DH:.*]], %[[DB:.*]] = nn.linear_gelu_grad %{{.*}}, %{{.*}}, %[[H]] transposed : {{.*}} -> (tensor<4x16xbf16>, tensor<16xbf16>)
  // CHECK-NEXT: nn.matmul %{{.*}}, %[[DH]]
  // CHECK-NEXT: arith.addf %[[DB]], %[[DB]]
  // ONLY: nn.linear_gelu_grad %{{.*}}, %{{.*}}, %[[H]] transposed
  %dy = nn.linear %z2, %v transposed : (tensor<4x8xbf16>, tensor<16x8xbf16>) -> tensor<4x16xbf16>
  %dh = nn.gelu_grad tanh %dy, %h : tensor<4x16xbf16>
  %dw = nn.matmul %x, %dh transpose_a : (tensor<4x8xbf16>, tensor<4x16xbf16>) -> tensor<8x16xbf16>
  %db = nn.reduce sum %dh dims [0] : (tensor<4x16xbf16>) -> tensor<16xbf16>
  %db2 = arith.addf %db, %db : tensor<16xbf16>

  // Sums of another kind stay; so do products that somebody else reads.
  // CHECK-NEXT: %[[DK:.*]] = nn.linear_gelu_grad {{.*}} -> tensor<2x4x16xf16>
  // CHECK-NEXT: nn.reduce sum %[[DK]] dims [0]
  // CHECK-NEXT: nn.linear
  // CHECK-NEXT: nn.gelu_grad
  %j = nn.linear %k, %m : (tensor<2x4x8xf16>, tensor<8x16xf16>) -> tensor<2x4x16xf16>
  %dk = nn.gelu_grad tanh %j, %n : tensor<2x4x16xf16>
  %sk = nn.reduce sum %dk dims [0] : (tensor<2x4x16xf16>) -> tensor<4x16xf16>
  %p = nn.linear %k, %m : (tensor<2x4x8xf16>, tensor<8x16xf16>) -> tensor<2x4x16xf16>
  %dp = nn.gelu_grad tanh %p, %p : tensor<2x4x16xf16>
  %loss = nn.reduce mean %f dims [0, 1] : (tensor<4x8xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}
