// RUN: not zero-opt %s 2>&1 | FileCheck %s
// RUN: sed 's/2x5xf32/2x4xf32/g' %s > %t.right
// RUN: zero-plan %t.right --ranks 1 --stage 0 | FileCheck %s --check-prefix=PLAN

// Places as tools/python writes them: the module's path and the source line, in
// errors and in reports.
// CHECK: layers.0, train.py:10:1: error: 'nn.linear' op y is 2x5xf32, wanted 2x4xf32
// PLAN:  zero.launch @gelu_0 at layers.1, train.py:10:1
zero.parameter @layers.0.weight : tensor<4x8xf32> = #zero.normal<std = 0.02>
zero.parameter @layers.2.weight : tensor<3x4xf32> = #zero.normal<std = 0.02>

zero.step @train(%images: tensor<2x8xf32> {zero.input = "images"}, %labels: tensor<2xi32> {zero.input = "labels"}) {
  %layers.0.weight = zero.load @layers.0.weight : tensor<4x8xf32> loc(#loc0)
  %linear = nn.linear %images, %layers.0.weight transposed : (tensor<2x8xf32>, tensor<4x8xf32>) -> tensor<2x5xf32> loc(#loc0)
  %gelu = nn.gelu exact %linear : tensor<2x5xf32> loc(#loc1)
  %layers.2.weight = zero.load @layers.2.weight : tensor<3x4xf32> loc(#loc2)
  %linear_1 = nn.linear %gelu, %layers.2.weight transposed : (tensor<2x5xf32>, tensor<3x4xf32>) -> tensor<2x3xf32> loc(#loc2)
  %loss, %lse = nn.cross_entropy %linear_1, %labels ignore_index -100 : (tensor<2x3xf32>, tensor<2xi32>) -> (tensor<f32>, tensor<2xf32>) loc(#loc3)
  zero.yield %loss : tensor<f32>
}

#loc0 = loc("layers.0, train.py":10:1)
#loc1 = loc("layers.1, train.py":10:1)
#loc2 = loc("layers.2, train.py":10:1)
#loc3 = loc("train.py":10:1)
