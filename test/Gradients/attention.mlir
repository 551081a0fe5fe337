func.func @attention(%q: tensor<2x3x2x4xf64>, %k: tensor<2x5x2x4xf64>, %v: tensor<2x5x2x4xf64>) -> tensor<2x3x2x4xf64> {
  %o, %lse = nn.attention %q, %k, %v scale 0.5 : (tensor<2x3x2x4xf64>, tensor<2x5x2x4xf64>, tensor<2x5x2x4xf64>) -> (tensor<2x3x2x4xf64>, tensor<2x2x3xf64>)
  return %o : tensor<2x3x2x4xf64>
}
func.func @attention_causal(%q: tensor<2x4x2x3xf64>, %k: tensor<2x4x2x3xf64>, %v: tensor<2x4x2x3xf64>) -> tensor<2x4x2x3xf64> {
  %o, %lse = nn.attention %q, %k, %v causal scale 0.75 : (tensor<2x4x2x3xf64>, tensor<2x4x2x3xf64>, tensor<2x4x2x3xf64>) -> (tensor<2x4x2x3xf64>, tensor<2x2x4xf64>)
  return %o : tensor<2x4x2x3xf64>
}
func.func @attention_grouped(%q: tensor<1x3x4x2xf64>, %k: tensor<1x3x2x2xf64>, %v: tensor<1x3x2x2xf64>) -> tensor<1x3x4x2xf64> {
  %o, %lse = nn.attention %q, %k, %v causal scale 0.5 : (tensor<1x3x4x2xf64>, tensor<1x3x2x2xf64>, tensor<1x3x2x2xf64>) -> (tensor<1x3x4x2xf64>, tensor<1x4x3xf64>)
  return %o : tensor<1x3x4x2xf64>
}
func.func @attention_masked(%q: tensor<2x3x2x2xf64>, %k: tensor<2x4x2x2xf64>, %v: tensor<2x4x2x2xf64>, %m: tensor<3x4xf64> {gradient.fixed}) -> tensor<2x3x2x2xf64> {
  %o, %lse = nn.attention %q, %k, %v mask %m scale 0.5 : (tensor<2x3x2x2xf64>, tensor<2x4x2x2xf64>, tensor<2x4x2x2xf64>, tensor<3x4xf64>) -> (tensor<2x3x2x2xf64>, tensor<2x2x3xf64>)
  return %o : tensor<2x3x2x2xf64>
}
func.func @attention_masked_by_sample(%q: tensor<2x3x2x2xf64>, %k: tensor<2x4x1x2xf64>, %v: tensor<2x4x1x2xf64>, %m: tensor<2x1x3x4xf64> {gradient.fixed}) -> tensor<2x3x2x2xf64> {
  %o, %lse = nn.attention %q, %k, %v mask %m scale 0.5 : (tensor<2x3x2x2xf64>, tensor<2x4x1x2xf64>, tensor<2x4x1x2xf64>, tensor<2x1x3x4xf64>) -> (tensor<2x3x2x2xf64>, tensor<2x2x3xf64>)
  return %o : tensor<2x3x2x2xf64>
}
func.func @attention_causal_masked(%q: tensor<1x3x2x2xf64>, %k: tensor<1x3x2x2xf64>, %v: tensor<1x3x2x2xf64>, %m: tensor<1x2x3x3xf64> {gradient.fixed}) -> tensor<1x3x2x2xf64> {
  %o, %lse = nn.attention %q, %k, %v mask %m causal scale 0.5 : (tensor<1x3x2x2xf64>, tensor<1x3x2x2xf64>, tensor<1x3x2x2xf64>, tensor<1x2x3x3xf64>) -> (tensor<1x3x2x2xf64>, tensor<1x2x3xf64>)
  return %o : tensor<1x3x2x2xf64>
}
// The second query sees no key: zeros, and no gradient.
func.func @attention_blind(%q: tensor<1x3x2x2xf64>, %k: tensor<1x3x2x2xf64>, %v: tensor<1x3x2x2xf64>) -> tensor<1x3x2x2xf64> {
  %m = arith.constant dense<[[0.0, 0xFFF0000000000000, 0xFFF0000000000000], [0xFFF0000000000000, 0xFFF0000000000000, 0xFFF0000000000000], [0.5, 0.0, -1.0]]> : tensor<3x3xf64>
  %o, %lse = nn.attention %q, %k, %v mask %m scale 0.5 : (tensor<1x3x2x2xf64>, tensor<1x3x2x2xf64>, tensor<1x3x2x2xf64>, tensor<3x3xf64>) -> (tensor<1x3x2x2xf64>, tensor<1x2x3xf64>)
  return %o : tensor<1x3x2x2xf64>
}
// Query, key and value of one tensor: their gradients add up.
func.func @attention_of_self(%x: tensor<1x3x2x2xf64>) -> tensor<1x3x2x2xf64> {
  %o, %lse = nn.attention %x, %x, %x causal scale 0.5 : (tensor<1x3x2x2xf64>, tensor<1x3x2x2xf64>, tensor<1x3x2x2xf64>) -> (tensor<1x3x2x2xf64>, tensor<1x2x3xf64>)
  return %o : tensor<1x3x2x2xf64>
}
func.func @attention_dropout(%q: tensor<2x3x4x2xf64>, %k: tensor<2x5x2x2xf64>, %v: tensor<2x5x2x2xf64>) -> tensor<2x3x4x2xf64> {
  %o, %lse = nn.attention %q, %k, %v scale 0.5 dropout 0.25 id 3 : (tensor<2x3x4x2xf64>, tensor<2x5x2x2xf64>, tensor<2x5x2x2xf64>) -> (tensor<2x3x4x2xf64>, tensor<2x4x3xf64>)
  return %o : tensor<2x3x4x2xf64>
}
func.func @attention_dropout_masked(%q: tensor<1x4x2x2xf64>, %k: tensor<1x4x2x2xf64>, %v: tensor<1x4x2x2xf64>, %m: tensor<4x4xf64> {gradient.fixed}) -> tensor<1x4x2x2xf64> {
  %o, %lse = nn.attention %q, %k, %v mask %m causal scale 0.5 dropout 0.5 id 1 : (tensor<1x4x2x2xf64>, tensor<1x4x2x2xf64>, tensor<1x4x2x2xf64>, tensor<4x4xf64>) -> (tensor<1x4x2x2xf64>, tensor<1x2x4xf64>)
  return %o : tensor<1x4x2x2xf64>
}
// Key heads 1 and 2 of some more.
func.func @partial_attention(%q: tensor<2x3x4x2xf64>, %k: tensor<2x3x2x2xf64>, %v: tensor<2x3x2x2xf64>, %first: tensor<i32> {gradient.range = [1, 2]}) -> tensor<2x3x4x2xf64> {
  %o, %lse = nn.partial_attention %q, %k, %v, %first causal scale 0.5 dropout 0.25 id 3 : (tensor<2x3x4x2xf64>, tensor<2x3x2x2xf64>, tensor<2x3x2x2xf64>, tensor<i32>) -> (tensor<2x3x4x2xf64>, tensor<2x4x3xf64>)
  return %o : tensor<2x3x4x2xf64>
}
func.func @partial_attention_masked(%q: tensor<2x3x2x2xf64>, %k: tensor<2x4x2x2xf64>, %v: tensor<2x4x2x2xf64>, %first: tensor<i32> {gradient.range = [2, 3]}, %m: tensor<2x1x3x4xf64> {gradient.fixed}) -> tensor<2x3x2x2xf64> {
  %o, %lse = nn.partial_attention %q, %k, %v, %first mask %m scale 0.5 dropout 0.25 id 3 : (tensor<2x3x2x2xf64>, tensor<2x4x2x2xf64>, tensor<2x4x2x2xf64>, tensor<i32>, tensor<2x1x3x4xf64>) -> (tensor<2x3x2x2xf64>, tensor<2x2x3xf64>)
  return %o : tensor<2x3x2x2xf64>
}
func.func @rotary(%x: tensor<2x3x2x4xf64>) -> tensor<2x3x2x4xf64> {
  %y = nn.rotary %x theta 100.0 : tensor<2x3x2x4xf64>
  return %y : tensor<2x3x2x4xf64>
}
func.func @rotary_interleaved(%x: tensor<2x3x2x4xf64>) -> tensor<2x3x2x4xf64> {
  %y = nn.rotary %x theta 100.0 interleaved : tensor<2x3x2x4xf64>
  return %y : tensor<2x3x2x4xf64>
}
func.func @rotary_inverse(%x: tensor<2x3x2x6xf64>) -> tensor<2x3x2x6xf64> {
  %y = nn.rotary %x theta 100.0 inverse : tensor<2x3x2x6xf64>
  return %y : tensor<2x3x2x6xf64>
}
func.func @rotary_heads(%x: tensor<2x3x4x4xf64>) -> tensor<2x3x4x4xf64> {
  %y = nn.rotary %x theta 100.0 heads [1, 3] : tensor<2x3x4x4xf64>
  return %y : tensor<2x3x4x4xf64>
}
func.func @rotary_interleaved_inverse(%x: tensor<2x3x2x4xf64>) -> tensor<2x3x2x4xf64> {
  %y = nn.rotary %x theta 100.0 interleaved inverse : tensor<2x3x2x4xf64>
  return %y : tensor<2x3x2x4xf64>
}
