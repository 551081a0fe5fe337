// RUN: zero-opt %s --zero-differentiate | FileCheck %s
// RUN: zero-opt %s --zero-pipeline='stage=0 ranks=1 precision=bf16' | FileCheck %s --check-prefix=PLAN

// No gradient flows through nn.stop_gradient, so one factor of the product gets
// its gradient from the other, and the stopped one from elsewhere only.
zero.parameter @a : tensor<4xf32> = #zero.ones
zero.parameter @b : tensor<4xf32> = #zero.ones

// CHECK:      %[[A:.*]] = zero.load @a
// CHECK:      %[[B:.*]] = zero.load @b
// CHECK:      %[[STOPPED:.*]] = nn.stop_gradient %[[A]]
// CHECK:      %[[SEED:.*]] = zero.loss_seed
// CHECK:      %[[DY:.*]] = nn.broadcast %[[SEED]]
// CHECK:      %[[DB:.*]] = arith.mulf %[[DY]], %[[STOPPED]]
// CHECK:      zero.gradient @b, %[[DB]]
// CHECK-NOT:  zero.gradient @a
// CHECK:      zero.yield
// PLAN:       zero.launch
zero.step @train(%x: tensor<4xf32> {zero.input = "x"}) {
  %a = zero.load @a : tensor<4xf32>
  %b = zero.load @b : tensor<4xf32>
  %stopped = nn.stop_gradient %a : tensor<4xf32>
  %y = arith.mulf %stopped, %b : tensor<4xf32>
  %loss = nn.reduce sum %y dims [0] : (tensor<4xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}
