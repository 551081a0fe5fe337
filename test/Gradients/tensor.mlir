func.func @expand_shape(%x: tensor<12x2xf64>) -> tensor<3x4x2xf64> {
  %y = tensor.expand_shape %x [[0, 1], [2]] output_shape [3, 4, 2] : tensor<12x2xf64> into tensor<3x4x2xf64>
  return %y : tensor<3x4x2xf64>
}
func.func @expand_shape_from_scalar(%x: tensor<f64>) -> tensor<1x1xf64> {
  %y = tensor.expand_shape %x [] output_shape [1, 1] : tensor<f64> into tensor<1x1xf64>
  return %y : tensor<1x1xf64>
}
func.func @collapse_shape(%x: tensor<3x4x2xf64>) -> tensor<3x8xf64> {
  %y = tensor.collapse_shape %x [[0], [1, 2]] : tensor<3x4x2xf64> into tensor<3x8xf64>
  return %y : tensor<3x8xf64>
}
func.func @collapse_shape_to_scalar(%x: tensor<1x1xf64>) -> tensor<f64> {
  %y = tensor.collapse_shape %x [] : tensor<1x1xf64> into tensor<f64>
  return %y : tensor<f64>
}
func.func @cast(%x: tensor<3x4xf64>) -> tensor<3x4xf64> {
  %d = tensor.cast %x : tensor<3x4xf64> to tensor<?x4xf64>
  %y = tensor.cast %d : tensor<?x4xf64> to tensor<3x4xf64>
  return %y : tensor<3x4xf64>
}
func.func @extract_slice(%x: tensor<5x6xf64>) -> tensor<2x3xf64> {
  %y = tensor.extract_slice %x[1, 2] [2, 3] [1, 1] : tensor<5x6xf64> to tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}
func.func @extract_slice_strided(%x: tensor<5x6xf64>) -> tensor<2x3xf64> {
  %y = tensor.extract_slice %x[1, 0] [2, 3] [2, 2] : tensor<5x6xf64> to tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}
func.func @extract_slice_rank_reduced(%x: tensor<5x6x2xf64>) -> tensor<3x2xf64> {
  %y = tensor.extract_slice %x[4, 1, 0] [1, 3, 2] [1, 1, 1] : tensor<5x6x2xf64> to tensor<3x2xf64>
  return %y : tensor<3x2xf64>
}
// Slices that overlap: gradients add up.
func.func @extract_slice_overlapping(%x: tensor<6xf64>) -> tensor<4xf64> {
  %a = tensor.extract_slice %x[0] [4] [1] : tensor<6xf64> to tensor<4xf64>
  %b = tensor.extract_slice %x[2] [4] [1] : tensor<6xf64> to tensor<4xf64>
  %y = arith.mulf %a, %b : tensor<4xf64>
  return %y : tensor<4xf64>
}
func.func @insert_slice(%x: tensor<2x3xf64>, %d: tensor<5x6xf64>) -> tensor<5x6xf64> {
  %y = tensor.insert_slice %x into %d[1, 2] [2, 3] [1, 1] : tensor<2x3xf64> into tensor<5x6xf64>
  return %y : tensor<5x6xf64>
}
func.func @insert_slice_strided(%x: tensor<2x3xf64>, %d: tensor<5x6xf64>) -> tensor<5x6xf64> {
  %y = tensor.insert_slice %x into %d[0, 1] [2, 3] [3, 2] : tensor<2x3xf64> into tensor<5x6xf64>
  return %y : tensor<5x6xf64>
}
func.func @insert_slice_rank_reduced(%x: tensor<3xf64>, %d: tensor<5x6xf64>) -> tensor<5x6xf64> {
  %y = tensor.insert_slice %x into %d[2, 1] [1, 3] [1, 1] : tensor<3xf64> into tensor<5x6xf64>
  return %y : tensor<5x6xf64>
}
func.func @concat(%x: tensor<2x3xf64>, %y: tensor<2x1xf64>, %z: tensor<2x4xf64>) -> tensor<2x8xf64> {
  %c = tensor.concat dim(1) %x, %y, %z : (tensor<2x3xf64>, tensor<2x1xf64>, tensor<2x4xf64>) -> tensor<2x8xf64>
  return %c : tensor<2x8xf64>
}
func.func @concat_outer(%x: tensor<2x3xf64>, %y: tensor<4x3xf64>) -> tensor<6x3xf64> {
  %c = tensor.concat dim(0) %x, %y : (tensor<2x3xf64>, tensor<4x3xf64>) -> tensor<6x3xf64>
  return %c : tensor<6x3xf64>
}
func.func @pad(%x: tensor<2x3xf64>) -> tensor<5x4xf64> {
  %zero = arith.constant 7.0 : f64
  %y = tensor.pad %x low[1, 0] high[2, 1] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f64
  } : tensor<2x3xf64> to tensor<5x4xf64>
  return %y : tensor<5x4xf64>
}
func.func @splat(%x: f64) -> tensor<3x4xf64> {
  %y = tensor.splat %x : tensor<3x4xf64>
  return %y : tensor<3x4xf64>
}
func.func @gather(%x: tensor<7x3xf64>, %i: tensor<5x1xi32> {gradient.range = [0, 7]}) -> tensor<5x3xf64> {
  %y = tensor.gather %x[%i] gather_dims([0]) : (tensor<7x3xf64>, tensor<5x1xi32>) -> tensor<5x3xf64>
  return %y : tensor<5x3xf64>
}
func.func @gather_keeping_rank(%x: tensor<7x2x3xf64>, %i: tensor<2x2x1xindex> {gradient.range = [0, 7]}) -> tensor<2x2x1x2x3xf64> {
  %y = tensor.gather %x[%i] gather_dims([0]) : (tensor<7x2x3xf64>, tensor<2x2x1xindex>) -> tensor<2x2x1x2x3xf64>
  return %y : tensor<2x2x1x2x3xf64>
}
func.func @gather_vector(%x: tensor<7xf64>, %i: tensor<4x1xi64> {gradient.range = [0, 7]}) -> tensor<4xf64> {
  %y = tensor.gather %x[%i] gather_dims([0]) : (tensor<7xf64>, tensor<4x1xi64>) -> tensor<4xf64>
  return %y : tensor<4xf64>
}
func.func @gather_last(%x: tensor<2x7xf64>, %i: tensor<5x1xi32> {gradient.range = [0, 7]}) -> tensor<5x2xf64> {
  %y = tensor.gather %x[%i] gather_dims([1]) : (tensor<2x7xf64>, tensor<5x1xi32>) -> tensor<5x2xf64>
  return %y : tensor<5x2xf64>
}
func.func @gather_pairs(%x: tensor<3x2x3xf64>, %i: tensor<4x2xi32> {gradient.range = [0, 3]}) -> tensor<4x2xf64> {
  %y = tensor.gather %x[%i] gather_dims([0, 2]) : (tensor<3x2x3xf64>, tensor<4x2xi32>) -> tensor<4x2xf64>
  return %y : tensor<4x2xf64>
}
func.func @gather_triples(%x: tensor<3x4x3xf64>, %i: tensor<2x2x3xindex> {gradient.range = [0, 3]}) -> tensor<2x2xf64> {
  %y = tensor.gather %x[%i] gather_dims([0, 1, 2]) : (tensor<3x4x3xf64>, tensor<2x2x3xindex>) -> tensor<2x2xf64>
  return %y : tensor<2x2xf64>
}
func.func @reshape(%x: tensor<4x6xf64>) -> tensor<3x8xf64> {
  %shape = arith.constant dense<[3, 8]> : tensor<2xindex>
  %y = tensor.reshape %x(%shape) : (tensor<4x6xf64>, tensor<2xindex>) -> tensor<3x8xf64>
  return %y : tensor<3x8xf64>
}
func.func @reshape_to_scalar(%x: tensor<1x1xf64>) -> tensor<f64> {
  %shape = arith.constant dense<> : tensor<0xindex>
  %y = tensor.reshape %x(%shape) : (tensor<1x1xf64>, tensor<0xindex>) -> tensor<f64>
  return %y : tensor<f64>
}
func.func @extract(%x: tensor<3x4xf64>) -> tensor<2xf64> {
  %i = arith.constant 1 : index
  %j = arith.constant 2 : index
  %s = tensor.extract %x[%i, %j] : tensor<3x4xf64>
  %y = tensor.splat %s : tensor<2xf64>
  return %y : tensor<2xf64>
}
func.func @insert(%s: f64, %x: tensor<3x4xf64>) -> tensor<3x4xf64> {
  %i = arith.constant 1 : index
  %j = arith.constant 2 : index
  %y = tensor.insert %s into %x[%i, %j] : tensor<3x4xf64>
  return %y : tensor<3x4xf64>
}
func.func @from_elements(%a: f64, %b: f64, %c: f64, %d: f64, %e: f64, %f: f64) -> tensor<3x2xf64> {
  %y = tensor.from_elements %a, %b, %c, %d, %e, %f : tensor<3x2xf64>
  return %y : tensor<3x2xf64>
}
