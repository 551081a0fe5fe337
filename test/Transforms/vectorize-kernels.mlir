// RUN: zero-opt %s --zero-vectorize-kernels | FileCheck %s
// RUN: zero-opt %s --zero-vectorize-kernels=vector-width=8 | FileCheck %s --check-prefix=EIGHT

// A flat range: whole vectors, then the same code under a mask. 16-bit floats
// travel as integers.
// CHECK-LABEL: func.func @double_0(
// CHECK-SAME:    %[[BUFFERS:.*]]: !llvm.ptr, %[[BEGIN:.*]]: i64, %[[END:.*]]: i64)
// CHECK-SAME:    extent = 100 : i64
// CHECK:         scf.for %[[I:.*]] = %[[BEGIN]] to %{{.*}} : i64
// CHECK:           %[[V:.*]] = llvm.load %{{.*}} {alignment = 2 : i64} : !llvm.ptr -> vector<16xi16>
// CHECK:           %[[B:.*]] = arith.bitcast %[[V]] : vector<16xi16> to vector<16xbf16>
// CHECK:           %[[F:.*]] = arith.extf %[[B]] : vector<16xbf16> to vector<16xf32>
// CHECK:           arith.addf %[[F]], %[[F]] : vector<16xf32>
// CHECK:           llvm.store
// CHECK:         scf.if
// CHECK:           llvm.intr.masked.load
// CHECK:           arith.addf
// CHECK:           llvm.intr.masked.store
// EIGHT:         arith.addf %{{.*}} : vector<8xf32>
func.func private @double_0(%x: tensor<4x25xbf16>) -> tensor<4x25xbf16> {
  %e = tensor.empty() : tensor<4x25xbf16>
  %y = linalg.generic {
      indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4x25xbf16>) outs(%e : tensor<4x25xbf16>) {
  ^bb0(%a: bf16, %o: bf16):
    %0 = arith.extf %a : bf16 to f32
    %1 = arith.addf %0, %0 : f32
    %2 = arith.truncf %1 : f32 to bf16
    linalg.yield %2 : bf16
  } -> tensor<4x25xbf16>
  return %y : tensor<4x25xbf16>
}

// With a row vector: one loop over rows, the two outer dimensions as one.
// CHECK-LABEL: func.func @bias_0(
// CHECK:         arith.divui
// CHECK:         arith.ceildivui
// CHECK:         scf.for
// CHECK:           scf.for
// CHECK-COUNT-2:     llvm.load %{{.*}} -> vector<16xf32>
// CHECK:           scf.if
func.func private @bias_0(%x: tensor<2x3x50xf32>, %b: tensor<50xf32>) -> tensor<2x3x50xf32> {
  %e = tensor.empty() : tensor<2x3x50xf32>
  %y = linalg.generic {
      indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %b : tensor<2x3x50xf32>, tensor<50xf32>) outs(%e : tensor<2x3x50xf32>) {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %0 = arith.addf %a, %c : f32
    linalg.yield %0 : f32
  } -> tensor<2x3x50xf32>
  return %y : tensor<2x3x50xf32>
}

// With a column: its element is repeated as it is in memory, since there are CPUs
// without bf16 scalars.
// CHECK-LABEL: func.func @column_0(
// CHECK:         %[[E:.*]] = llvm.load %{{.*}} {alignment = 2 : i64} : !llvm.ptr -> i16
// CHECK:         scf.for
// CHECK:           %[[V:.*]] = vector.broadcast %[[E]] : i16 to vector<16xi16>
// CHECK:           arith.bitcast %[[V]] : vector<16xi16> to vector<16xbf16>
// CHECK-NOT:       : i16 to bf16
func.func private @column_0(%x: tensor<3x50xbf16>, %b: tensor<3xbf16>) -> tensor<3x50xbf16> {
  %e = tensor.empty() : tensor<3x50xbf16>
  %y = linalg.generic {
      indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%x, %b : tensor<3x50xbf16>, tensor<3xbf16>) outs(%e : tensor<3x50xbf16>) {
  ^bb0(%a: bf16, %c: bf16, %o: bf16):
    %0 = arith.extf %a : bf16 to f32
    %1 = arith.extf %c : bf16 to f32
    %2 = arith.addf %0, %1 : f32
    %3 = arith.truncf %2 : f32 to bf16
    linalg.yield %3 : bf16
  } -> tensor<3x50xbf16>
  return %y : tensor<3x50xbf16>
}
