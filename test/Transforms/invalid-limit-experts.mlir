// RUN: zero-opt %s -split-input-file -verify-diagnostics -zero-limit-experts='policy=probs'

// expected-remark @+1 {{the capacity of experts changes nothing: the model sends no rows to experts without one}}
module {
  zero.step @train(%x: tensor<f32>) {
    zero.yield %x : tensor<f32>
  }
}

// -----

zero.step @train(%x: tensor<6x8xf32>, %ids: tensor<6x1xi32>, %g: tensor<6x1xf32>) {
  %s, %p, %o = nn.dispatch %x, %ids experts 4 : (tensor<6x8xf32>, tensor<6x1xi32>) -> (tensor<6x8xf32>, tensor<6x1xi32>, tensor<4xi32>)
  // expected-error @+1 {{'nn.reduce' needs the rows of all choices, of which experts with a capacity have some; leave the capacity out}}
  %loss = nn.reduce mean %s dims [0, 1] : (tensor<6x8xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}

// -----

zero.step @train(%x: tensor<6x8xf32>, %ids: tensor<6x1xi32>, %f: tensor<i32>) {
  // expected-error @+1 {{'nn.dispatch' keeps the rows of some choices only, and cannot give experts places; leave their capacity out}}
  %s, %p, %o = nn.dispatch %x, %ids first %f experts 6 : (tensor<6x8xf32>, tensor<6x1xi32>, tensor<i32>) -> (tensor<6x8xf32>, tensor<6x1xi32>, tensor<4xi32>)
  %y = nn.combine %s, %p : (tensor<6x8xf32>, tensor<6x1xi32>) -> tensor<6x8xf32>
  %loss = nn.reduce mean %y dims [0, 1] : (tensor<6x8xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}

// -----

zero.step @train(%x: tensor<6x8xf32>, %ids: tensor<6x1xi32>) {
  // expected-error @+1 {{'nn.dispatch' sends rows to experts before the weights of choices are known, by which those are to be dropped that find no place; drop them by position}}
  %s, %p, %o = nn.dispatch %x, %ids experts 4 : (tensor<6x8xf32>, tensor<6x1xi32>) -> (tensor<6x8xf32>, tensor<6x1xi32>, tensor<4xi32>)
  %y = nn.combine %s, %p : (tensor<6x8xf32>, tensor<6x1xi32>) -> tensor<6x8xf32>
  %loss = nn.reduce mean %y dims [0, 1] : (tensor<6x8xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}
