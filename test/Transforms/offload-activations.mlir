// What is kept between recomputed spans waits in host memory.
// DEFINE: %{schedule} = zero-opt %s --zero-differentiate --canonicalize --cse --zero-outline-elementwise
// DEFINE: %{plan} = zero-opt %s --zero-pipeline="checkpoint-activations=1
// RUN: %{schedule} --zero-checkpoint-activations=offload | FileCheck %s
// RUN: sed 's/<16x/<2048x/g' %s > %t.rows
// RUN: zero-opt %t.rows --zero-differentiate --canonicalize --cse --zero-outline-elementwise --zero-checkpoint-activations="policy=cheap offload" | FileCheck %s --check-prefix=CHEAP
// RUN: %{schedule} --zero-checkpoint-activations="layers=1,2 offload" | FileCheck %s --check-prefix=SOME
// RUN: %{schedule} --zero-checkpoint-activations="offload offload-bytes=100000" 2>&1 | FileCheck %s --check-prefix=LARGE
// RUN: %{schedule} --zero-checkpoint-activations="every=3 offload" 2>&1 | FileCheck %s --check-prefix=ONE
// RUN: not %{schedule} --zero-checkpoint-activations="offload-bytes=-1" 2>&1 | FileCheck %s --check-prefix=BYTES
// RUN: %{plan} checkpoint-offload stage=3 ranks=2" -o /dev/null
// RUN: echo '{"activation_checkpointing": {"cpu_checkpointing": true}}' > %t.json
// RUN: not zero-opt %s --zero-pipeline="config=%t.json" -o /dev/null 2>&1 | FileCheck %s --check-prefix=SPANS
// RUN: zero-opt %s --zero-pipeline="config=%t.json checkpoint-activations=1" | FileCheck %s --check-prefix=OPTION
// RUN: zero-opt %s --zero-pipeline="config=%t.json checkpoint-activations=0" -o /dev/null
// RUN: not zero-opt %s --zero-pipeline="checkpoint-offload" -o /dev/null 2>&1 | FileCheck %s --check-prefix=KEPT

// The input of the first layer is on its way while the layer runs, and the next
// layer's follows it. The last layer's stays: the backward pass begins with it.
// CHECK-LABEL: zero.micro
// CHECK:       %[[H0:.*]] = nn.linear %arg0
// CHECK-NEXT:  %[[P0:.*]] = zero.offload %[[H0]] id 0 : tensor<16x64xf32> -> <tensor<16x64xf32>>
// CHECK:       nn.linear %[[H0]]
// CHECK:       %[[H1:.*]] = zero.launch @addf{{.*}}(%[[H0]],
// CHECK-NEXT:  %[[P1:.*]] = zero.offload %[[H1]] id 1
// CHECK-NEXT:  %[[AWAY0:.*]] = zero.wait %[[P0]]
// CHECK:       %[[H2:.*]] = zero.launch @addf{{.*}}(%[[H1]],
// CHECK-NEXT:  %[[AWAY1:.*]] = zero.wait %[[P1]]
// CHECK-NOT:   zero.offload
// CHECK:       zero.loss_seed

// A layer's input is back when its recomputation begins, and has been on its way
// since that of the layer behind it.
// CHECK:       %[[F1:.*]] = zero.fetch %[[AWAY1]] id 1 : tensor<16x64xf32> -> <tensor<16x64xf32>>
// CHECK-NEXT:  zero.recompute %[[H2]]
// CHECK:       %[[BACK1:.*]] = zero.wait %[[F1]]
// CHECK-NEXT:  %[[F0:.*]] = zero.fetch %[[AWAY0]] id 0
// CHECK-NEXT:  zero.recompute %[[BACK1]]
// CHECK-NOT:   zero.fetch
// CHECK:       %[[BACK0:.*]] = zero.wait %[[F0]]
// CHECK-NEXT:  zero.recompute %[[BACK0]]
// CHECK-NOT:   %[[H0]]
// CHECK:       zero.evaluate
// CHECK-NOT:   zero.offload

// Products of many rows, which are kept where they are needed, go, too.
// CHEAP:         nn.linear %arg0
// CHEAP-COUNT-4: zero.offload
// CHEAP-NOT:     zero.offload
// CHEAP:         zero.loss_seed
// CHEAP-COUNT-4: zero.fetch
// CHEAP-NOT:     zero.fetch

// What no recomputed layer keeps stays on the device.
// SOME-COUNT-1: zero.offload
// SOME-NOT:     zero.offload
// SOME:         zero.loss_seed
// SOME-COUNT-1: zero.fetch
// SOME-NOT:     zero.fetch

// LARGE: remark: nothing is offloaded to host memory: of 3 recomputed spans of @train none but the last, which the backward pass needs at once, keeps a value of 100000 bytes or more
// ONE: remark: nothing is offloaded to host memory: of 1 recomputed spans
// BYTES: error: offload-bytes is -1, wanted 0 or more
// SPANS: error: activation_checkpointing.cpu_checkpointing: is true, but all activations are kept on the device; give number_checkpoints, zero.checkpoint_activations or the option checkpoint-activations
// OPTION: zero.fetch
// KEPT: error: the option checkpoint-offload: is given, but all activations are kept; give checkpoint-activations, or leave it out

zero.parameter @in : tensor<8x64xf32> = #zero.normal<std = 0.02>
zero.parameter @up0 : tensor<64x512xf32> = #zero.normal<std = 0.02>
zero.parameter @down0 : tensor<512x64xf32> = #zero.normal<std = 0.02>
zero.parameter @up1 : tensor<64x512xf32> = #zero.normal<std = 0.02>
zero.parameter @down1 : tensor<512x64xf32> = #zero.normal<std = 0.02>
zero.parameter @up2 : tensor<64x512xf32> = #zero.normal<std = 0.02>
zero.parameter @down2 : tensor<512x64xf32> = #zero.normal<std = 0.02>
zero.parameter @out : tensor<64x64xf32> = #zero.normal<std = 0.02>

zero.step @train(%x: tensor<16x8xf32> {zero.input = "x"}, %y: tensor<16x64xf32> {zero.input = "y"}) {
  %in = zero.load @in : tensor<8x64xf32>
  %h0 = nn.linear %x, %in : (tensor<16x8xf32>, tensor<8x64xf32>) -> tensor<16x64xf32>
  %up0 = zero.load @up0 : tensor<64x512xf32>
  %a0 = nn.linear %h0, %up0 : (tensor<16x64xf32>, tensor<64x512xf32>) -> tensor<16x512xf32>
  %g0 = nn.gelu tanh %a0 : tensor<16x512xf32>
  %down0 = zero.load @down0 : tensor<512x64xf32>
  %b0 = nn.linear %g0, %down0 : (tensor<16x512xf32>, tensor<512x64xf32>) -> tensor<16x64xf32>
  %h1 = arith.addf %h0, %b0 : tensor<16x64xf32>
  %up1 = zero.load @up1 : tensor<64x512xf32>
  %a1 = nn.linear %h1, %up1 : (tensor<16x64xf32>, tensor<64x512xf32>) -> tensor<16x512xf32>
  %g1 = nn.gelu tanh %a1 : tensor<16x512xf32>
  %down1 = zero.load @down1 : tensor<512x64xf32>
  %b1 = nn.linear %g1, %down1 : (tensor<16x512xf32>, tensor<512x64xf32>) -> tensor<16x64xf32>
  %h2 = arith.addf %h1, %b1 : tensor<16x64xf32>
  %up2 = zero.load @up2 : tensor<64x512xf32>
  %a2 = nn.linear %h2, %up2 : (tensor<16x64xf32>, tensor<64x512xf32>) -> tensor<16x512xf32>
  %g2 = nn.gelu tanh %a2 : tensor<16x512xf32>
  %down2 = zero.load @down2 : tensor<512x64xf32>
  %b2 = nn.linear %g2, %down2 : (tensor<16x512xf32>, tensor<512x64xf32>) -> tensor<16x64xf32>
  %h3 = arith.addf %h2, %b2 : tensor<16x64xf32>
  %out = zero.load @out : tensor<64x64xf32>
  %z = nn.linear %h3, %out : (tensor<16x64xf32>, tensor<64x64xf32>) -> tensor<16x64xf32>
  %e = arith.subf %z, %y : tensor<16x64xf32>
  %s = arith.mulf %e, %e : tensor<16x64xf32>
  %loss = nn.reduce mean %s dims [0, 1] : (tensor<16x64xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}
