// RUN: zero-opt %s -split-input-file -verify-diagnostics -zero-shard-model

zero.mesh @mesh <data = 1, expert = 2>
zero.parameter @w : tensor<4x8xf32> = #zero.normal<std = 0.02>

// expected-error @+1 {{the model @train has no experts, of which #zero.axes<expert = 2> would give each rank some; leave the axis out}}
zero.step @train(%x: tensor<6x8xf32>) {
  %w = zero.load @w : tensor<4x8xf32>
  %y = nn.linear %x, %w transposed : (tensor<6x8xf32>, tensor<4x8xf32>) -> tensor<6x4xf32>
  %loss = nn.reduce mean %y dims [0, 1] : (tensor<6x4xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}

// -----

zero.mesh @mesh <data = 1, expert = 2>
zero.parameter @w : tensor<3x8x8xf32> = #zero.normal<std = 0.02>

zero.step @train(%x: tensor<6x8xf32>, %ids: tensor<6x1xi32>) {
  %w = zero.load @w : tensor<3x8x8xf32>
  // expected-error @+1 {{rows go to 3 experts, which 2 ranks of #zero.axes<expert = 2> do not divide; give the axis a divisor of 3}}
  %s, %p, %o = nn.dispatch %x, %ids experts 3 : (tensor<6x8xf32>, tensor<6x1xi32>) -> (tensor<6x8xf32>, tensor<6x1xi32>, tensor<3xi32>)
  %h = nn.grouped_matmul %s, %w offsets %o : (tensor<6x8xf32>, tensor<3x8x8xf32>, tensor<3xi32>) -> tensor<6x8xf32>
  %y = nn.combine %h, %p : (tensor<6x8xf32>, tensor<6x1xi32>) -> tensor<6x8xf32>
  %loss = nn.reduce mean %y dims [0, 1] : (tensor<6x8xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}

// -----

zero.mesh @mesh <data = 1, expert = 2>
zero.parameter @w : tensor<4x8x8xf32> = #zero.normal<std = 0.02>

zero.step @train(%x: tensor<6x8xf32>, %ids: tensor<6x1xi32>) {
  %w = zero.load @w : tensor<4x8x8xf32>
  %s, %p, %o = nn.dispatch %x, %ids experts 4 : (tensor<6x8xf32>, tensor<6x1xi32>) -> (tensor<6x8xf32>, tensor<6x1xi32>, tensor<4xi32>)
  %h = nn.grouped_matmul %s, %w offsets %o : (tensor<6x8xf32>, tensor<4x8x8xf32>, tensor<4xi32>) -> tensor<6x8xf32>
  // expected-error @+1 {{'nn.reduce' needs all experts, or the rows of all, and over #zero.axes<expert = 2> a rank has some experts and their rows; leave the axis out}}
  %loss = nn.reduce mean %h dims [0, 1] : (tensor<6x8xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}

// -----

zero.mesh @mesh <data = 1, expert = 2>
zero.parameter @w : tensor<4x8x8xf32> = #zero.normal<std = 0.02>

zero.step @train(%x: tensor<6x8xf32>, %ids: tensor<6x1xi32>) {
  %w = zero.load @w : tensor<4x8x8xf32>
  %s, %p, %o = nn.dispatch %x, %ids experts 4 : (tensor<6x8xf32>, tensor<6x1xi32>) -> (tensor<6x8xf32>, tensor<6x1xi32>, tensor<4xi32>)
  %h = nn.grouped_matmul %s, %w offsets %o : (tensor<6x8xf32>, tensor<4x8x8xf32>, tensor<4xi32>) -> tensor<6x8xf32>
  // expected-error @+1 {{'arith.addf' reads operand 1, which follows from the samples, with rows that are sorted by experts, and over #zero.axes<expert = 2> a rank has rows of other ranks' samples; compute it before the rows are sorted, or leave the axis out}}
  %a = arith.addf %h, %x : tensor<6x8xf32>
  %y = nn.combine %a, %p : (tensor<6x8xf32>, tensor<6x1xi32>) -> tensor<6x8xf32>
  %loss = nn.reduce mean %y dims [0, 1] : (tensor<6x8xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}

// -----

zero.mesh @mesh <data = 1, expert = 2>
zero.parameter @w : tensor<4x8x8xf32> = #zero.normal<std = 0.02>

zero.step @train(%x: tensor<6x8xf32>, %ids: tensor<6x1xi32>) {
  %w = zero.load @w : tensor<4x8x8xf32>
  %s, %p, %o = nn.dispatch %x, %ids experts 4 : (tensor<6x8xf32>, tensor<6x1xi32>) -> (tensor<6x8xf32>, tensor<6x1xi32>, tensor<4xi32>)
  %h = nn.grouped_matmul %s, %w offsets %o : (tensor<6x8xf32>, tensor<4x8x8xf32>, tensor<4xi32>) -> tensor<6x8xf32>
  %y = nn.combine %h, %p : (tensor<6x8xf32>, tensor<6x1xi32>) -> tensor<6x8xf32>
  // expected-error @+1 {{'arith.sitofp' reads where rows went that were sorted by experts, which over #zero.axes<expert = 2> are those of all ranks; leave the axis out}}
  %f = arith.sitofp %p : tensor<6x1xi32> to tensor<6x1xf32>
  %m = nn.reduce mean %f dims [0, 1] : (tensor<6x1xf32>) -> tensor<f32>
  %n = nn.reduce mean %y dims [0, 1] : (tensor<6x8xf32>) -> tensor<f32>
  %loss = arith.addf %m, %n : tensor<f32>
  zero.yield %loss : tensor<f32>
}

// -----

zero.mesh @mesh <data = 1, expert = 2>
zero.parameter @w : tensor<4x8x8xf32> = #zero.normal<std = 0.02>

zero.step @train(%x: tensor<6x8xf32>, %ids: tensor<6x1xi32>, %f: tensor<i32>) {
  %w = zero.load @w : tensor<4x8x8xf32>
  // expected-error @+1 {{'nn.dispatch' says by operand 2 which experts it sorts for, which over #zero.axes<expert = 2> are those of each rank; leave the operand out, or the axis}}
  %s, %p, %o = nn.dispatch %x, %ids first %f experts 6 : (tensor<6x8xf32>, tensor<6x1xi32>, tensor<i32>) -> (tensor<6x8xf32>, tensor<6x1xi32>, tensor<4xi32>)
  %h = nn.grouped_matmul %s, %w offsets %o : (tensor<6x8xf32>, tensor<4x8x8xf32>, tensor<4xi32>) -> tensor<6x8xf32>
  %y = nn.combine %h, %p : (tensor<6x8xf32>, tensor<6x1xi32>) -> tensor<6x8xf32>
  %loss = nn.reduce mean %y dims [0, 1] : (tensor<6x8xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}

// -----

zero.mesh @mesh <data = 1, expert = 2>
zero.parameter @w : tensor<4x8x8xf32> = #zero.normal<std = 0.02>

zero.step @train(%x: tensor<6x8xf32>, %ids: tensor<6x1xi32>) {
  %w = zero.load @w : tensor<4x8x8xf32>
  // expected-error @+1 {{'nn.dispatch' has room for 5 of 6 choices, and over #zero.axes<expert = 2> other ones would be left out; wanted room for all, and at least one}}
  %s, %p, %o = nn.dispatch %x, %ids experts 4 : (tensor<6x8xf32>, tensor<6x1xi32>) -> (tensor<5x8xf32>, tensor<6x1xi32>, tensor<4xi32>)
  %h = nn.grouped_matmul %s, %w offsets %o : (tensor<5x8xf32>, tensor<4x8x8xf32>, tensor<4xi32>) -> tensor<5x8xf32>
  %y = nn.combine %h, %p : (tensor<5x8xf32>, tensor<6x1xi32>) -> tensor<6x8xf32>
  %loss = nn.reduce mean %y dims [0, 1] : (tensor<6x8xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}

// -----

zero.mesh @mesh <data = 1, expert = 2>
zero.parameter @w : tensor<4x8x8xf32> = #zero.normal<std = 0.02>
zero.parameter @rows : tensor<6xf32> = #zero.normal<std = 0.02>

zero.step @train(%x: tensor<6x8xf32>, %ids: tensor<6x1xi32>) {
  %w = zero.load @w : tensor<4x8x8xf32>
  // expected-error @+1 {{'zero.load' needs all experts, or the rows of all, and over #zero.axes<expert = 2> a rank has some experts and their rows; leave the axis out}}
  %r = zero.load @rows : tensor<6xf32>
  %b = nn.broadcast %r dims [0] : (tensor<6xf32>) -> tensor<6x8xf32>
  %s, %p, %o = nn.dispatch %x, %ids experts 4 : (tensor<6x8xf32>, tensor<6x1xi32>) -> (tensor<6x8xf32>, tensor<6x1xi32>, tensor<4xi32>)
  %a = arith.addf %s, %b : tensor<6x8xf32>
  %h = nn.grouped_matmul %a, %w offsets %o : (tensor<6x8xf32>, tensor<4x8x8xf32>, tensor<4xi32>) -> tensor<6x8xf32>
  %y = nn.combine %h, %p : (tensor<6x8xf32>, tensor<6x1xi32>) -> tensor<6x8xf32>
  %loss = nn.reduce mean %y dims [0, 1] : (tensor<6x8xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}

// -----

// expected-error @+1 {{cuts states over #zero.axes<expert = 2> alone, over which those of experts are not cut; wanted another axis beside}}
zero.mesh @mesh <data = 2, expert = 2> cut <expert = 2>
