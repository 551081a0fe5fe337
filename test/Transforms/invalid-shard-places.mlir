// RUN: zero-opt %s -split-input-file -verify-diagnostics -zero-shard-model

zero.mesh @mesh <data = 1, expert = 2>
zero.parameter @w : tensor<3x8x8xf32> = #zero.normal<std = 0.02>

zero.step @train(%x: tensor<6x8xf32>, %ids: tensor<6x1xi32>) {
  %w = zero.load @w : tensor<3x8x8xf32>
  // expected-error @+1 {{rows go to 3 experts, which 2 ranks of #zero.axes<expert = 2> do not divide; give the axis a divisor of 3}}
  %s, %p, %n = nn.capacity_dispatch %x, %ids : (tensor<6x8xf32>, tensor<6x1xi32>) -> (tensor<3x2x8xf32>, tensor<6x1xi32>, tensor<3xi32>)
  %h = nn.matmul %s, %w : (tensor<3x2x8xf32>, tensor<3x8x8xf32>) -> tensor<3x2x8xf32>
  %loss = nn.reduce mean %h dims [0, 1, 2] : (tensor<3x2x8xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}

// -----

zero.mesh @mesh <data = 1, expert = 2>

zero.step @train(%x: tensor<6x8xf32>, %ids: tensor<6x1xi32>) {
  // expected-error @+1 {{'nn.capacity_dispatch' gives places to rows, which nothing multiplies place by place with matrices that are stacked by expert, so that the ranks of #zero.axes<expert = 2> have nothing to share; stack the matrices of all experts in one parameter, [experts, ...], or leave the axis out}}
  %s, %p, %n = nn.capacity_dispatch %x, %ids : (tensor<6x8xf32>, tensor<6x1xi32>) -> (tensor<4x2x8xf32>, tensor<6x1xi32>, tensor<4xi32>)
  %loss = nn.reduce mean %s dims [0, 1, 2] : (tensor<4x2x8xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}

// -----

zero.mesh @mesh <data = 1, expert = 2>
zero.parameter @w : tensor<4x8x8xf32> = #zero.normal<std = 0.02>

zero.step @train(%x: tensor<6x8xf32>, %ids: tensor<6x1xi32>) {
  %w = zero.load @w : tensor<4x8x8xf32>
  %s, %p, %n = nn.capacity_dispatch %x, %ids : (tensor<6x8xf32>, tensor<6x1xi32>) -> (tensor<4x2x8xf32>, tensor<6x1xi32>, tensor<4xi32>)
  %h = nn.matmul %s, %w : (tensor<4x2x8xf32>, tensor<4x8x8xf32>) -> tensor<4x2x8xf32>
  // expected-error @+1 {{'nn.reduce' needs all experts, or the rows of all, and over #zero.axes<expert = 2> a rank has some experts and their rows; leave the axis out}}
  %m = nn.reduce mean %w dims [0, 1, 2] : (tensor<4x8x8xf32>) -> tensor<f32>
  %l = nn.reduce mean %h dims [0, 1, 2] : (tensor<4x2x8xf32>) -> tensor<f32>
  %loss = arith.addf %l, %m : tensor<f32>
  zero.yield %loss : tensor<f32>
}
