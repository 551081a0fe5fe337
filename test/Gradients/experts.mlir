//===- dispatch and combine -----------------------------------------------===//

// Each row is there once for each of its choices.
func.func @dispatch(%x: tensor<5x3xf64>, %i: tensor<5x2xi32> {gradient.range = [0, 4]}) -> tensor<10x3xf64> {
  %y, %p, %o = nn.dispatch %x, %i experts 4 : (tensor<5x3xf64>, tensor<5x2xi32>) -> (tensor<10x3xf64>, tensor<5x2xi32>, tensor<4xi32>)
  return %y : tensor<10x3xf64>
}
// Choices of other experts, and those for which no row is left, give nothing.
func.func @dispatch_some(%x: tensor<5x3xf64>, %i: tensor<5x2xi32> {gradient.range = [0, 4]}) -> tensor<3x3xf64> {
  %f = arith.constant dense<1> : tensor<i32>
  %y, %p, %o = nn.dispatch %x, %i first %f experts 4 : (tensor<5x3xf64>, tensor<5x2xi32>, tensor<i32>) -> (tensor<3x3xf64>, tensor<5x2xi32>, tensor<2xi32>)
  return %y : tensor<3x3xf64>
}
func.func @combine(%x: tensor<5x3xf64>, %h: tensor<10x3xf64>, %i: tensor<5x2xi32> {gradient.range = [0, 4]}) -> tensor<5x3xf64> {
  %s, %p, %o = nn.dispatch %x, %i experts 4 : (tensor<5x3xf64>, tensor<5x2xi32>) -> (tensor<10x3xf64>, tensor<5x2xi32>, tensor<4xi32>)
  %y = nn.combine %h, %p : (tensor<10x3xf64>, tensor<5x2xi32>) -> tensor<5x3xf64>
  %z = arith.addf %x, %y : tensor<5x3xf64>
  return %z : tensor<5x3xf64>
}
func.func @experts(%x: tensor<5x3xf64>, %w: tensor<4x3x3xf64>, %g: tensor<5x2xf64>, %i: tensor<5x2xi32> {gradient.range = [0, 4]}) -> tensor<5x3xf64> {
  %s, %p, %o = nn.dispatch %x, %i experts 4 : (tensor<5x3xf64>, tensor<5x2xi32>) -> (tensor<10x3xf64>, tensor<5x2xi32>, tensor<4xi32>)
  %h = nn.grouped_matmul %s, %w offsets %o : (tensor<10x3xf64>, tensor<4x3x3xf64>, tensor<4xi32>) -> tensor<10x3xf64>
  %y = nn.combine %h, %p weights %g : (tensor<10x3xf64>, tensor<5x2xi32>, tensor<5x2xf64>) -> tensor<5x3xf64>
  return %y : tensor<5x3xf64>
}
func.func @experts_some(%x: tensor<5x3xf64>, %w: tensor<2x3x3xf64>, %g: tensor<5x2xf64>, %i: tensor<5x2xi32> {gradient.range = [0, 4]}) -> tensor<5x3xf64> {
  %s, %p, %o = nn.dispatch %x, %i experts 4 : (tensor<5x3xf64>, tensor<5x2xi32>) -> (tensor<4x3xf64>, tensor<5x2xi32>, tensor<2xi32>)
  %h = nn.grouped_matmul %s, %w offsets %o : (tensor<4x3xf64>, tensor<2x3x3xf64>, tensor<2xi32>) -> tensor<4x3xf64>
  %y = nn.combine %h, %p weights %g : (tensor<4x3xf64>, tensor<5x2xi32>, tensor<5x2xf64>) -> tensor<5x3xf64>
  return %y : tensor<5x3xf64>
}
// Each expert has one or two places, of which choices are dropped; or more than are
// chosen. Choices take them in the order of their weights.
func.func @capacity_dispatch(%x: tensor<5x3xf64>, %i: tensor<5x2xi32> {gradient.range = [0, 4]}) -> tensor<4x2x3xf64> {
  %y, %p, %n = nn.capacity_dispatch %x, %i : (tensor<5x3xf64>, tensor<5x2xi32>) -> (tensor<4x2x3xf64>, tensor<5x2xi32>, tensor<4xi32>)
  return %y : tensor<4x2x3xf64>
}
func.func @capacity_dispatch_wide(%x: tensor<5x3xf64>, %i: tensor<5x2xi32> {gradient.range = [0, 2]}) -> tensor<2x12x3xf64> {
  %y, %p, %n = nn.capacity_dispatch %x, %i : (tensor<5x3xf64>, tensor<5x2xi32>) -> (tensor<2x12x3xf64>, tensor<5x2xi32>, tensor<2xi32>)
  return %y : tensor<2x12x3xf64>
}
func.func @capacity_experts(%x: tensor<5x3xf64>, %w: tensor<3x3x3xf64>, %g: tensor<5x2xf64>, %i: tensor<5x2xi32> {gradient.range = [0, 3]}) -> tensor<5x3xf64> {
  %flat = tensor.collapse_shape %g [[0, 1]] : tensor<5x2xf64> into tensor<10xf64>
  %order = nn.argsort %flat descending first 10 : tensor<10xf64> -> tensor<10xi32>
  %s, %p, %n = nn.capacity_dispatch %x, %i order %order : (tensor<5x3xf64>, tensor<5x2xi32>, tensor<10xi32>) -> (tensor<3x2x3xf64>, tensor<5x2xi32>, tensor<3xi32>)
  %h = nn.matmul %s, %w : (tensor<3x2x3xf64>, tensor<3x3x3xf64>) -> tensor<3x2x3xf64>
  %r = tensor.collapse_shape %h [[0, 1], [2]] : tensor<3x2x3xf64> into tensor<6x3xf64>
  %y = nn.combine %r, %p weights %g : (tensor<6x3xf64>, tensor<5x2xi32>, tensor<5x2xf64>) -> tensor<5x3xf64>
  return %y : tensor<5x3xf64>
}

//===- grouped products ---------------------------------------------------===//

func.func @grouped_matmul(%a: tensor<8x4xf64>, %b: tensor<3x4x5xf64>, %n: tensor<3xi32> {gradient.range = [0, 3]}) -> tensor<8x5xf64> {
  %o = nn.cumsum %n dim 0 : tensor<3xi32>
  %y = nn.grouped_matmul %a, %b offsets %o : (tensor<8x4xf64>, tensor<3x4x5xf64>, tensor<3xi32>) -> tensor<8x5xf64>
  return %y : tensor<8x5xf64>
}
func.func @grouped_matmul_transposed(%a: tensor<8x4xf64>, %b: tensor<3x5x4xf64>, %n: tensor<3xi32> {gradient.range = [0, 3]}) -> tensor<8x5xf64> {
  %o = nn.cumsum %n dim 0 : tensor<3xi32>
  %y = nn.grouped_matmul %a, %b offsets %o transpose_b : (tensor<8x4xf64>, tensor<3x5x4xf64>, tensor<3xi32>) -> tensor<8x5xf64>
  return %y : tensor<8x5xf64>
}
