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

// Sums of what the product of a weight's gradient reads are those of its bias.
// CHECK-LABEL: zero.step @weights
// ONLY-LABEL: zero.step @weights
zero.step @weights(%x: tensor<2x4x8xbf16> {zero.input = "x"}, %dy: tensor<2x4x16xbf16>, %f: tensor<4x8xf32>, %c: tensor<8x12xbf16>, %d: tensor<8x16xbf16>, %e: tensor<8x16xbf16>, %q: tensor<8x8xbf16>) {
  %rows = tensor.collapse_shape %x [[0, 1], [2]] : tensor<2x4x8xbf16> into tensor<8x8xbf16>
  %drows = tensor.collapse_shape %dy [[0, 1], [2]] : tensor<2x4x16xbf16> into tensor<8x16xbf16>

  // In the layout of the weight, whatever stands between the two.
  // CHECK: %[[ROWS:.*]] = tensor.collapse_shape %[[X:.*]] {{.*}} into tensor<8x8xbf16>
  // CHECK: %[[DROWS:.*]] = tensor.collapse_shape %[[DY:.*]] {{.*}} into tensor<8x16xbf16>
  // CHECK-NEXT: %[[DW:.*]], %[[DB:.*]] = nn.linear_weight_grad %[[DROWS]], %[[ROWS]] : (tensor<8x16xbf16>, tensor<8x8xbf16>) -> (tensor<8x16xbf16>, tensor<16xbf16>)
  // CHECK-NEXT: arith.addf %[[DW]], %[[DW]]
  // CHECK-NEXT: arith.addf %[[DB]], %[[DB]]
  // ONLY: nn.linear_weight_grad
  %dw = nn.matmul %rows, %drows transpose_a : (tensor<8x8xbf16>, tensor<8x16xbf16>) -> tensor<8x16xbf16>
  %dw2 = arith.addf %dw, %dw : tensor<8x16xbf16>
  %db = nn.reduce sum %dy dims [0, 1] : (tensor<2x4x16xbf16>) -> tensor<16xbf16>
  %db2 = arith.addf %db, %db : tensor<16xbf16>

  // The sums may come first, as long as nothing reads them before the product.
  // CHECK-NEXT: nn.linear_weight_grad %[[D:[^ ]*]], %[[ROWS]] transposed : (tensor<8x16xbf16>, tensor<8x8xbf16>) -> (tensor<16x8xbf16>, tensor<16xbf16>)
  // CHECK-NEXT: arith.addf
  %sd = nn.reduce sum %d dims [0] : (tensor<8x16xbf16>) -> tensor<16xbf16>
  %dt = nn.matmul %d, %rows transpose_a : (tensor<8x16xbf16>, tensor<8x8xbf16>) -> tensor<16x8xbf16>
  %sd2 = arith.addf %sd, %sd : tensor<16xbf16>

  // Not here.
  // CHECK-NEXT: nn.reduce
  // CHECK-NEXT: arith.addf
  // CHECK-NEXT: nn.matmul
  %se = nn.reduce sum %e dims [0] : (tensor<8x16xbf16>) -> tensor<16xbf16>
  %se2 = arith.addf %se, %se : tensor<16xbf16>
  %de = nn.matmul %e, %rows transpose_a : (tensor<8x16xbf16>, tensor<8x8xbf16>) -> tensor<16x8xbf16>

  // Nor of rows of twelve, of a matrix by itself, of means, over other dimensions,
  // or where the product is over columns, or of some rows.
  // CHECK-NEXT: nn.matmul
  // CHECK-NEXT: nn.reduce
  // CHECK-NEXT: nn.matmul
  // CHECK-NEXT: nn.reduce
  // CHECK-NEXT: nn.reduce mean
  // CHECK-NEXT: nn.reduce sum
  // CHECK-NEXT: nn.matmul
  // CHECK-NEXT: nn.matmul
  // CHECK-NEXT: nn.reduce
  %dc = nn.matmul %rows, %c transpose_a : (tensor<8x8xbf16>, tensor<8x12xbf16>) -> tensor<8x12xbf16>
  %sc = nn.reduce sum %c dims [0] : (tensor<8x12xbf16>) -> tensor<12xbf16>
  %dr = nn.matmul %q, %q transpose_a : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
  %sr = nn.reduce sum %q dims [0] : (tensor<8x8xbf16>) -> tensor<8xbf16>
  %sm = nn.reduce mean %d dims [0] : (tensor<8x16xbf16>) -> tensor<16xbf16>
  %so = nn.reduce sum %d dims [1] : (tensor<8x16xbf16>) -> tensor<8xbf16>
  %dn = nn.matmul %rows, %dw2 : (tensor<8x8xbf16>, tensor<8x16xbf16>) -> tensor<8x16xbf16>
  %db3 = nn.matmul %rows, %dw2 transpose_a rows [0, 4] : (tensor<8x8xbf16>, tensor<8x16xbf16>) -> tensor<4x16xbf16>
  %sw = nn.reduce sum %dw2 dims [0] : (tensor<8x16xbf16>) -> tensor<16xbf16>
  %loss = nn.reduce mean %f dims [0, 1] : (tensor<4x8xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}

// Of two products the smaller one takes the sums. Products of nothing, or of rows
// of twelve that are summed, take none.
// CHECK-LABEL: zero.step @several
// CHECK: nn.matmul
// CHECK-NEXT: nn.linear_weight_grad {{.*}} -> (tensor<8x16xbf16>, tensor<16xbf16>)
// CHECK-NEXT: nn.softmax
// CHECK-NOT: nn.linear_weight_grad
zero.step @several(%a: tensor<4x24xbf16> {zero.input = "a"}, %b: tensor<4x8xbf16>, %dy: tensor<4x16xbf16>, %c: tensor<4x12xbf16>, %n: tensor<0x8xbf16>, %m: tensor<0x16xbf16>, %loss: tensor<f32>) {
  %da = nn.matmul %a, %dy transpose_a : (tensor<4x24xbf16>, tensor<4x16xbf16>) -> tensor<24x16xbf16>
  %db = nn.matmul %b, %dy transpose_a : (tensor<4x8xbf16>, tensor<4x16xbf16>) -> tensor<8x16xbf16>
  %s = nn.reduce sum %dy dims [0] : (tensor<4x16xbf16>) -> tensor<16xbf16>
  %t = nn.softmax %s : tensor<16xbf16>
  %dc = nn.matmul %c, %b transpose_a : (tensor<4x12xbf16>, tensor<4x8xbf16>) -> tensor<12x8xbf16>
  %u = nn.reduce sum %c dims [0] : (tensor<4x12xbf16>) -> tensor<12xbf16>
  %v = nn.softmax %u : tensor<12xbf16>
  %dn = nn.matmul %m, %n transpose_a : (tensor<0x16xbf16>, tensor<0x8xbf16>) -> tensor<16x8xbf16>
  %w = nn.reduce sum %n dims [0] : (tensor<0x8xbf16>) -> tensor<8xbf16>
  %x = nn.softmax %w : tensor<8xbf16>
  zero.yield %loss : tensor<f32>
}
