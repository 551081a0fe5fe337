// RUN: zero-opt %s | zero-opt | FileCheck %s

// CHECK: zero.parameter @wte : tensor<136x4xf32> = #zero.normal<std = 0.02> rows 130
zero.parameter @wte : tensor<136x4xf32> = #zero.normal<std = 0.02> rows 130
// CHECK: zero.parameter @bias : tensor<136xf32> = #zero.ones group "no_decay" frozen rows 136
zero.parameter @bias : tensor<136xf32> = #zero.ones group "no_decay" frozen rows 136
