// RUN: zero-opt %s | zero-opt | FileCheck %s
// RUN: zero-opt %s -mlir-print-op-generic | zero-opt | FileCheck %s

// What an optimizer keeps, and where it is.

zero.parameter @w : tensor<8xf32> = #zero.zeros

// CHECK: @listed {{.*}} optimizer #zero.adam<> states [exp_avg f32, exp_avg_sq f32 on host]
zero.partition @listed whole over 2 ranks stage 0 segments [0, 8]
  members [#zero.member<@w at 0 size 8>] compute f32 gradient f32 optimizer #zero.adam<>
  states [exp_avg f32 on device, exp_avg_sq f32 on host]

// CHECK: @planned {{.*}} states [master f32 at #zero.at<optimizer[0], 16 bytes>, momentum_buffer f32 on file at #zero.at<optimizer[0] on file, 16 bytes>] at {
zero.partition @planned interval over 2 ranks stage 1 segments [0, 8]
  members [#zero.member<@w at 0 size 8>] compute bf16 gradient bf16 optimizer #zero.sgd<momentum = 0.9>
  states [master f32 at #zero.at<optimizer[0], 16 bytes>, momentum_buffer f32 on file at #zero.at<optimizer[0] on file, 16 bytes>]
  at {gradients = #zero.at<gradients[0], 16 bytes>, parameters = #zero.at<parameters[0], 16 bytes>}

// CHECK: @cut {{.*}} states [remainder ui16, exp_avg f32 [0 to 4] [4 to 8] on host, exp_avg_sq f32]
zero.partition @cut bucketed over 2 ranks stage 2 segments [0, 4, 8]
  members [#zero.member<@w at 0 size 8>] compute bf16 gradient bf16 split optimizer #zero.adam<>
  states [remainder ui16, exp_avg f32 [0 to 4] [4 to 8] on host, exp_avg_sq f32]

// Without the list, all are on the device.
// CHECK: @silent {{.*}} optimizer #zero.adam<>{{$}}
zero.partition @silent whole over 2 ranks stage 0 segments [0, 8]
  members [#zero.member<@w at 0 size 8>] compute f32 gradient f32 optimizer #zero.adam<>

// CHECK: @training
// CHECK-SAME: planning = <state_tiers = {exp_avg = "host"}>
zero.step @training(%x: tensor<f32>) training #zero.training<stage = 0, ranks = 1, planning = <state_tiers = {exp_avg = "host"}>> {
  zero.micro {
    zero.yield %x : tensor<f32>
  }
  zero.apply {
  }
}
