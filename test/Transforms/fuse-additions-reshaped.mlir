// Additions whose sums a norm reads in another shape, and likewise of gradients.

// RUN: zero-opt %s --zero-outline-elementwise --zero-fuse-additions | FileCheck %s

!t = tensor<2x2x8xbf16>
!s = tensor<4x8xbf16>
!g = tensor<2x4x4xbf16>
!f = tensor<32xbf16>
!v = tensor<8xbf16>
!u = tensor<4xbf16>
!r = tensor<4xf32>
!q = tensor<2x4xf32>
!m = tensor<8x8xbf16>

zero.step @train(%x: !t {zero.input = "x"}, %f: !t, %k: !t, %w: !v, %b: !v, %e: !u, %m: !m, %dy: !s, %loss: tensor<f32>) {
  // Others read the sum in its own shape, and the gradient of the norm in that of
  // the norm.
  // CHECK: %[[X:.*]] = tensor.expand_shape %{{.*}} into tensor<4x8xbf16>
  // CHECK: %[[F:.*]] = tensor.expand_shape %{{.*}} into tensor<4x8xbf16>
  // CHECK-NEXT: %[[Y:.*]], %[[MEAN:.*]], %[[RSTD:.*]], %[[S:.*]] = nn.add_layer_norm %[[X]], %[[F]], %{{.*}}, %{{.*}} eps
  // CHECK-NEXT: %[[FLAT:.*]] = tensor.collapse_shape %[[S]]
  // CHECK-NEXT: %[[OWN:.*]] = tensor.expand_shape %[[FLAT]] {{.*}} into tensor<2x2x8xbf16>
  // CHECK-NEXT: nn.linear %[[Y]]
  // CHECK-NEXT: nn.linear %[[OWN]]
  %s = arith.addf %x, %f : !t
  %rows = tensor.collapse_shape %s [[0, 1], [2]] : !t into !s
  %y, %mean, %rstd = nn.layer_norm %rows, %w, %b eps 1.0e-5 : (!s, !v, !v) -> (!s, !r, !r)
  %h = nn.linear %y, %m : (!s, !m) -> !s
  %h2 = nn.linear %s, %m : (!t, !m) -> !t

  // Two reshapes, of which something else reads the one between, afterwards.
  // CHECK: %{{.*}}, %{{.*}}, %[[S2:.*]] = nn.add_rms_norm %{{.*}} : (tensor<2x4x4xbf16>,
  // CHECK-NEXT: tensor.collapse_shape %[[S2]]
  // CHECK-NEXT: %[[OWN2:.*]] = tensor.expand_shape {{.*}} into tensor<2x2x8xbf16>
  // CHECK-NEXT: %[[FLAT2:.*]] = tensor.collapse_shape %[[OWN2]]
  // CHECK-NEXT: tensor.expand_shape %[[FLAT2]] {{.*}} into tensor<4x8xbf16>
  // CHECK-NEXT: nn.linear
  %s2 = arith.addf %k, %h2 : !t
  %flat = tensor.collapse_shape %s2 [[0, 1, 2]] : !t into !f
  %grouped = tensor.expand_shape %flat [[0, 1, 2]] output_shape [2, 4, 4] : !f into !g
  %y2, %rstd2 = nn.rms_norm %grouped, %e eps 1.0e-6 : (!g, !u) -> (!g, !q)
  %again = tensor.expand_shape %flat [[0, 1]] output_shape [4, 8] : !f into !s
  %h3 = nn.linear %again, %m : (!s, !m) -> !s

  // A reshape that stands before the norm, and is read after it, comes behind it;
  // what is read before the norm in whatever shape stays.
  // CHECK: %[[Y3:.*]], %{{.*}}, %[[S3:.*]] = nn.add_rms_norm
  // CHECK-NEXT: tensor.expand_shape %[[S3]] {{.*}} into tensor<2x2x8xbf16>
  // CHECK-NEXT: nn.linear
  // CHECK-NEXT: zero.launch @addf
  // CHECK-NEXT: tensor.expand_shape
  // CHECK-NEXT: nn.linear
  // CHECK-NEXT: nn.rms_norm
  %s3 = arith.addf %h, %h3 : !s
  %early = tensor.expand_shape %s3 [[0, 1], [2]] output_shape [2, 2, 8] : !s into !t
  %y3, %rstd3 = nn.rms_norm %s3, %w eps 1.0e-6 : (!s, !v) -> (!s, !r)
  %h4 = nn.linear %early, %m : (!t, !m) -> !t
  %s4 = arith.addf %y3, %h3 : !s
  %seen = tensor.expand_shape %s4 [[0, 1], [2]] output_shape [2, 2, 8] : !s into !t
  %h5 = nn.linear %seen, %m : (!t, !m) -> !t
  %y4, %rstd4 = nn.rms_norm %s4, %w eps 1.0e-6 : (!s, !v) -> (!s, !r)

  // Gradients.
  // CHECK: %[[SUM:.*]] = tensor.expand_shape %{{.*}} into tensor<4x8xbf16>
  // CHECK-NEXT: %[[DX:.*]], %{{.*}}, %{{.*}} = nn.add_layer_norm_grad %{{.*}}, %[[SUM]], %[[S]],
  // CHECK-NEXT: %[[DT:.*]] = tensor.expand_shape %[[DX]] {{.*}} into tensor<2x2x8xbf16>
  // CHECK-NEXT: nn.linear %[[DT]]
  %dx, %dw, %db = nn.layer_norm_grad %dy, %rows, %w, %mean, %rstd : (!s, !s, !v, !r, !r) -> (!s, !v, !v)
  %dt = tensor.expand_shape %dx [[0, 1], [2]] output_shape [2, 2, 8] : !s into !t
  %ds = arith.addf %h4, %dt : !t
  %g = nn.linear %ds, %m : (!t, !m) -> !t

  // One that is read elsewhere in another shape.
  // CHECK-NEXT: nn.rms_norm_grad
  // CHECK-NEXT: tensor.expand_shape
  // CHECK-NEXT: zero.launch @addf
  // CHECK-NEXT: nn.linear
  %dx2, %dw2 = nn.rms_norm_grad %dy, %s4, %w, %rstd4 : (!s, !s, !v, !r) -> (!s, !v)
  %dt2 = tensor.expand_shape %dx2 [[0, 1], [2]] output_shape [2, 2, 8] : !s into !t
  %ds2 = arith.addf %g, %dt2 : !t
  %g2 = nn.linear %dt2, %m : (!t, !m) -> !t
  %g3 = nn.linear %ds2, %m : (!t, !m) -> !t
  zero.yield %loss : tensor<f32>
}
