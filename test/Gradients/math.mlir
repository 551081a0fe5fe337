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
func.func @tan(%x: tensor<3x4xf64>) -> tensor<3x4xf64> {
  %y = math.tan %x : tensor<3x4xf64>
  return %y : tensor<3x4xf64>
}
func.func @atan(%x: tensor<3x4xf64>) -> tensor<3x4xf64> {
  %y = math.atan %x : tensor<3x4xf64>
  return %y : tensor<3x4xf64>
}
func.func @asin(%x: tensor<3x4xf64> {gradient.range = [-0.9, 0.9]}) -> tensor<3x4xf64> {
  %y = math.asin %x : tensor<3x4xf64>
  return %y : tensor<3x4xf64>
}
func.func @acos(%x: tensor<3x4xf64> {gradient.range = [-0.9, 0.9]}) -> tensor<3x4xf64> {
  %y = math.acos %x : tensor<3x4xf64>
  return %y : tensor<3x4xf64>
}
func.func @sinh(%x: tensor<3x4xf64>) -> tensor<3x4xf64> {
  %y = math.sinh %x : tensor<3x4xf64>
  return %y : tensor<3x4xf64>
}
func.func @cosh(%x: tensor<3x4xf64>) -> tensor<3x4xf64> {
  %y = math.cosh %x : tensor<3x4xf64>
  return %y : tensor<3x4xf64>
}
func.func @asinh(%x: tensor<3x4xf64>) -> tensor<3x4xf64> {
  %y = math.asinh %x : tensor<3x4xf64>
  return %y : tensor<3x4xf64>
}
func.func @acosh(%x: tensor<3x4xf64> {gradient.range = [1.25, 3.0]}) -> tensor<3x4xf64> {
  %y = math.acosh %x : tensor<3x4xf64>
  return %y : tensor<3x4xf64>
}
func.func @atanh(%x: tensor<3x4xf64> {gradient.range = [-0.9, 0.9]}) -> tensor<3x4xf64> {
  %y = math.atanh %x : tensor<3x4xf64>
  return %y : tensor<3x4xf64>
}
func.func @erfc(%x: tensor<3x4xf64>) -> tensor<3x4xf64> {
  %y = math.erfc %x : tensor<3x4xf64>
  return %y : tensor<3x4xf64>
}
func.func @log10(%x: tensor<3x4xf64> {gradient.range = [0.5, 2.0]}) -> tensor<3x4xf64> {
  %y = math.log10 %x : tensor<3x4xf64>
  return %y : tensor<3x4xf64>
}
func.func @cbrt(%x: tensor<3x4xf64>) -> tensor<3x4xf64> {
  %y = math.cbrt %x : tensor<3x4xf64>
  return %y : tensor<3x4xf64>
}
func.func @atan2(%y: tensor<3x4xf64>, %x: tensor<3x4xf64>) -> tensor<3x4xf64> {
  %z = math.atan2 %y, %x : tensor<3x4xf64>
  return %z : tensor<3x4xf64>
}
func.func @copysign(%x: tensor<3x4xf64>, %s: tensor<3x4xf64> {gradient.fixed}) -> tensor<3x4xf64> {
  %z = math.copysign %x, %s : tensor<3x4xf64>
  return %z : tensor<3x4xf64>
}
func.func @fpowi(%x: tensor<3x4xf64>, %n: tensor<3x4xi32> {gradient.range = [-3, 5]}) -> tensor<3x4xf64> {
  %z = math.fpowi %x, %n : tensor<3x4xf64>, tensor<3x4xi32>
  return %z : tensor<3x4xf64>
}
// 0^0 is 1 all around: no NaN of 0 times 1/0.
func.func @fpowi_of_zero(%x: tensor<2xf64> {gradient.range = [0.0, 1.0e-300]}, %w: tensor<2xf64>) -> tensor<2xf64> {
  %n = arith.constant dense<0> : tensor<2xi32>
  %p = math.fpowi %x, %n : tensor<2xf64>, tensor<2xi32>
  %z = arith.mulf %p, %w : tensor<2xf64>
  return %z : tensor<2xf64>
}
// Values are at least 0.25 from 0, so none is at a bound.
func.func @clampf(%x: tensor<4x5xf64>, %low: tensor<4x5xf64> {gradient.range = [-0.7, -0.2]}, %high: tensor<4x5xf64> {gradient.range = [0.2, 0.7]}) -> tensor<4x5xf64> {
  %z = math.clampf %x to [%low, %high] : tensor<4x5xf64>
  return %z : tensor<4x5xf64>
}
// Bounds that cross: the upper one is the result.
func.func @clampf_crossed(%x: tensor<4xf64>, %low: tensor<4xf64> {gradient.range = [2.0, 3.0]}, %high: tensor<4xf64> {gradient.range = [-3.0, -2.0]}) -> tensor<4xf64> {
  %z = math.clampf %x to [%low, %high] : tensor<4xf64>
  return %z : tensor<4xf64>
}
func.func @isfinite(%x: tensor<4xf64>, %y: tensor<4xf64>) -> tensor<4xf64> {
  %c = math.isfinite %x : tensor<4xf64>
  %s = arith.mulf %x, %y : tensor<4xf64>
  %z = arith.select %c, %s, %y : tensor<4xi1>, tensor<4xf64>
  return %z : tensor<4xf64>
}
func.func @isinf(%x: tensor<4xf64>, %y: tensor<4xf64>) -> tensor<4xf64> {
  %c = math.isinf %x : tensor<4xf64>
  %s = arith.mulf %x, %y : tensor<4xf64>
  %z = arith.select %c, %s, %y : tensor<4xi1>, tensor<4xf64>
  return %z : tensor<4xf64>
}
func.func @isnan(%x: tensor<4xf64>, %y: tensor<4xf64>) -> tensor<4xf64> {
  %c = math.isnan %x : tensor<4xf64>
  %s = arith.mulf %x, %y : tensor<4xf64>
  %z = arith.select %c, %s, %y : tensor<4xi1>, tensor<4xf64>
  return %z : tensor<4xf64>
}
func.func @isnormal(%x: tensor<4xf64>, %y: tensor<4xf64>) -> tensor<4xf64> {
  %c = math.isnormal %x : tensor<4xf64>
  %s = arith.mulf %x, %y : tensor<4xf64>
  %z = arith.select %c, %s, %y : tensor<4xi1>, tensor<4xf64>
  return %z : tensor<4xf64>
}
