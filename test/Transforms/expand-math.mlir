// RUN: zero-opt %s --zero-expand-math | FileCheck %s

// CHECK-LABEL: func.func @tanh
// CHECK-NOT: math.tanh
// CHECK: math.fma
// CHECK: return %{{.*}} : vector<16xf32>
func.func @tanh(%x: vector<16xf32>) -> vector<16xf32> {
  %0 = math.tanh %x : vector<16xf32>
  return %0 : vector<16xf32>
}
