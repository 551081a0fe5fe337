// Two groups of layers in each stage: of four, the first stage has the first and the third.
// What stands between them is a boundary, of the backward pass as well, and each part
// becomes a pass of its own.

// RUN: zero-opt %s --zero-cut-pipeline='order=interleaved chunks=2' | FileCheck %s --check-prefix=CUT
// RUN: zero-opt %s --pass-pipeline='builtin.module(zero-cut-pipeline{order=interleaved chunks=2},builtin.module(zero-differentiate))' | FileCheck %s --check-prefix=BACK
// RUN: zero-opt %s --pass-pipeline='builtin.module(zero-cut-pipeline{order=interleaved chunks=2},builtin.module(zero-differentiate,zero-start-exchanges,zero-split-forward))' | FileCheck %s --check-prefix=SPLIT
// RUN: not zero-opt %s --zero-cut-pipeline='order=interleaved chunks=3' 2>&1 | FileCheck %s --check-prefix=FEW
// RUN: zero-opt %s -o /dev/null --zero-cut-pipeline='order=interleaved chunks=2' 2>&1 | FileCheck %s --check-prefix=REMARK

zero.mesh @mesh <pipe = 2, data = 1>
zero.parameter @a : tensor<8x8xf32> = #zero.ones
zero.parameter @b : tensor<8x8xf32> = #zero.ones
zero.parameter @c : tensor<8x8xf32> = #zero.ones
zero.parameter @d : tensor<8x8xf32> = #zero.ones

// CUT-LABEL:  module @stage0 {
// CUT-NEXT:     zero.mesh @mesh <pipe = 2, data = 1> stage 0 order "interleaved" chunks 2
// CUT-NEXT:     zero.parameter @a
// CUT-NEXT:     zero.parameter @c
// CUT:            %[[A:.*]] = nn.linear
// CUT-NEXT:       zero.send_value %[[A]] as "value 0" trained
// CUT-NEXT:       zero.stage_boundary
// CUT-NEXT:       %[[B:.*]] = zero.receive_value "value 1" trained
// CUT:            %[[C:.*]] = nn.linear %[[B]]
// CUT-NEXT:       zero.send_value %[[C]] as "value 2" trained
// CUT-NEXT:       zero.yield{{ *$}}
// CUT-LABEL:  module @stage1 {
// CUT:            zero.receive_value "value 0"
// CUT:            zero.send_value %{{.*}} as "value 1"
// CUT-NEXT:       zero.stage_boundary
// CUT-NEXT:       zero.receive_value "value 2"
// CUT:            zero.yield %{{.*}} : tensor<f32>

// BACK-LABEL: module @stage0 {
// BACK:         zero.micro {
// BACK:           nn.linear
// BACK-NEXT:      zero.send_value %{{.*}} as "value 0" trained
// BACK-NEXT:      zero.stage_boundary
// BACK-NEXT:      zero.receive_value "value 1" trained
// BACK:           nn.linear
// BACK-NEXT:      zero.send_value %{{.*}} as "value 2" trained
// BACK-NEXT:      zero.receive_value "value 2" back
// BACK:           zero.send_value %{{.*}} as "value 1" back
// BACK:           zero.gradient @c
// BACK:           zero.stage_boundary
// BACK-NEXT:      zero.receive_value "value 0" back
// BACK:           zero.gradient @a
// BACK:           zero.yield{{ *$}}
// BACK:         zero.evaluate {
// BACK-NOT:       zero.stage_boundary
// BACK-LABEL: module @stage1 {

// SPLIT-LABEL: module @stage0 {
// SPLIT:         zero.forward {
// SPLIT:           zero.start_send %{{.*}} as "value 0"
// SPLIT-NEXT:      zero.carry %{{.*}} as "send value 0"
// SPLIT-NEXT:    }
// SPLIT-NEXT:    zero.forward chunk 1 {
// SPLIT-NEXT:      zero.carried "send gradient of value 1"
// SPLIT:           zero.start_receive "value 1"
// SPLIT:           zero.start_send %{{.*}} as "value 2"
// SPLIT:         }
// SPLIT-NEXT:    zero.micro chunk 1 {
// SPLIT-NEXT:      zero.carried "send value 2"
// SPLIT:           zero.start_receive "value 2" back
// SPLIT:           zero.gradient @c
// SPLIT:           zero.start_send %{{.*}} as "value 1" back
// SPLIT:           zero.yield{{ *$}}
// SPLIT-NEXT:    }
// SPLIT-NEXT:    zero.micro {
// SPLIT-NEXT:      zero.carried "send value 0"
// SPLIT:           zero.start_receive "value 0" back
// SPLIT:           zero.gradient @a
// SPLIT:           zero.yield{{ *$}}
// SPLIT-LABEL: module @stage1 {
// The backward pass of the last chunk begins with the loss.
// SPLIT:         zero.micro chunk 1 {
// SPLIT:           zero.loss_seed
// SPLIT:           zero.yield %{{.*}} : tensor<f32>
// SPLIT:         zero.micro {
// SPLIT:           zero.yield{{ *$}}

// FEW: @train has 3 places to cut it at, and the axis 'pipe' has 2 ranks of 3 chunks; wanted 5: name them by zero.pipeline_boundaries, or by 'zero.stage_boundary' in the model, or give fewer ranks or chunks
// REMARK: the 2 stages of the pipeline have 2 chunks each, which in the order of the model have 1 of 4 parameters and {{.*}} % of the forward work, and get 128 bytes a micro-batch from the one before
zero.step @train(%x: tensor<4x8xf32> {zero.input = "x"}) {
  %a = zero.load @a : tensor<8x8xf32>
  %h = nn.linear %x, %a : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  zero.stage_boundary
  %b = zero.load @b : tensor<8x8xf32>
  %g = nn.linear %h, %b : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  zero.stage_boundary
  %c = zero.load @c : tensor<8x8xf32>
  %k = nn.linear %g, %c : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  zero.stage_boundary
  %d = zero.load @d : tensor<8x8xf32>
  %m = nn.linear %k, %d : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %loss = nn.reduce mean %m dims [0, 1] : (tensor<4x8xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}
