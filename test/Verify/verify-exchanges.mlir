// What the proof of values once took for something else, and refused.

// RUN: zero-opt %s --split-input-file --zero-pipeline="mesh=data=2,sequence=2" -o /dev/null

// The gradient of a sum over positions is one number for each of them, so that each
// rank has its part of it, which a gather brings together.
zero.parameter @table : tensor<256x8xf32> = #zero.normal<std = 0.1>
zero.parameter @filter : tensor<8x8x3x3xf32> = #zero.normal<std = 0.02>
zero.parameter @head : tensor<8x256xf32> = #zero.normal<std = 0.02>
zero.step @summed(%tokens: tensor<1x8xi32> {zero.input = "tokens"}, %targets: tensor<1x8xi32> {zero.input = "targets"}) {
  %table = zero.load @table : tensor<256x8xf32>
  %filter = zero.load @filter : tensor<8x8x3x3xf32>
  %head = zero.load @head : tensor<8x256xf32>
  %x = nn.embedding %tokens, %table : (tensor<1x8xi32>, tensor<256x8xf32>) -> tensor<1x8x8xf32>
  %e = tensor.expand_shape %x [[0], [1], [2, 3]] output_shape [1, 8, 2, 4] : tensor<1x8x8xf32> into tensor<1x8x2x4xf32>
  %f = nn.conv %e, %filter strides [1, 1] padding [1, 1] dilations [1, 1] groups 1 : (tensor<1x8x2x4xf32>, tensor<8x8x3x3xf32>) -> tensor<1x8x2x4xf32>
  %c = tensor.collapse_shape %f [[0], [1], [2, 3]] : tensor<1x8x2x4xf32> into tensor<1x8x8xf32>
  %a = arith.addf %x, %c : tensor<1x8x8xf32>
  %s = nn.reduce sum %a dims [1] : (tensor<1x8x8xf32>) -> tensor<1x8xf32>
  %b = nn.broadcast %s dims [0, 2] : (tensor<1x8xf32>) -> tensor<1x8x8xf32>
  %y = nn.linear %b, %head : (tensor<1x8x8xf32>, tensor<8x256xf32>) -> tensor<1x8x256xf32>
  %loss, %lse = nn.cross_entropy %y, %targets : (tensor<1x8x256xf32>, tensor<1x8xi32>) -> (tensor<f32>, tensor<1x8xf32>)
  zero.yield %loss : tensor<f32>
}

// -----

// Of the features each rank has one, and they stand outside of the positions that
// are exchanged for them: they are no part of what is between two positions.
zero.parameter @table : tensor<256x2xf32> = #zero.normal<std = 0.3>
zero.parameter @mix : tensor<8x8xf32> = #zero.normal<std = 0.1>
zero.parameter @head : tensor<2x256xf32> = #zero.normal<std = 0.02>
zero.step @mixed(%tokens: tensor<2x8xi32> {zero.input = "tokens"}, %targets: tensor<2x8xi32> {zero.input = "targets"}) {
  %table = zero.load @table : tensor<256x2xf32>
  %mix = zero.load @mix : tensor<8x8xf32>
  %head = zero.load @head : tensor<2x256xf32>
  %x = nn.embedding %tokens, %table : (tensor<2x8xi32>, tensor<256x2xf32>) -> tensor<2x8x2xf32>
  %t = nn.transpose %x permutation [0, 2, 1] : (tensor<2x8x2xf32>) -> tensor<2x2x8xf32>
  %m = nn.linear %t, %mix : (tensor<2x2x8xf32>, tensor<8x8xf32>) -> tensor<2x2x8xf32>
  %u = nn.transpose %m permutation [0, 2, 1] : (tensor<2x2x8xf32>) -> tensor<2x8x2xf32>
  %a = arith.addf %x, %u : tensor<2x8x2xf32>
  %y = nn.linear %a, %head : (tensor<2x8x2xf32>, tensor<2x256xf32>) -> tensor<2x8x256xf32>
  %loss, %lse = nn.cross_entropy %y, %targets : (tensor<2x8x256xf32>, tensor<2x8xi32>) -> (tensor<f32>, tensor<2x8xf32>)
  zero.yield %loss : tensor<f32>
}
