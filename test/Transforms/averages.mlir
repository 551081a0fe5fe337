// What training tracks comes to the update as a gradient, and evaluation uses the
// average. What one of the two does not need is gone.

// RUN: zero-opt %s --zero-differentiate --split-input-file | FileCheck %s
// RUN: zero-opt %s --zero-pipeline='stage=2 ranks=2 accumulation=2' --split-input-file | FileCheck %s --check-prefix=UPDATE
// RUN: zero-opt %s --zero-set-precision='compute=bf16' --split-input-file | FileCheck %s --check-prefix=BF16

zero.parameter @w : tensor<4x4xf32> = #zero.normal<std = 0.5>
zero.parameter @mean : tensor<4xf32> = #zero.zeros average 0.25

// CHECK-LABEL: zero.step @once
// CHECK:       zero.micro
// CHECK-NOT:     zero.load @mean
// CHECK:         %[[H:.*]] = nn.linear
// CHECK:         %[[M:.*]] = nn.reduce mean %[[H]] dims [0]
// CHECK-NEXT:    %[[MB:.*]] = nn.broadcast %[[M]]
// CHECK-NEXT:    arith.subf %[[H]], %[[MB]]
// CHECK:         %[[SEED:.*]] = zero.loss_seed : tensor<f32>
// CHECK-NEXT:    %[[SB:.*]] = nn.broadcast %[[SEED]] dims []
// CHECK-NEXT:    %[[G:.*]] = arith.mulf %[[M]], %[[SB]] : tensor<4xf32>
// CHECK-NEXT:    zero.gradient @mean, %[[G]] : tensor<4xf32>
// CHECK:         zero.gradient @w
// CHECK:       zero.evaluate
// CHECK:         %[[EH:.*]] = nn.linear
// CHECK-NEXT:    %[[A:.*]] = zero.load @mean
// CHECK-NEXT:    %[[AB:.*]] = nn.broadcast %[[A]]
// CHECK-NEXT:    arith.subf %[[EH]], %[[AB]]

// The average has a partition of its own, moves by 1 - (1 - 0.25)^2 in an update of
// two micro-batches, and is reduced and checked as gradients are.
// UPDATE:       zero.partition @[[AVERAGE:p[01]]] {{.*}}@mean{{.*}}#zero.moving_average<weight = 0.4375>
// UPDATE:       zero.grad_stats {{.*}}@[[AVERAGE]]
// UPDATE:       zero.update @[[AVERAGE]] if

// The product is in 16 bits; what is tracked, and the average, are f32.
// BF16-LABEL: zero.step @once
// BF16:         %[[H:.*]] = nn.linear {{.*}} -> tensor<2x4xbf16>
// BF16:         %[[M:.*]] = nn.reduce mean %[[H]] {{.*}} -> tensor<4xbf16>
// BF16:         %[[W:.*]] = arith.extf %[[M]] : tensor<4xbf16> to tensor<4xf32>
// BF16:         zero.track @mean, %[[W]] : tensor<4xf32>
// BF16:         %[[A:.*]] = zero.load @mean : tensor<4xf32>
// BF16:         %[[AB:.*]] = nn.broadcast %[[A]] {{.*}} -> tensor<2x4xf32>
// BF16:         %[[AN:.*]] = arith.truncf %[[AB]] : tensor<2x4xf32> to tensor<2x4xbf16>
// BF16:         zero.select_mode %{{.*}}, %[[AN]] : tensor<2x4xbf16>
zero.step @once(%x: tensor<2x4xf32>) {
  %w = zero.load @w : tensor<4x4xf32>
  %h = nn.linear %x, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %m = nn.reduce mean %h dims [0] : (tensor<2x4xf32>) -> tensor<4xf32>
  zero.track @mean, %m : tensor<4xf32>
  %a = zero.load @mean : tensor<4xf32>
  %mb = nn.broadcast %m dims [1] : (tensor<4xf32>) -> tensor<2x4xf32>
  %ab = nn.broadcast %a dims [1] : (tensor<4xf32>) -> tensor<2x4xf32>
  %c = zero.select_mode %mb, %ab : tensor<2x4xf32>
  %d = arith.subf %h, %c : tensor<2x4xf32>
  %s = arith.mulf %d, %d : tensor<2x4xf32>
  %loss = nn.reduce mean %s dims [0, 1] : (tensor<2x4xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}

// -----

// Of two values the later one counts more, as if the average had moved twice:
// 0.5 * 0.5 / 0.75 and 0.5 / 0.75.
// CHECK: zero.parameter @mean {{.*}} average 7.500000e-01
zero.parameter @w : tensor<4xf32> = #zero.ones
zero.parameter @mean : tensor<4xf32> = #zero.zeros average 0.5

// CHECK-LABEL: zero.step @twice
// CHECK-SAME:    %[[X:.*]]: tensor<2x4xf32>
// CHECK:         zero.loss_seed
// CHECK-NEXT:    %[[ONE:.*]] = arith.constant dense<0.333333343>
// CHECK-NEXT:    %[[T1:.*]] = arith.mulf %[[M1:.*]], %[[ONE]]
// CHECK-NEXT:    %[[TWO:.*]] = arith.constant dense<0.666666686>
// CHECK-NEXT:    %[[T2:.*]] = arith.mulf %[[M2:.*]], %[[TWO]]
// CHECK-NEXT:    %[[T:.*]] = arith.addf %[[T1]], %[[T2]]
// CHECK:         arith.mulf %[[T]]
// CHECK:         zero.gradient @mean
// CHECK:       zero.evaluate
// CHECK-NOT:     nn.reduce mean {{.*}} dims [0] :
// CHECK:         zero.yield
zero.step @twice(%x: tensor<2x4xf32>) {
  %w = zero.load @w : tensor<4xf32>
  %wb = nn.broadcast %w dims [1] : (tensor<4xf32>) -> tensor<2x4xf32>
  %h = arith.mulf %x, %wb : tensor<2x4xf32>
  %m1 = nn.reduce mean %x dims [0] : (tensor<2x4xf32>) -> tensor<4xf32>
  zero.track @mean, %m1 : tensor<4xf32>
  %m2 = nn.reduce mean %h dims [0] : (tensor<2x4xf32>) -> tensor<4xf32>
  zero.track @mean, %m2 : tensor<4xf32>
  %loss = nn.reduce mean %h dims [0, 1] : (tensor<2x4xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}

// -----

// What only evaluation needs is gone from training, though two operands of it are
// of one operation, and a parameter is loaded once more for it.
zero.parameter @w : tensor<4xf32> = #zero.ones
zero.parameter @b : tensor<4xf32> = #zero.zeros
zero.parameter @mean : tensor<4xf32> = #zero.zeros average 0.5

// CHECK-LABEL: zero.step @apart
// CHECK-COUNT-1: nn.batch_norm
// CHECK:         zero.gradient @w
// CHECK:       zero.evaluate
// CHECK-COUNT-2: nn.batch_norm
zero.step @apart(%x: tensor<8x4xf32>) {
  %w = zero.load @w : tensor<4xf32>
  %b = zero.load @b : tensor<4xf32>
  %y, %m, %v = nn.batch_norm %x, %w, %b eps 1.0e-5 : (tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>)
  zero.track @mean, %m : tensor<4xf32>
  %again = zero.load @w : tensor<4xf32>
  %z, %mz, %vz = nn.batch_norm %y, %again, %b eps 1.0e-5 : (tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>)
  %a = arith.mulf %mz, %vz : tensor<4xf32>
  %ab = nn.broadcast %a dims [1] : (tensor<4xf32>) -> tensor<8x4xf32>
  %c = zero.select_mode %y, %ab : tensor<8x4xf32>
  %d = arith.mulf %c, %c : tensor<8x4xf32>
  %loss = nn.reduce mean %d dims [0, 1] : (tensor<8x4xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}

// -----

// A loss and an output that are selected themselves.
zero.parameter @w : tensor<4xf32> = #zero.ones

// CHECK-LABEL: zero.step @selected
// CHECK:       zero.micro
// CHECK-NOT:     nn.reduce mean
// CHECK:         nn.reduce sum
// CHECK-NOT:     nn.reduce mean
// CHECK:         zero.loss_seed
// CHECK:         zero.gradient @w
// CHECK:       zero.evaluate
// CHECK-NOT:     nn.reduce sum
// CHECK:         %[[HALF:.*]] = arith.negf
// CHECK:         %[[MEAN:.*]] = nn.reduce mean
// CHECK-NEXT:    zero.yield %[[MEAN]], %[[HALF]] outputs ["y"]
zero.step @selected(%x: tensor<8x4xf32>) {
  %w = zero.load @w : tensor<4xf32>
  %wb = nn.broadcast %w dims [1] : (tensor<4xf32>) -> tensor<8x4xf32>
  %y = arith.mulf %x, %wb : tensor<8x4xf32>
  %n = arith.negf %y : tensor<8x4xf32>
  %sum = nn.reduce sum %y dims [0, 1] : (tensor<8x4xf32>) -> tensor<f32>
  %mean = nn.reduce mean %n dims [0, 1] : (tensor<8x4xf32>) -> tensor<f32>
  %out = zero.select_mode %y, %n : tensor<8x4xf32>
  %loss = zero.select_mode %sum, %mean : tensor<f32>
  zero.yield %loss, %out outputs ["y"] : tensor<f32>, tensor<8x4xf32>
}
