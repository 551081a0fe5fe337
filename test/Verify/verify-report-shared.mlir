// RUN: zero-opt %s --zero-pipeline="stage=3 ranks=2 machine=h100" \
// RUN:   | zero-opt --zero-verify-schedule="report max-reuse-distance=0" -o /dev/null 2>&1 | FileCheck %s

// A frozen parameter is gathered as well, one that the backward does not read
// once, and a tied one for each use: the table is used twice in the forward and
// once more in the backward. Padded, they have 64, 40 and 48 elements.

// CHECK: remark: sends 112 elements of gradients, 288 of gathered and 0 of refreshed parameters an update, times (n-1)/n
// CHECK: note: 112 elements are trained, 112 with padding
// CHECK: note: the bound of stage 3 is 416; {{.*}}: 240 instead of 304
// CHECK: note: parameters with more than two uses in a micro-batch, such as tied ones, are gathered once for each: 48 on top
zero.parameter @table : tensor<8x6xf32> = #zero.normal<std = 0.02>
zero.parameter @fixed : tensor<6x6xf32> = #zero.normal<std = 0.02> frozen
zero.parameter @out : tensor<8x8xf32> = #zero.normal<std = 0.02>
zero.step @tied(%ids: tensor<3xi32>, %t: tensor<3xi32>) {
  %e = zero.load @table : tensor<8x6xf32>
  %x = nn.embedding %ids, %e : (tensor<3xi32>, tensor<8x6xf32>) -> tensor<3x6xf32>
  %f = zero.load @fixed : tensor<6x6xf32>
  %y = nn.linear %x, %f : (tensor<3x6xf32>, tensor<6x6xf32>) -> tensor<3x6xf32>
  %p = zero.load @table : tensor<8x6xf32>
  %z = nn.linear %y, %p transposed : (tensor<3x6xf32>, tensor<8x6xf32>) -> tensor<3x8xf32>
  %o = zero.load @out : tensor<8x8xf32>
  %l = nn.linear %z, %o : (tensor<3x8xf32>, tensor<8x8xf32>) -> tensor<3x8xf32>
  %loss, %lse = nn.cross_entropy %l, %t : (tensor<3x8xf32>, tensor<3xi32>) -> (tensor<f32>, tensor<3xf32>)
  zero.yield %loss : tensor<f32>
}
