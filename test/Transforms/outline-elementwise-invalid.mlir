// RUN: zero-opt %s --split-input-file --verify-diagnostics --zero-outline-elementwise

zero.step @unknown(%x: tensor<4x8xf32>) {
  zero.micro {
    // expected-error @+1 {{'tensor.generate' op has no kernel; wanted an elementwise operation on tensors of one static shape, a reshape, or an operation with KernelOpInterface: implement that, or rewrite the model with such operations}}
    %0 = tensor.generate {
    ^bb0(%i: index):
      %c = arith.constant 0.0 : f32
      tensor.yield %c : f32
    } : tensor<8xf32>
    %1 = nn.reduce mean %0 dims [0] : (tensor<8xf32>) -> tensor<f32>
    zero.yield %1 : tensor<f32>
  }
  zero.apply {
  }
}

// -----

// Bits of a 16-bit value mean nothing once it is computed with in f32.
zero.step @bits(%x: tensor<8xbf16>) {
  zero.micro {
    // expected-error @+1 {{'arith.bitcast' op has no kernel}}
    %0 = arith.bitcast %x : tensor<8xbf16> to tensor<8xf16>
    %1 = nn.reduce mean %0 dims [0] : (tensor<8xf16>) -> tensor<f16>
    %2 = arith.extf %1 : tensor<f16> to tensor<f32>
    zero.yield %2 : tensor<f32>
  }
  zero.apply {
  }
}
