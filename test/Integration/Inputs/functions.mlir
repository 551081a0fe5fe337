// Functions of one f32, and the activations that are made of them.
zero.parameter @w : tensor<1xf32> = #zero.ones
zero.step @train(%x: tensor<4096xf32> {zero.input = "x"}) {
  %w = zero.load @w : tensor<1xf32>
  %exp = math.exp %x : tensor<4096xf32>
  %exp2 = math.exp2 %x : tensor<4096xf32>
  %expm1 = math.expm1 %x : tensor<4096xf32>
  %log = math.log %x : tensor<4096xf32>
  %log2 = math.log2 %x : tensor<4096xf32>
  %log10 = math.log10 %x : tensor<4096xf32>
  %log1p = math.log1p %x : tensor<4096xf32>
  %sqrt = math.sqrt %x : tensor<4096xf32>
  %rsqrt = math.rsqrt %x : tensor<4096xf32>
  %cbrt = math.cbrt %x : tensor<4096xf32>
  %erf = math.erf %x : tensor<4096xf32>
  %erfc = math.erfc %x : tensor<4096xf32>
  %tanh = math.tanh %x : tensor<4096xf32>
  %sinh = math.sinh %x : tensor<4096xf32>
  %cosh = math.cosh %x : tensor<4096xf32>
  %tan = math.tan %x : tensor<4096xf32>
  %atan = math.atan %x : tensor<4096xf32>
  %asin = math.asin %x : tensor<4096xf32>
  %acos = math.acos %x : tensor<4096xf32>
  %asinh = math.asinh %x : tensor<4096xf32>
  %acosh = math.acosh %x : tensor<4096xf32>
  %atanh = math.atanh %x : tensor<4096xf32>
  %sin = math.sin %x : tensor<4096xf32>
  %cos = math.cos %x : tensor<4096xf32>
  %gelu_tanh = nn.gelu tanh %x : tensor<4096xf32>
  %gelu_exact = nn.gelu exact %x : tensor<4096xf32>
  %silu = nn.silu %x : tensor<4096xf32>
  %loss = nn.reduce sum %w dims [0] : (tensor<1xf32>) -> tensor<f32>
  zero.yield %loss, %exp, %exp2, %expm1, %log, %log2, %log10, %log1p, %sqrt,
    %rsqrt, %cbrt, %erf, %erfc, %tanh, %sinh, %cosh, %tan, %atan, %asin, %acos,
    %asinh, %acosh, %atanh, %sin, %cos, %gelu_tanh, %gelu_exact, %silu
    outputs ["exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt",
    "rsqrt", "cbrt", "erf", "erfc", "tanh", "sinh", "cosh", "tan", "atan",
    "asin", "acos", "asinh", "acosh", "atanh", "sin", "cos", "gelu_tanh",
    "gelu_exact", "silu"]
    : tensor<f32>, tensor<4096xf32>, tensor<4096xf32>, tensor<4096xf32>,
    tensor<4096xf32>, tensor<4096xf32>, tensor<4096xf32>, tensor<4096xf32>,
    tensor<4096xf32>, tensor<4096xf32>, tensor<4096xf32>, tensor<4096xf32>,
    tensor<4096xf32>, tensor<4096xf32>, tensor<4096xf32>, tensor<4096xf32>,
    tensor<4096xf32>, tensor<4096xf32>, tensor<4096xf32>, tensor<4096xf32>,
    tensor<4096xf32>, tensor<4096xf32>, tensor<4096xf32>, tensor<4096xf32>,
    tensor<4096xf32>, tensor<4096xf32>, tensor<4096xf32>, tensor<4096xf32>
}
