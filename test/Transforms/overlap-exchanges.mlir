// What an exchange of values does not need runs while it is under way, as far as it takes to
// hide the exchange.

// A sum takes as long as two products; a link that is fast has one to hide it.
// RUN: split-file %s %t
// RUN: echo '{"name": "even", "flops": {"f32": 1e9}, "bandwidth": 1e4, "protocols": [{"latency": 0.12, "step": 0, "bandwidth": 1e9}]}' > %t/slow.json
// RUN: echo '{"name": "even", "flops": {"f32": 1e9}, "bandwidth": 1e4, "protocols": [{"latency": 0.01, "step": 0, "bandwidth": 1e9}]}' > %t/fast.json
// RUN: zero-opt %t/step.mlir --zero-overlap-exchanges=machine=%t/slow.json | FileCheck %s --check-prefixes=CHECK,SLOW
// RUN: zero-opt %t/step.mlir --zero-overlap-exchanges=machine=%t/fast.json | FileCheck %s --check-prefixes=CHECK,FAST
// RUN: zero-opt %t/step.mlir --zero-overlap-exchanges=machine=host | FileCheck %s --check-prefix=NONE
// RUN: not zero-opt %t/step.mlir --zero-overlap-exchanges=machine=nowhere.json 2>&1 | FileCheck %s --check-prefix=MACHINE
// RUN: not zero-opt %t/bare.mlir --zero-overlap-exchanges 2>&1 | FileCheck %s --check-prefix=BARE
// MACHINE: error: 'zero.step' op cannot read the machine 'nowhere.json'
// BARE: error: 'zero.step' has no 'training'; run zero-configure first

// Gradients of weights stand behind the start of the sum, in their order; what the sum is of
// stays before it, and so does what both read. The last ones move first.
// CHECK: zero.micro {
// CHECK-NEXT: %[[W:.*]] = zero.load @w
// CHECK-NEXT: %[[V:.*]] = zero.load @v
// CHECK-NEXT: zero.loss_seed
// CHECK-NEXT: %[[D:.*]] = arith.addf
// FAST-NEXT: %[[DV:.*]] = nn.matmul %[[D]], %arg0 transpose_a
// FAST-NEXT: zero.gradient @v, %[[DV]]
// CHECK-NEXT: %[[DX:.*]] = nn.linear %[[D]], %[[W]]
// CHECK-NEXT: %[[P:.*]] = zero.start_all_reduce %[[DX]]
// SLOW-NEXT: %[[DV:.*]] = nn.matmul %[[D]], %arg0 transpose_a
// SLOW-NEXT: zero.gradient @v, %[[DV]]
// CHECK-NEXT: %[[DW:.*]] = nn.matmul %[[D]], %arg1 transpose_a
// CHECK-NEXT: zero.gradient @w, %[[DW]]
// CHECK-NEXT: %[[S:.*]] = zero.wait %[[P]]
// Nothing moves past that wait, to hide the next exchange.
// CHECK-NEXT: %[[DU:.*]] = nn.matmul %[[S]], %arg0 transpose_a
// Nor what another operation before the start reads, or past the end of a chunk of a pipeline.
// CHECK-NEXT: zero.stage_boundary
// CHECK-NEXT: %[[DY:.*]] = nn.linear %[[S]], %[[V]]
// CHECK-NEXT: %[[Q:.*]] = zero.start_all_reduce %[[DY]]
// CHECK-NEXT: zero.gradient @u, %[[DU]]
// CHECK-NEXT: zero.wait %[[Q]]

// NONE: nn.matmul
// NONE: zero.gradient @v
// NONE: nn.matmul
// NONE: zero.gradient @w
// NONE: %[[P:.*]] = zero.start_all_reduce
// NONE-NEXT: zero.wait %[[P]]

//--- step.mlir
zero.mesh @mesh <data = 2, tensor = 2>
zero.parameter @u : tensor<4x4xf32> = #zero.zeros
zero.parameter @v : tensor<4x4xf32> = #zero.zeros
zero.parameter @w : tensor<4x4xf32> = #zero.zeros
zero.step @backward(%x: tensor<8x4xf32>, %g: tensor<8x4xf32>) training #zero.training<stage = 0, ranks = 4> {
  zero.micro {
    %w = zero.load @w : tensor<4x4xf32>
    %v = zero.load @v : tensor<4x4xf32>
    %loss = zero.loss_seed : tensor<f32>
    %d = arith.addf %g, %g : tensor<8x4xf32>
    %dv = nn.matmul %d, %x transpose_a : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
    %gv = zero.gradient @v, %dv : tensor<4x4xf32>
    %dw = nn.matmul %d, %g transpose_a : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
    %gw = zero.gradient @w, %dw : tensor<4x4xf32>
    %dx = nn.linear %d, %w : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
    %p = zero.start_all_reduce %dx over <tensor = 2> : tensor<8x4xf32> -> <tensor<8x4xf32>>
    %s = zero.wait %p : <tensor<8x4xf32>>
    %du = nn.matmul %s, %x transpose_a : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
    zero.stage_boundary
    %dy = nn.linear %s, %v : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
    %q = zero.start_all_reduce %dy over <tensor = 2> : tensor<8x4xf32> -> <tensor<8x4xf32>>
    %gu = zero.gradient @u, %du : tensor<4x4xf32>
    %t = zero.wait %q : <tensor<8x4xf32>>
    zero.yield %loss : tensor<f32>
  }
  zero.apply {
  }
}

//--- bare.mlir
zero.step @backward(%x: tensor<8x4xf32>) {
  zero.micro {
    %loss = zero.loss_seed : tensor<f32>
    zero.yield %loss : tensor<f32>
  }
  zero.apply {
  }
}
