// DEFINE: %{limits} = machine=h100
// DEFINE: %{run} = zero-opt %s --split-input-file --zero-join-gathers="%{limits}"
// RUN: %{run} | FileCheck %s
// RUN: %{run} | zero-opt --split-input-file --verify-roundtrip -o /dev/null
// On a machine that works at the wait a launch costs what it costs alone; and
// here one costs nothing.
// REDEFINE: %{limits} = machine=host
// RUN: %{run} | FileCheck %s --check-prefix=NONE
// RUN: echo '{"name": "free", "flops": {"f32": 1e9}, "bandwidth": 1e4, "protocols": [{"latency": 0, "step": 0, "bandwidth": 1e9}]}' > %t.json
// REDEFINE: %{limits} = machine=%t.json
// RUN: %{run} | FileCheck %s --check-prefix=NONE
// REDEFINE: %{limits} = machine=nowhere.json
// RUN: not %{run} 2>&1 | FileCheck %s --check-prefix=MACHINE
// What comes before its use is limited, but for the last one; and so is what lives.
// REDEFINE: %{limits} = machine=h100 prefetch-bucket-size=0
// RUN: %{run} | FileCheck %s --check-prefix=NONE
// REDEFINE: %{limits} = machine=h100 prefetch-bucket-size=8
// RUN: %{run} | FileCheck %s --check-prefix=TWO
// REDEFINE: %{limits} = machine=h100 max-live-parameters=16
// RUN: %{run} | FileCheck %s --check-prefix=TWO

zero.parameter @a : tensor<8xf32> = #zero.ones
zero.parameter @b : tensor<8xf32> = #zero.ones
zero.parameter @c : tensor<16xf32> = #zero.ones
zero.parameter @d : tensor<48xf32> = #zero.ones
zero.partition @p0 parameter over 2 ranks stage 3 segments [0, 8, 16, 32, 80]
  members [#zero.member<@a at 0 size 8>, #zero.member<@b at 8 size 8>,
           #zero.member<@c at 16 size 16>, #zero.member<@d at 32 size 48>]
  compute f32 gradient f32 optimizer #zero.adam<>
// MACHINE: error: 'zero.step' op cannot read the machine 'nowhere.json'
zero.step @train(%x: tensor<8xf32>, %y: tensor<16xf32>, %z: tensor<48xf32>) training #zero.training<stage = 3, ranks = 2> {
  // Loads stay where they are: what came early is read there.
  // CHECK-LABEL: zero.step @train
  // CHECK: zero.micro {
  // CHECK-NEXT: %[[P:.*]] = zero.all_gather [@a, @b, @c] : <tensor<8xf32>, tensor<8xf32>, tensor<16xf32>>
  // CHECK-NEXT: %[[W:.*]]:3 = zero.wait %[[P]] : <tensor<8xf32>, tensor<8xf32>, tensor<16xf32>>
  // CHECK-NEXT: zero.load @a from %[[W]]#0
  // CHECK-NEXT: arith.addf
  // CHECK-NEXT: zero.load @b from %[[W]]#1
  // CHECK-NEXT: arith.addf
  // CHECK-NEXT: zero.load @c from %[[W]]#2
  // What is large alone is as much as may live at once.
  // CHECK: zero.all_gather [@d] :
  // CHECK: zero.evaluate {
  // CHECK-NEXT: zero.all_gather [@b, @c]
  // CHECK: zero.all_gather [@d] :

  // NONE-LABEL: zero.step @train
  // NONE: zero.all_gather [@a] :
  // NONE: zero.all_gather [@b] :
  // NONE: zero.all_gather [@c] :
  // NONE: zero.all_gather [@b] :
  // NONE: zero.all_gather [@c] :

  // TWO-LABEL: zero.step @train
  // TWO: zero.all_gather [@a, @b] :
  // TWO-NOT: zero.all_gather [@b
  // TWO: zero.all_gather [@c] :
  // TWO: zero.all_gather [@d] :
  // TWO: zero.evaluate
  zero.micro {
    %pa = zero.all_gather [@a] : <tensor<8xf32>>
    %wa = zero.wait %pa : <tensor<8xf32>>
    %a = zero.load @a from %wa : tensor<8xf32>
    %0 = arith.addf %x, %a : tensor<8xf32>
    %pb = zero.all_gather [@b] : <tensor<8xf32>>
    %wb = zero.wait %pb : <tensor<8xf32>>
    %b = zero.load @b from %wb : tensor<8xf32>
    %1 = arith.addf %0, %b : tensor<8xf32>
    %pc = zero.all_gather [@c] : <tensor<16xf32>>
    %wc = zero.wait %pc : <tensor<16xf32>>
    %c = zero.load @c from %wc : tensor<16xf32>
    %2 = arith.addf %y, %c : tensor<16xf32>
    %pd = zero.all_gather [@d] : <tensor<48xf32>>
    %wd = zero.wait %pd : <tensor<48xf32>>
    %d = zero.load @d from %wd : tensor<48xf32>
    %3 = arith.addf %z, %d : tensor<48xf32>
    %loss = nn.reduce sum %1 dims [0] : (tensor<8xf32>) -> tensor<f32>
    zero.yield %loss : tensor<f32>
  }
  zero.apply {
  }
  zero.evaluate {
    %pb = zero.all_gather [@b] : <tensor<8xf32>>
    %wb = zero.wait %pb : <tensor<8xf32>>
    %b = zero.load @b from %wb : tensor<8xf32>
    %1 = arith.addf %x, %b : tensor<8xf32>
    %pc = zero.all_gather [@c] : <tensor<16xf32>>
    %wc = zero.wait %pc : <tensor<16xf32>>
    %c = zero.load @c from %wc : tensor<16xf32>
    %2 = arith.addf %y, %c : tensor<16xf32>
    %pd = zero.all_gather [@d] : <tensor<48xf32>>
    %wd = zero.wait %pd : <tensor<48xf32>>
    %d = zero.load @d from %wd : tensor<48xf32>
    %3 = arith.addf %z, %d : tensor<48xf32>
    %loss = nn.reduce sum %1 dims [0] : (tensor<8xf32>) -> tensor<f32>
    zero.yield %loss : tensor<f32>
  }
}

// -----

// What differs in how it travels stays apart, and so does a parameter that is
// gathered again.
zero.parameter @a : tensor<8xf32> = #zero.ones
zero.parameter @b : tensor<8xf32> = #zero.ones
zero.parameter @c : tensor<16xf32> = #zero.ones
zero.partition @p0 parameter over 2 ranks stage 3 segments [0, 8, 16, 32]
  members [#zero.member<@a at 0 size 8>, #zero.member<@b at 8 size 8>,
           #zero.member<@c at 16 size 16>]
  compute f32 gradient f32 optimizer #zero.adam<>
zero.step @apart(%x: tensor<8xf32>, %y: tensor<16xf32>) training #zero.training<stage = 3, ranks = 2> {
  // CHECK-LABEL: zero.step @apart
  // CHECK: zero.all_gather [@a] :
  // CHECK: zero.all_gather [@b] quantized <block = 4> :
  // CHECK: zero.all_gather [@a] on reduce :
  // CHECK: zero.all_gather [@a, @b] :
  // CHECK: zero.all_gather [@a] :
  // CHECK: zero.all_gather [@c] :
  zero.micro {
    %p0 = zero.all_gather [@a] : <tensor<8xf32>>
    %w0 = zero.wait %p0 : <tensor<8xf32>>
    %a = zero.load @a from %w0 : tensor<8xf32>
    %0 = arith.addf %x, %a : tensor<8xf32>
    %p1 = zero.all_gather [@b] quantized <block = 4> : <tensor<8xf32>>
    %w1 = zero.wait %p1 : <tensor<8xf32>>
    %b = zero.load @b from %w1 : tensor<8xf32>
    %1 = arith.addf %0, %b : tensor<8xf32>
    %p2 = zero.all_gather [@a] on reduce : <tensor<8xf32>>
    %w2 = zero.wait %p2 : <tensor<8xf32>>
    %a2 = zero.load @a from %w2 : tensor<8xf32>
    %2 = arith.addf %1, %a2 : tensor<8xf32>
    %p3 = zero.all_gather [@a] : <tensor<8xf32>>
    %w3 = zero.wait %p3 : <tensor<8xf32>>
    %a3 = zero.load @a from %w3 : tensor<8xf32>
    %3 = arith.addf %2, %a3 : tensor<8xf32>
    %p4 = zero.all_gather [@b] : <tensor<8xf32>>
    %w4 = zero.wait %p4 : <tensor<8xf32>>
    %b4 = zero.load @b from %w4 : tensor<8xf32>
    %4 = arith.addf %3, %b4 : tensor<8xf32>
    %p5 = zero.all_gather [@a] : <tensor<8xf32>>
    %w5 = zero.wait %p5 : <tensor<8xf32>>
    %a5 = zero.load @a from %w5 : tensor<8xf32>
    %5 = arith.addf %4, %a5 : tensor<8xf32>
    %p6 = zero.all_gather [@c] : <tensor<16xf32>>
    %w6 = zero.wait %p6 : <tensor<16xf32>>
    %c = zero.load @c from %w6 : tensor<16xf32>
    %6 = arith.addf %y, %c : tensor<16xf32>
    %loss = nn.reduce sum %5 dims [0] : (tensor<8xf32>) -> tensor<f32>
    zero.yield %loss : tensor<f32>
  }
  zero.apply {
  }
}

// -----

// With a number of gathers in flight time plays no role.
zero.parameter @a : tensor<8xf32> = #zero.ones
zero.parameter @b : tensor<8xf32> = #zero.ones
zero.partition @p0 parameter over 2 ranks stage 3 segments [0, 8, 16]
  members [#zero.member<@a at 0 size 8>, #zero.member<@b at 8 size 8>]
  compute f32 gradient f32 optimizer #zero.adam<>
zero.step @counted(%x: tensor<8xf32>) training #zero.training<stage = 3, ranks = 2, planning = <gathers_in_flight = 2>> {
  // CHECK-LABEL: zero.step @counted
  // CHECK: zero.all_gather [@a] :
  // CHECK: zero.all_gather [@b] :
  zero.micro {
    %p0 = zero.all_gather [@a] : <tensor<8xf32>>
    %w0 = zero.wait %p0 : <tensor<8xf32>>
    %a = zero.load @a from %w0 : tensor<8xf32>
    %0 = arith.addf %x, %a : tensor<8xf32>
    %p1 = zero.all_gather [@b] : <tensor<8xf32>>
    %w1 = zero.wait %p1 : <tensor<8xf32>>
    %b = zero.load @b from %w1 : tensor<8xf32>
    %1 = arith.addf %0, %b : tensor<8xf32>
    %loss = nn.reduce sum %1 dims [0] : (tensor<8xf32>) -> tensor<f32>
    zero.yield %loss : tensor<f32>
  }
  zero.apply {
  }
}
