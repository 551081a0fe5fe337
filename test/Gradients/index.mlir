//===- gathers and scatters -----------------------------------------------===//

func.func @gather_elements(%x: tensor<2x4x3xf64>, %i: tensor<2x5x3xi32> {gradient.range = [0, 4]}) -> tensor<2x5x3xf64> {
  %y = nn.gather %x, %i dim 1 : (tensor<2x4x3xf64>, tensor<2x5x3xi32>) -> tensor<2x5x3xf64>
  return %y : tensor<2x5x3xf64>
}
func.func @gather_rows(%x: tensor<2x4x3xf64>, %i: tensor<2x5xi32> {gradient.range = [0, 4]}) -> tensor<2x5x3xf64> {
  %y = nn.gather %x, %i dim 1 : (tensor<2x4x3xf64>, tensor<2x5xi32>) -> tensor<2x5x3xf64>
  return %y : tensor<2x5x3xf64>
}
// A gathered tensor that is used elsewhere: the scatter starts from that sum.
func.func @gather_twice(%x: tensor<4x3xf64>, %i: tensor<5xi32> {gradient.range = [0, 4]}, %j: tensor<2xi32> {gradient.range = [0, 4]}) -> tensor<7x3xf64> {
  %a = nn.gather %x, %i dim 0 : (tensor<4x3xf64>, tensor<5xi32>) -> tensor<5x3xf64>
  %b = nn.gather %x, %j dim 0 : (tensor<4x3xf64>, tensor<2xi32>) -> tensor<2x3xf64>
  %y = tensor.concat dim(0) %a, %b : (tensor<5x3xf64>, tensor<2x3xf64>) -> tensor<7x3xf64>
  return %y : tensor<7x3xf64>
}
func.func @scatter_add(%x: tensor<2x5x3xf64>, %i: tensor<2x5x3xi32> {gradient.range = [0, 4]}) -> tensor<2x4x3xf64> {
  %y = nn.scatter_add %x, %i dim 1 : (tensor<2x5x3xf64>, tensor<2x5x3xi32>) -> tensor<2x4x3xf64>
  return %y : tensor<2x4x3xf64>
}
func.func @scatter_add_init(%x: tensor<5x3xf64>, %i: tensor<5xi32> {gradient.range = [0, 4]}, %h: tensor<4x3xf64>) -> tensor<4x3xf64> {
  %y = nn.scatter_add %x, %i init %h dim 0 : (tensor<5x3xf64>, tensor<5xi32>, tensor<4x3xf64>) -> tensor<4x3xf64>
  return %y : tensor<4x3xf64>
}
// Positions that differ: where two are one, each gets the gradient, as in PyTorch.
func.func @scatter_set(%x: tensor<2x3xf64>, %h: tensor<4x3xf64>) -> tensor<4x3xf64> {
  %i = arith.constant dense<[3, 1]> : tensor<2xi32>
  %y = nn.scatter set %x, %i into %h dim 0 : (tensor<2x3xf64>, tensor<2xi32>, tensor<4x3xf64>) -> tensor<4x3xf64>
  return %y : tensor<4x3xf64>
}
func.func @scatter_max(%x: tensor<6x3xf64>, %i: tensor<6xi32> {gradient.range = [0, 4]}, %h: tensor<4x3xf64>) -> tensor<4x3xf64> {
  %y = nn.scatter max %x, %i into %h dim 0 : (tensor<6x3xf64>, tensor<6xi32>, tensor<4x3xf64>) -> tensor<4x3xf64>
  return %y : tensor<4x3xf64>
}

//===- orders, sums, numbers ----------------------------------------------===//

// Positions have no gradient, elements by their positions do.
func.func @sort(%x: tensor<3x5xf64>) -> tensor<3x5xf64> {
  %i = nn.argsort %x : tensor<3x5xf64> -> tensor<3x5xi32>
  %y = nn.gather %x, %i dim 1 : (tensor<3x5xf64>, tensor<3x5xi32>) -> tensor<3x5xf64>
  return %y : tensor<3x5xf64>
}
func.func @top(%x: tensor<3x5xf64>) -> tensor<3x2xf64> {
  %i = nn.argsort %x descending first 2 : tensor<3x5xf64> -> tensor<3x2xi32>
  %y = nn.gather %x, %i dim 1 : (tensor<3x5xf64>, tensor<3x2xi32>) -> tensor<3x2xf64>
  return %y : tensor<3x2xf64>
}
func.func @cumsum(%x: tensor<2x4x3xf64>) -> tensor<2x4x3xf64> {
  %y = nn.cumsum %x dim 1 : tensor<2x4x3xf64>
  return %y : tensor<2x4x3xf64>
}
func.func @cumsum_reverse(%x: tensor<2x4xf64>) -> tensor<2x4xf64> {
  %y = nn.cumsum %x dim 1 reverse : tensor<2x4xf64>
  return %y : tensor<2x4xf64>
}
func.func @random_normal(%m: tensor<3x4xf64>, %s: tensor<3x4xf64>) -> tensor<3x4xf64> {
  %z = nn.random_normal id 3 : tensor<3x4xf64>
  %t = arith.mulf %s, %z : tensor<3x4xf64>
  %y = arith.addf %m, %t : tensor<3x4xf64>
  return %y : tensor<3x4xf64>
}
func.func @random_uniform(%m: tensor<3x4xf64>, %s: tensor<3x4xf64>) -> tensor<3x4xf64> {
  %z = nn.random_uniform id 3 : tensor<3x4xf64>
  %t = arith.mulf %s, %z : tensor<3x4xf64>
  %y = arith.addf %m, %t : tensor<3x4xf64>
  return %y : tensor<3x4xf64>
}
func.func @random_integers(%m: tensor<3x4xf64>, %s: tensor<3x4xf64>) -> tensor<3x4xf64> {
  %i = nn.random_integers id 3 below 7 : tensor<3x4xi32>
  %z = arith.sitofp %i : tensor<3x4xi32> to tensor<3x4xf64>
  %t = arith.mulf %s, %z : tensor<3x4xf64>
  %y = arith.addf %m, %t : tensor<3x4xf64>
  return %y : tensor<3x4xf64>
}
