// RUN: zero-opt %s --split-input-file --zero-outline-elementwise | FileCheck %s

// A chain is one kernel at the last member's place. Inner conversions vanish,
// inputs are extended once and the result is rounded once.
// CHECK-LABEL: zero.step @chain
// CHECK-SAME:    (%[[X:.*]]: tensor<4x8xbf16>, %[[Y:.*]]: tensor<4x8xbf16>)
zero.step @chain(%x: tensor<4x8xbf16>, %y: tensor<4x8xbf16>) {
  zero.micro {
    // CHECK:      zero.micro
    // CHECK-NEXT:   %[[R:.*]] = zero.launch @[[K:.*]](%[[X]], %[[Y]]) : (tensor<4x8xbf16>, tensor<4x8xbf16>) -> tensor<4x8xbf16>
    // CHECK-NEXT:   nn.reduce mean %[[R]]
    %0 = arith.mulf %x, %y : tensor<4x8xbf16>
    %1 = arith.extf %0 : tensor<4x8xbf16> to tensor<4x8xf32>
    %2 = nn.gelu tanh %1 : tensor<4x8xf32>
    %3 = arith.truncf %2 : tensor<4x8xf32> to tensor<4x8xbf16>
    %4 = arith.addf %3, %x : tensor<4x8xbf16>
    %5 = nn.reduce mean %4 dims [0, 1] : (tensor<4x8xbf16>) -> tensor<bf16>
    %6 = arith.extf %5 : tensor<bf16> to tensor<f32>
    zero.yield %6 : tensor<f32>
  }
  zero.apply {
  }
}
// CHECK:      func.func private @[[K]](%{{.*}}: tensor<4x8xbf16>, %{{.*}}: tensor<4x8xbf16>) -> tensor<4x8xbf16>
// CHECK:        linalg.generic
// CHECK-NEXT:   ^bb0(%[[A:.*]]: bf16, %[[B:.*]]: bf16, %{{.*}}: bf16):
// CHECK-NEXT:     %[[AE:.*]] = arith.extf %[[A]] : bf16 to f32
// CHECK-NEXT:     %[[BE:.*]] = arith.extf %[[B]] : bf16 to f32
// CHECK-NEXT:     %[[P:.*]] = arith.mulf %[[AE]], %[[BE]] : f32
// CHECK-NOT:      arith.extf
// CHECK:          math.tanh
// CHECK-NOT:      arith.truncf
// CHECK:          %[[S:.*]] = arith.addf %{{.*}}, %[[AE]] : f32
// CHECK-NEXT:     %[[T:.*]] = arith.truncf %[[S]] : f32 to bf16
// CHECK-NEXT:     linalg.yield %[[T]] : bf16

// -----

// Splat constants go into the kernel, broadcasts become maps, scalars too.
// CHECK:       #[[FULL:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK:       #[[ROW:.*]] = affine_map<(d0, d1) -> (d1)>
// CHECK:       #[[SCALAR:.*]] = affine_map<(d0, d1) -> ()>
// CHECK-LABEL: zero.step @borders
// CHECK-SAME:    (%[[X:.*]]: tensor<4x8xf32>, %[[B:.*]]: tensor<8xf32>, %[[S:.*]]: tensor<f32>)
zero.step @borders(%x: tensor<4x8xf32>, %b: tensor<8xf32>, %s: tensor<f32>) {
  zero.micro {
    // CHECK:      zero.micro
    // CHECK-NEXT:   %[[R:.*]] = zero.launch @[[K:.*]](%[[X]], %[[B]], %[[S]])
    // CHECK-NEXT:   nn.reduce
    %half = arith.constant dense<0.5> : tensor<4x8xf32>
    %0 = nn.broadcast %b dims [1] : (tensor<8xf32>) -> tensor<4x8xf32>
    %1 = arith.addf %x, %0 : tensor<4x8xf32>
    %2 = nn.broadcast %s dims [] : (tensor<f32>) -> tensor<4x8xf32>
    %3 = arith.mulf %1, %2 : tensor<4x8xf32>
    %4 = arith.mulf %3, %half : tensor<4x8xf32>
    %5 = nn.reduce mean %4 dims [0, 1] : (tensor<4x8xf32>) -> tensor<f32>
    zero.yield %5 : tensor<f32>
  }
  zero.apply {
  }
}
// CHECK:      func.func private @[[K]]
// CHECK:        indexing_maps = [#[[FULL]], #[[ROW]], #[[SCALAR]], #[[FULL]]]
// CHECK:          arith.constant 5.000000e-01 : f32

// -----

// A value that is also used outside is a result; comparisons stay inside.
// CHECK-LABEL: zero.step @results
zero.step @results(%x: tensor<8xf32>) {
  zero.micro {
    // CHECK:      %[[R:.*]]:2 = zero.launch @[[K:.*]](%{{.*}}) : (tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
    // CHECK-NEXT: nn.reduce mean %[[R]]#0
    // CHECK-NEXT: nn.reduce mean %[[R]]#1
    %zero = arith.constant dense<0.0> : tensor<8xf32>
    %0 = math.exp %x : tensor<8xf32>
    %1 = arith.cmpf ogt, %0, %zero : tensor<8xf32>
    %2 = arith.select %1, %x, %0 : tensor<8xi1>, tensor<8xf32>
    %3 = nn.reduce mean %0 dims [0] : (tensor<8xf32>) -> tensor<f32>
    %4 = nn.reduce mean %2 dims [0] : (tensor<8xf32>) -> tensor<f32>
    // CHECK-NEXT: zero.launch @{{.*}} : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %5 = arith.addf %3, %4 : tensor<f32>
    zero.yield %5 : tensor<f32>
  }
  zero.apply {
  }
}
// CHECK: func.func private @[[K]](%{{.*}}: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)

// -----

// Convex: softmax lies on a path from %0 to %2, so they are two kernels; and
// the equal ones, also those of evaluate, are one function.
// CHECK-LABEL: zero.step @convex
zero.step @convex(%x: tensor<4x8xf32>) {
  zero.micro {
    // CHECK:      %[[A:.*]] = zero.launch @[[K:.*]](%[[X:.*]]) :
    // CHECK-NEXT: %[[B:.*]] = nn.softmax %[[A]]
    // CHECK-NEXT: %[[C:.*]] = zero.launch @[[L:.*]](%[[A]], %[[B]])
    // CHECK-NEXT: nn.reduce mean %[[C]]
    %0 = arith.mulf %x, %x : tensor<4x8xf32>
    %1 = nn.softmax %0 : tensor<4x8xf32>
    %2 = arith.mulf %0, %1 : tensor<4x8xf32>
    %3 = nn.reduce mean %2 dims [0, 1] : (tensor<4x8xf32>) -> tensor<f32>
    zero.yield %3 : tensor<f32>
  }
  zero.apply {
  }
  // CHECK: zero.evaluate
  // CHECK-NEXT: zero.launch @[[K]](%[[X]])
  // CHECK-NEXT: nn.softmax
  // CHECK-NEXT: zero.launch @[[L]](
  zero.evaluate {
    %0 = arith.mulf %x, %x : tensor<4x8xf32>
    %1 = nn.softmax %0 : tensor<4x8xf32>
    %2 = arith.mulf %0, %1 : tensor<4x8xf32>
    %3 = nn.reduce mean %2 dims [0, 1] : (tensor<4x8xf32>) -> tensor<f32>
    zero.yield %3 : tensor<f32>
  }
}

// -----

// A gate waits for its other branch: moving silu down keeps one tensor alive
// instead of another. A sum of two does not move: it would keep two for one.
// CHECK-LABEL: zero.step @memory
// CHECK-SAME:    (%[[X:.*]]: tensor<4x8xf32>, %[[W:.*]]: tensor<8x8xf32>)
zero.step @memory(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) {
  zero.micro {
    // CHECK:      %[[G:.*]] = nn.linear
    // CHECK-NEXT: %[[U:.*]] = nn.linear
    // CHECK-NEXT: %[[H:.*]] = zero.launch @silu_mulf_{{[0-9]+}}(%[[G]], %[[U]])
    %g = nn.linear %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %a = nn.silu %g : tensor<4x8xf32>
    %u = nn.linear %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %h = arith.mulf %a, %u : tensor<4x8xf32>
    // CHECK-NEXT: %[[P:.*]] = nn.softmax %[[H]]
    // CHECK-NEXT: %[[Q:.*]] = nn.softmax %[[P]]
    // CHECK-NEXT: %[[S:.*]] = zero.launch @addf_[[N:[0-9]+]](%[[P]], %[[Q]])
    // CHECK-NEXT: %[[V:.*]] = nn.linear %[[X]]
    // CHECK-NEXT: zero.launch @addf_{{.*}}(%[[S]], %[[V]])
    %p = nn.softmax %h : tensor<4x8xf32>
    %q = nn.softmax %p : tensor<4x8xf32>
    %s = arith.addf %p, %q : tensor<4x8xf32>
    %v = nn.linear %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %t = arith.addf %s, %v : tensor<4x8xf32>
    %l = nn.reduce mean %t dims [0, 1] : (tensor<4x8xf32>) -> tensor<f32>
    zero.yield %l : tensor<f32>
  }
  zero.apply {
  }
}

// -----

// Unused members vanish; views stay.
// CHECK-LABEL: zero.step @dead
zero.step @dead(%x: tensor<4x8xf32>) {
  zero.micro {
    // CHECK:      zero.micro
    // CHECK-NEXT: tensor.collapse_shape
    // CHECK-NEXT: nn.reduce
    // CHECK-NEXT: zero.yield
    %0 = arith.mulf %x, %x : tensor<4x8xf32>
    %1 = math.exp %0 : tensor<4x8xf32>
    %2 = tensor.collapse_shape %x [[0, 1]] : tensor<4x8xf32> into tensor<32xf32>
    %3 = nn.reduce mean %2 dims [0] : (tensor<32xf32>) -> tensor<f32>
    zero.yield %3 : tensor<f32>
  }
  zero.apply {
  }
}

// -----

// Neighbours that read the same tensor are one kernel, if no other is between.
// CHECK-LABEL: zero.step @siblings
zero.step @siblings(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>, %z: tensor<4x8xf32>) {
  zero.micro {
    // CHECK:      %[[R:.*]]:2 = zero.launch @mulf_subf_{{.*}} : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>)
    // CHECK-NEXT: nn.softmax %[[R]]#0
    // CHECK-NEXT: nn.softmax %[[R]]#1
    // CHECK-NEXT: zero.launch @addf_{{.*}} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %0 = arith.mulf %x, %y : tensor<4x8xf32>
    %1 = arith.subf %x, %z : tensor<4x8xf32>
    %2 = nn.softmax %0 : tensor<4x8xf32>
    %3 = nn.softmax %1 : tensor<4x8xf32>
    %4 = arith.addf %2, %3 : tensor<4x8xf32>
    %5 = nn.reduce mean %4 dims [0, 1] : (tensor<4x8xf32>) -> tensor<f32>
    zero.yield %5 : tensor<f32>
  }
  zero.apply {
  }
}
