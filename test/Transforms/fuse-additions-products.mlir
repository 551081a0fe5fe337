// Additions that no norm does join matrix products, where that is asked for.

// RUN: zero-opt %s --zero-outline-elementwise --zero-fuse-additions=products | FileCheck %s
// RUN: zero-opt %s --zero-outline-elementwise --zero-fuse-additions | FileCheck %s --check-prefix=APART
// APART-NOT: nn.linear_add

!t = tensor<4x8xbf16>
!s = tensor<2x2x8xbf16>
!v = tensor<8xbf16>
!r = tensor<4xf32>
!m = tensor<8x8xbf16>

// CHECK-LABEL: zero.step @train
zero.step @train(%x: !t {zero.input = "x"}, %w: !v, %b: !v, %m: !m, %n: !m, %o: !m, %rows: !r, %loss: tensor<f32>) {
  // A sum of three products: the later one of each two takes the other.
  // CHECK: %[[A:.*]] = nn.linear %[[X:.*]], %[[M:.*]] :
  // CHECK-NEXT: %[[B:.*]] = nn.linear_add %[[X]], %{{.*}}, %[[A]] bias %{{.*}} transposed
  // CHECK-NEXT: %[[C:.*]] = nn.linear_add %[[X]], %{{.*}}, %[[B]] :
  %p = nn.linear %x, %m : (!t, !m) -> !t
  %q = nn.linear %x, %n bias %b transposed : (!t, !m, !v) -> !t
  %s = arith.addf %p, %q : !t
  %u = nn.linear %x, %o : (!t, !m) -> !t
  %y = arith.addf %u, %s : !t

  // A norm comes first: its sum has the bits of before.
  // CHECK-NEXT: %[[D:.*]] = nn.linear %[[C]]
  // CHECK-NEXT: nn.add_rms_norm %[[C]], %[[D]]
  %d = nn.linear %y, %m : (!t, !m) -> !t
  %e = arith.addf %y, %d : !t
  %z, %rstd = nn.rms_norm %e, %w eps 1.0e-6 : (!t, !v) -> (!t, !r)

  // Through a reshape.
  // CHECK-NEXT: %[[F:.*]] = nn.linear_add %[[Z:.*]], %[[M]], %[[Z]] :
  // CHECK-NEXT: tensor.collapse_shape %[[F]]
  // CHECK-NEXT: %[[G:.*]] = tensor.expand_shape
  // CHECK-NEXT: nn.linear %[[G]]
  %f = nn.linear %z, %m : (!t, !m) -> !t
  %g = tensor.expand_shape %f [[0, 1], [2]] output_shape [2, 2, 8] : !t into !s
  %h = tensor.expand_shape %z [[0, 1], [2]] output_shape [2, 2, 8] : !t into !s
  %i = arith.addf %g, %h : !s
  %j = nn.linear %i, %m : (!s, !m) -> !s

  // Not a product that is read elsewhere, nor one that is added to what is made
  // later, or to itself.
  // CHECK-NEXT: nn.linear
  // CHECK-NEXT: zero.launch
  // CHECK-NEXT: nn.linear
  // CHECK-NEXT: nn.softmax
  // CHECK-NEXT: zero.launch
  // CHECK-NEXT: nn.linear
  // CHECK-NEXT: zero.launch
  // CHECK-NEXT: nn.softmax
  %k = nn.linear %z, %m : (!t, !m) -> !t
  %k2 = arith.addf %k, %z : !t
  %l = nn.linear %k, %n : (!t, !m) -> !t
  %l2 = nn.softmax %k2 : !t
  %l3 = arith.addf %l, %l2 : !t
  %o1 = nn.linear %l3, %n : (!t, !m) -> !t
  %o2 = arith.addf %o1, %o1 : !t
  %o3 = nn.softmax %o2 : !t
  zero.yield %loss : tensor<f32>
}

// Attention and perceptron beside each other: each adds to what is before it.
// CHECK-LABEL: zero.step @parallel
zero.step @parallel(%x: !t {zero.input = "x"}, %w: !v, %m: !m, %n: !m, %loss: tensor<f32>) {
  // CHECK: %[[P:.*]] = nn.linear_add %[[X:.*]], %{{.*}}, %[[X]] :
  // CHECK-NEXT: %[[Q:.*]] = nn.linear_add %[[X]], %{{.*}}, %[[P]] :
  // CHECK-NEXT: nn.rms_norm %[[Q]]
  %a = nn.linear %x, %m : (!t, !m) -> !t
  %b = nn.linear %x, %n : (!t, !m) -> !t
  %s = arith.addf %a, %b : !t
  %t = arith.addf %s, %x : !t
  %y, %rstd = nn.rms_norm %t, %w eps 1.0e-6 : (!t, !v) -> (!t, !r)

  // Of three, all of which are products, the first stays one.
  // CHECK-NEXT: %[[C:.*]] = nn.linear %[[Y:.*]], %{{.*}} :
  // CHECK-NEXT: %[[D:.*]] = nn.linear_add %[[Y]], %{{.*}}, %[[C]] :
  // CHECK-NEXT: nn.linear_add %[[Y]], %{{.*}}, %[[D]] transposed
  // CHECK-NEXT: nn.softmax
  %c = nn.linear %y, %m : (!t, !m) -> !t
  %d = nn.linear %y, %n : (!t, !m) -> !t
  %e = nn.linear %y, %m transposed : (!t, !m) -> !t
  %f = arith.addf %d, %e : !t
  %g = arith.addf %c, %f : !t
  %h = nn.softmax %g : !t

  // Two others, and one that is there twice.
  // CHECK-NEXT: nn.linear
  // CHECK-NEXT: zero.launch
  // CHECK-NEXT: nn.linear
  // CHECK-NEXT: zero.launch
  %i = nn.linear %h, %m : (!t, !m) -> !t
  %j = arith.addf %i, %h : !t
  %k = arith.addf %j, %x : !t
  %l = nn.linear %k, %m : (!t, !m) -> !t
  %o = arith.addf %l, %k : !t
  %p = arith.addf %o, %l : !t
  %q = nn.softmax %p : !t
  zero.yield %loss : tensor<f32>
}

// Products over no terms have no kernel that adds.
// CHECK-LABEL: zero.step @none
// CHECK-NOT: nn.linear_add
zero.step @none(%x: !t {zero.input = "x"}, %u: tensor<4x0xbf16>, %v: tensor<0x8xbf16>, %loss: tensor<f32>) {
  %p = nn.linear %u, %v : (tensor<4x0xbf16>, tensor<0x8xbf16>) -> !t
  %s = arith.addf %x, %p : !t
  %q = nn.softmax %s : !t
  zero.yield %loss : tensor<f32>
}
