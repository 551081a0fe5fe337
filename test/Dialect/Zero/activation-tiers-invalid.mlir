// RUN: zero-opt %s --split-input-file --verify-diagnostics

func.func @offload(%x: tensor<4x8xbf16>) {
  // expected-error @+1 {{gives '!zero.pending<tensor<32xbf16>>', wanted one tensor of type 'tensor<4x8xbf16>', as it is given}}
  %p = zero.offload %x id 7 : tensor<4x8xbf16> -> <tensor<32xbf16>>
  return
}

// -----

func.func @fetch(%x: tensor<4x8xbf16>) {
  // expected-error @+1 {{gives '!zero.pending<>', wanted one tensor of type 'tensor<4x8xbf16>', as it is given}}
  %p = zero.fetch %x id 7 : tensor<4x8xbf16> -> <>
  return
}

// -----

func.func @dynamic(%x: tensor<?x8xbf16>) {
  // expected-error @+1 {{operand #0 must be statically shaped tensor}}
  %p = zero.offload %x id 7 : tensor<?x8xbf16> -> <tensor<?x8xbf16>>
  return
}
