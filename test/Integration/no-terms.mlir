// Products over no terms are zeros: forward, and in the gradients, where they are
// products with no rows. Adding them changes no bit.

// RUN: sed 's/%h, %none :/%h, %zeros :/' %s > %t.zeros.mlir
// RUN: %python %S/compare_losses.py data %t.safetensors x=3 y=4
// RUN: zero-compile %s --pipeline='stage=2 ranks=2 lr=0.02' -o %t
// RUN: zero-compile %t.zeros.mlir --pipeline='stage=2 ranks=2 lr=0.02' -o %t.zeros
// RUN: %t --data %t.safetensors --steps 12 --validation-fraction 0 --metrics %t.jsonl > %t.log
// RUN: %t.zeros --data %t.safetensors --steps 12 --validation-fraction 0 --metrics %t.zeros.jsonl > %t.log
// RUN: %python %S/compare_losses.py equal %t.jsonl %t.zeros.jsonl

zero.parameter @w : tensor<3x4xf32> = #zero.normal<std = 0.5>

zero.step @train(%x: tensor<2x3xf32> {zero.input = "x"}, %y: tensor<2x4xf32> {zero.input = "y"}) {
  %w = zero.load @w : tensor<3x4xf32>
  %h = nn.linear %x, %w : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %x0 = tensor.extract_slice %x[0, 0] [2, 0] [1, 1] : tensor<2x3xf32> to tensor<2x0xf32>
  %w0 = tensor.extract_slice %w[0, 0] [0, 4] [1, 1] : tensor<3x4xf32> to tensor<0x4xf32>
  %none = nn.linear %x0, %w0 : (tensor<2x0xf32>, tensor<0x4xf32>) -> tensor<2x4xf32>
  %zeros = arith.constant dense<0.0> : tensor<2x4xf32>
  %p = arith.addf %h, %none : tensor<2x4xf32>
  %d = arith.subf %p, %y : tensor<2x4xf32>
  %s = arith.mulf %d, %d : tensor<2x4xf32>
  %loss = nn.reduce mean %s dims [0, 1] : (tensor<2x4xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}
