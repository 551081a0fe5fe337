// RUN: zero-opt %s --zero-thread-kernels | FileCheck %s

#full = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>

// A thread takes every so-manieth vector, which has 16 bytes, where all buffers
// are aligned to that; otherwise every so-manieth element. Numbers of elements
// have 32 bits. A bias lies under each row.
// CHECK-LABEL: func.func @bias(
// CHECK-SAME: %[[X:[^:]*]]: !llvm.ptr, %[[B:[^:]*]]: !llvm.ptr, %[[R:[^:]*]]: !llvm.ptr) attributes {extent = 32 : i64, grain = 4 : i64}
// CHECK-DAG: nvvm.read.ptx.sreg.ctaid.x
// CHECK-DAG: nvvm.read.ptx.sreg.ntid.x
// CHECK-DAG: nvvm.read.ptx.sreg.tid.x
// CHECK-DAG: nvvm.read.ptx.sreg.nctaid.x
// CHECK: %[[LOW:.*]] = arith.andi %{{.*}}, %c15_i64
// CHECK: %[[ALIGNED:.*]] = arith.cmpi eq, %[[LOW]], %c0_i64
// CHECK: scf.if %[[ALIGNED]]
// CHECK: scf.for %{{.*}} = %{{.*}} to %{{.*}} step %{{.*}} : i32
// CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr -> vector<4xf32>
// CHECK: arith.remui
// CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr -> vector<4xf32>
// CHECK-COUNT-4: arith.addf
// CHECK: llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xf32>
// CHECK: } else {
// CHECK: scf.for %[[I:.*]] = %{{.*}} to %{{.*}} step %{{.*}} : i32
// CHECK: llvm.getelementptr %[[X]][%[[I]]]
// CHECK: arith.remui
// CHECK: llvm.getelementptr %[[B]]
// CHECK: arith.addf
// CHECK: llvm.getelementptr %[[R]][%[[I]]]
// CHECK: llvm.store
func.func private @bias(%x: tensor<4x8xf32>, %b: tensor<8xf32>) -> tensor<4x8xf32> {
  %e = tensor.empty() : tensor<4x8xf32>
  %r = linalg.generic {indexing_maps = [#full, #row, #full], iterator_types = ["parallel", "parallel"]}
      ins(%x, %b : tensor<4x8xf32>, tensor<8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %s = arith.addf %a, %c : f32
    linalg.yield %s : f32
  } -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// 16-bit floats travel as integers, truth values as bytes.
// CHECK-LABEL: func.func @narrow(
// CHECK: llvm.load %{{.*}} : !llvm.ptr -> vector<8xi16>
// CHECK: } else {
// CHECK: llvm.load %{{.*}} : !llvm.ptr -> i16
// CHECK: arith.bitcast %{{.*}} : i16 to bf16
// CHECK: arith.cmpf
// CHECK: arith.extui %{{.*}} : i1 to i8
// CHECK: llvm.store %{{.*}} : i8
func.func private @narrow(%x: tensor<19xbf16>) -> tensor<19xi1> {
  %e = tensor.empty() : tensor<19xi1>
  %r = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%x : tensor<19xbf16>) outs(%e : tensor<19xi1>) {
  ^bb0(%a: bf16, %o: i1):
    %z = arith.constant 0.0 : bf16
    %s = arith.cmpf ogt, %a, %z : bf16
    linalg.yield %s : i1
  } -> tensor<19xi1>
  return %r : tensor<19xi1>
}

// Vectors would reach over the ends of rows: one element at a time.
// CHECK-LABEL: func.func @uneven(
// CHECK-SAME: grain = 1 : i64
// CHECK-NOT: vector<
func.func private @uneven(%x: tensor<4x7xf32>, %b: tensor<7xf32>) -> tensor<4x7xf32> {
  %e = tensor.empty() : tensor<4x7xf32>
  %r = linalg.generic {indexing_maps = [#full, #row, #full], iterator_types = ["parallel", "parallel"]}
      ins(%x, %b : tensor<4x7xf32>, tensor<7xf32>) outs(%e : tensor<4x7xf32>) {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %s = arith.addf %a, %c : f32
    linalg.yield %s : f32
  } -> tensor<4x7xf32>
  return %r : tensor<4x7xf32>
}
