// Ranks compute parts of one model: each of these does not, in one place.

// RUN: zero-opt %s --split-input-file --zero-verify-values --verify-diagnostics

// What is right: a perceptron whose hidden width is cut, with a bias behind the sum.
zero.mesh @mesh <data = 2, tensor = 2>
zero.parameter @up : tensor<8x8xf32> = #zero.ones cut <dim 1 of [16] over <tensor = 2>>
zero.parameter @down : tensor<8x8xf32> = #zero.ones cut <dim 0 of [16] over <tensor = 2>>
zero.parameter @bias : tensor<8xf32> = #zero.ones
zero.step @right(%x: tensor<4x8xf32> {zero.input = "x"}) {
  %u = zero.load @up : tensor<8x8xf32>
  %d = zero.load @down : tensor<8x8xf32>
  %b = zero.load @bias : tensor<8xf32>
  %n = nn.broadcast %b dims [1] : (tensor<8xf32>) -> tensor<4x8xf32>
  %y = arith.addf %x, %n : tensor<4x8xf32>
  %r = zero.replicate %y over <tensor = 2> : tensor<4x8xf32>
  %h = nn.linear %r, %u : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %g = nn.gelu tanh %h : tensor<4x8xf32>
  %p = nn.linear %g, %d : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %s = zero.all_reduce_value %p over <tensor = 2> : tensor<4x8xf32>
  %z = arith.addf %s, %n : tensor<4x8xf32>
  %l = nn.reduce sum %z dims [0, 1] : (tensor<4x8xf32>) -> tensor<f32>
  zero.yield %l : tensor<f32>
}

// -----

zero.mesh @mesh <data = 2, tensor = 2>
zero.parameter @down : tensor<8x8xf32> = #zero.ones cut <dim 0 of [16] over <tensor = 2>>
zero.step @dropped(%x: tensor<4x16xf32> {zero.input = "x"}) {
  %d = zero.load @down : tensor<8x8xf32>
  %o = zero.slice_value %x cut <dim 1 of [16] over <tensor = 2>> : tensor<4x16xf32> -> tensor<4x8xf32>
  %p = nn.linear %o, %d : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %l = nn.reduce sum %p dims [0, 1] : (tensor<4x8xf32>) -> tensor<f32>
  // expected-error @below {{over #zero.axes<tensor = 2> yields value 0, which is the term of a sum on each rank; wanted the same on all ranks}}
  zero.yield %l : tensor<f32>
}

// -----

zero.mesh @mesh <data = 2, tensor = 2>
zero.parameter @down : tensor<8x8xf32> = #zero.ones cut <dim 0 of [16] over <tensor = 2>>
zero.step @doubled(%x: tensor<4x16xf32> {zero.input = "x"}) {
  %d = zero.load @down : tensor<8x8xf32>
  %o = zero.slice_value %x cut <dim 1 of [16] over <tensor = 2>> : tensor<4x16xf32> -> tensor<4x8xf32>
  %p = nn.linear %o, %d : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %s = zero.all_reduce_value %p over <tensor = 2> : tensor<4x8xf32>
  // expected-error @below {{over #zero.axes<tensor = 2> adds up what is the same on all ranks, 2 times; remove it}}
  %t = zero.all_reduce_value %s over <tensor = 2> : tensor<4x8xf32>
  %l = nn.reduce sum %t dims [0, 1] : (tensor<4x8xf32>) -> tensor<f32>
  zero.yield %l : tensor<f32>
}

// -----

// Over the other axis the sum is one of different samples.
zero.mesh @mesh <data = 2, tensor = 2>
zero.parameter @down : tensor<8x8xf32> = #zero.ones cut <dim 0 of [16] over <tensor = 2>>
zero.step @other_axis(%x: tensor<4x16xf32> {zero.input = "x"}) {
  %d = zero.load @down : tensor<8x8xf32>
  %o = zero.slice_value %x cut <dim 1 of [16] over <tensor = 2>> : tensor<4x16xf32> -> tensor<4x8xf32>
  %p = nn.linear %o, %d : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %s = zero.all_reduce_value %p over <data = 2> : tensor<4x8xf32>
  // expected-error @below {{over #zero.axes<tensor = 2> reads operand 0, the term of a sum, and is not linear in it; wanted the sum, which 'zero.all_reduce_value' makes}}
  %g = nn.softmax %s : tensor<4x8xf32>
  %l = nn.reduce sum %g dims [0, 1] : (tensor<4x8xf32>) -> tensor<f32>
  zero.yield %l : tensor<f32>
}

// -----

zero.mesh @mesh <data = 2, tensor = 2>
zero.parameter @down : tensor<8x8xf32> = #zero.ones cut <dim 0 of [16] over <tensor = 2>>
zero.parameter @bias : tensor<8xf32> = #zero.ones
zero.step @addend(%x: tensor<4x16xf32> {zero.input = "x"}) {
  %d = zero.load @down : tensor<8x8xf32>
  %b = zero.load @bias : tensor<8xf32>
  %o = zero.slice_value %x cut <dim 1 of [16] over <tensor = 2>> : tensor<4x16xf32> -> tensor<4x8xf32>
  // expected-error @below {{over #zero.axes<tensor = 2> adds operand 2, which is the same on all ranks, to the terms of a sum: it would count 2 times; wanted it behind the sum}}
  %p = nn.linear %o, %d bias %b : (tensor<4x8xf32>, tensor<8x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %s = zero.all_reduce_value %p over <tensor = 2> : tensor<4x8xf32>
  %l = nn.reduce sum %s dims [0, 1] : (tensor<4x8xf32>) -> tensor<f32>
  zero.yield %l : tensor<f32>
}

// -----

zero.mesh @mesh <data = 2, tensor = 2>
zero.parameter @up : tensor<8x8xf32> = #zero.ones cut <dim 1 of [16] over <tensor = 2>>
zero.parameter @norm : tensor<8xf32> = #zero.ones
zero.step @no_replicate(%x: tensor<4x8xf32> {zero.input = "x"}) {
  %u = zero.load @up : tensor<8x8xf32>
  %n = zero.load @norm : tensor<8xf32>
  %y, %rstd = nn.rms_norm %x, %n eps 1.0e-6 : (tensor<4x8xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<4xf32>)
  // expected-error @below {{over #zero.axes<tensor = 2> reads operand 0, of which each rank gives another gradient; wanted a 'zero.replicate' between, whose gradient is their sum}}
  %h = nn.linear %y, %u : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %w = zero.gather_value %h cut <dim 1 of [16] over <tensor = 2>> : tensor<4x8xf32> -> tensor<4x16xf32>
  %l = nn.reduce sum %w dims [0, 1] : (tensor<4x16xf32>) -> tensor<f32>
  zero.yield %l : tensor<f32>
}

// -----

zero.mesh @mesh <data = 2, tensor = 2>
zero.parameter @norm : tensor<8xf32> = #zero.ones
zero.step @replicated_loss(%x: tensor<4x8xf32> {zero.input = "x"}) {
  %n = zero.load @norm : tensor<8xf32>
  %r = zero.replicate %n over <tensor = 2> : tensor<8xf32>
  %y, %rstd = nn.rms_norm %x, %r eps 1.0e-6 : (tensor<4x8xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<4xf32>)
  %l = nn.reduce sum %y dims [0, 1] : (tensor<4x8xf32>) -> tensor<f32>
  // expected-error @below {{over #zero.axes<tensor = 2> yields a loss that each rank would differentiate, 2 times too often; remove the 'zero.replicate' on its way}}
  zero.yield %l : tensor<f32>
}

// -----

zero.mesh @mesh <data = 2, tensor = 2>
zero.parameter @norm : tensor<8xf32> = #zero.ones
zero.step @replicated_twice(%x: tensor<4x8xf32> {zero.input = "x"}) {
  %n = zero.load @norm : tensor<8xf32>
  %r = zero.replicate %n over <tensor = 2> : tensor<8xf32>
  // expected-error @below {{over #zero.axes<tensor = 2> is behind another one, so that gradients would be added up twice; remove one of them}}
  %s = zero.replicate %r over <tensor = 2> : tensor<8xf32>
  %l = nn.reduce sum %s dims [0] : (tensor<8xf32>) -> tensor<f32>
  zero.yield %l : tensor<f32>
}

// -----

// A bias of all columns beside a part of them.
zero.mesh @mesh <data = 2, tensor = 2>
zero.step @whole_beside_part(%x: tensor<4x16xf32> {zero.input = "x"}, %b: tensor<4x8xf32> {zero.input = "b"}) {
  %o = zero.slice_value %x cut <dim 1 of [16] over <tensor = 2>> : tensor<4x16xf32> -> tensor<4x8xf32>
  // expected-error @below {{over #zero.axes<tensor = 2> reads parts beside all of dimension 1 of operand 1, which is the same on all ranks; wanted its part, which 'zero.slice_value' takes}}
  %y = arith.mulf %o, %b : tensor<4x8xf32>
  %w = zero.gather_value %y cut <dim 1 of [16] over <tensor = 2>> : tensor<4x8xf32> -> tensor<4x16xf32>
  %l = nn.reduce sum %w dims [0, 1] : (tensor<4x16xf32>) -> tensor<f32>
  zero.yield %l : tensor<f32>
}

// -----

// Slices of other pieces, and of another dimension.
zero.mesh @mesh <data = 2, tensor = 2>
zero.step @other_pieces(%x: tensor<4x16xf32> {zero.input = "x"}) {
  %o = zero.slice_value %x cut <dim 1 of [16] over <tensor = 2>> : tensor<4x16xf32> -> tensor<4x8xf32>
  %p = zero.slice_value %x cut <dim 1 of repeated 2 [8] over <tensor = 2>> : tensor<4x16xf32> -> tensor<4x8xf32>
  // expected-error @below {{over #zero.axes<tensor = 2> reads operand 1, which is cut in dimension 1 into parts of [4], beside what is cut otherwise; wanted one cut for both}}
  %y = arith.mulf %o, %p : tensor<4x8xf32>
  %l = nn.reduce sum %y dims [0, 1] : (tensor<4x8xf32>) -> tensor<f32>
  zero.yield %l : tensor<f32>
}

// -----

zero.mesh @mesh <data = 2, tensor = 2>
zero.step @other_dimension(%x: tensor<16x8xf32> {zero.input = "x"}, %z: tensor<8x16xf32> {zero.input = "z"}) {
  %o = zero.slice_value %x cut <dim 0 of [16] over <tensor = 2>> : tensor<16x8xf32> -> tensor<8x8xf32>
  %p = zero.slice_value %z cut <dim 1 of [16] over <tensor = 2>> : tensor<8x16xf32> -> tensor<8x8xf32>
  // expected-error @below {{over #zero.axes<tensor = 2> reads operand 0, which is cut in dimension 0 into parts of [8], beside what is cut along its dimension 1; wanted one cut for both}}
  %y = arith.mulf %o, %p : tensor<8x8xf32>
  %l = nn.reduce sum %y dims [0, 1] : (tensor<8x8xf32>) -> tensor<f32>
  zero.yield %l : tensor<f32>
}

// -----

zero.mesh @mesh <data = 2, tensor = 2>
zero.step @gathered_otherwise(%x: tensor<4x16xf32> {zero.input = "x"}) {
  %o = zero.slice_value %x cut <dim 1 of [16] over <tensor = 2>> : tensor<4x16xf32> -> tensor<4x8xf32>
  // expected-error @below {{over #zero.axes<tensor = 2> brings together what is cut in dimension 1 into parts of [8], wanted cut in dimension 1 into parts of [4]}}
  %w = zero.gather_value %o cut <dim 1 of repeated 2 [8] over <tensor = 2>> : tensor<4x8xf32> -> tensor<4x16xf32>
  %l = nn.reduce sum %w dims [0, 1] : (tensor<4x16xf32>) -> tensor<f32>
  zero.yield %l : tensor<f32>
}

// -----

zero.mesh @mesh <data = 2, tensor = 2>
zero.step @needs_all(%x: tensor<4x16xf32> {zero.input = "x"}) {
  %o = zero.slice_value %x cut <dim 1 of [16] over <tensor = 2>> : tensor<4x16xf32> -> tensor<4x8xf32>
  // expected-error @below {{over #zero.axes<tensor = 2> needs all of dimension 1 of operand 0, and each rank has a part; wanted the whole, which 'zero.gather_value' brings together}}
  %y = nn.softmax %o : tensor<4x8xf32>
  %l = nn.reduce sum %y dims [0, 1] : (tensor<4x8xf32>) -> tensor<f32>
  zero.yield %l : tensor<f32>
}

// -----

// One column that all ranks have is not repeated beside a column of each, but where the
// operation says that it may be.
zero.mesh @mesh <data = 1, tensor = 2>
zero.step @one_column(%x: tensor<4x2xf32> {zero.input = "x"}, %m: tensor<4x1xf32> {zero.input = "m"}) {
  %o = zero.slice_value %x cut <dim 1 of [2] over <tensor = 2>> : tensor<4x2xf32> -> tensor<4x1xf32>
  // expected-error @below {{over #zero.axes<tensor = 2> reads parts beside all of dimension 1 of operand 1, which is the same on all ranks; wanted its part}}
  %y = arith.addf %o, %m : tensor<4x1xf32>
  %l = nn.reduce sum %y dims [0, 1] : (tensor<4x1xf32>) -> tensor<f32>
  zero.yield %l : tensor<f32>
}

// -----

// A mask of the queries that each rank has goes with these, and not with heads.
zero.mesh @mesh <data = 1, tensor = 2>
zero.step @other_mask(%x: tensor<2x4x2x8xf32> {zero.input = "x"}, %m: tensor<1x1x8x4xf32> {zero.input = "m"}) {
  %o = zero.slice_value %x cut <dim 2 of [2] over <tensor = 2>> : tensor<2x4x2x8xf32> -> tensor<2x4x1x8xf32>
  %n = zero.slice_value %m cut <dim 2 of [8] over <tensor = 2>> : tensor<1x1x8x4xf32> -> tensor<1x1x4x4xf32>
  // expected-error @below {{over #zero.axes<tensor = 2> reads}}
  %y, %lse = nn.attention %o, %o, %o mask %n scale 1.0 : (tensor<2x4x1x8xf32>, tensor<2x4x1x8xf32>, tensor<2x4x1x8xf32>, tensor<1x1x4x4xf32>) -> (tensor<2x4x1x8xf32>, tensor<2x1x4xf32>)
  %l = nn.reduce sum %y dims [0, 1, 2, 3] : (tensor<2x4x1x8xf32>) -> tensor<f32>
  zero.yield %l : tensor<f32>
}

// -----

// Heads may be of one rank; half of each head may not.
zero.mesh @mesh <data = 1, tensor = 2>
zero.step @half_heads(%x: tensor<2x4x16xf32> {zero.input = "x"}) {
  %o = zero.slice_value %x cut <dim 2 of repeated 2 [8] over <tensor = 2>> : tensor<2x4x16xf32> -> tensor<2x4x8xf32>
  %h = tensor.expand_shape %o [[0], [1], [2, 3]] output_shape [2, 4, 2, 4] : tensor<2x4x8xf32> into tensor<2x4x2x4xf32>
  // expected-error @below {{over #zero.axes<tensor = 2> needs all of dimension 3 of operand 0, and each rank has a part}}
  %r = nn.rotary %h theta 1.0e4 : tensor<2x4x2x4xf32>
  %l = nn.reduce sum %r dims [0, 1, 2, 3] : (tensor<2x4x2x4xf32>) -> tensor<f32>
  zero.yield %l : tensor<f32>
}

// -----

// Parts of a part.
zero.mesh @mesh <data = 1, tensor = 2>
zero.step @sliced_twice(%x: tensor<4x16xf32> {zero.input = "x"}) {
  %o = zero.slice_value %x cut <dim 1 of [16] over <tensor = 2>> : tensor<4x16xf32> -> tensor<4x8xf32>
  // expected-error @below {{over #zero.axes<tensor = 2> takes a part of what is cut in dimension 1 into parts of [8]; wanted the same on all ranks}}
  %p = zero.slice_value %o cut <dim 1 of [8] over <tensor = 2>> : tensor<4x8xf32> -> tensor<4x4xf32>
  %l = nn.reduce sum %p dims [0, 1] : (tensor<4x4xf32>) -> tensor<f32>
  zero.yield %l : tensor<f32>
}

// -----

// A gradient is a term where nothing adds it up, and one of other pieces.
zero.mesh @mesh <data = 2, tensor = 2>
// expected-note @below {{its parameter}}
zero.parameter @norm : tensor<8xf32> = #zero.ones
zero.parameter @up : tensor<8x8xf32> = #zero.ones cut <dim 1 of [16] over <tensor = 2>>
zero.step @gradient(%x: tensor<4x8xf32> {zero.input = "x"}) {
  zero.micro {
    %u = zero.load @up : tensor<8x8xf32>
    %h = nn.linear %x, %u : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %d = nn.linear %h, %u transposed : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %b = nn.reduce sum %d dims [0] : (tensor<4x8xf32>) -> tensor<8xf32>
    // expected-error @below {{of @norm is over #zero.axes<tensor = 2> the term of a sum on each rank, wanted the same on all ranks, as the parameter is; add it up once, with 'zero.all_reduce_value'}}
    %g = zero.gradient @norm, %b : tensor<8xf32>
    %l = arith.constant dense<0.0> : tensor<f32>
    zero.yield %l : tensor<f32>
  }
  zero.apply {
  }
}

// -----

zero.mesh @mesh <data = 2, tensor = 2>
// expected-note @below {{its parameter}}
zero.parameter @up : tensor<8x8xf32> = #zero.ones cut <dim 1 of repeated 2 [8] over <tensor = 2>>
zero.step @gradient_otherwise(%x: tensor<4x8xf32> {zero.input = "x"}, %d: tensor<4x16xf32> {zero.input = "d"}) {
  zero.micro {
    %o = zero.slice_value %d cut <dim 1 of [16] over <tensor = 2>> : tensor<4x16xf32> -> tensor<4x8xf32>
    %w = nn.matmul %x, %o transpose_a : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
    // expected-error @below {{of @up is over #zero.axes<tensor = 2> cut in dimension 1 into parts of [8], wanted cut in dimension 1 into parts of [4], as the parameter is}}
    %g = zero.gradient @up, %w : tensor<8x8xf32>
    %l = arith.constant dense<0.0> : tensor<f32>
    zero.yield %l : tensor<f32>
  }
  zero.apply {
  }
}

// -----

// What is brought together in the order of ranks is not yet the whole.
zero.mesh @mesh <data = 2, tensor = 2>
zero.step @not_in_order(%x: tensor<4x16xf32> {zero.input = "x"}) {
  zero.micro {
    %o = zero.slice_value %x cut <dim 1 of [16] over <tensor = 2>> : tensor<4x16xf32> -> tensor<4x8xf32>
    %p = zero.start_all_gather %o over <tensor = 2> : tensor<4x8xf32> -> <tensor<2x4x8xf32>>
    %w = zero.wait %p : <tensor<2x4x8xf32>>
    %c = tensor.collapse_shape %w [[0, 1], [2]] : tensor<2x4x8xf32> into tensor<8x8xf32>
    // expected-error @below {{over #zero.axes<tensor = 2> reads operand 0, which is the parts of all ranks in their order}}
    %l = nn.reduce sum %c dims [0, 1] : (tensor<8x8xf32>) -> tensor<f32>
    zero.yield %l : tensor<f32>
  }
  zero.apply {
  }
}

// -----

// In a kernel, the terms of two sums are not multiplied.
zero.mesh @mesh <data = 2, tensor = 2>
zero.parameter @down : tensor<8x8xf32> = #zero.ones cut <dim 0 of [16] over <tensor = 2>>
zero.step @kernel(%x: tensor<4x16xf32> {zero.input = "x"}) {
  zero.micro {
    %d = zero.load @down : tensor<8x8xf32>
    %o = zero.slice_value %x cut <dim 1 of [16] over <tensor = 2>> : tensor<4x16xf32> -> tensor<4x8xf32>
    %p = nn.linear %o, %d : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    // expected-error @below {{over #zero.axes<tensor = 2> reads operand 1, the term of a sum, and is not linear in it; wanted the sum, which 'zero.all_reduce_value' makes}}
    %q = zero.launch @square(%p) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %s = zero.all_reduce_value %q over <tensor = 2> : tensor<4x8xf32>
    %l = nn.reduce sum %s dims [0, 1] : (tensor<4x8xf32>) -> tensor<f32>
    zero.yield %l : tensor<f32>
  }
  zero.apply {
  }
}
func.func private @square(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = tensor.empty() : tensor<4x8xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x8xf32>) outs(%0 : tensor<4x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    // expected-note @below {{computed here}}
    %2 = arith.mulf %in, %in : f32
    linalg.yield %2 : f32
  } -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// -----

// Other positions than the ranks have are exchanged for heads.
zero.mesh @mesh <data = 1, sequence = 2>
zero.step @exchange(%x: tensor<2x8x4xf32> {zero.input = "x"}) {
  zero.micro {
    %o = zero.slice_value %x cut <dim 1 of [8] over <sequence = 2>> : tensor<2x8x4xf32> -> tensor<2x4x4xf32>
    // expected-error @below {{over #zero.axes<sequence = 2> exchanges what is cut in dimension 1 into parts of [4], wanted cut in dimension 1 into parts of [2]}}
    %e = zero.exchange_value %o from <dim 1 of repeated 2 [4] over <sequence = 2>> to <dim 2 of [4] over <sequence = 2>> : tensor<2x4x4xf32> -> tensor<2x8x2xf32>
    %l = arith.constant dense<0.0> : tensor<f32>
    zero.yield %l : tensor<f32>
  }
  zero.apply {
  }
}

// -----

// Behind an exchange positions are in the order of ranks, not of samples.
zero.mesh @mesh <data = 1, sequence = 2>
zero.step @not_unpacked(%x: tensor<2x8x4xf32> {zero.input = "x"}) {
  zero.micro {
    %o = zero.slice_value %x cut <dim 1 of [8] over <sequence = 2>> : tensor<2x8x4xf32> -> tensor<2x4x4xf32>
    %c = tensor.expand_shape %o [[0], [1], [2, 3]] output_shape [2, 4, 2, 2] : tensor<2x4x4xf32> into tensor<2x4x2x2xf32>
    %t = nn.transpose %c permutation [2, 0, 1, 3] : (tensor<2x4x2x2xf32>) -> tensor<2x2x4x2xf32>
    %p = zero.all_to_all %t over <sequence = 2> : tensor<2x2x4x2xf32> -> <tensor<2x2x4x2xf32>>
    %w = zero.wait %p : <tensor<2x2x4x2xf32>>
    // expected-error @below {{over #zero.axes<sequence = 2> reads operand 0, which is the parts of all ranks in their order}}
    %s = nn.reduce sum %w dims [0, 1, 2, 3] : (tensor<2x2x4x2xf32>) -> tensor<f32>
    zero.yield %s : tensor<f32>
  }
  zero.apply {
  }
}

// -----

// A rank's rows of a sum are the sum of the terms that arrive of them: of all of these, and
// of nothing else.
zero.mesh @mesh <data = 1, tensor = 2>
zero.parameter @d : tensor<8x8xf32> = #zero.ones cut <dim 0 of [16] over <tensor = 2>>
zero.step @rows_of_sum(%x: tensor<4x16xf32> {zero.input = "x"}) {
  zero.micro {
    %d = zero.load @d : tensor<8x8xf32>
    %o = zero.slice_value %x cut <dim 1 of [16] over <tensor = 2>> : tensor<4x16xf32> -> tensor<4x8xf32>
    %y = nn.linear %o, %d : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %e = tensor.expand_shape %y [[0, 1], [2]] output_shape [2, 2, 8] : tensor<4x8xf32> into tensor<2x2x8xf32>
    %p = zero.all_to_all %e over <tensor = 2> : tensor<2x2x8xf32> -> <tensor<2x2x8xf32>>
    %w = zero.wait %p : <tensor<2x2x8xf32>>
    %r = nn.reduce sum %w dims [0] : (tensor<2x2x8xf32>) -> tensor<2x8xf32>
    %s = nn.reduce sum %r dims [0, 1] : (tensor<2x8xf32>) -> tensor<f32>
    %l = zero.all_reduce_value %s over <tensor = 2> : tensor<f32>
    // expected-error @below {{over #zero.axes<tensor = 2> reads what all ranks have of each one's part; wanted a sum of these terms}}
    %m = nn.reduce mean %w dims [0] : (tensor<2x2x8xf32>) -> tensor<2x8xf32>
    zero.yield %l : tensor<f32>
  }
  zero.apply {
  }
}

// -----

// Of these terms all rows are still a rank's own.
zero.mesh @mesh <data = 1, tensor = 2>
zero.parameter @d : tensor<8x8xf32> = #zero.ones cut <dim 0 of [16] over <tensor = 2>>
zero.step @sum_of_rows(%x: tensor<4x16xf32> {zero.input = "x"}) {
  zero.micro {
    %d = zero.load @d : tensor<8x8xf32>
    %o = zero.slice_value %x cut <dim 1 of [16] over <tensor = 2>> : tensor<4x16xf32> -> tensor<4x8xf32>
    %y = nn.linear %o, %d : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %e = tensor.expand_shape %y [[0, 1], [2]] output_shape [2, 2, 8] : tensor<4x8xf32> into tensor<2x2x8xf32>
    %p = zero.all_to_all %e over <tensor = 2> : tensor<2x2x8xf32> -> <tensor<2x2x8xf32>>
    %w = zero.wait %p : <tensor<2x2x8xf32>>
    // expected-error @below {{wanted a sum of these terms}}
    %r = nn.reduce sum %w dims [0, 1] : (tensor<2x2x8xf32>) -> tensor<8xf32>
    %l = arith.constant dense<0.0> : tensor<f32>
    zero.yield %l : tensor<f32>
  }
  zero.apply {
  }
}

// -----

// What has no ranks in front is not sent to them.
zero.mesh @mesh <data = 1, sequence = 2>
zero.step @not_packed(%x: tensor<4x8x4xf32> {zero.input = "x"}) {
  zero.micro {
    %o = zero.slice_value %x cut <dim 1 of [8] over <sequence = 2>> : tensor<4x8x4xf32> -> tensor<4x4x4xf32>
    // expected-error @below {{over #zero.axes<sequence = 2> exchanges what is cut in dimension 1 into parts of [4], wanted parts of a dimension, or the terms of a sum, behind one of the ranks}}
    %p = zero.all_to_all %o over <sequence = 2> : tensor<4x4x4xf32> -> <tensor<4x4x4xf32>>
    %w = zero.wait %p : <tensor<4x4x4xf32>>
    %l = arith.constant dense<0.0> : tensor<f32>
    zero.yield %l : tensor<f32>
  }
  zero.apply {
  }
}

// -----

// ZeRO would add up what each rank has whole.
zero.mesh @mesh <data = 1, sequence = 2>
// expected-note @below {{its parameter}}
zero.parameter @w : tensor<8xf32> = #zero.ones
zero.step @counted_twice(%x: tensor<8xf32> {zero.input = "x"}) {
  zero.micro {
    // expected-error @below {{of @w is over #zero.axes<sequence = 2> the same on all ranks, wanted the term of a sum on each rank, which ZeRO adds up; behind a use that is the same on all ranks, by 'zero.count_once'}}
    %g = zero.gradient @w, %x : tensor<8xf32>
    %l = arith.constant dense<0.0> : tensor<f32>
    zero.yield %l : tensor<f32>
  }
  zero.apply {
  }
}

// -----

// Each rank differentiates the parameter's part of the loss.
zero.mesh @mesh <data = 1, sequence = 2>
zero.parameter @w : tensor<8xf32> = #zero.ones
zero.step @whole_use(%x: tensor<8xf32> {zero.input = "x"}) {
  %w = zero.load @w : tensor<8xf32>
  %s = nn.reduce sum %w dims [0] : (tensor<8xf32>) -> tensor<f32>
  // expected-error @below {{over #zero.axes<sequence = 2> yields a loss that each rank would differentiate, 2 times too often; put a 'zero.count_once' behind the parameters on its way}}
  zero.yield %s : tensor<f32>
}

// -----

// Of a dimension that is longer than all parts other elements are dropped.
zero.mesh @mesh <data = 1, sequence = 2>
zero.step @dropout(%x: tensor<2x8x4xf32> {zero.input = "x"}) {
  zero.micro {
    %o = zero.slice_value %x cut <dim 1 of [8] over <sequence = 2>> : tensor<2x8x4xf32> -> tensor<2x4x4xf32>
    %t = arith.constant dense<[0, 4]> : tensor<2xi32>
    %f = zero.slice_value %t cut <dim 0 of [2] over <sequence = 2>> : tensor<2xi32> -> tensor<1xi32>
    %first = tensor.collapse_shape %f [] : tensor<1xi32> into tensor<i32>
    // expected-error @below {{over #zero.axes<sequence = 2> has ranges of 4 indices of 16 on 2 ranks; wanted all of them}}
    %d = nn.partial_dropout %o, %first dim 1 of 16 p 0.5 id 1 : (tensor<2x4x4xf32>, tensor<i32>) -> tensor<2x4x4xf32>
    %l = arith.constant dense<0.0> : tensor<f32>
    zero.yield %l : tensor<f32>
  }
  zero.apply {
  }
}

// -----

// Heads within a range of another axis are some of it: a step between ranks is a
// multiple of what each has.
zero.mesh @mesh <data = 1, tensor = 2>
zero.step @heads(%x: tensor<2x8x4x4xf32> {zero.input = "x"}, %begin: tensor<i32> {zero.input = "begin"}) {
  zero.micro {
    %o = zero.slice_value %x cut <dim 2 of [4] over <tensor = 2>> : tensor<2x8x4x4xf32> -> tensor<2x8x2x4xf32>
    %t = arith.constant dense<[0, 3]> : tensor<2xi32>
    %f = zero.slice_value %t cut <dim 0 of [2] over <tensor = 2>> : tensor<2xi32> -> tensor<1xi32>
    %within = tensor.collapse_shape %f [] : tensor<1xi32> into tensor<i32>
    %first = arith.addi %begin, %within : tensor<i32>
    // expected-error @below {{over #zero.axes<tensor = 2> has ranges that begin at 0 on rank 0 of the axis; wanted equal ranges, one behind the other}}
    %a, %lse = nn.partial_attention %o, %o, %o, %first scale 0.5 dropout 0.5 id 1 : (tensor<2x8x2x4xf32>, tensor<2x8x2x4xf32>, tensor<2x8x2x4xf32>, tensor<i32>) -> (tensor<2x8x2x4xf32>, tensor<2x2x8xf32>)
    %l = arith.constant dense<0.0> : tensor<f32>
    zero.yield %l : tensor<f32>
  }
  zero.apply {
  }
}

// -----

// Rows that go to other ranks are those of the whole.
zero.mesh @mesh <data = 2, sequence = 2>
zero.step @rows_of_parts(%x: tensor<8x4xf32> {zero.input = "x"}) {
  zero.micro {
    %o = zero.slice_value %x cut <dim 0 of [8] over <sequence = 2>> : tensor<8x4xf32> -> tensor<4x4xf32>
    // expected-error @below {{exchanges rows over #zero.axes<data = 2> of what is over #zero.axes<sequence = 2> cut in dimension 0 into parts of [4]; wanted all rows on each rank}}
    %p = zero.all_to_all %o over <data = 2> : tensor<4x4xf32> -> <tensor<4x4xf32>>
    %w = zero.wait %p : <tensor<4x4xf32>>
    %l = arith.constant dense<0.0> : tensor<f32>
    zero.yield %l : tensor<f32>
  }
  zero.apply {
  }
}
// -----
// What is right: experts of each rank, with the rows of both.
zero.mesh @mesh <data = 2, expert = 2>
zero.parameter @bias : tensor<8xf32> = #zero.ones
zero.parameter @w : tensor<2x8x8xf32> = #zero.ones cut <dim 0 of [4] over <expert = 2>>
zero.step @experts(%x0: tensor<4x8xf32> {zero.input = "x"}, %i: tensor<4x2xi32> {zero.input = "i"}) {
  %b = zero.load @bias : tensor<8xf32>
  %n = nn.broadcast %b dims [1] : (tensor<8xf32>) -> tensor<4x8xf32>
  %x = arith.addf %x0, %n : tensor<4x8xf32>
  %w = zero.load @w : tensor<2x8x8xf32>
  %r = zero.gather_value %x replicated cut <dim 0 of [8] over <expert = 2>> : tensor<4x8xf32> -> tensor<8x8xf32>
  %j = zero.gather_value %i cut <dim 0 of [8] over <expert = 2>> : tensor<4x2xi32> -> tensor<8x2xi32>
  %table = arith.constant dense<[0, 2]> : tensor<2xi32>
  %own = zero.slice_value %table cut <dim 0 of [2] over <expert = 2>> : tensor<2xi32> -> tensor<1xi32>
  %f = tensor.collapse_shape %own [] : tensor<1xi32> into tensor<i32>
  %s, %p, %o = nn.dispatch %r, %j first %f experts 4 : (tensor<8x8xf32>, tensor<8x2xi32>, tensor<i32>) -> (tensor<16x8xf32>, tensor<8x2xi32>, tensor<2xi32>)
  %h = nn.grouped_matmul %s, %w offsets %o : (tensor<16x8xf32>, tensor<2x8x8xf32>, tensor<2xi32>) -> tensor<16x8xf32>
  %a = nn.silu %h : tensor<16x8xf32>
  %t = nn.combine %a, %p : (tensor<16x8xf32>, tensor<8x2xi32>) -> tensor<8x8xf32>
  %z = zero.scatter_value %t cut <dim 0 of [8] over <expert = 2>> : tensor<8x8xf32> -> tensor<4x8xf32>
  %l = nn.reduce sum %z dims [0, 1] : (tensor<4x8xf32>) -> tensor<f32>
  zero.yield %l : tensor<f32>
}

// -----
// Gradients of the rows would be those of one rank.
zero.mesh @mesh <data = 2, expert = 2>
zero.parameter @bias : tensor<8xf32> = #zero.ones
zero.parameter @w : tensor<2x8x8xf32> = #zero.ones cut <dim 0 of [4] over <expert = 2>>
zero.step @not_replicated(%x0: tensor<4x8xf32> {zero.input = "x"}, %i: tensor<4x2xi32> {zero.input = "i"}) {
  %b = zero.load @bias : tensor<8xf32>
  %n = nn.broadcast %b dims [1] : (tensor<8xf32>) -> tensor<4x8xf32>
  %x = arith.addf %x0, %n : tensor<4x8xf32>
  %w = zero.load @w : tensor<2x8x8xf32>
  %r = zero.gather_value %x cut <dim 0 of [8] over <expert = 2>> : tensor<4x8xf32> -> tensor<8x8xf32>
  %j = zero.gather_value %i cut <dim 0 of [8] over <expert = 2>> : tensor<4x2xi32> -> tensor<8x2xi32>
  %table = arith.constant dense<[0, 2]> : tensor<2xi32>
  %own = zero.slice_value %table cut <dim 0 of [2] over <expert = 2>> : tensor<2xi32> -> tensor<1xi32>
  %f = tensor.collapse_shape %own [] : tensor<1xi32> into tensor<i32>
  // expected-error @below {{over #zero.axes<expert = 2> reads operand 0, of which each rank gives another gradient; wanted a 'zero.replicate' between, whose gradient is their sum}}
  %s, %p, %o = nn.dispatch %r, %j first %f experts 4 : (tensor<8x8xf32>, tensor<8x2xi32>, tensor<i32>) -> (tensor<16x8xf32>, tensor<8x2xi32>, tensor<2xi32>)
  %h = nn.grouped_matmul %s, %w offsets %o : (tensor<16x8xf32>, tensor<2x8x8xf32>, tensor<2xi32>) -> tensor<16x8xf32>
  %a = nn.silu %h : tensor<16x8xf32>
  %t = nn.combine %a, %p : (tensor<16x8xf32>, tensor<8x2xi32>) -> tensor<8x8xf32>
  %z = zero.scatter_value %t cut <dim 0 of [8] over <expert = 2>> : tensor<8x8xf32> -> tensor<4x8xf32>
  %l = nn.reduce sum %z dims [0, 1] : (tensor<4x8xf32>) -> tensor<f32>
  zero.yield %l : tensor<f32>
}

// -----
// Each rank would sort by its own choices.
zero.mesh @mesh <data = 2, expert = 2>
zero.parameter @bias : tensor<8xf32> = #zero.ones
zero.parameter @w : tensor<2x8x8xf32> = #zero.ones cut <dim 0 of [4] over <expert = 2>>
zero.step @own_choices(%x0: tensor<4x8xf32> {zero.input = "x"}, %i: tensor<4x2xi32> {zero.input = "i"}) {
  %b = zero.load @bias : tensor<8xf32>
  %n = nn.broadcast %b dims [1] : (tensor<8xf32>) -> tensor<4x8xf32>
  %x = arith.addf %x0, %n : tensor<4x8xf32>
  %w = zero.load @w : tensor<2x8x8xf32>
  %r = zero.gather_value %x replicated cut <dim 0 of [8] over <expert = 2>> : tensor<4x8xf32> -> tensor<8x8xf32>
  %j = tensor.concat dim(0) %i, %i : (tensor<4x2xi32>, tensor<4x2xi32>) -> tensor<8x2xi32>
  %table = arith.constant dense<[0, 2]> : tensor<2xi32>
  %own = zero.slice_value %table cut <dim 0 of [2] over <expert = 2>> : tensor<2xi32> -> tensor<1xi32>
  %f = tensor.collapse_shape %own [] : tensor<1xi32> into tensor<i32>
  // expected-error @below {{over #zero.axes<expert = 2> reads operand 1, which is of each rank's own samples; wanted the samples of all ranks in their order, which 'zero.gather_value' brings together}}
  %s, %p, %o = nn.dispatch %r, %j first %f experts 4 : (tensor<8x8xf32>, tensor<8x2xi32>, tensor<i32>) -> (tensor<16x8xf32>, tensor<8x2xi32>, tensor<2xi32>)
  %h = nn.grouped_matmul %s, %w offsets %o : (tensor<16x8xf32>, tensor<2x8x8xf32>, tensor<2xi32>) -> tensor<16x8xf32>
  %a = nn.silu %h : tensor<16x8xf32>
  %t = nn.combine %a, %p : (tensor<16x8xf32>, tensor<8x2xi32>) -> tensor<8x8xf32>
  %z = zero.scatter_value %t cut <dim 0 of [8] over <expert = 2>> : tensor<8x8xf32> -> tensor<4x8xf32>
  %l = nn.reduce sum %z dims [0, 1] : (tensor<4x8xf32>) -> tensor<f32>
  zero.yield %l : tensor<f32>
}

// -----
// Ranks would have the experts of one another.
zero.mesh @mesh <data = 2, expert = 2>
zero.parameter @bias : tensor<8xf32> = #zero.ones
zero.parameter @w : tensor<2x8x8xf32> = #zero.ones cut <dim 0 of [4] over <expert = 2>>
zero.step @both_first(%x0: tensor<4x8xf32> {zero.input = "x"}, %i: tensor<4x2xi32> {zero.input = "i"}) {
  %b = zero.load @bias : tensor<8xf32>
  %n = nn.broadcast %b dims [1] : (tensor<8xf32>) -> tensor<4x8xf32>
  %x = arith.addf %x0, %n : tensor<4x8xf32>
  %w = zero.load @w : tensor<2x8x8xf32>
  %r = zero.gather_value %x replicated cut <dim 0 of [8] over <expert = 2>> : tensor<4x8xf32> -> tensor<8x8xf32>
  %j = zero.gather_value %i cut <dim 0 of [8] over <expert = 2>> : tensor<4x2xi32> -> tensor<8x2xi32>
  %table = arith.constant dense<[2, 0]> : tensor<2xi32>
  %own = zero.slice_value %table cut <dim 0 of [2] over <expert = 2>> : tensor<2xi32> -> tensor<1xi32>
  %f = tensor.collapse_shape %own [] : tensor<1xi32> into tensor<i32>
  // expected-error @below {{over #zero.axes<expert = 2> has ranges that begin at 2 on rank 0 of the axis; wanted equal ranges, one behind the other}}
  %s, %p, %o = nn.dispatch %r, %j first %f experts 4 : (tensor<8x8xf32>, tensor<8x2xi32>, tensor<i32>) -> (tensor<16x8xf32>, tensor<8x2xi32>, tensor<2xi32>)
  %h = nn.grouped_matmul %s, %w offsets %o : (tensor<16x8xf32>, tensor<2x8x8xf32>, tensor<2xi32>) -> tensor<16x8xf32>
  %a = nn.silu %h : tensor<16x8xf32>
  %t = nn.combine %a, %p : (tensor<16x8xf32>, tensor<8x2xi32>) -> tensor<8x8xf32>
  %z = zero.scatter_value %t cut <dim 0 of [8] over <expert = 2>> : tensor<8x8xf32> -> tensor<4x8xf32>
  %l = nn.reduce sum %z dims [0, 1] : (tensor<4x8xf32>) -> tensor<f32>
  zero.yield %l : tensor<f32>
}

// -----
// Both ranks have these matrices, which are not those of their experts.
zero.mesh @mesh <data = 2, expert = 2>
zero.parameter @bias : tensor<8xf32> = #zero.ones
zero.parameter @w : tensor<2x8x8xf32> = #zero.ones 
zero.step @same_matrices(%x0: tensor<4x8xf32> {zero.input = "x"}, %i: tensor<4x2xi32> {zero.input = "i"}) {
  %b = zero.load @bias : tensor<8xf32>
  %n = nn.broadcast %b dims [1] : (tensor<8xf32>) -> tensor<4x8xf32>
  %x = arith.addf %x0, %n : tensor<4x8xf32>
  %w = zero.load @w : tensor<2x8x8xf32>
  %r = zero.gather_value %x replicated cut <dim 0 of [8] over <expert = 2>> : tensor<4x8xf32> -> tensor<8x8xf32>
  %j = zero.gather_value %i cut <dim 0 of [8] over <expert = 2>> : tensor<4x2xi32> -> tensor<8x2xi32>
  %table = arith.constant dense<[0, 2]> : tensor<2xi32>
  %own = zero.slice_value %table cut <dim 0 of [2] over <expert = 2>> : tensor<2xi32> -> tensor<1xi32>
  %f = tensor.collapse_shape %own [] : tensor<1xi32> into tensor<i32>
  %s, %p, %o = nn.dispatch %r, %j first %f experts 4 : (tensor<8x8xf32>, tensor<8x2xi32>, tensor<i32>) -> (tensor<16x8xf32>, tensor<8x2xi32>, tensor<2xi32>)
  // expected-error @below {{over #zero.axes<expert = 2> reads operand 1, which is the same on all ranks, with rows in the order of each rank's experts; wanted such rows, what goes with them on that rank, or what is the same for all rows}}
  %h = nn.grouped_matmul %s, %w offsets %o : (tensor<16x8xf32>, tensor<2x8x8xf32>, tensor<2xi32>) -> tensor<16x8xf32>
  %a = nn.silu %h : tensor<16x8xf32>
  %t = nn.combine %a, %p : (tensor<16x8xf32>, tensor<8x2xi32>) -> tensor<8x8xf32>
  %z = zero.scatter_value %t cut <dim 0 of [8] over <expert = 2>> : tensor<8x8xf32> -> tensor<4x8xf32>
  %l = nn.reduce sum %z dims [0, 1] : (tensor<4x8xf32>) -> tensor<f32>
  zero.yield %l : tensor<f32>
}

// -----
// What other ranks have for a row is left out.
zero.mesh @mesh <data = 2, expert = 2>
zero.parameter @bias : tensor<8xf32> = #zero.ones
zero.parameter @w : tensor<2x8x8xf32> = #zero.ones cut <dim 0 of [4] over <expert = 2>>
zero.step @term_alone(%x0: tensor<4x8xf32> {zero.input = "x"}, %i: tensor<4x2xi32> {zero.input = "i"}) {
  %b = zero.load @bias : tensor<8xf32>
  %n = nn.broadcast %b dims [1] : (tensor<8xf32>) -> tensor<4x8xf32>
  %x = arith.addf %x0, %n : tensor<4x8xf32>
  %w = zero.load @w : tensor<2x8x8xf32>
  %r = zero.gather_value %x replicated cut <dim 0 of [8] over <expert = 2>> : tensor<4x8xf32> -> tensor<8x8xf32>
  %j = zero.gather_value %i cut <dim 0 of [8] over <expert = 2>> : tensor<4x2xi32> -> tensor<8x2xi32>
  %table = arith.constant dense<[0, 2]> : tensor<2xi32>
  %own = zero.slice_value %table cut <dim 0 of [2] over <expert = 2>> : tensor<2xi32> -> tensor<1xi32>
  %f = tensor.collapse_shape %own [] : tensor<1xi32> into tensor<i32>
  %s, %p, %o = nn.dispatch %r, %j first %f experts 4 : (tensor<8x8xf32>, tensor<8x2xi32>, tensor<i32>) -> (tensor<16x8xf32>, tensor<8x2xi32>, tensor<2xi32>)
  %h = nn.grouped_matmul %s, %w offsets %o : (tensor<16x8xf32>, tensor<2x8x8xf32>, tensor<2xi32>) -> tensor<16x8xf32>
  %a = nn.silu %h : tensor<16x8xf32>
  %t = nn.combine %a, %p : (tensor<16x8xf32>, tensor<8x2xi32>) -> tensor<8x8xf32>
  // expected-error @below {{over #zero.axes<expert = 2> takes a part of what is the term of a sum on each rank; wanted the same on all ranks}}
  %z = zero.slice_value %t cut <dim 0 of [8] over <expert = 2>> : tensor<8x8xf32> -> tensor<4x8xf32>
  %l = nn.reduce sum %z dims [0, 1] : (tensor<4x8xf32>) -> tensor<f32>
  zero.yield %l : tensor<f32>
}

// -----

// Places of other choices are those of other rows.
zero.mesh @mesh <data = 2, expert = 2>
zero.parameter @bias : tensor<8xf32> = #zero.ones
zero.parameter @w : tensor<2x8x8xf32> = #zero.ones cut <dim 0 of [4] over <expert = 2>>
zero.step @other_order(%x0: tensor<4x8xf32> {zero.input = "x"}, %i: tensor<4x2xi32> {zero.input = "i"}, %k: tensor<4x2xi32> {zero.input = "k"}) {
  %b = zero.load @bias : tensor<8xf32>
  %n = nn.broadcast %b dims [1] : (tensor<8xf32>) -> tensor<4x8xf32>
  %x = arith.addf %x0, %n : tensor<4x8xf32>
  %w = zero.load @w : tensor<2x8x8xf32>
  %r = zero.gather_value %x replicated cut <dim 0 of [8] over <expert = 2>> : tensor<4x8xf32> -> tensor<8x8xf32>
  %j = zero.gather_value %i cut <dim 0 of [8] over <expert = 2>> : tensor<4x2xi32> -> tensor<8x2xi32>
  %table = arith.constant dense<[0, 2]> : tensor<2xi32>
  %own = zero.slice_value %table cut <dim 0 of [2] over <expert = 2>> : tensor<2xi32> -> tensor<1xi32>
  %f = tensor.collapse_shape %own [] : tensor<1xi32> into tensor<i32>
  %s, %p, %o = nn.dispatch %r, %j first %f experts 4 : (tensor<8x8xf32>, tensor<8x2xi32>, tensor<i32>) -> (tensor<16x8xf32>, tensor<8x2xi32>, tensor<2xi32>)
  %j2 = zero.gather_value %k cut <dim 0 of [8] over <expert = 2>> : tensor<4x2xi32> -> tensor<8x2xi32>
  %s2, %p2, %o2 = nn.dispatch %r, %j2 first %f experts 4 : (tensor<8x8xf32>, tensor<8x2xi32>, tensor<i32>) -> (tensor<16x8xf32>, tensor<8x2xi32>, tensor<2xi32>)
  %h = nn.grouped_matmul %s, %w offsets %o : (tensor<16x8xf32>, tensor<2x8x8xf32>, tensor<2xi32>) -> tensor<16x8xf32>
  %a = nn.silu %h : tensor<16x8xf32>
  // expected-error @below {{over #zero.axes<expert = 2> reads operand 1 of rows that are sorted by other choices than those beside it; wanted one order}}
  %t = nn.combine %a, %p2 : (tensor<16x8xf32>, tensor<8x2xi32>) -> tensor<8x8xf32>
  %z = zero.scatter_value %t cut <dim 0 of [8] over <expert = 2>> : tensor<8x8xf32> -> tensor<4x8xf32>
  %l = nn.reduce sum %z dims [0, 1] : (tensor<4x8xf32>) -> tensor<f32>
  zero.yield %l : tensor<f32>
}

// -----

// A rank may have all choices.
zero.mesh @mesh <data = 2, expert = 2>
zero.parameter @bias : tensor<8xf32> = #zero.ones
zero.parameter @w : tensor<2x8x8xf32> = #zero.ones cut <dim 0 of [4] over <expert = 2>>
zero.step @little_room(%x0: tensor<4x8xf32> {zero.input = "x"}, %i: tensor<4x2xi32> {zero.input = "i"}) {
  %b = zero.load @bias : tensor<8xf32>
  %n = nn.broadcast %b dims [1] : (tensor<8xf32>) -> tensor<4x8xf32>
  %x = arith.addf %x0, %n : tensor<4x8xf32>
  %w = zero.load @w : tensor<2x8x8xf32>
  %r = zero.gather_value %x replicated cut <dim 0 of [8] over <expert = 2>> : tensor<4x8xf32> -> tensor<8x8xf32>
  %j = zero.gather_value %i cut <dim 0 of [8] over <expert = 2>> : tensor<4x2xi32> -> tensor<8x2xi32>
  %table = arith.constant dense<[0, 2]> : tensor<2xi32>
  %own = zero.slice_value %table cut <dim 0 of [2] over <expert = 2>> : tensor<2xi32> -> tensor<1xi32>
  %f = tensor.collapse_shape %own [] : tensor<1xi32> into tensor<i32>
  // expected-error @below {{over #zero.axes<expert = 2> has room for 12 of 16 choices on each rank, of which those of one may be more; wanted room for all}}
  %s, %p, %o = nn.dispatch %r, %j first %f experts 4 : (tensor<8x8xf32>, tensor<8x2xi32>, tensor<i32>) -> (tensor<12x8xf32>, tensor<8x2xi32>, tensor<2xi32>)
  %h = nn.grouped_matmul %s, %w offsets %o : (tensor<12x8xf32>, tensor<2x8x8xf32>, tensor<2xi32>) -> tensor<12x8xf32>
  %a = nn.silu %h : tensor<12x8xf32>
  %t = nn.combine %a, %p : (tensor<12x8xf32>, tensor<8x2xi32>) -> tensor<8x8xf32>
  %z = zero.scatter_value %t cut <dim 0 of [8] over <expert = 2>> : tensor<8x8xf32> -> tensor<4x8xf32>
  %l = nn.reduce sum %z dims [0, 1] : (tensor<4x8xf32>) -> tensor<f32>
  zero.yield %l : tensor<f32>
}

// -----

// Ranks get columns of what comes back by rows.
zero.mesh @mesh <data = 2, expert = 2>
zero.parameter @bias : tensor<8xf32> = #zero.ones
zero.parameter @w : tensor<2x8x8xf32> = #zero.ones cut <dim 0 of [4] over <expert = 2>>
zero.step @columns(%x0: tensor<4x8xf32> {zero.input = "x"}, %i: tensor<4x2xi32> {zero.input = "i"}) {
  %b = zero.load @bias : tensor<8xf32>
  %n = nn.broadcast %b dims [1] : (tensor<8xf32>) -> tensor<4x8xf32>
  %x = arith.addf %x0, %n : tensor<4x8xf32>
  %w = zero.load @w : tensor<2x8x8xf32>
  %r = zero.gather_value %x replicated cut <dim 0 of [8] over <expert = 2>> : tensor<4x8xf32> -> tensor<8x8xf32>
  %j = zero.gather_value %i cut <dim 0 of [8] over <expert = 2>> : tensor<4x2xi32> -> tensor<8x2xi32>
  %table = arith.constant dense<[0, 2]> : tensor<2xi32>
  %own = zero.slice_value %table cut <dim 0 of [2] over <expert = 2>> : tensor<2xi32> -> tensor<1xi32>
  %f = tensor.collapse_shape %own [] : tensor<1xi32> into tensor<i32>
  %s, %p, %o = nn.dispatch %r, %j first %f experts 4 : (tensor<8x8xf32>, tensor<8x2xi32>, tensor<i32>) -> (tensor<16x8xf32>, tensor<8x2xi32>, tensor<2xi32>)
  %h = nn.grouped_matmul %s, %w offsets %o : (tensor<16x8xf32>, tensor<2x8x8xf32>, tensor<2xi32>) -> tensor<16x8xf32>
  %a = nn.silu %h : tensor<16x8xf32>
  %t = nn.combine %a, %p : (tensor<16x8xf32>, tensor<8x2xi32>) -> tensor<8x8xf32>
  // expected-error @below {{over #zero.axes<expert = 2> has what is of each rank's samples as #zero.cut<dim 1 of [8] over <expert = 2>>; wanted one piece of dimension 0, in the order of ranks}}
  %z = zero.scatter_value %t cut <dim 1 of [8] over <expert = 2>> : tensor<8x8xf32> -> tensor<8x4xf32>
  %l = nn.reduce sum %z dims [0, 1] : (tensor<8x4xf32>) -> tensor<f32>
  zero.yield %l : tensor<f32>
}

// -----

// Tokens would go by the choices of the other rank.
zero.mesh @mesh <data = 2, expert = 2>
zero.parameter @bias : tensor<8xf32> = #zero.ones
zero.parameter @w : tensor<2x8x8xf32> = #zero.ones cut <dim 0 of [4] over <expert = 2>>
zero.step @swapped(%x0: tensor<4x8xf32> {zero.input = "x"}, %i: tensor<4x2xi32> {zero.input = "i"}) {
  %b = zero.load @bias : tensor<8xf32>
  %n = nn.broadcast %b dims [1] : (tensor<8xf32>) -> tensor<4x8xf32>
  %x = arith.addf %x0, %n : tensor<4x8xf32>
  %w = zero.load @w : tensor<2x8x8xf32>
  %r = zero.gather_value %x replicated cut <dim 0 of [8] over <expert = 2>> : tensor<4x8xf32> -> tensor<8x8xf32>
  %j = zero.gather_value %i cut <dim 0 of [8] over <expert = 2>> : tensor<4x2xi32> -> tensor<8x2xi32>
  %table = arith.constant dense<[0, 2]> : tensor<2xi32>
  %own = zero.slice_value %table cut <dim 0 of [2] over <expert = 2>> : tensor<2xi32> -> tensor<1xi32>
  %f = tensor.collapse_shape %own [] : tensor<1xi32> into tensor<i32>
  %a0 = tensor.extract_slice %j[0, 0] [4, 2] [1, 1] : tensor<8x2xi32> to tensor<4x2xi32>
  %a1 = tensor.extract_slice %j[4, 0] [4, 2] [1, 1] : tensor<8x2xi32> to tensor<4x2xi32>
  %js = tensor.concat dim(0) %a1, %a0 : (tensor<4x2xi32>, tensor<4x2xi32>) -> tensor<8x2xi32>
  // expected-error @below {{over #zero.axes<expert = 2> reads operand 1, which is the same on all ranks; wanted the samples of all ranks in their order, which 'zero.gather_value' brings together}}
  %s, %p, %o = nn.dispatch %r, %js first %f experts 4 : (tensor<8x8xf32>, tensor<8x2xi32>, tensor<i32>) -> (tensor<16x8xf32>, tensor<8x2xi32>, tensor<2xi32>)
  %h = nn.grouped_matmul %s, %w offsets %o : (tensor<16x8xf32>, tensor<2x8x8xf32>, tensor<2xi32>) -> tensor<16x8xf32>
  %a = nn.silu %h : tensor<16x8xf32>
  %t = nn.combine %a, %p : (tensor<16x8xf32>, tensor<8x2xi32>) -> tensor<8x8xf32>
  %z = zero.scatter_value %t cut <dim 0 of [8] over <expert = 2>> : tensor<8x8xf32> -> tensor<4x8xf32>
  %l = nn.reduce sum %z dims [0, 1] : (tensor<4x8xf32>) -> tensor<f32>
  zero.yield %l : tensor<f32>
}

// -----

// Experts are not cut within what another axis cuts.
zero.mesh @mesh <data = 1, expert = 2, tensor = 2>
zero.parameter @w : tensor<4x8xf32> = #zero.ones cut <dim 0 of [8] over <expert = 2>>
zero.step @both(%x: tensor<3x8xf32> {zero.input = "x"}) {
  %w = zero.load @w : tensor<4x8xf32>
  // expected-error @below {{over #zero.axes<tensor = 2> needs dimension 0 of what is over #zero.axes<expert = 2> cut in dimension 0 into parts of [4]; wanted as much of each part}}
  %s = zero.slice_value %w cut <dim 0 of [4] over <tensor = 2>> : tensor<4x8xf32> -> tensor<2x8xf32>
  %l = nn.reduce sum %s dims [0, 1] : (tensor<2x8xf32>) -> tensor<f32>
  zero.yield %l : tensor<f32>
}

// -----

// A cut is over one axis.
zero.mesh @mesh <data = 1, tensor = 2, expert = 2>
// expected-error @below {{is cut over #zero.axes<tensor = 2, expert = 2>, wanted one axis of the mesh that cuts the model}}
zero.parameter @w : tensor<2x8xf32> = #zero.ones cut <dim 0 of [8] over <tensor = 2, expert = 2>>
zero.step @at_once(%x: tensor<3x8xf32> {zero.input = "x"}) {
  %w = zero.load @w : tensor<2x8xf32>
  %l = nn.reduce sum %w dims [0, 1] : (tensor<2x8xf32>) -> tensor<f32>
  zero.yield %l : tensor<f32>
}

// -----

// Rows that are equal on each rank are not those of another one.
zero.mesh @mesh <data = 1, tensor = 2, expert = 2>
zero.step @uniform(%x: tensor<8xf32> {zero.input = "x"}) {
  %b = nn.broadcast %x dims [1] : (tensor<8xf32>) -> tensor<4x8xf32>
  %g = zero.gather_value %b cut <dim 0 of [8] over <expert = 2>> : tensor<4x8xf32> -> tensor<8x8xf32>
  %s = zero.slice_value %g cut <dim 0 of [8] over <tensor = 2>> : tensor<8x8xf32> -> tensor<4x8xf32>
  %l = nn.reduce sum %s dims [0, 1] : (tensor<4x8xf32>) -> tensor<f32>
  // expected-error @below {{over #zero.axes<tensor = 2> yields value 0, which is the term of a sum on each rank; wanted the same on all ranks}}
  zero.yield %l : tensor<f32>
}

// -----

// Parts that are equal: the gradient of each is of its own positions, and a replicate adds
// them up, once.
zero.mesh @mesh <data = 1, tensor = 2>
zero.parameter @bias : tensor<8xf32> = #zero.ones
zero.step @equal_parts(%x: tensor<4x8xf32> {zero.input = "x"}) {
  %b = zero.load @bias : tensor<8xf32>
  %r = zero.replicate %b over <tensor = 2> : tensor<8xf32>
  %n = nn.broadcast %r dims [1] : (tensor<8xf32>) -> tensor<2x8xf32>
  %g = zero.gather_value %n cut <dim 0 of [4] over <tensor = 2>> : tensor<2x8xf32> -> tensor<4x8xf32>
  %y = arith.mulf %x, %g : tensor<4x8xf32>
  %l = nn.reduce sum %y dims [0, 1] : (tensor<4x8xf32>) -> tensor<f32>
  zero.yield %l : tensor<f32>
}

// -----

zero.mesh @mesh <data = 1, tensor = 2>
zero.parameter @bias : tensor<8xf32> = #zero.ones
zero.step @equal_parts_not_added_up(%x: tensor<4x8xf32> {zero.input = "x"}) {
  %b = zero.load @bias : tensor<8xf32>
  %n = nn.broadcast %b dims [1] : (tensor<8xf32>) -> tensor<2x8xf32>
  // expected-error @below {{brings together parts of which each rank gives another gradient; wanted a 'zero.replicate' before, whose gradient is their sum}}
  %g = zero.gather_value %n cut <dim 0 of [4] over <tensor = 2>> : tensor<2x8xf32> -> tensor<4x8xf32>
  %y = arith.mulf %x, %g : tensor<4x8xf32>
  %l = nn.reduce sum %y dims [0, 1] : (tensor<4x8xf32>) -> tensor<f32>
  zero.yield %l : tensor<f32>
}

// -----

zero.mesh @mesh <data = 1, tensor = 2>
zero.parameter @bias : tensor<8xf32> = #zero.ones
zero.step @equal_parts_exchanged(%x: tensor<2x8xf32> {zero.input = "x"}) {
  %b = zero.load @bias : tensor<8xf32>
  %n = nn.broadcast %b dims [1] : (tensor<8xf32>) -> tensor<2x8xf32>
  // expected-error @below {{exchanges parts of which each rank gives another gradient; wanted a 'zero.replicate' before, whose gradient is their sum}}
  %e = zero.exchange_value %n from <dim 0 of [4] over <tensor = 2>> to <dim 1 of [8] over <tensor = 2>> : tensor<2x8xf32> -> tensor<4x4xf32>
  %l = nn.reduce sum %e dims [0, 1] : (tensor<4x4xf32>) -> tensor<f32>
  %s = zero.all_reduce_value %l over <tensor = 2> : tensor<f32>
  zero.yield %s : tensor<f32>
}

// -----

// A part of what is equal has a gradient of its own as well.
zero.mesh @mesh <data = 1, tensor = 2>
zero.parameter @bias : tensor<8xf32> = #zero.ones
zero.step @part_of_equals(%x: tensor<4x8xf32> {zero.input = "x"}) {
  %b = zero.load @bias : tensor<8xf32>
  %n = nn.broadcast %b dims [1] : (tensor<8xf32>) -> tensor<4x8xf32>
  %p = zero.slice_value %n cut <dim 0 of [4] over <tensor = 2>> : tensor<4x8xf32> -> tensor<2x8xf32>
  %l = nn.reduce max %p dims [0, 1] : (tensor<2x8xf32>) -> tensor<f32>
  // expected-error @below {{yields a loss that each rank would differentiate, 2 times too often}}
  zero.yield %l : tensor<f32>
}

// -----

// A rank that has one position of a dimension has a part of it all the same.
zero.mesh @mesh <data = 2, sequence = 8>
zero.parameter @table : tensor<16x4xf32> = #zero.ones
zero.step @one_position(%x: tensor<3x8xi32> {zero.input = "x"}) {
  %w = zero.load @table : tensor<16x4xf32>
  %o = zero.slice_value %x cut <dim 1 of [8] over <sequence = 8>> : tensor<3x8xi32> -> tensor<3x1xi32>
  %e = nn.embedding %o, %w : (tensor<3x1xi32>, tensor<16x4xf32>) -> tensor<3x1x4xf32>
  // expected-error @below {{needs all of dimension 1 of operand 0, and each rank has a part; wanted the whole, which 'zero.gather_value' brings together}}
  %c = nn.cumsum %e dim 1 : tensor<3x1x4xf32>
  %l = nn.reduce sum %c dims [0, 1, 2] : (tensor<3x1x4xf32>) -> tensor<f32>
  zero.yield %l : tensor<f32>
}

// -----

// A sum over positions is one over ranks, where each has one as well.
zero.mesh @mesh <data = 2, sequence = 8>
zero.parameter @table : tensor<16x4xf32> = #zero.ones
zero.step @sum_of_positions(%x: tensor<3x8xi32> {zero.input = "x"}) {
  %w = zero.load @table : tensor<16x4xf32>
  %o = zero.slice_value %x cut <dim 1 of [8] over <sequence = 8>> : tensor<3x8xi32> -> tensor<3x1xi32>
  %e = nn.embedding %o, %w : (tensor<3x1xi32>, tensor<16x4xf32>) -> tensor<3x1x4xf32>
  %p = nn.reduce sum %e dims [1] : (tensor<3x1x4xf32>) -> tensor<3x4xf32>
  %s = zero.all_reduce_value %p over <sequence = 8> : tensor<3x4xf32>
  %l = nn.reduce sum %s dims [0, 1] : (tensor<3x4xf32>) -> tensor<f32>
  zero.yield %l : tensor<f32>
}

// -----

zero.mesh @mesh <data = 2, sequence = 8>
zero.parameter @table : tensor<16x4xf32> = #zero.ones
zero.step @no_sum_of_positions(%x: tensor<3x8xi32> {zero.input = "x"}) {
  %w = zero.load @table : tensor<16x4xf32>
  %o = zero.slice_value %x cut <dim 1 of [8] over <sequence = 8>> : tensor<3x8xi32> -> tensor<3x1xi32>
  %e = nn.embedding %o, %w : (tensor<3x1xi32>, tensor<16x4xf32>) -> tensor<3x1x4xf32>
  %p = nn.reduce sum %e dims [1] : (tensor<3x1x4xf32>) -> tensor<3x4xf32>
  %b = nn.broadcast %p dims [0, 2] : (tensor<3x4xf32>) -> tensor<3x1x4xf32>
  // expected-error @below {{reads operand 1, the term of a sum, beside parts; wanted the sum, which 'zero.all_reduce_value' makes}}
  %y = arith.addf %e, %b : tensor<3x1x4xf32>
  %l = nn.reduce sum %y dims [0, 1, 2] : (tensor<3x1x4xf32>) -> tensor<f32>
  zero.yield %l : tensor<f32>
}

// -----

// A number of each rank's, and the term of a sum.
zero.mesh @mesh <data = 2, tensor = 2>
zero.step @own_beside_term(%x: tensor<4x16xf32> {zero.input = "x"}) {
  %n = arith.constant dense<[0, 8]> : tensor<2xi32>
  %o = zero.slice_value %n cut <dim 0 of [2] over <tensor = 2>> : tensor<2xi32> -> tensor<1xi32>
  %i = tensor.collapse_shape %o [] : tensor<1xi32> into tensor<i32>
  %f = arith.sitofp %i : tensor<i32> to tensor<f32>
  %p = zero.slice_value %x cut <dim 1 of [16] over <tensor = 2>> : tensor<4x16xf32> -> tensor<4x8xf32>
  %t = nn.reduce sum %p dims [0, 1] : (tensor<4x8xf32>) -> tensor<f32>
  // expected-error @below {{over #zero.axes<tensor = 2> reads operand 1, the term of a sum, beside parts; wanted the sum, which 'zero.all_reduce_value' makes}}
  %y = arith.mulf %f, %t : tensor<f32>
  zero.yield %y : tensor<f32>
}

// -----

// Two pieces of 2 and 4 indices a rank are no part of 2 or of 3 of 6.
zero.mesh @mesh <data = 2, tensor = 2>
zero.step @apart(%x: tensor<4x12xf32> {zero.input = "x"}) {
  %o = zero.slice_value %x cut <dim 1 of [4, 8] over <tensor = 2>> : tensor<4x12xf32> -> tensor<4x6xf32>
  // expected-error @below {{cannot take operand 0, which is cut in dimension 1 into parts of [2, 4], apart as it is cut; wanted the whole, which 'zero.gather_value' brings together}}
  %e = tensor.expand_shape %o [[0], [1, 2]] output_shape [4, 2, 3] : tensor<4x6xf32> into tensor<4x2x3xf32>
  %l = nn.reduce sum %e dims [0, 1, 2] : (tensor<4x2x3xf32>) -> tensor<f32>
  zero.yield %l : tensor<f32>
}

// -----

// What is the same along a dimension repeats in the one that a reshape makes of it, and goes
// beside parts of that; a sum over it is a term, as one over parts is.
zero.mesh @mesh <data = 1, tensor = 2>
zero.parameter @table : tensor<24x8xf32> = #zero.ones cut <dim 0 of [16, 16, 16] over <tensor = 2>>
zero.step @repeats(%x: tensor<3x8xf32> {zero.input = "x"}) {
  %t = zero.load @table : tensor<24x8xf32>
  %n = nn.broadcast %x dims [0, 2] : (tensor<3x8xf32>) -> tensor<3x8x8xf32>
  %r = tensor.collapse_shape %n [[0, 1], [2]] : tensor<3x8x8xf32> into tensor<24x8xf32>
  %m = nn.matmul %r, %t transpose_a : (tensor<24x8xf32>, tensor<24x8xf32>) -> tensor<8x8xf32>
  %s = zero.all_reduce_value %m over <tensor = 2> : tensor<8x8xf32>
  %c = nn.reduce sum %r dims [0] : (tensor<24x8xf32>) -> tensor<8xf32>
  %d = zero.all_reduce_value %c over <tensor = 2> : tensor<8xf32>
  %b = nn.broadcast %d dims [1] : (tensor<8xf32>) -> tensor<8x8xf32>
  %z = arith.addf %s, %b : tensor<8x8xf32>
  %l = nn.reduce sum %z dims [0, 1] : (tensor<8x8xf32>) -> tensor<f32>
  zero.yield %l : tensor<f32>
}

// -----

// Parts that reach into more than what repeats are not beside it.
zero.mesh @mesh <data = 1, tensor = 2>
zero.parameter @table : tensor<24x8xf32> = #zero.ones cut <dim 0 of [48] over <tensor = 2>>
zero.step @repeats_otherwise(%x: tensor<3x8xf32> {zero.input = "x"}) {
  %t = zero.load @table : tensor<24x8xf32>
  %n = nn.broadcast %x dims [0, 2] : (tensor<3x8xf32>) -> tensor<3x8x8xf32>
  %r = tensor.collapse_shape %n [[0, 1], [2]] : tensor<3x8x8xf32> into tensor<24x8xf32>
  // expected-error @below {{reads parts beside all of dimension 0 of operand 0, which is the same on all ranks; wanted its part}}
  %m = nn.matmul %r, %t transpose_a : (tensor<24x8xf32>, tensor<24x8xf32>) -> tensor<8x8xf32>
  %s = zero.all_reduce_value %m over <tensor = 2> : tensor<8x8xf32>
  %l = nn.reduce sum %s dims [0, 1] : (tensor<8x8xf32>) -> tensor<f32>
  zero.yield %l : tensor<f32>
}

// -----

// Nor is what repeats at another distance.
zero.mesh @mesh <data = 1, tensor = 2>
zero.parameter @table : tensor<24x8xf32> = #zero.ones cut <dim 0 of [16, 16, 16] over <tensor = 2>>
zero.step @repeats_around(%x: tensor<3x8xf32> {zero.input = "x"}) {
  %t = zero.load @table : tensor<24x8xf32>
  %n = nn.broadcast %x dims [1, 2] : (tensor<3x8xf32>) -> tensor<8x3x8xf32>
  %r = tensor.collapse_shape %n [[0, 1], [2]] : tensor<8x3x8xf32> into tensor<24x8xf32>
  // expected-error @below {{reads parts beside all of dimension 0 of operand 0, which is the same on all ranks; wanted its part}}
  %m = nn.matmul %r, %t transpose_a : (tensor<24x8xf32>, tensor<24x8xf32>) -> tensor<8x8xf32>
  %s = zero.all_reduce_value %m over <tensor = 2> : tensor<8x8xf32>
  %l = nn.reduce sum %s dims [0, 1] : (tensor<8x8xf32>) -> tensor<f32>
  zero.yield %l : tensor<f32>
}

// -----

// Each rank would give another gradient to what is added up so.
zero.mesh @mesh <data = 1, tensor = 2>
zero.parameter @bias : tensor<8xf32> = #zero.ones
zero.step @equal_addends(%x: tensor<4x8xf32> {zero.input = "x"}) {
  %b = zero.load @bias : tensor<8xf32>
  %n = nn.broadcast %b dims [1] : (tensor<8xf32>) -> tensor<2x8xf32>
  %c = nn.reduce sum %n dims [0] : (tensor<2x8xf32>) -> tensor<8xf32>
  // expected-error @below {{adds up parts of which each rank gives another gradient; wanted a 'zero.replicate' before, whose gradient is their sum}}
  %d = zero.all_reduce_value %c over <tensor = 2> : tensor<8xf32>
  %l = nn.reduce sum %d dims [0] : (tensor<8xf32>) -> tensor<f32>
  zero.yield %l : tensor<f32>
}

// -----

// A rank has one row of 2, or 4 of 8 numbers: each sum over rows is a term or a part, as what
// reads it wants.
zero.mesh @mesh <data = 1, tensor = 2>
zero.parameter @u : tensor<4xf32> = #zero.ones cut <dim 0 of [8] over <tensor = 2>>
zero.step @either(%x: tensor<4xf32> {zero.input = "x"}) {
  %u = zero.load @u : tensor<4xf32>
  %e = tensor.expand_shape %u [[0, 1]] output_shape [1, 4] : tensor<4xf32> into tensor<1x4xf32>
  %s = nn.reduce sum %e dims [0] : (tensor<1x4xf32>) -> tensor<4xf32>
  %rows = zero.all_reduce_value %s over <tensor = 2> : tensor<4xf32>
  %a = nn.reduce sum %rows dims [0] : (tensor<4xf32>) -> tensor<f32>
  %m = nn.reduce sum %e dims [0] : (tensor<1x4xf32>) -> tensor<4xf32>
  %g = nn.gelu tanh %m : tensor<4xf32>
  %p = arith.mulf %g, %u : tensor<4xf32>
  %t = nn.reduce sum %p dims [0] : (tensor<4xf32>) -> tensor<f32>
  %b = zero.all_reduce_value %t over <tensor = 2> : tensor<f32>
  %l = arith.addf %a, %b : tensor<f32>
  zero.yield %l : tensor<f32>
}

// -----

// Behind what is not linear it is a part.
zero.mesh @mesh <data = 1, tensor = 2>
zero.parameter @u : tensor<4xf32> = #zero.ones cut <dim 0 of [8] over <tensor = 2>>
zero.step @no_term(%x: tensor<4xf32> {zero.input = "x"}) {
  %u = zero.load @u : tensor<4xf32>
  %e = tensor.expand_shape %u [[0, 1]] output_shape [1, 4] : tensor<4xf32> into tensor<1x4xf32>
  %s = nn.reduce sum %e dims [0] : (tensor<1x4xf32>) -> tensor<4xf32>
  %g = nn.gelu tanh %s : tensor<4xf32>
  // expected-error @below {{over #zero.axes<tensor = 2> adds up what is cut in dimension 0 into parts of [4]; wanted the terms of a sum}}
  %r = zero.all_reduce_value %g over <tensor = 2> : tensor<4xf32>
  %l = nn.reduce sum %r dims [0] : (tensor<4xf32>) -> tensor<f32>
  zero.yield %l : tensor<f32>
}

// -----

// A product of two terms is none.
zero.mesh @mesh <data = 1, tensor = 2>
zero.parameter @u : tensor<4xf32> = #zero.ones cut <dim 0 of [8] over <tensor = 2>>
zero.step @no_product(%x: tensor<4xf32> {zero.input = "x"}) {
  %u = zero.load @u : tensor<4xf32>
  %e = tensor.expand_shape %u [[0, 1]] output_shape [1, 4] : tensor<4xf32> into tensor<1x4xf32>
  %s = nn.reduce sum %e dims [0] : (tensor<1x4xf32>) -> tensor<4xf32>
  %q = arith.mulf %s, %s : tensor<4xf32>
  // expected-error @below {{over #zero.axes<tensor = 2> adds up what is cut in dimension 0 into parts of [4]; wanted the terms of a sum}}
  %r = zero.all_reduce_value %q over <tensor = 2> : tensor<4xf32>
  %l = nn.reduce sum %r dims [0] : (tensor<4xf32>) -> tensor<f32>
  zero.yield %l : tensor<f32>
}

// -----

// One value is no term where another reads it whole.
zero.mesh @mesh <data = 1, tensor = 2>
zero.step @both(%x: tensor<8xf32> {zero.input = "x"}) {
  %n = nn.broadcast %x dims [1] : (tensor<8xf32>) -> tensor<2x8xf32>
  %c = nn.reduce sum %n dims [0] : (tensor<2x8xf32>) -> tensor<8xf32>
  %g = nn.softmax %c : tensor<8xf32>
  // expected-error @below {{over #zero.axes<tensor = 2> adds up what is the same on all ranks, 2 times; remove it}}
  %d = zero.all_reduce_value %c over <tensor = 2> : tensor<8xf32>
  %y = arith.mulf %d, %g : tensor<8xf32>
  %l = nn.reduce sum %y dims [0] : (tensor<8xf32>) -> tensor<f32>
  zero.yield %l : tensor<f32>
}

// -----

// Nor is one whole that was read as a term.
zero.mesh @mesh <data = 1, tensor = 2>
zero.step @both_behind(%x: tensor<8xf32> {zero.input = "x"}) {
  %n = nn.broadcast %x dims [1] : (tensor<8xf32>) -> tensor<2x8xf32>
  %c = nn.reduce sum %n dims [0] : (tensor<2x8xf32>) -> tensor<8xf32>
  %d = zero.all_reduce_value %c over <tensor = 2> : tensor<8xf32>
  // expected-error @below {{over #zero.axes<tensor = 2> reads operand 0, the term of a sum, and is not linear in it; wanted the sum, which 'zero.all_reduce_value' makes}}
  %g = nn.softmax %c : tensor<8xf32>
  %y = arith.mulf %d, %g : tensor<8xf32>
  %l = nn.reduce sum %y dims [0] : (tensor<8xf32>) -> tensor<f32>
  zero.yield %l : tensor<f32>
}

// -----

// Of what a rank has taken for itself, several positions are no samples in turn: positions that
// each counts from 0 are not its own.
zero.mesh @mesh <data = 1, sequence = 2>
zero.step @places(%x: tensor<2x4x8xf32> {zero.input = "x"}) {
  zero.micro {
    %q = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
    %e = tensor.expand_shape %x [[0], [1, 2], [3]] output_shape [2, 2, 2, 8] : tensor<2x4x8xf32> into tensor<2x2x2x8xf32>
    %t = nn.transpose %e permutation [1, 0, 2, 3] : (tensor<2x2x2x8xf32>) -> tensor<2x2x2x8xf32>
    %s = zero.slice_value %t cut <dim 0 of [2] over <sequence = 2>> : tensor<2x2x2x8xf32> -> tensor<1x2x2x8xf32>
    %c = tensor.collapse_shape %s [[0, 1, 2, 3]] : tensor<1x2x2x8xf32> into tensor<32xf32>
    %o = tensor.expand_shape %c [[0, 1, 2]] output_shape [2, 2, 8] : tensor<32xf32> into tensor<2x2x8xf32>
    %n = nn.broadcast %q dims [1] : (tensor<2xf32>) -> tensor<2x2x8xf32>
    // expected-error @below {{over #zero.axes<sequence = 2> reads parts beside all of dimension 1 of operand 1, which is the same on all ranks; wanted its part}}
    %y = arith.mulf %o, %n : tensor<2x2x8xf32>
    %l = nn.reduce sum %y dims [0, 1, 2] : (tensor<2x2x8xf32>) -> tensor<f32>
    %a = zero.all_reduce_value %l over <sequence = 2> : tensor<f32>
    zero.yield %a : tensor<f32>
  }
  zero.apply {
  }
}

// -----

// The first position of all samples, of which each rank has half of the columns: without the
// exchange it is another position on each.
zero.mesh @mesh <data = 1, sequence = 2>
zero.step @first_position(%x: tensor<2x8x4xf32> {zero.input = "x"}) {
  zero.micro {
    %e = tensor.expand_shape %x [[0], [1, 2], [3]] output_shape [2, 2, 4, 4] : tensor<2x8x4xf32> into tensor<2x2x4x4xf32>
    %t = nn.transpose %e permutation [1, 0, 2, 3] : (tensor<2x2x4x4xf32>) -> tensor<2x2x4x4xf32>
    %s = zero.slice_value %t cut <dim 0 of [2] over <sequence = 2>> : tensor<2x2x4x4xf32> -> tensor<1x2x4x4xf32>
    %c = tensor.collapse_shape %s [[0, 1, 2, 3]] : tensor<1x2x4x4xf32> into tensor<32xf32>
    %o = tensor.expand_shape %c [[0, 1, 2]] output_shape [2, 4, 4] : tensor<32xf32> into tensor<2x4x4xf32>
    %1 = tensor.collapse_shape %o [[0, 1, 2]] : tensor<2x4x4xf32> into tensor<32xf32>
    %2 = tensor.expand_shape %1 [[0, 1, 2, 3, 4]] output_shape [8, 1, 2, 2, 1] : tensor<32xf32> into tensor<8x1x2x2x1xf32>
    %3 = nn.transpose %2 permutation [2, 0, 1, 3, 4] : (tensor<8x1x2x2x1xf32>) -> tensor<2x8x1x2x1xf32>
    %5 = tensor.collapse_shape %3 [[0, 1, 2, 3, 4]] : tensor<2x8x1x2x1xf32> into tensor<32xf32>
    %6 = tensor.expand_shape %5 [[0, 1, 2, 3, 4]] output_shape [2, 2, 1, 4, 2] : tensor<32xf32> into tensor<2x2x1x4x2xf32>
    %7 = nn.transpose %6 permutation [1, 2, 0, 3, 4] : (tensor<2x2x1x4x2xf32>) -> tensor<2x1x2x4x2xf32>
    %8 = tensor.collapse_shape %7 [[0, 1, 2, 3, 4]] : tensor<2x1x2x4x2xf32> into tensor<32xf32>
    %9 = tensor.expand_shape %8 [[0, 1, 2]] output_shape [2, 8, 2] : tensor<32xf32> into tensor<2x8x2xf32>
    %10 = tensor.extract_slice %9[0, 0, 0] [2, 1, 2] [1, 1, 1] : tensor<2x8x2xf32> to tensor<2x1x2xf32>
    %11 = zero.start_all_gather %10 over <sequence = 2> : tensor<2x1x2xf32> -> <tensor<2x2x1x2xf32>>
    %12 = zero.wait %11 : <tensor<2x2x1x2xf32>>
    %13 = tensor.collapse_shape %12 [[0, 1, 2, 3]] : tensor<2x2x1x2xf32> into tensor<8xf32>
    %14 = tensor.expand_shape %13 [[0, 1, 2, 3, 4]] output_shape [2, 2, 1, 2, 1] : tensor<8xf32> into tensor<2x2x1x2x1xf32>
    %15 = nn.transpose %14 permutation [1, 2, 0, 3, 4] : (tensor<2x2x1x2x1xf32>) -> tensor<2x1x2x2x1xf32>
    %16 = tensor.collapse_shape %15 [[0, 1, 2, 3, 4]] : tensor<2x1x2x2x1xf32> into tensor<8xf32>
    %17 = tensor.expand_shape %16 [[0, 1]] output_shape [2, 4] : tensor<8xf32> into tensor<2x4xf32>
    // expected-error @below {{over #zero.axes<sequence = 2> reads operand 0, which is the parts of all ranks in their order}}
    %18 = nn.softmax %17 : tensor<2x4xf32>
    %l = nn.reduce sum %18 dims [0, 1] : (tensor<2x4xf32>) -> tensor<f32>
    zero.yield %l : tensor<f32>
  }
  zero.apply {
  }
}

// -----

// A number of a vector has no dimension.
zero.mesh @mesh <data = 1, tensor = 2>
zero.step @number(%x: tensor<4xf32> {zero.input = "x"}) {
  %f = tensor.extract_slice %x[1] [1] [1] : tensor<4xf32> to tensor<f32>
  zero.yield %f : tensor<f32>
}
