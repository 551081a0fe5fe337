// RUN: zero-opt %s --verify-roundtrip | FileCheck %s
// RUN: zero-opt %s --mlir-print-op-generic | zero-opt | FileCheck %s

// CHECK-LABEL: func.func @experts
// CHECK: nn.dispatch %{{.*}}, %{{.*}} experts 8 : (tensor<32x16xf32>, tensor<32x2xi32>) -> (tensor<64x16xf32>, tensor<32x2xi32>, tensor<8xi32>)
// CHECK: nn.dispatch %{{.*}}, %{{.*}} first %{{.*}} experts 8 : (tensor<32x16xf32>, tensor<32x2xi32>, tensor<i32>) -> (tensor<40x16xf32>, tensor<32x2xi32>, tensor<4xi32>)
// CHECK: nn.combine %{{.*}}, %{{.*}} weights %{{.*}} : (tensor<64x16xf32>, tensor<32x2xi32>, tensor<32x2xf32>) -> tensor<32x16xf32>
// CHECK: nn.combine %{{.*}}, %{{.*}} : (tensor<40x16xf32>, tensor<32x2xi32>) -> tensor<32x16xf32>
// CHECK: nn.combine_grad %{{.*}}, %{{.*}}, %{{.*}} weights %{{.*}} : (tensor<32x16xf32>, tensor<64x16xf32>, tensor<32x2xi32>, tensor<32x2xf32>) -> (tensor<64x16xf32>, tensor<32x2xf32>)
// CHECK: nn.combine_grad %{{.*}}, %{{.*}}, %{{.*}} : (tensor<32x16xf32>, tensor<40x16xf32>, tensor<32x2xi32>) -> tensor<40x16xf32>
func.func @experts(%x: tensor<32x16xf32>, %i: tensor<32x2xi32>, %f: tensor<i32>, %g: tensor<32x2xf32>) {
  %s, %p, %o = nn.dispatch %x, %i experts 8 : (tensor<32x16xf32>, tensor<32x2xi32>) -> (tensor<64x16xf32>, tensor<32x2xi32>, tensor<8xi32>)
  %t, %q, %u = nn.dispatch %x, %i first %f experts 8 : (tensor<32x16xf32>, tensor<32x2xi32>, tensor<i32>) -> (tensor<40x16xf32>, tensor<32x2xi32>, tensor<4xi32>)
  %0 = nn.combine %s, %p weights %g : (tensor<64x16xf32>, tensor<32x2xi32>, tensor<32x2xf32>) -> tensor<32x16xf32>
  %1 = nn.combine %t, %q : (tensor<40x16xf32>, tensor<32x2xi32>) -> tensor<32x16xf32>
  %2, %3 = nn.combine_grad %0, %s, %p weights %g : (tensor<32x16xf32>, tensor<64x16xf32>, tensor<32x2xi32>, tensor<32x2xf32>) -> (tensor<64x16xf32>, tensor<32x2xf32>)
  %4 = nn.combine_grad %1, %t, %q : (tensor<32x16xf32>, tensor<40x16xf32>, tensor<32x2xi32>) -> tensor<40x16xf32>
  return
}

// CHECK-LABEL: func.func @places
// CHECK: nn.capacity_dispatch %{{.*}}, %{{.*}} : (tensor<32x16xf32>, tensor<32x2xi32>) -> (tensor<8x5x16xf32>, tensor<32x2xi32>, tensor<8xi32>)
// CHECK: nn.capacity_dispatch %{{.*}}, %{{.*}} order %{{.*}} : (tensor<32x16xf32>, tensor<32x2xi32>, tensor<64xi32>) -> (tensor<8x5x16xf32>, tensor<32x2xi32>, tensor<8xi32>)
func.func @places(%x: tensor<32x16xf32>, %i: tensor<32x2xi32>, %order: tensor<64xi32>) {
  %s, %p, %n = nn.capacity_dispatch %x, %i : (tensor<32x16xf32>, tensor<32x2xi32>) -> (tensor<8x5x16xf32>, tensor<32x2xi32>, tensor<8xi32>)
  %t, %q, %m = nn.capacity_dispatch %x, %i order %order : (tensor<32x16xf32>, tensor<32x2xi32>, tensor<64xi32>) -> (tensor<8x5x16xf32>, tensor<32x2xi32>, tensor<8xi32>)
  return
}

// CHECK-LABEL: func.func @groups
// CHECK: nn.grouped_matmul %{{.*}}, %{{.*}} offsets %{{.*}} : (tensor<64x16xf32>, tensor<8x16x32xf32>, tensor<8xi32>) -> tensor<64x32xf32>
// CHECK: nn.grouped_matmul %{{.*}}, %{{.*}} offsets %{{.*}} transpose_b :
// CHECK: nn.grouped_matmul_grad %{{.*}}, %{{.*}} offsets %{{.*}} : (tensor<64x16xf32>, tensor<64x32xf32>, tensor<8xi32>) -> tensor<8x16x32xf32>
// CHECK: nn.grouped_matmul_grad %{{.*}}, %{{.*}} offsets %{{.*}} rows [2, 4] :
// CHECK: nn.grouped_matmul %{{.*}}, %{{.*}} offsets %{{.*}} ranges 4 :
// CHECK: nn.grouped_matmul_grad %{{.*}}, %{{.*}} offsets %{{.*}} ranges 4 :
func.func @groups(%a: tensor<64x16xf32>, %b: tensor<8x16x32xf32>, %o: tensor<8xi32>) {
  %0 = nn.grouped_matmul %a, %b offsets %o : (tensor<64x16xf32>, tensor<8x16x32xf32>, tensor<8xi32>) -> tensor<64x32xf32>
  %1 = nn.grouped_matmul %0, %b offsets %o transpose_b : (tensor<64x32xf32>, tensor<8x16x32xf32>, tensor<8xi32>) -> tensor<64x16xf32>
  %2 = nn.grouped_matmul_grad %a, %0 offsets %o : (tensor<64x16xf32>, tensor<64x32xf32>, tensor<8xi32>) -> tensor<8x16x32xf32>
  %3 = nn.grouped_matmul_grad %a, %0 offsets %o rows [2, 4] : (tensor<64x16xf32>, tensor<64x32xf32>, tensor<8xi32>) -> tensor<2x16x32xf32>
  %4 = nn.grouped_matmul %a, %b offsets %o ranges 4 : (tensor<64x16xf32>, tensor<8x16x32xf32>, tensor<8xi32>) -> tensor<64x32xf32>
  %5 = nn.grouped_matmul_grad %a, %0 offsets %o ranges 4 : (tensor<64x16xf32>, tensor<64x32xf32>, tensor<8xi32>) -> tensor<8x16x32xf32>
  return
}
