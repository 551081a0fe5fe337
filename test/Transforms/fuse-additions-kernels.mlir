// What a kernel does decides whether it is an addition. One that nothing launches any
// more goes.

// RUN: zero-opt %s --zero-fuse-additions | FileCheck %s

#row = affine_map<(d0, d1) -> (d0, d1)>
#column = affine_map<(d0, d1) -> (d1, d0)>

!t = tensor<8x8xbf16>
!v = tensor<8xbf16>
!r = tensor<8xf32>

// CHECK-NOT: @sum
// CHECK: func.func private @used
// CHECK: func.func private @difference
// CHECK: func.func private @transposed
// CHECK: func.func private @doubled
// CHECK: func.func private @negated

// Addends in any order.
func.func private @sum(%a: !t, %b: !t) -> !t {
  %e = tensor.empty() : !t
  %r = linalg.generic {indexing_maps = [#row, #row, #row], iterator_types = ["parallel", "parallel"]} ins(%a, %b : !t, !t) outs(%e : !t) {
  ^bb0(%x: bf16, %y: bf16, %o: bf16):
    %0 = arith.extf %y : bf16 to f32
    %1 = arith.extf %x : bf16 to f32
    %2 = arith.addf %0, %1 : f32
    %3 = arith.truncf %2 : f32 to bf16
    linalg.yield %3 : bf16
  } -> !t
  return %r : !t
}

// Another launch of it stays.
func.func private @used(%a: !t, %b: !t) -> !t {
  %e = tensor.empty() : !t
  %r = linalg.generic {indexing_maps = [#row, #row, #row], iterator_types = ["parallel", "parallel"]} ins(%a, %b : !t, !t) outs(%e : !t) {
  ^bb0(%x: bf16, %y: bf16, %o: bf16):
    %0 = arith.addf %x, %y : bf16
    linalg.yield %0 : bf16
  } -> !t
  return %r : !t
}

func.func private @difference(%a: !t, %b: !t) -> !t {
  %e = tensor.empty() : !t
  %r = linalg.generic {indexing_maps = [#row, #row, #row], iterator_types = ["parallel", "parallel"]} ins(%a, %b : !t, !t) outs(%e : !t) {
  ^bb0(%x: bf16, %y: bf16, %o: bf16):
    %0 = arith.subf %x, %y : bf16
    linalg.yield %0 : bf16
  } -> !t
  return %r : !t
}

func.func private @transposed(%a: !t, %b: !t) -> !t {
  %e = tensor.empty() : !t
  %r = linalg.generic {indexing_maps = [#row, #column, #row], iterator_types = ["parallel", "parallel"]} ins(%a, %b : !t, !t) outs(%e : !t) {
  ^bb0(%x: bf16, %y: bf16, %o: bf16):
    %0 = arith.addf %x, %y : bf16
    linalg.yield %0 : bf16
  } -> !t
  return %r : !t
}

func.func private @doubled(%a: !t, %b: !t) -> !t {
  %e = tensor.empty() : !t
  %r = linalg.generic {indexing_maps = [#row, #row, #row], iterator_types = ["parallel", "parallel"]} ins(%a, %b : !t, !t) outs(%e : !t) {
  ^bb0(%x: bf16, %y: bf16, %o: bf16):
    %0 = arith.addf %x, %x : bf16
    linalg.yield %0 : bf16
  } -> !t
  return %r : !t
}

// The addends are what the kernel reads, and nothing else.
func.func private @negated(%a: !t, %b: !t) -> !t {
  %e = tensor.empty() : !t
  %r = linalg.generic {indexing_maps = [#row, #row, #row], iterator_types = ["parallel", "parallel"]} ins(%a, %b : !t, !t) outs(%e : !t) {
  ^bb0(%x: bf16, %y: bf16, %o: bf16):
    %0 = arith.negf %x : bf16
    %1 = arith.addf %0, %y : bf16
    linalg.yield %1 : bf16
  } -> !t
  return %r : !t
}

// CHECK: nn.add_rms_norm
// CHECK-NEXT: nn.add_rms_norm
// CHECK-NEXT: zero.launch @used
// CHECK-NEXT: nn.linear
// CHECK-NEXT: zero.launch @difference
// CHECK-NEXT: nn.rms_norm
// CHECK-NEXT: zero.launch @transposed
// CHECK-NEXT: nn.rms_norm
// CHECK-NEXT: zero.launch @doubled
// CHECK-NEXT: nn.rms_norm
// CHECK-NEXT: zero.launch @negated
// CHECK-NEXT: nn.rms_norm
zero.step @train(%x: !t {zero.input = "x"}, %f: !t, %w: !v, %loss: tensor<f32>) {
  %s = zero.launch @sum(%x, %f) : (!t, !t) -> !t
  %y, %rstd = nn.rms_norm %s, %w eps 1.0e-6 : (!t, !v) -> (!t, !r)
  %s1 = zero.launch @used(%y, %f) : (!t, !t) -> !t
  %y1, %rstd1 = nn.rms_norm %s1, %w eps 1.0e-6 : (!t, !v) -> (!t, !r)
  %s2 = zero.launch @used(%y1, %f) : (!t, !t) -> !t
  %h = nn.linear %s2, %f : (!t, !t) -> !t
  %s3 = zero.launch @difference(%h, %f) : (!t, !t) -> !t
  %y3, %rstd3 = nn.rms_norm %s3, %w eps 1.0e-6 : (!t, !v) -> (!t, !r)
  %s4 = zero.launch @transposed(%y3, %f) : (!t, !t) -> !t
  %y4, %rstd4 = nn.rms_norm %s4, %w eps 1.0e-6 : (!t, !v) -> (!t, !r)
  %s5 = zero.launch @doubled(%y4, %f) : (!t, !t) -> !t
  %y5, %rstd5 = nn.rms_norm %s5, %w eps 1.0e-6 : (!t, !v) -> (!t, !r)
  %s6 = zero.launch @negated(%y5, %f) : (!t, !t) -> !t
  %y6, %rstd6 = nn.rms_norm %s6, %w eps 1.0e-6 : (!t, !v) -> (!t, !r)
  zero.yield %loss : tensor<f32>
}
