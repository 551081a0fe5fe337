// RUN: zero-compile %s --emit=llvm --target host -o - | FileCheck %s

// A negative integer that pads keeps its sign on the way to the kernel, which
// takes it as a double: -100 is 0xC059000000000000.
// CHECK: tensor.pad{{.*}}value\00\00\00\00\00\00Y\C0
zero.parameter @w : tensor<4x3xf32> = #zero.normal<std = 0.02>
zero.step @train(%x: tensor<2x4xf32> {zero.input = "x"}, %y: tensor<2xi32> {zero.input = "y"}) {
  %w = zero.load @w : tensor<4x3xf32>
  %pad = arith.constant -100 : i32
  %padded = tensor.pad %y low[0] high[1] {
  ^bb0(%i: index):
    tensor.yield %pad : i32
  } : tensor<2xi32> to tensor<3xi32>
  %next = tensor.extract_slice %padded[1] [2] [1] : tensor<3xi32> to tensor<2xi32>
  %l = nn.linear %x, %w : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
  %loss, %lse = nn.cross_entropy %l, %next ignore_index -100 : (tensor<2x3xf32>, tensor<2xi32>) -> (tensor<f32>, tensor<2xf32>)
  zero.yield %loss : tensor<f32>
}
