// DEFINE: %{limits} = max-in-flight=2
// DEFINE: %{run} = zero-opt %s --zero-prefetch="%{limits}"
// RUN: %{run} | FileCheck %s
// By time: where a gather lasts as long as a kernel one is ahead; these kernels
// hide nothing of what links of an h100 take, and on a machine that works at
// the wait nothing ever is hidden.
// RUN: echo '{"name": "even", "flops": {"f32": 1e9}, "bandwidth": 1e4, "protocols": [{"latency": 0.01, "step": 0, "bandwidth": 1e9}]}' > %t.json
// REDEFINE: %{limits} = machine=%t.json
// RUN: %{run} | FileCheck %s
// REDEFINE: %{limits} = machine=h100
// RUN: %{run} | FileCheck %s --check-prefix=NONE
// REDEFINE: %{limits} = machine=host
// RUN: %{run} | FileCheck %s --check-prefix=NONE
// REDEFINE: %{limits} = machine=nowhere.json
// RUN: not %{run} 2>&1 | FileCheck %s --check-prefix=MACHINE
// REDEFINE: %{limits} = max-in-flight=3
// RUN: %{run} | FileCheck %s --check-prefix=THREE
// REDEFINE: %{limits} = max-in-flight=2 prefetch-bucket-size=0
// RUN: %{run} | FileCheck %s --check-prefix=NONE
// @c is larger than the limit, and is gathered ahead where nothing else is.
// REDEFINE: %{limits} = max-in-flight=3 prefetch-bucket-size=8
// RUN: %{run} | FileCheck %s
// @a and @b together exceed what may live.
// REDEFINE: %{limits} = max-in-flight=2 max-live-parameters=15
// RUN: %{run} | FileCheck %s --check-prefix=NONE
// REDEFINE: %{limits} = max-in-flight=2 max-live-parameters=16
// RUN: %{run} | FileCheck %s --check-prefix=LIVE

zero.parameter @a : tensor<8xf32> = #zero.ones
zero.parameter @b : tensor<8xf32> = #zero.ones
zero.parameter @c : tensor<16xf32> = #zero.ones
// MACHINE: error: 'zero.step' op cannot read the machine 'nowhere.json': {{.*}}; wanted a file or one of host, a100, h100, h200
zero.step @train(%x: tensor<8xf32>, %y: tensor<16xf32>) training #zero.training<stage = 3, ranks = 2> {
  zero.micro {
    // CHECK: %[[A:.*]] = zero.all_gather [@a]
    // CHECK-NEXT: %[[B:.*]] = zero.all_gather [@b]
    // CHECK-NEXT: zero.wait %[[A]]
    // CHECK-NEXT: arith.addf
    // CHECK-NEXT: %[[C:.*]] = zero.all_gather [@c]
    // CHECK-NEXT: zero.wait %[[B]]
    // CHECK: zero.wait %[[C]]

    // THREE: zero.all_gather [@a]
    // THREE-NEXT: zero.all_gather [@b]
    // THREE-NEXT: zero.all_gather [@c]

    // NONE: %[[A:.*]] = zero.all_gather [@a]
    // NONE-NEXT: zero.wait %[[A]]
    // NONE: %[[B:.*]] = zero.all_gather [@b]
    // NONE-NEXT: zero.wait %[[B]]
    // NONE: %[[C:.*]] = zero.all_gather [@c]
    // NONE-NEXT: zero.wait %[[C]]

    // LIVE: %[[A:.*]] = zero.all_gather [@a]
    // LIVE-NEXT: zero.all_gather [@b]
    // LIVE-NEXT: zero.wait %[[A]]
    // LIVE: %[[C:.*]] = zero.all_gather [@c]
    // LIVE-NEXT: zero.wait %[[C]]
    %pa = zero.all_gather [@a] : <tensor<8xf32>>
    %a = zero.wait %pa : <tensor<8xf32>>
    %0 = arith.addf %x, %a : tensor<8xf32>
    %pb = zero.all_gather [@b] : <tensor<8xf32>>
    %b = zero.wait %pb : <tensor<8xf32>>
    %1 = arith.addf %0, %b : tensor<8xf32>
    %pc = zero.all_gather [@c] : <tensor<16xf32>>
    %c = zero.wait %pc : <tensor<16xf32>>
    %2 = arith.addf %y, %c : tensor<16xf32>
    %loss = nn.reduce sum %1 dims [0] : (tensor<8xf32>) -> tensor<f32>
    zero.yield %loss : tensor<f32>
  }
  zero.apply {
  }
}
