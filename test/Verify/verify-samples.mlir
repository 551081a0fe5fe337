// Over an axis whose ranks have samples of their own, places are sent to the ranks of
// experts, and back: each of these is wrong in one place.

// RUN: zero-opt %s --split-input-file --zero-verify-values --verify-diagnostics

// What is right.
zero.mesh @mesh <data = 2, expert = 2>
zero.parameter @w : tensor<2x8x8xf32> = #zero.ones cut <dim 0 of [4] over <expert = 2>>
zero.step @right(%x: tensor<4x8xf32> {zero.input = "x"}, %i: tensor<4x2xi32> {zero.input = "i"}) {
  %w = zero.load @w : tensor<2x8x8xf32>
  %s, %p, %n = nn.capacity_dispatch %x, %i : (tensor<4x8xf32>, tensor<4x2xi32>) -> (tensor<4x3x8xf32>, tensor<4x2xi32>, tensor<4xi32>)
  %o = zero.exchange_value %s from <dim 1 of [6] over <expert = 2>> to <dim 0 of [4] over <expert = 2>> : tensor<4x3x8xf32> -> tensor<2x6x8xf32>
  %h = nn.matmul %o, %w : (tensor<2x6x8xf32>, tensor<2x8x8xf32>) -> tensor<2x6x8xf32>
  %y = zero.exchange_value %h from <dim 0 of [4] over <expert = 2>> to <dim 1 of [6] over <expert = 2>> : tensor<2x6x8xf32> -> tensor<4x3x8xf32>
  %f = tensor.collapse_shape %y [[0, 1], [2]] : tensor<4x3x8xf32> into tensor<12x8xf32>
  %z = nn.combine %f, %p : (tensor<12x8xf32>, tensor<4x2xi32>) -> tensor<4x8xf32>
  %l = nn.reduce sum %z dims [0, 1] : (tensor<4x8xf32>) -> tensor<f32>
  zero.yield %l : tensor<f32>
}

// -----
// Ranks would mix their places.
zero.mesh @mesh <data = 2, expert = 2>
zero.parameter @w : tensor<2x8x8xf32> = #zero.ones cut <dim 0 of [4] over <expert = 2>>
zero.step @interleaved(%x: tensor<4x8xf32> {zero.input = "x"}, %i: tensor<4x2xi32> {zero.input = "i"}) {
  %w = zero.load @w : tensor<2x8x8xf32>
  %s, %p, %n = nn.capacity_dispatch %x, %i : (tensor<4x8xf32>, tensor<4x2xi32>) -> (tensor<4x3x8xf32>, tensor<4x2xi32>, tensor<4xi32>)
  // expected-error @below {{over #zero.axes<expert = 2> exchanges what is of each rank's own samples as #zero.cut<dim 1 of repeated 3 [2] over <expert = 2>>; wanted the samples of the ranks one behind the other}}
  %o = zero.exchange_value %s from <dim 1 of repeated 3 [2] over <expert = 2>> to <dim 0 of [4] over <expert = 2>> : tensor<4x3x8xf32> -> tensor<2x6x8xf32>
  %h = nn.matmul %o, %w : (tensor<2x6x8xf32>, tensor<2x8x8xf32>) -> tensor<2x6x8xf32>
  %y = zero.exchange_value %h from <dim 0 of [4] over <expert = 2>> to <dim 1 of [6] over <expert = 2>> : tensor<2x6x8xf32> -> tensor<4x3x8xf32>
  %f = tensor.collapse_shape %y [[0, 1], [2]] : tensor<4x3x8xf32> into tensor<12x8xf32>
  %z = nn.combine %f, %p : (tensor<12x8xf32>, tensor<4x2xi32>) -> tensor<4x8xf32>
  %l = nn.reduce sum %z dims [0, 1] : (tensor<4x8xf32>) -> tensor<f32>
  zero.yield %l : tensor<f32>
}

// -----
// They come back by another dimension.
zero.mesh @mesh <data = 2, expert = 2>
zero.parameter @w : tensor<2x8x8xf32> = #zero.ones cut <dim 0 of [4] over <expert = 2>>
zero.step @another_dimension(%x: tensor<4x8xf32> {zero.input = "x"}, %i: tensor<4x2xi32> {zero.input = "i"}) {
  %w = zero.load @w : tensor<2x8x8xf32>
  %s, %p, %n = nn.capacity_dispatch %x, %i : (tensor<4x8xf32>, tensor<4x2xi32>) -> (tensor<4x3x8xf32>, tensor<4x2xi32>, tensor<4xi32>)
  %o = zero.exchange_value %s from <dim 1 of [6] over <expert = 2>> to <dim 0 of [4] over <expert = 2>> : tensor<4x3x8xf32> -> tensor<2x6x8xf32>
  %h = nn.matmul %o, %w : (tensor<2x6x8xf32>, tensor<2x8x8xf32>) -> tensor<2x6x8xf32>
  // expected-error @below {{over #zero.axes<expert = 2> exchanges what is of the samples of all ranks, cut in dimension 0 into parts of [2] as #zero.cut<dim 2 of [8] over <expert = 2>>; wanted the samples of the ranks one behind the other}}
  %q = zero.exchange_value %h from <dim 0 of [4] over <expert = 2>> to <dim 2 of [8] over <expert = 2>> : tensor<2x6x8xf32> -> tensor<4x6x4xf32>
  %y = tensor.extract_slice %q [0, 0, 0] [4, 3, 4] [1, 1, 1] : tensor<4x6x4xf32> to tensor<4x3x4xf32>
  %k = tensor.concat dim(2) %y, %y : (tensor<4x3x4xf32>, tensor<4x3x4xf32>) -> tensor<4x3x8xf32>
  %f = tensor.collapse_shape %k [[0, 1], [2]] : tensor<4x3x8xf32> into tensor<12x8xf32>
  %z = nn.combine %f, %p : (tensor<12x8xf32>, tensor<4x2xi32>) -> tensor<4x8xf32>
  %l = nn.reduce sum %z dims [0, 1] : (tensor<4x8xf32>) -> tensor<f32>
  zero.yield %l : tensor<f32>
}

// -----
// A place would follow from those before it, of other ranks.
zero.mesh @mesh <data = 2, expert = 2>
zero.parameter @w : tensor<2x8x8xf32> = #zero.ones cut <dim 0 of [4] over <expert = 2>>
zero.step @all_samples(%x: tensor<4x8xf32> {zero.input = "x"}, %i: tensor<4x2xi32> {zero.input = "i"}) {
  %w = zero.load @w : tensor<2x8x8xf32>
  %s, %p, %n = nn.capacity_dispatch %x, %i : (tensor<4x8xf32>, tensor<4x2xi32>) -> (tensor<4x3x8xf32>, tensor<4x2xi32>, tensor<4xi32>)
  %o = zero.exchange_value %s from <dim 1 of [6] over <expert = 2>> to <dim 0 of [4] over <expert = 2>> : tensor<4x3x8xf32> -> tensor<2x6x8xf32>
  %h = nn.matmul %o, %w : (tensor<2x6x8xf32>, tensor<2x8x8xf32>) -> tensor<2x6x8xf32>
  // expected-error @below {{over #zero.axes<expert = 2> needs all samples of operand 0, of which each rank has its own; wanted what is computed of each by itself}}
  %c = nn.cumsum %h dim 1 : tensor<2x6x8xf32>
  %y = zero.exchange_value %c from <dim 0 of [4] over <expert = 2>> to <dim 1 of [6] over <expert = 2>> : tensor<2x6x8xf32> -> tensor<4x3x8xf32>
  %f = tensor.collapse_shape %y [[0, 1], [2]] : tensor<4x3x8xf32> into tensor<12x8xf32>
  %z = nn.combine %f, %p : (tensor<12x8xf32>, tensor<4x2xi32>) -> tensor<4x8xf32>
  %l = nn.reduce sum %z dims [0, 1] : (tensor<4x8xf32>) -> tensor<f32>
  zero.yield %l : tensor<f32>
}

// -----
// The sum of places is of the samples of all ranks.
zero.mesh @mesh <data = 2, expert = 2>
zero.parameter @w : tensor<2x8x8xf32> = #zero.ones cut <dim 0 of [4] over <expert = 2>>
zero.step @sum_beside(%x: tensor<4x8xf32> {zero.input = "x"}, %i: tensor<4x2xi32> {zero.input = "i"}) {
  %w = zero.load @w : tensor<2x8x8xf32>
  %s, %p, %n = nn.capacity_dispatch %x, %i : (tensor<4x8xf32>, tensor<4x2xi32>) -> (tensor<4x3x8xf32>, tensor<4x2xi32>, tensor<4xi32>)
  %o = zero.exchange_value %s from <dim 1 of [6] over <expert = 2>> to <dim 0 of [4] over <expert = 2>> : tensor<4x3x8xf32> -> tensor<2x6x8xf32>
  %h = nn.matmul %o, %w : (tensor<2x6x8xf32>, tensor<2x8x8xf32>) -> tensor<2x6x8xf32>
  %m = nn.reduce sum %h dims [1] : (tensor<2x6x8xf32>) -> tensor<2x8xf32>
  %b = nn.broadcast %m dims [0, 2] : (tensor<2x8xf32>) -> tensor<2x6x8xf32>
  // expected-error @below {{over #zero.axes<expert = 2> reads operand 1, which is a sum over the samples of all ranks, cut in dimension 0 into parts of [2], beside the samples of all ranks; wanted those, or what is the same for all of them}}
  %c = arith.addf %h, %b : tensor<2x6x8xf32>
  %y = zero.exchange_value %c from <dim 0 of [4] over <expert = 2>> to <dim 1 of [6] over <expert = 2>> : tensor<2x6x8xf32> -> tensor<4x3x8xf32>
  %f = tensor.collapse_shape %y [[0, 1], [2]] : tensor<4x3x8xf32> into tensor<12x8xf32>
  %z = nn.combine %f, %p : (tensor<12x8xf32>, tensor<4x2xi32>) -> tensor<4x8xf32>
  %l = nn.reduce sum %z dims [0, 1] : (tensor<4x8xf32>) -> tensor<f32>
  zero.yield %l : tensor<f32>
}

// -----
// Of all ranks, each place would have a number of its own.
zero.mesh @mesh <data = 2, expert = 2>
zero.parameter @w : tensor<2x8x8xf32> = #zero.ones cut <dim 0 of [4] over <expert = 2>>
zero.step @numbered(%x: tensor<4x8xf32> {zero.input = "x"}, %i: tensor<4x2xi32> {zero.input = "i"}) {
  %w = zero.load @w : tensor<2x8x8xf32>
  %s, %p, %n = nn.capacity_dispatch %x, %i : (tensor<4x8xf32>, tensor<4x2xi32>) -> (tensor<4x3x8xf32>, tensor<4x2xi32>, tensor<4xi32>)
  %o = zero.exchange_value %s from <dim 1 of [6] over <expert = 2>> to <dim 0 of [4] over <expert = 2>> : tensor<4x3x8xf32> -> tensor<2x6x8xf32>
  %h = nn.matmul %o, %w : (tensor<2x6x8xf32>, tensor<2x8x8xf32>) -> tensor<2x6x8xf32>
  %t = arith.constant dense<[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]> : tensor<6xf32>
  %b = nn.broadcast %t dims [1] : (tensor<6xf32>) -> tensor<2x6x8xf32>
  // expected-error @below {{over #zero.axes<expert = 2> reads operand 1, which is the same on all ranks, beside the samples of all ranks; wanted those, or what is the same for all of them}}
  %c = arith.addf %h, %b : tensor<2x6x8xf32>
  %y = zero.exchange_value %c from <dim 0 of [4] over <expert = 2>> to <dim 1 of [6] over <expert = 2>> : tensor<2x6x8xf32> -> tensor<4x3x8xf32>
  %f = tensor.collapse_shape %y [[0, 1], [2]] : tensor<4x3x8xf32> into tensor<12x8xf32>
  %z = nn.combine %f, %p : (tensor<12x8xf32>, tensor<4x2xi32>) -> tensor<4x8xf32>
  %l = nn.reduce sum %z dims [0, 1] : (tensor<4x8xf32>) -> tensor<f32>
  zero.yield %l : tensor<f32>
}

// -----
// Every rank would have the samples of all.
zero.mesh @mesh <data = 2, expert = 2>
zero.parameter @w : tensor<2x8x8xf32> = #zero.ones cut <dim 0 of [4] over <expert = 2>>
zero.step @gathered(%x: tensor<4x8xf32> {zero.input = "x"}, %i: tensor<4x2xi32> {zero.input = "i"}) {
  %w = zero.load @w : tensor<2x8x8xf32>
  %s, %p, %n = nn.capacity_dispatch %x, %i : (tensor<4x8xf32>, tensor<4x2xi32>) -> (tensor<4x3x8xf32>, tensor<4x2xi32>, tensor<4xi32>)
  %o = zero.exchange_value %s from <dim 1 of [6] over <expert = 2>> to <dim 0 of [4] over <expert = 2>> : tensor<4x3x8xf32> -> tensor<2x6x8xf32>
  %h = nn.matmul %o, %w : (tensor<2x6x8xf32>, tensor<2x8x8xf32>) -> tensor<2x6x8xf32>
  // expected-error @below {{over #zero.axes<expert = 2> brings together what is of the samples of all ranks, cut in dimension 0 into parts of [2], wanted cut in dimension 0 into parts of [2]}}
  %g = zero.gather_value %h cut <dim 0 of [4] over <expert = 2>> : tensor<2x6x8xf32> -> tensor<4x6x8xf32>
  %y = tensor.extract_slice %g [0, 0, 0] [4, 3, 8] [1, 1, 1] : tensor<4x6x8xf32> to tensor<4x3x8xf32>
  %f = tensor.collapse_shape %y [[0, 1], [2]] : tensor<4x3x8xf32> into tensor<12x8xf32>
  %z = nn.combine %f, %p : (tensor<12x8xf32>, tensor<4x2xi32>) -> tensor<4x8xf32>
  %l = nn.reduce sum %z dims [0, 1] : (tensor<4x8xf32>) -> tensor<f32>
  zero.yield %l : tensor<f32>
}
