func.func @addf(%x: tensor<3x4xf64>, %y: tensor<3x4xf64>) -> tensor<3x4xf64> {
  %z = arith.addf %x, %y : tensor<3x4xf64>
  return %z : tensor<3x4xf64>
}
func.func @addf_scalar(%x: f64, %y: f64) -> f64 {
  %z = arith.addf %x, %y : f64
  return %z : f64
}
func.func @addf_same(%x: tensor<3x4xf64>) -> tensor<3x4xf64> {
  %z = arith.addf %x, %x : tensor<3x4xf64>
  return %z : tensor<3x4xf64>
}
func.func @subf(%x: tensor<3x4xf64>, %y: tensor<3x4xf64>) -> tensor<3x4xf64> {
  %z = arith.subf %x, %y : tensor<3x4xf64>
  return %z : tensor<3x4xf64>
}
func.func @mulf(%x: tensor<3x4xf64>, %y: tensor<3x4xf64>) -> tensor<3x4xf64> {
  %z = arith.mulf %x, %y : tensor<3x4xf64>
  return %z : tensor<3x4xf64>
}
func.func @mulf_scalar(%x: f64, %y: f64) -> f64 {
  %z = arith.mulf %x, %y : f64
  return %z : f64
}
// Three uses of one value: contributions are added.
func.func @mulf_cube(%x: tensor<5xf64>) -> tensor<5xf64> {
  %s = arith.mulf %x, %x : tensor<5xf64>
  %z = arith.mulf %s, %x : tensor<5xf64>
  return %z : tensor<5xf64>
}
func.func @divf(%x: tensor<3x4xf64>, %y: tensor<3x4xf64>) -> tensor<3x4xf64> {
  %z = arith.divf %x, %y : tensor<3x4xf64>
  return %z : tensor<3x4xf64>
}
func.func @negf(%x: tensor<3x4xf64>) -> tensor<3x4xf64> {
  %z = arith.negf %x : tensor<3x4xf64>
  return %z : tensor<3x4xf64>
}
func.func @maximumf(%x: tensor<4x5xf64>, %y: tensor<4x5xf64>) -> tensor<4x5xf64> {
  %z = arith.maximumf %x, %y : tensor<4x5xf64>
  return %z : tensor<4x5xf64>
}
func.func @minimumf(%x: tensor<4x5xf64>, %y: tensor<4x5xf64>) -> tensor<4x5xf64> {
  %z = arith.minimumf %x, %y : tensor<4x5xf64>
  return %z : tensor<4x5xf64>
}
func.func @maxnumf(%x: tensor<4x5xf64>, %y: tensor<4x5xf64>) -> tensor<4x5xf64> {
  %z = arith.maxnumf %x, %y : tensor<4x5xf64>
  return %z : tensor<4x5xf64>
}
func.func @minnumf(%x: tensor<4x5xf64>, %y: tensor<4x5xf64>) -> tensor<4x5xf64> {
  %z = arith.minnumf %x, %y : tensor<4x5xf64>
  return %z : tensor<4x5xf64>
}
// A rectifier, as models write it: one operand is a constant.
func.func @maximumf_constant(%x: tensor<4x5xf64>) -> tensor<4x5xf64> {
  %zero = arith.constant dense<0.0> : tensor<4x5xf64>
  %z = arith.maximumf %x, %zero : tensor<4x5xf64>
  return %z : tensor<4x5xf64>
}
func.func @select(%c: tensor<4x5xi1> {gradient.range = [0, 2]}, %x: tensor<4x5xf64>, %y: tensor<4x5xf64>) -> tensor<4x5xf64> {
  %z = arith.select %c, %x, %y : tensor<4x5xi1>, tensor<4x5xf64>
  return %z : tensor<4x5xf64>
}
func.func @select_scalar_condition(%c: i1 {gradient.range = [0, 2]}, %x: tensor<4x5xf64>, %y: tensor<4x5xf64>) -> tensor<4x5xf64> {
  %z = arith.select %c, %x, %y : tensor<4x5xf64>
  return %z : tensor<4x5xf64>
}
// The comparison ends the path through the condition.
func.func @cmpf(%x: tensor<4x5xf64>, %y: tensor<4x5xf64>) -> tensor<4x5xf64> {
  %c = arith.cmpf ogt, %x, %y : tensor<4x5xf64>
  %s = arith.mulf %x, %y : tensor<4x5xf64>
  %z = arith.select %c, %s, %y : tensor<4x5xi1>, tensor<4x5xf64>
  return %z : tensor<4x5xf64>
}
func.func @cmpi(%i: tensor<4x5xi32> {gradient.range = [0, 9]}, %x: tensor<4x5xf64>, %y: tensor<4x5xf64>) -> tensor<4x5xf64> {
  %four = arith.constant dense<4> : tensor<4x5xi32>
  %c = arith.cmpi slt, %i, %four : tensor<4x5xi32>
  %z = arith.select %c, %x, %y : tensor<4x5xi1>, tensor<4x5xf64>
  return %z : tensor<4x5xf64>
}
func.func @extf(%x: tensor<3x4xf32>) -> tensor<3x4xf64> {
  %w = arith.extf %x : tensor<3x4xf32> to tensor<3x4xf64>
  %z = arith.mulf %w, %w : tensor<3x4xf64>
  return %z : tensor<3x4xf64>
}
func.func @truncf(%x: tensor<3x4xf64>) -> tensor<3x4xf32> {
  %s = arith.mulf %x, %x : tensor<3x4xf64>
  %z = arith.truncf %s : tensor<3x4xf64> to tensor<3x4xf32>
  return %z : tensor<3x4xf32>
}
func.func @sitofp(%i: tensor<4xi32> {gradient.range = [-5, 6]}, %x: tensor<4xf64>) -> tensor<4xf64> {
  %w = arith.sitofp %i : tensor<4xi32> to tensor<4xf64>
  %z = arith.mulf %w, %x : tensor<4xf64>
  return %z : tensor<4xf64>
}
func.func @uitofp(%i: tensor<4xi32> {gradient.range = [0, 9]}, %x: tensor<4xf64>) -> tensor<4xf64> {
  %w = arith.uitofp %i : tensor<4xi32> to tensor<4xf64>
  %z = arith.mulf %w, %x : tensor<4xf64>
  return %z : tensor<4xf64>
}
func.func @fptosi(%x: tensor<4xf64> {gradient.range = [1.1, 1.9]}) -> tensor<4xf64> {
  %i = arith.fptosi %x : tensor<4xf64> to tensor<4xi32>
  %w = arith.sitofp %i : tensor<4xi32> to tensor<4xf64>
  %z = arith.mulf %w, %x : tensor<4xf64>
  return %z : tensor<4xf64>
}
func.func @fptoui(%x: tensor<4xf64> {gradient.range = [2.1, 2.9]}) -> tensor<4xf64> {
  %i = arith.fptoui %x : tensor<4xf64> to tensor<4xi32>
  %w = arith.uitofp %i : tensor<4xi32> to tensor<4xf64>
  %z = arith.mulf %w, %x : tensor<4xf64>
  return %z : tensor<4xf64>
}
func.func @constant(%x: tensor<2x2xf64>) -> tensor<2x2xf64> {
  %c = arith.constant dense<[[1.0, -2.0], [3.0, 0.5]]> : tensor<2x2xf64>
  %z = arith.mulf %x, %c : tensor<2x2xf64>
  return %z : tensor<2x2xf64>
}
func.func @remf(%x: tensor<4xf64> {gradient.range = [2.1, 2.4]}, %y: tensor<4xf64> {gradient.range = [0.9, 1.0]}) -> tensor<4xf64> {
  %z = arith.remf %x, %y : tensor<4xf64>
  return %z : tensor<4xf64>
}
func.func @remf_negative(%x: tensor<4xf64> {gradient.range = [-2.4, -2.1]}, %y: tensor<4xf64> {gradient.range = [0.9, 1.0]}) -> tensor<4xf64> {
  %z = arith.remf %x, %y : tensor<4xf64>
  return %z : tensor<4xf64>
}
