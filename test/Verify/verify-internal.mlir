// What a pass of zero wrote and a proof refuses is the compiler's fault, which
// the pipeline says beside the error.

// RUN: not zero-opt %s --zero-verify-values=internal=true -o /dev/null 2>&1 | FileCheck %s
// RUN: not zero-opt %s --zero-verify-values -o /dev/null 2>&1 | FileCheck %s --check-prefix=USER
// RUN: not zero-opt %s --zero-verify-schedule=internal=true -o /dev/null 2>&1 | FileCheck %s --check-prefix=SCHEDULE

// CHECK: error: 'zero.yield' op over #zero.axes<tensor = 2> yields value 0
// CHECK: remark: this is an internal error, unless the model itself has operations of zero between ranks: nothing was compiled. Report it with the model and its configuration
// USER: error: 'zero.yield' op over #zero.axes<tensor = 2> yields value 0
// USER-NOT: internal error
// SCHEDULE: error: 'zero.step' is a model, not a schedule
// SCHEDULE: remark: this is an internal error

zero.mesh @mesh <data = 2, tensor = 2>
zero.parameter @down : tensor<8x8xf32> = #zero.ones cut <dim 0 of [16] over <tensor = 2>>
zero.step @dropped(%x: tensor<4x16xf32> {zero.input = "x"}) {
  %d = zero.load @down : tensor<8x8xf32>
  %o = zero.slice_value %x cut <dim 1 of [16] over <tensor = 2>> : tensor<4x16xf32> -> tensor<4x8xf32>
  %p = nn.linear %o, %d : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %l = nn.reduce sum %p dims [0, 1] : (tensor<4x8xf32>) -> tensor<f32>
  zero.yield %l : tensor<f32>
}
