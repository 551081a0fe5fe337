// A model is cut into stages, a module each, at its boundaries. What a later stage reads
// goes through all stages between; what follows from inputs each stage computes itself.

// RUN: zero-opt %s --zero-cut-pipeline=order=gpipe --verify-diagnostics | FileCheck %s

zero.mesh @mesh <pipe = 3, data = 2>
zero.parameter @a : tensor<8x8xf32> = #zero.ones
zero.parameter @b : tensor<8x8xf32> = #zero.ones
zero.parameter @c : tensor<8x8xf32> = #zero.ones frozen
zero.parameter @d : tensor<8xf32> = #zero.ones

// CHECK:      module attributes {zero.parameters = ["a", "b", "c", "d"]} {
// CHECK:      module @stage0 {
// CHECK-NEXT:   zero.mesh @mesh <pipe = 3, data = 2> stage 0 order "gpipe"
// CHECK-NEXT:   zero.parameter @a
// CHECK-NEXT:   zero.step @train(%[[X:.*]]: tensor<4x8xf32> {zero.input = "x"}, %{{.*}}: tensor<4x8xf32> {zero.input = "y"}) {
// CHECK:          %[[H:.*]] = nn.linear %[[X]]
// CHECK:          zero.send_value %[[H]] as "value 0" trained : tensor<4x8xf32>
// CHECK-NEXT:     zero.yield{{ *$}}
// CHECK:      module @stage1 {
// CHECK-NEXT:   zero.mesh @mesh <pipe = 3, data = 2> stage 1 order "gpipe"
// CHECK-NEXT:   zero.parameter @b
// CHECK-NEXT:   zero.step @train
// CHECK-NEXT:     %[[R:.*]] = zero.receive_value "value 0" trained : tensor<4x8xf32>
// CHECK-NOT:      zero.load @a
// CHECK:          %[[G:.*]] = nn.linear %[[R]]
// The value of the first stage is handed on, since the last one reads it as well.
// CHECK:          zero.send_value %[[R]] as "value 1" trained : tensor<4x8xf32>
// CHECK-NEXT:     zero.send_value %[[G]] as "value 2" trained : tensor<4x8xf32>
// CHECK-NEXT:     zero.yield
// CHECK:      module @stage2 {
// CHECK-NEXT:   zero.mesh @mesh <pipe = 3, data = 2> stage 2 order "gpipe"
// CHECK-NEXT:   zero.parameter @c
// CHECK-NEXT:   zero.parameter @d
// CHECK:          %[[R0:.*]] = zero.receive_value "value 1" trained
// CHECK-NEXT:     %[[R1:.*]] = zero.receive_value "value 2" trained
// CHECK:          %[[MASK:.*]] = arith.mulf %{{.*}}, %{{.*}} : tensor<4x8xf32>
// CHECK:          arith.addf %[[R0]], %{{.*}}
// CHECK:          zero.yield %{{.*}} : tensor<f32>

// expected-remark@+1 {{the 3 stages of the pipeline have 1, 1 and 2 of 4 parameters and 32, 32 and 35 % of the forward work, and get 128 and 256 bytes a micro-batch from the one before}}
zero.step @train(%x: tensor<4x8xf32> {zero.input = "x"}, %y: tensor<4x8xf32> {zero.input = "y"}) {
  // Of inputs alone, and read in two stages.
  %mask = arith.mulf %y, %y : tensor<4x8xf32>
  %a = zero.load @a : tensor<8x8xf32>
  %h = nn.linear %x, %a : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  zero.stage_boundary
  %b = zero.load @b : tensor<8x8xf32>
  %g = nn.linear %h, %b : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  zero.stage_boundary
  %c = zero.load @c : tensor<8x8xf32>
  %k = nn.linear %g, %c : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %d = zero.load @d : tensor<8xf32>
  %m = arith.mulf %k, %mask : tensor<4x8xf32>
  %s = arith.addf %h, %m : tensor<4x8xf32>
  %loss = nn.reduce mean %s dims [0, 1] : (tensor<4x8xf32>) -> tensor<f32>
  %w = nn.reduce mean %d dims [0] : (tensor<8xf32>) -> tensor<f32>
  %all = arith.addf %loss, %w : tensor<f32>
  zero.yield %all : tensor<f32>
}
