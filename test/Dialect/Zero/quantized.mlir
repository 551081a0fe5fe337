// RUN: zero-opt %s --split-input-file --verify-diagnostics | FileCheck %s

zero.parameter @w : tensor<8xf32> = #zero.zeros
zero.partition @p0 parameter over 2 ranks stage 3 segments [0, 8]
  members [#zero.member<@w at 0 size 8>] compute f32 gradient f32
func.func @f(%s: tensor<4xf32>) {
  // CHECK: zero.all_gather [@w] quantized <block = 4> : <tensor<8xf32>>
  %p = zero.all_gather [@w] quantized <block = 4> : <tensor<8xf32>>
  // CHECK: zero.all_gather [@w] from(%{{.*}} : tensor<4xf32>) quantized <bits = 4> : <tensor<8xf32>>
  %q = zero.all_gather [@w] from(%s : tensor<4xf32>) quantized <bits = 4> on gather : <tensor<8xf32>>
  return
}

// -----

func.func @f() {
  // expected-error @below {{bits are 5 and block is 256, wanted 8 or 4 bits and an even block of at least 2 and at most 2^30}}
  %p = zero.all_gather [@w] quantized <bits = 5> : <tensor<8xf32>>
  return
}

// -----

func.func @f() {
  // expected-error @below {{bits are 8 and block is 3, wanted 8 or 4 bits and an even block of at least 2 and at most 2^30}}
  %p = zero.all_gather [@w] quantized <block = 3> : <tensor<8xf32>>
  return
}

// -----

zero.mesh @mesh <node = 2, local = 2> secondary <local = 2>
zero.parameter @w : tensor<8xf32> = #zero.zeros
func.func @f(%s: tensor<4xf32>) {
  // expected-error @below {{is quantized and over #zero.axes<local = 2>, wanted one of them}}
  %p = zero.all_gather [@w] from(%s : tensor<4xf32>) over <local = 2> quantized <block = 4> : <tensor<8xf32>>
  return
}

// -----

zero.parameter @w : tensor<8xf32> = #zero.zeros frozen
// CHECK: zero.partition @p0 {{.*}} compute bf16 gradient bf16 quantized <bits = 4, block = 2>
zero.partition @p0 parameter over 2 ranks stage 3 segments [0, 8]
  members [#zero.member<@w at 0 size 8>] compute bf16 gradient bf16 quantized <bits = 4, block = 2>

// -----

zero.parameter @w : tensor<8xf32> = #zero.zeros
// expected-error @below {{stores parameters quantized, wanted a partition that is not trained, and sharded by parameter: stage 3}}
zero.partition @p0 parameter over 2 ranks stage 3 segments [0, 8]
  members [#zero.member<@w at 0 size 8>] compute f32 gradient f32 quantized <block = 2> optimizer #zero.adam<>

// -----

zero.parameter @w : tensor<8xf32> = #zero.zeros frozen
// expected-error @below {{stores parameters quantized, wanted a partition that is not trained, and sharded by parameter: stage 3}}
zero.partition @p0 whole over 2 ranks stage 2 segments [0, 8]
  members [#zero.member<@w at 0 size 8>] compute f32 gradient f32 quantized <block = 2>
