"""Prints a model whose parameters have as many optimizer groups as asked for."""

import sys

count = int(sys.argv[1])
for i in range(count):
    print(f'zero.parameter @w{i} : tensor<4xf32> = #zero.ones group "g{i}"')
print("zero.step @train(%p0: tensor<4xf32>) {")
for i in range(count):
    print(f"  %w{i} = zero.load @w{i} : tensor<4xf32>")
    print(f"  %p{i + 1} = arith.mulf %p{i}, %w{i} : tensor<4xf32>")
print(f"  %loss = nn.reduce sum %p{count} dims [0] : (tensor<4xf32>) -> tensor<f32>")
print("  zero.yield %loss : tensor<f32>")
print("}")
