// RUN: zero-opt %s --zero-plan-memory | FileCheck %s

// A launch must not write over an input of which it reads a part again.
func.func private @same(tensor<2x8xf32>) -> tensor<2x8xf32>
func.func private @row(tensor<2x8xf32>, tensor<1x8xf32>) -> tensor<2x8xf32>
zero.parameter @none : tensor<0xf32> = #zero.zeros
zero.partition @p0 parameter over 3 ranks stage 3 segments [0, 0]
  members [#zero.member<@none at 0 size 0>] compute f32 gradient f32
zero.step @train(%x: tensor<2x8xf32>) training #zero.training<stage = 3, ranks = 3> {
  zero.micro {
    // CHECK: zero.launch @same(%arg0) {zero.at = [#zero.at<activations[0], 64 bytes>]}
    %h = zero.launch @same(%x) : (tensor<2x8xf32>) -> tensor<2x8xf32>
    // CHECK: zero.launch @same(%{{.*}}) {zero.at = [#zero.at<activations[0], 64 bytes>]}
    %i = zero.launch @same(%h) : (tensor<2x8xf32>) -> tensor<2x8xf32>
    %r = tensor.extract_slice %i[0, 0][1, 8][1, 1] : tensor<2x8xf32> to tensor<1x8xf32>
    // CHECK: zero.launch @row(%{{.*}}) {zero.at = [#zero.at<activations[64], 64 bytes>]}
    %j = zero.launch @row(%i, %r) : (tensor<2x8xf32>, tensor<1x8xf32>) -> tensor<2x8xf32>
    // A parameter without elements has an empty segment.
    // CHECK: zero.all_gather [@none] {zero.at = {none = #zero.at<communication[0], 0 bytes>}}
    %p = zero.all_gather [@none] : <tensor<0xf32>>
    %n = zero.wait %p : <tensor<0xf32>>
    zero.free %n : tensor<0xf32>
    %loss = nn.reduce sum %j dims [0, 1] : (tensor<2x8xf32>) -> tensor<f32>
    zero.yield %loss : tensor<f32>
  }
  zero.apply {
  }
}
