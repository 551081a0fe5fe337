// The listing in README.md: to the letter, and what matters in it.
// RUN: zero-opt %s --zero-pipeline='stage=2 ranks=2' \
// RUN:   --mlir-print-ir-before=zero-plan-memory 2>&1 >/dev/null | FileCheck %s
// RUN: sed -n '/^zero.micro {/,/^```/ { /^```/!s/^/    /p }' %S/../../README.md > %t.listing
// RUN: zero-opt %s --zero-pipeline='stage=2 ranks=2' \
// RUN:   --mlir-print-ir-before=zero-plan-memory 2>&1 >/dev/null \
// RUN:   | sed -n '/zero.micro {/,/zero.evaluate {/ { /zero.evaluate {/!p }' | diff %t.listing -
// RUN: zero-opt %s --zero-pipeline='stage=3 ranks=2' \
// RUN:   --mlir-print-ir-before=zero-plan-memory 2>&1 >/dev/null \
// RUN:   | FileCheck %s --check-prefix=STAGE3

zero.parameter @w : tensor<784x10xf32> = #zero.normal<mean = 0.0, std = 0.02>
zero.parameter @b : tensor<10xf32> = #zero.zeros
zero.step @train(%x: tensor<32x784xf32> {zero.input = "x"},
                 %y: tensor<32xi32> {zero.input = "y"}) {
  %w = zero.load @w : tensor<784x10xf32>
  %b = zero.load @b : tensor<10xf32>
  %logits = nn.linear %x, %w bias %b : (tensor<32x784xf32>, tensor<784x10xf32>, tensor<10xf32>) -> tensor<32x10xf32>
  %loss, %lse = nn.cross_entropy %logits, %y : (tensor<32x10xf32>, tensor<32xi32>) -> (tensor<f32>, tensor<32xf32>)
  zero.yield %loss : tensor<f32>
}

// CHECK-LABEL: zero.micro {
// CHECK:         nn.linear
// CHECK:         %[[W:.*]] = nn.matmul
// CHECK:         %[[WG:.*]] = zero.gradient @w, %[[W]]
// CHECK:         %[[B:.*]] = nn.reduce sum
// CHECK:         %[[BG:.*]] = zero.gradient @b, %[[B]]
// CHECK:         %[[P:.*]] = zero.reduce_scatter @p0[0 to 7936] of [@w, @b](%[[WG]], %[[BG]]
// CHECK-NEXT:    %[[S:.*]] = zero.wait %[[P]]
// CHECK-NEXT:    zero.free %[[W]], %[[B]]
// CHECK-NEXT:    zero.accumulate slice %[[S]] into @p0[0 to 7936] : tensor<3968xf32>
// CHECK-LABEL: zero.apply {
// CHECK:         %[[STATS:.*]] = zero.grad_stats [@p0]
// CHECK:         %[[VERDICT:.*]] = zero.judge
// CHECK:         zero.update @p0 if %[[VERDICT]]
// CHECK:         zero.refresh @p0[0 to 7936]

// STAGE3-LABEL: zero.micro {
// STAGE3:         %[[P:.*]] = zero.all_gather [@w, @b]
// STAGE3:         %[[G:[0-9]+]]:2 = zero.wait %[[P]]
// STAGE3:         %[[W:[a-z0-9]+]] = zero.load @w from %[[G]]#0
// STAGE3:         %[[B:[a-z0-9]+]] = zero.load @b from %[[G]]#1
// STAGE3:         nn.linear %{{.*}}, %[[W]] bias %[[B]]
// STAGE3:         zero.free %[[G]]#0, %[[G]]#1
