func.func @exp(%x: tensor<3x4xf64>) -> tensor<3x4xf64> {
  %y = math.exp %x : tensor<3x4xf64>
  return %y : tensor<3x4xf64>
}
func.func @exp2(%x: tensor<3x4xf64>) -> tensor<3x4xf64> {
  %y = math.exp2 %x : tensor<3x4xf64>
  return %y : tensor<3x4xf64>
}
func.func @expm1(%x: tensor<3x4xf64>) -> tensor<3x4xf64> {
  %y = math.expm1 %x : tensor<3x4xf64>
  return %y : tensor<3x4xf64>
}
func.func @log(%x: tensor<3x4xf64> {gradient.range = [0.5, 2.0]}) -> tensor<3x4xf64> {
  %y = math.log %x : tensor<3x4xf64>
  return %y : tensor<3x4xf64>
}
func.func @log2(%x: tensor<3x4xf64> {gradient.range = [0.5, 2.0]}) -> tensor<3x4xf64> {
  %y = math.log2 %x : tensor<3x4xf64>
  return %y : tensor<3x4xf64>
}
func.func @log1p(%x: tensor<3x4xf64> {gradient.range = [-0.5, 2.0]}) -> tensor<3x4xf64> {
  %y = math.log1p %x : tensor<3x4xf64>
  return %y : tensor<3x4xf64>
}
func.func @sqrt(%x: tensor<3x4xf64> {gradient.range = [0.5, 2.0]}) -> tensor<3x4xf64> {
  %y = math.sqrt %x : tensor<3x4xf64>
  return %y : tensor<3x4xf64>
}
func.func @rsqrt(%x: tensor<3x4xf64> {gradient.range = [0.5, 2.0]}) -> tensor<3x4xf64> {
  %y = math.rsqrt %x : tensor<3x4xf64>
  return %y : tensor<3x4xf64>
}
func.func @tanh(%x: tensor<3x4xf64>) -> tensor<3x4xf64> {
  %y = math.tanh %x : tensor<3x4xf64>
  return %y : tensor<3x4xf64>
}
func.func @erf(%x: tensor<3x4xf64>) -> tensor<3x4xf64> {
  %y = math.erf %x : tensor<3x4xf64>
  return %y : tensor<3x4xf64>
}
func.func @sin(%x: tensor<3x4xf64>) -> tensor<3x4xf64> {
  %y = math.sin %x : tensor<3x4xf64>
  return %y : tensor<3x4xf64>
}
func.func @cos(%x: tensor<3x4xf64>) -> tensor<3x4xf64> {
  %y = math.cos %x : tensor<3x4xf64>
  return %y : tensor<3x4xf64>
}
func.func @absf(%x: tensor<3x4xf64>) -> tensor<3x4xf64> {
  %y = math.absf %x : tensor<3x4xf64>
  return %y : tensor<3x4xf64>
}
func.func @absf_scalar(%x: f64) -> f64 {
  %y = math.absf %x : f64
  return %y : f64
}
func.func @floor(%x: tensor<3x4xf64> {gradient.range = [1.1, 1.4]}) -> tensor<3x4xf64> attributes {gradient.zero} {
  %y = math.floor %x : tensor<3x4xf64>
  return %y : tensor<3x4xf64>
}
func.func @ceil(%x: tensor<3x4xf64> {gradient.range = [1.1, 1.4]}) -> tensor<3x4xf64> attributes {gradient.zero} {
  %y = math.ceil %x : tensor<3x4xf64>
  return %y : tensor<3x4xf64>
}
func.func @round(%x: tensor<3x4xf64> {gradient.range = [1.1, 1.4]}) -> tensor<3x4xf64> attributes {gradient.zero} {
  %y = math.round %x : tensor<3x4xf64>
  return %y : tensor<3x4xf64>
}
func.func @roundeven(%x: tensor<3x4xf64> {gradient.range = [1.1, 1.4]}) -> tensor<3x4xf64> attributes {gradient.zero} {
  %y = math.roundeven %x : tensor<3x4xf64>
  return %y : tensor<3x4xf64>
}
func.func @trunc(%x: tensor<3x4xf64> {gradient.range = [1.1, 1.4]}) -> tensor<3x4xf64> attributes {gradient.zero} {
  %y = math.trunc %x : tensor<3x4xf64>
  return %y : tensor<3x4xf64>
}
func.func @powf(%x: tensor<3x4xf64> {gradient.range = [0.5, 2.0]}, %y: tensor<3x4xf64>) -> tensor<3x4xf64> {
  %z = math.powf %x, %y : tensor<3x4xf64>
  return %z : tensor<3x4xf64>
}
// A negative base with a constant exponent, as in a cube.
func.func @powf_constant(%x: tensor<3x4xf64>) -> tensor<3x4xf64> {
  %three = arith.constant dense<3.0> : tensor<3x4xf64>
  %z = math.powf %x, %three : tensor<3x4xf64>
  return %z : tensor<3x4xf64>
}
// The exponent of a zero base: its gradient is 0, not NaN.
func.func @powf_zero_base(%y: tensor<4xf64> {gradient.range = [0.5, 2.0]}) -> tensor<4xf64> attributes {gradient.zero} {
  %zero = arith.constant dense<0.0> : tensor<4xf64>
  %z = math.powf %zero, %y : tensor<4xf64>
  return %z : tensor<4xf64>
}
func.func @fma(%x: tensor<3x4xf64>, %y: tensor<3x4xf64>, %c: tensor<3x4xf64>) -> tensor<3x4xf64> {
  %z = math.fma %x, %y, %c : tensor<3x4xf64>
  return %z : tensor<3x4xf64>
}
