// RUN: zero-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{'zero.parameter' op has 137 rows, wanted 1 to 136, the first dimension of 'tensor<136x4xf32>'}}
zero.parameter @many : tensor<136x4xf32> = #zero.zeros rows 137

// -----

// expected-error @+1 {{'zero.parameter' op has 0 rows, wanted 1 to 136}}
zero.parameter @none : tensor<136xf32> = #zero.zeros rows 0

// -----

// expected-error @+1 {{'zero.parameter' op has rows, but its type 'tensor<f32>' has no dimension; leave them out}}
zero.parameter @scalar : tensor<f32> = #zero.zeros rows 1

// -----

// expected-error @+1 {{'zero.parameter' op is an average, which may have no padding; leave its rows out}}
zero.parameter @average : tensor<8xf32> = #zero.zeros average 0.1 rows 7
