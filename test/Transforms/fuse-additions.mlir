// Additions become part of the norms and gradients of norms beside them.

// RUN: zero-opt %s --zero-outline-elementwise --zero-fuse-additions | FileCheck %s

!t = tensor<4x8xbf16>
!v = tensor<8xbf16>
!r = tensor<4xf32>

zero.step @train(%x: !t {zero.input = "x"}, %f: !t, %k: !t, %w: !v, %b: !v, %rows: !r, %m: tensor<8x8xbf16>, %loss: tensor<f32>) {
  // The sum has another reader, after the norm.
  // CHECK: %[[Y:.*]], %[[MEAN:.*]], %[[RSTD:.*]], %[[S:.*]] = nn.add_layer_norm %[[X:.*]], %[[F:.*]], %[[W:.*]], %[[B:.*]] eps 1.000000e-05
  // CHECK-NEXT: nn.linear %[[Y]], %[[M:[^ ]*]] :
  // CHECK-NEXT: %{{.*}}, %{{.*}}, %[[S2:.*]] = nn.add_rms_norm %[[S]], %{{.*}}, %[[W]] eps
  %s = arith.addf %x, %f : !t
  %y, %mean, %rstd = nn.layer_norm %s, %w, %b eps 1.0e-5 : (!t, !v, !v) -> (!t, !r, !r)
  %h = nn.linear %y, %m : (!t, tensor<8x8xbf16>) -> !t
  %s2 = arith.addf %s, %h : !t
  %y2, %rstd2 = nn.rms_norm %s2, %w eps 1.0e-6 : (!t, !v) -> (!t, !r)

  // Of two norms of a sum the first takes it.
  // CHECK-NEXT: %{{.*}}, %{{.*}}, %[[S3:.*]] = nn.add_rms_norm
  // CHECK-NEXT: nn.rms_norm %[[S3]]
  %s3 = arith.addf %y2, %x : !t
  %y3, %rstd3 = nn.rms_norm %s3, %w eps 1.0e-6 : (!t, !v) -> (!t, !r)
  %y4, %rstd4 = nn.rms_norm %s3, %w eps 1.0e-6 : (!t, !v) -> (!t, !r)

  // A sum that something reads before the norm does stays, as does one that is in
  // one kernel with others: it is not rounded there.
  // CHECK-NEXT: zero.launch @addf
  // CHECK-NEXT: nn.linear
  // CHECK-NEXT: nn.rms_norm
  // CHECK-NEXT: zero.launch @mulf_addf
  // CHECK-NEXT: nn.rms_norm
  %s5 = arith.addf %y3, %y4 : !t
  %h5 = nn.linear %s5, %m : (!t, tensor<8x8xbf16>) -> !t
  %y5, %rstd5 = nn.rms_norm %s5, %w eps 1.0e-6 : (!t, !v) -> (!t, !r)
  %p6 = arith.mulf %y5, %h5 : !t
  %s6 = arith.addf %p6, %h5 : !t
  %y6, %rstd6 = nn.rms_norm %s6, %w eps 1.0e-6 : (!t, !v) -> (!t, !r)

  // So does the sum with what is smaller until it is read.
  // CHECK-NEXT: zero.launch @addf
  // CHECK-NEXT: nn.rms_norm
  // CHECK-NEXT: zero.launch @addf
  // CHECK-NEXT: nn.rms_norm
  %bias = nn.broadcast %b dims [1] : (!v) -> !t
  %s7 = arith.addf %y6, %bias : !t
  %y7, %rstd7 = nn.rms_norm %s7, %w eps 1.0e-6 : (!t, !v) -> (!t, !r)
  %one = arith.constant dense<1.0> : !t
  %s8 = arith.addf %y7, %one : !t
  %y8, %rstd8 = nn.rms_norm %s8, %w eps 1.0e-6 : (!t, !v) -> (!t, !r)

  // Gradients, whichever side of the addition is which.
  // CHECK-NEXT: %[[DX:.*]], %[[DW:.*]], %[[DB:.*]] = nn.add_layer_norm_grad %{{.*}}, %[[F]], %[[S]], %[[W]], %[[MEAN]], %[[RSTD]]
  // CHECK-NEXT: nn.linear %[[DX]]
  // CHECK-NEXT: %[[DX2:.*]], %{{.*}} = nn.add_rms_norm_grad %{{.*}}, %[[DX]], %[[S2]], %[[W]], %{{.*}}
  // CHECK-NEXT: nn.linear %[[DX2]]
  %dx, %dw, %db = nn.layer_norm_grad %y8, %s, %w, %mean, %rstd : (!t, !t, !v, !r, !r) -> (!t, !v, !v)
  %ds = arith.addf %dx, %f : !t
  %g = nn.linear %ds, %m : (!t, tensor<8x8xbf16>) -> !t
  %dx2, %dw2 = nn.rms_norm_grad %g, %s2, %w, %rstd2 : (!t, !t, !v, !r) -> (!t, !v)
  %ds2 = arith.addf %ds, %dx2 : !t
  %g2 = nn.linear %ds2, %m : (!t, tensor<8x8xbf16>) -> !t

  // One that is read elsewhere, that is added to what is made later, or to itself.
  // CHECK-NEXT: nn.rms_norm_grad
  // CHECK-NEXT: zero.launch @addf
  // CHECK-NEXT: nn.linear
  // CHECK-NEXT: nn.rms_norm_grad
  // CHECK-NEXT: nn.linear
  // CHECK-NEXT: zero.launch @addf
  // CHECK-NEXT: nn.linear
  // CHECK-NEXT: nn.rms_norm_grad
  // CHECK-NEXT: zero.launch @addf
  %dx3, %dw3 = nn.rms_norm_grad %g2, %s2, %w, %rstd2 : (!t, !t, !v, !r) -> (!t, !v)
  %ds3 = arith.addf %dx3, %k : !t
  %g3 = nn.linear %dx3, %m : (!t, tensor<8x8xbf16>) -> !t
  %dx4, %dw4 = nn.rms_norm_grad %g3, %s2, %w, %rstd2 : (!t, !t, !v, !r) -> (!t, !v)
  %g4 = nn.linear %ds3, %m : (!t, tensor<8x8xbf16>) -> !t
  %ds4 = arith.addf %dx4, %g4 : !t
  %g5 = nn.linear %ds4, %m : (!t, tensor<8x8xbf16>) -> !t
  %dx5, %dw5 = nn.rms_norm_grad %g5, %s2, %w, %rstd2 : (!t, !t, !v, !r) -> (!t, !v)
  %ds5 = arith.addf %dx5, %dx5 : !t
  %g6 = nn.linear %ds5, %m : (!t, tensor<8x8xbf16>) -> !t
  zero.yield %loss : tensor<f32>
}

// A sum that a gradient has taken as its addend is read before the norm.
// CHECK-LABEL: zero.step @both
// CHECK-NEXT: %[[S:.*]] = zero.launch @addf
// CHECK-NEXT: %[[D:.*]], %{{.*}} = nn.add_rms_norm_grad %{{.*}}, %[[S]],
// CHECK-NEXT: nn.rms_norm %[[S]]
// CHECK-NEXT: nn.linear %[[D]]
zero.step @both(%x: !t {zero.input = "x"}, %f: !t, %w: !v, %m: tensor<8x8xbf16>, %r: !r, %loss: tensor<f32>) {
  %s = arith.addf %x, %f : !t
  %dx, %dw = nn.rms_norm_grad %x, %f, %w, %r : (!t, !t, !v, !r) -> (!t, !v)
  %y, %rstd = nn.rms_norm %s, %w eps 1.0e-6 : (!t, !v) -> (!t, !r)
  %d = arith.addf %dx, %s : !t
  %g = nn.linear %d, %m : (!t, tensor<8x8xbf16>) -> !t
  %h = nn.linear %y, %m : (!t, tensor<8x8xbf16>) -> !t
  zero.yield %loss : tensor<f32>
}
