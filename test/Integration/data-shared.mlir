// Inputs without the micro-batch's dimension are the same for all samples: a
// scalar and a table as inputs do what constants do.

// RUN: sed -e '/scale: tensor.*table: tensor/d' -e 's/%x: tensor<2x3xf32> {zero.input = "x"},/%x: tensor<2x3xf32> {zero.input = "x"}) {/' -e 's/^  \/\/ constant: //' %s > %t.constant.mlir
// RUN: %python %S/compare_losses.py data %t.safetensors x=3
// RUN: %python -c "import sys; sys.path.insert(0, '%S'); import training as t; x = t.read_tensors('%t.safetensors')['x']; t.write_tensors('%t.shared.safetensors', {'x': ([24, 3], x), 'scale': ([], [2.0]), 'table': ([1, 3], [1.0, 2.0, 3.0])})"
// RUN: zero-compile %s --pipeline='stage=2 ranks=2 lr=0.02' -o %t 2>&1 | FileCheck %s
// RUN: zero-compile %t.constant.mlir --pipeline='stage=2 ranks=2 lr=0.02' -o %t.constant 2>&1 | FileCheck %s --allow-empty --check-prefix=NONE
// RUN: %t --data %t.shared.safetensors --steps 12 --validation-fraction 0 --metrics %t.jsonl
// RUN: %t.constant --data %t.safetensors --steps 12 --validation-fraction 0 --metrics %t.constant.jsonl
// RUN: %python %S/compare_losses.py equal %t.jsonl %t.constant.jsonl

// CHECK: remark: input 1 has type 'tensor<f32>': all samples share it, as its first dimension is not the micro-batch, 2 in input 0
// CHECK: remark: input 2 has type 'tensor<1x3xf32>': all samples share it
// CHECK-NOT: remark
// NONE-NOT: remark

zero.parameter @w : tensor<3x1xf32> = #zero.normal<std = 0.5>

zero.step @train(%x: tensor<2x3xf32> {zero.input = "x"},
                 %scale: tensor<f32> {zero.input = "scale"}, %table: tensor<1x3xf32> {zero.input = "table"}) {
  // constant: %scale = arith.constant dense<2.0> : tensor<f32>
  // constant: %table = arith.constant dense<[[1.0, 2.0, 3.0]]> : tensor<1x3xf32>
  %w = zero.load @w : tensor<3x1xf32>
  %row = tensor.collapse_shape %table [[0, 1]] : tensor<1x3xf32> into tensor<3xf32>
  %t = nn.broadcast %row dims [1] : (tensor<3xf32>) -> tensor<2x3xf32>
  %a = arith.addf %x, %t : tensor<2x3xf32>
  %h = nn.linear %a, %w : (tensor<2x3xf32>, tensor<3x1xf32>) -> tensor<2x1xf32>
  %s0 = nn.broadcast %scale dims [] : (tensor<f32>) -> tensor<2x1xf32>
  %d = arith.subf %h, %s0 : tensor<2x1xf32>
  %s = arith.mulf %d, %d : tensor<2x1xf32>
  %loss = nn.reduce mean %s dims [0, 1] : (tensor<2x1xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}
