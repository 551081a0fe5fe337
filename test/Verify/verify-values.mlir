// Ranks that do not compute parts of one model. Here is a module for each case that is not
// one change of a right model; verify-values*.test have those that are.

// RUN: zero-opt %s --split-input-file --zero-verify-values --verify-diagnostics

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
