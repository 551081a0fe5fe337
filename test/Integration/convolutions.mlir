// Convolutions, pooling and batch norm learn, bitwise equal at every stage,
// where gradients of weights are made in blocks of rows, and in bf16.

// RUN: %python %S/compare_losses.py data %t.safetensors x=32 y=4
// RUN: zero-compile %s --pipeline='stage=0 ranks=2 lr=0.02 deterministic=true' -o %t.0
// RUN: zero-compile %s --pipeline='stage=1 ranks=2 lr=0.02 deterministic=true' -o %t.1
// RUN: zero-compile %s --pipeline='stage=2 ranks=2 lr=0.02 deterministic=true reduce-bucket-size=80 alignment=4' -o %t.2
// RUN: zero-compile %s --pipeline='stage=3 ranks=2 lr=0.02 deterministic=true reduce-bucket-size=80 alignment=4' -o %t.3
// RUN: zero-compile %s --pipeline='stage=2 ranks=2 lr=0.02 deterministic=true precision=bf16' -o %t.bf16
// RUN: zero-compile %s --pipeline='stage=3 ranks=2 lr=0.02 deterministic=true precision=bf16' -o %t.bf16.3
// RUN: %t.0 --data %t.safetensors --steps 12 --validation-fraction 0 --metrics %t.0.jsonl > %t.log
// RUN: %t.1 --data %t.safetensors --steps 12 --validation-fraction 0 --metrics %t.1.jsonl > %t.log
// RUN: %t.2 --data %t.safetensors --steps 12 --validation-fraction 0 --metrics %t.2.jsonl > %t.log
// RUN: %t.3 --data %t.safetensors --steps 12 --validation-fraction 0 --metrics %t.3.jsonl > %t.log
// RUN: %t.bf16 --data %t.safetensors --steps 12 --validation-fraction 0 --metrics %t.bf16.jsonl > %t.log
// RUN: %t.bf16.3 --data %t.safetensors --steps 12 --validation-fraction 0 --metrics %t.bf16.3.jsonl > %t.log
// RUN: %python %S/compare_losses.py equal %t.1.jsonl %t.0.jsonl
// RUN: %python %S/compare_losses.py equal %t.2.jsonl %t.0.jsonl
// RUN: %python %S/compare_losses.py equal %t.3.jsonl %t.0.jsonl
// RUN: %python %S/compare_losses.py equal %t.bf16.3.jsonl %t.bf16.jsonl

zero.parameter @w : tensor<8x2x3x3xf32> = #zero.normal<std = 0.3>
zero.parameter @scale : tensor<8xf32> = #zero.ones
zero.parameter @shift : tensor<8xf32> = #zero.zeros
zero.parameter @up : tensor<8x4x2x2xf32> = #zero.normal<std = 0.3>
zero.parameter @head : tensor<4x4xf32> = #zero.normal<std = 0.5>

zero.step @train(%rows: tensor<2x32xf32> {zero.input = "x"}, %y: tensor<2x4xf32> {zero.input = "y"}) {
  %w = zero.load @w : tensor<8x2x3x3xf32>
  %scale = zero.load @scale : tensor<8xf32>
  %shift = zero.load @shift : tensor<8xf32>
  %up = zero.load @up : tensor<8x4x2x2xf32>
  %head = zero.load @head : tensor<4x4xf32>
  %x = tensor.expand_shape %rows [[0], [1, 2, 3]] output_shape [2, 2, 4, 4] : tensor<2x32xf32> into tensor<2x2x4x4xf32>
  %0 = nn.conv %x, %w strides [1, 1] padding [1, 1] dilations [1, 1] groups 1 : (tensor<2x2x4x4xf32>, tensor<8x2x3x3xf32>) -> tensor<2x8x4x4xf32>
  %1, %mean, %variance = nn.batch_norm %0, %scale, %shift eps 1.0e-5 : (tensor<2x8x4x4xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<2x8x4x4xf32>, tensor<8xf32>, tensor<8xf32>)
  %2 = nn.max_pool %1 window [2, 2] strides [2, 2] padding [0, 0] dilations [1, 1] : (tensor<2x8x4x4xf32>) -> tensor<2x8x2x2xf32>
  %3 = nn.conv_transpose %2, %up strides [2, 2] padding [0, 0] dilations [1, 1] groups 1 : (tensor<2x8x2x2xf32>, tensor<8x4x2x2xf32>) -> tensor<2x4x4x4xf32>
  %4 = nn.avg_pool %3 window [4, 4] strides [4, 4] padding [0, 0] : (tensor<2x4x4x4xf32>) -> tensor<2x4x1x1xf32>
  %5 = tensor.collapse_shape %4 [[0], [1, 2, 3]] : tensor<2x4x1x1xf32> into tensor<2x4xf32>
  %p = nn.linear %5, %head : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %d = arith.subf %p, %y : tensor<2x4xf32>
  %s = arith.mulf %d, %d : tensor<2x4xf32>
  %loss = nn.reduce mean %s dims [0, 1] : (tensor<2x4xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}
