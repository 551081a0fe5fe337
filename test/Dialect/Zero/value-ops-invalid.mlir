// RUN: zero-opt %s --split-input-file --verify-diagnostics

zero.mesh @mesh <data = 2, tensor = 2>
func.func @axes(%x: tensor<2x4xf32>) {
  // expected-error @below {{exchanges over #zero.axes<tensor = 4>, wanted axes of #zero.axes<data = 2, tensor = 2> in their order}}
  %r = zero.replicate %x over <tensor = 4> : tensor<2x4xf32>
  return
}

// -----

func.func @whole(%x: tensor<2x4xf32>) {
  // expected-error @below {{cuts 'tensor<2x4xf32>', wanted 6 indices in dimension 1}}
  %s = zero.slice_value %x cut <dim 1 of [6] over <tensor = 2>> : tensor<2x4xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @dimension(%x: tensor<2x4xf32>) {
  // expected-error @below {{cuts 'tensor<2x4xf32>', wanted 4 indices in dimension 2}}
  %s = zero.slice_value %x cut <dim 2 of [4] over <tensor = 2>> : tensor<2x4xf32> -> tensor<2x2xf32>
  return
}

// -----

func.func @part(%x: tensor<2x4xf32>) {
  // expected-error @below {{has a part of 'tensor<2x4xf32>', wanted 'tensor<2x2xf32>'}}
  %g = zero.gather_value %x cut <dim 1 of [4] over <tensor = 2>> : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

// expected-error @below {{found a piece of 3 over 2 ranks, wanted a multiple of the ranks}}
zero.parameter @w : tensor<3xf32> = #zero.zeros cut <dim 0 of [3, 4] over <tensor = 2>>

// -----

// expected-error @below {{found dimension 0 repeated 0 times, wanted at least 0 and 1}}
zero.parameter @w : tensor<3xf32> = #zero.zeros cut <dim 0 of repeated 0 [6] over <tensor = 2>>

// -----

// expected-error @below {{the pieces have more than 2^63 indices}}
zero.parameter @w : tensor<3xf32> = #zero.zeros cut <dim 0 of repeated 8 [4611686018427387904] over <tensor = 2>>

// -----

// expected-error @below {{is cut as #zero.cut<dim 0 of [8] over <tensor = 2>>, which gives each rank 4 indices of dimension 0, and its type is 'tensor<8xf32>'}}
zero.parameter @w : tensor<8xf32> = #zero.zeros cut <dim 0 of [8] over <tensor = 2>>

// -----

// expected-error @below {{has 9 rows, wanted 1 to 8, the first dimension of 'tensor<8xf32>'}}
zero.parameter @w : tensor<4xf32> = #zero.zeros rows 9 cut <dim 0 of [8] over <tensor = 2>>

// -----

// expected-error @below {{is cut as #zero.cut<dim 0 of [4, 4] over <tensor = 2>> and has padding, which is behind all of its rows; wanted a cut of dimension 0 in one piece}}
zero.parameter @w : tensor<4xf32> = #zero.zeros rows 7 cut <dim 0 of [4, 4] over <tensor = 2>>

// -----

// expected-error @below {{is cut and an average, wanted one of the two}}
zero.parameter @w : tensor<4xf32> = #zero.zeros average 0.1 cut <dim 0 of [8] over <tensor = 2>>

// -----

zero.mesh @mesh <data = 2, tensor = 2>

func.func @groups(%x: tensor<4x2xf32>) {
  // expected-error @below {{cuts over #zero.axes<tensor = 2> and over #zero.axes<data = 2>, wanted one group}}
  %e = zero.exchange_value %x from <dim 1 of [4] over <tensor = 2>> to <dim 0 of [4] over <data = 2>> : tensor<4x2xf32> -> tensor<2x4xf32>
  return
}

// -----

zero.mesh @mesh <data = 2, tensor = 2>

func.func @same(%x: tensor<4x2xf32>) {
  // expected-error @below {{is cut along dimension 1 and gives that, wanted another one}}
  %e = zero.exchange_value %x from <dim 1 of [4] over <tensor = 2>> to <dim 1 of [4] over <tensor = 2>> : tensor<4x2xf32> -> tensor<4x2xf32>
  return
}

// -----

zero.mesh @mesh <data = 2, tensor = 2>

func.func @pieces(%x: tensor<4x2xf32>) {
  // expected-error @below {{cuts dimension 0 in 2 pieces, wanted one}}
  %e = zero.exchange_value %x from <dim 1 of [4] over <tensor = 2>> to <dim 0 of [2, 2] over <tensor = 2>> : tensor<4x2xf32> -> tensor<2x4xf32>
  return
}

// -----

zero.mesh @mesh <data = 2, tensor = 2>

func.func @value(%x: tensor<4x4xf32>) {
  // expected-error @below {{has a part of 'tensor<4x4xf32>', wanted 2 indices in dimension 1}}
  %e = zero.exchange_value %x from <dim 1 of [4] over <tensor = 2>> to <dim 0 of [4] over <tensor = 2>> : tensor<4x4xf32> -> tensor<2x4xf32>
  return
}

// -----

zero.mesh @mesh <data = 2, tensor = 2>

func.func @whole(%x: tensor<4x2xf32>) {
  // expected-error @below {{cuts 'tensor<4x4xf32>', wanted 8 indices in dimension 0}}
  %e = zero.exchange_value %x from <dim 1 of [4] over <tensor = 2>> to <dim 0 of [8] over <tensor = 2>> : tensor<4x2xf32> -> tensor<4x4xf32>
  return
}

// -----

zero.mesh @mesh <data = 2, tensor = 2>

func.func @result(%x: tensor<4x2xf32>) {
  // expected-error @below {{gives 'tensor<4x4xf32>', wanted 'tensor<2x4xf32>'}}
  %e = zero.exchange_value %x from <dim 1 of [4] over <tensor = 2>> to <dim 0 of [4] over <tensor = 2>> : tensor<4x2xf32> -> tensor<4x4xf32>
  return
}

// -----

zero.mesh @mesh <data = 2, tensor = 2>

func.func @scattered_pieces(%x: tensor<4x4xf32>) {
  // expected-error @below {{cuts dimension 0 in 2 pieces, wanted one}}
  %e = zero.scatter_value %x cut <dim 0 of [2, 2] over <tensor = 2>> : tensor<4x4xf32> -> tensor<2x4xf32>
  return
}

// -----

zero.mesh @mesh <data = 2, tensor = 2>

func.func @scattered_part(%x: tensor<4x4xf32>) {
  // expected-error @below {{has a part of 'tensor<4x2xf32>', wanted 'tensor<2x4xf32>'}}
  %e = zero.scatter_value %x cut <dim 0 of [4] over <tensor = 2>> : tensor<4x4xf32> -> tensor<4x2xf32>
  return
}
