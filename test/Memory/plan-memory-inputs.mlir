// DEFINE: %{stage} = stage=0
// DEFINE: %{run} = zero-opt %s --zero-pipeline="%{stage} ranks=2 alignment=2 reduce-bucket-size=4"
// RUN: %{run} | FileCheck %s
// REDEFINE: %{stage} = stage=1 accumulation=2 deterministic
// RUN: %{run} | FileCheck %s
// REDEFINE: %{stage} = stage=2 overlap=true
// RUN: %{run} | FileCheck %s
// REDEFINE: %{stage} = stage=3 overlap=true
// RUN: %{run} | FileCheck %s
// RUN: zero-compile %s --stage=3 --ranks=2 -o %t.exe && %t.exe --schedule | FileCheck %s --check-prefix=COMMAND

// What is seen of an input, whole or in part, lies in the data loader's arena:
// the plan gives it no place, and kernels read it there.
// CHECK: zero.micro
// CHECK: tensor.collapse_shape %arg0
// CHECK-NOT: zero.at
// CHECK-SAME: : tensor<2x3x1xf32>
// CHECK: tensor.extract_slice %arg1
// CHECK-NOT: zero.at
// CHECK-SAME: : tensor<2x2x1xf32> to tensor<1x2x1xf32>
// COMMAND: nn.linear (tensor<2x3xf32> @inputs+0:24
// COMMAND: launch {{.*}} tensor<2x1xf32> @inputs+72:8
zero.parameter @w : tensor<3x1xf32> = #zero.normal<std = 0.02>
zero.step @train(%x: tensor<2x3x1xf32> {zero.input = "x"}, %y: tensor<2x2x1xf32> {zero.input = "y"}) {
  %w = zero.load @w : tensor<3x1xf32>
  %flat = tensor.collapse_shape %x [[0], [1, 2]] : tensor<2x3x1xf32> into tensor<2x3xf32>
  %h = nn.linear %flat, %w : (tensor<2x3xf32>, tensor<3x1xf32>) -> tensor<2x1xf32>
  %part = tensor.extract_slice %y [1, 0, 0] [1, 2, 1] [1, 1, 1] : tensor<2x2x1xf32> to tensor<1x2x1xf32>
  %want = tensor.collapse_shape %part [[0, 1], [2]] : tensor<1x2x1xf32> into tensor<2x1xf32>
  %d = arith.subf %h, %want : tensor<2x1xf32>
  %s = arith.mulf %d, %d : tensor<2x1xf32>
  %loss = nn.reduce mean %s dims [0, 1] : (tensor<2x1xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}
