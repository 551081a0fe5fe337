// RUN: zero-opt %s --zero-weigh-micro-batches=mean=tokens --split-input-file 2> %t.fixed | FileCheck %s
// RUN: FileCheck %s --check-prefix=FIXED < %t.fixed
// FIXED: remark: the loss divides by no number that the data decide: all micro-batches weigh the same, and the loss mean 'tokens' changes nothing
// By micro-batches, nothing changes.
// RUN: zero-opt %s --split-input-file > %t.before
// RUN: zero-opt %s --zero-weigh-micro-batches=mean=micro_batches --split-input-file 2>&1 | diff - %t.before
// RUN: zero-opt %s --zero-weigh-micro-batches --split-input-file 2> %t.remarks | diff - %t.before
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// REMARK-COUNT-4: remark: each of the 6 micro-batches of an update weighs the same in the loss, however many labels count in it; zero.loss_mean 'tokens' weighs each label the same
// REMARK-NOT: remark

zero.parameter @w : tensor<8x4xf32> = #zero.normal<std = 0.02>

// The share of the labels that are not ignored.
// CHECK-LABEL: zero.step @labels
// CHECK-SAME:      %[[T:[a-z0-9]+]]: tensor<2x3xi32>
// CHECK:         nn.cross_entropy %{{.*}}, %[[T]] ignore_index 0
// CHECK:         %[[IGNORED:.*]] = arith.constant dense<0> : tensor<2x3xi32>
// CHECK-NEXT:    %[[COUNTS:.*]] = arith.cmpi ne, %[[T]], %[[IGNORED]]
// CHECK-NEXT:    %[[ONES:.*]] = arith.uitofp %[[COUNTS]] : tensor<2x3xi1> to tensor<2x3xf32>
// CHECK-NEXT:    %[[SHARE:.*]] = nn.reduce mean %[[ONES]] dims [0, 1]
// CHECK-NEXT:    zero.yield %{{.*}} weight %[[SHARE]] : tensor<f32>
zero.step @labels(%x: tensor<2x3x8xf32>, %t: tensor<2x3xi32>) training #zero.training<stage = 0, ranks = 3, accumulation = 2> {
  %w = zero.load @w : tensor<8x4xf32>
  %l = nn.linear %x, %w : (tensor<2x3x8xf32>, tensor<8x4xf32>) -> tensor<2x3x4xf32>
  %loss, %lse = nn.cross_entropy %l, %t ignore_index 0 : (tensor<2x3x4xf32>, tensor<2x3xi32>) -> (tensor<f32>, tensor<2x3xf32>)
  %half = arith.constant dense<0.5> : tensor<f32>
  %scaled = arith.mulf %loss, %half : tensor<f32>
  zero.yield %scaled : tensor<f32>
}

// -----

zero.parameter @w : tensor<4xf32> = #zero.ones

// A division by what the data count, of which nothing may count; a penalty beside it.
// CHECK-LABEL: zero.step @masked
// CHECK:         %[[N:.*]] = nn.reduce sum %arg1 dims [0]
// CHECK-DAG:     %[[NONE:.*]] = arith.cmpf oeq, %[[N]], %{{.*}} : tensor<f32>
// CHECK:         %[[SAFE:.*]] = arith.select %[[NONE]], %{{.*}}, %[[N]]
// CHECK:         arith.divf %{{.*}}, %[[SAFE]]
// CHECK:         %[[QUARTER:.*]] = arith.constant dense<2.500000e-01>
// CHECK:         %[[SHARE:.*]] = arith.mulf %[[N]], %[[QUARTER]]
// CHECK:         zero.yield %{{.*}} weight %[[SHARE]] : tensor<f32>
zero.step @masked(%x: tensor<4xf32>, %m: tensor<4xf32>) training #zero.training<stage = 0, ranks = 3, accumulation = 2> {
  %w = zero.load @w : tensor<4xf32>
  %y = arith.mulf %x, %w : tensor<4xf32>
  %kept = arith.mulf %y, %m : tensor<4xf32>
  %sum = nn.reduce sum %kept dims [0] : (tensor<4xf32>) -> tensor<f32>
  %n = nn.reduce sum %m dims [0] : (tensor<4xf32>) -> tensor<f32>
  %mean = arith.divf %sum, %n : tensor<f32>
  %square = arith.mulf %w, %w : tensor<4xf32>
  %penalty = nn.reduce mean %square dims [0] : (tensor<4xf32>) -> tensor<f32>
  %loss = arith.addf %mean, %penalty : tensor<f32>
  zero.yield %loss : tensor<f32>
}

// -----

zero.parameter @w : tensor<4xf32> = #zero.ones

// A mask that is counted in integers, of which one is the least: what weighs and divides
// is the count itself.
// CHECK-LABEL: zero.step @bounded
// CHECK:         %[[COUNTS:.*]] = arith.sitofp
// CHECK:         %[[N:.*]] = nn.reduce sum %[[COUNTS]] dims [0]
// CHECK:         %[[NONE:.*]] = arith.cmpf oeq, %[[N]], %{{.*}} : tensor<f32>
// CHECK:         %[[SAFE:.*]] = arith.select %[[NONE]], %{{.*}}, %[[N]]
// CHECK:         arith.divf %{{.*}}, %[[SAFE]]
// CHECK:         %[[SHARE:.*]] = arith.mulf %[[N]], %{{.*}}
// CHECK:         zero.yield %{{.*}} weight %[[SHARE]] : tensor<f32>
zero.step @bounded(%x: tensor<4xf32>, %m: tensor<4xi1>) training #zero.training<stage = 0, ranks = 3, accumulation = 2> {
  %w = zero.load @w : tensor<4xf32>
  %y = arith.mulf %x, %w : tensor<4xf32>
  %ones = arith.uitofp %m : tensor<4xi1> to tensor<4xf32>
  %kept = arith.mulf %y, %ones : tensor<4xf32>
  %sum = nn.reduce sum %kept dims [0] : (tensor<4xf32>) -> tensor<f32>
  %whole = arith.extui %m : tensor<4xi1> to tensor<4xi32>
  %floats = arith.sitofp %whole : tensor<4xi32> to tensor<4xf32>
  %n = nn.reduce sum %floats dims [0] : (tensor<4xf32>) -> tensor<f32>
  %count = arith.fptosi %n : tensor<f32> to tensor<i32>
  %one = arith.constant dense<1> : tensor<i32>
  %least = arith.maxsi %count, %one : tensor<i32>
  %by = arith.sitofp %least : tensor<i32> to tensor<f32>
  %mean = arith.divf %sum, %by : tensor<f32>
  zero.yield %mean : tensor<f32>
}

// -----

zero.parameter @w : tensor<8x4xf32> = #zero.normal<std = 0.02>

// A number that counts the same labels as the cross entropy beside it.
// CHECK-LABEL: zero.step @smoothed
// CHECK:         %[[SHARE:.*]] = nn.reduce mean %{{.*}} dims [0] : (tensor<3xf32>) -> tensor<f32>
// CHECK:         zero.yield %{{.*}} weight %[[SHARE]] : tensor<f32>
zero.step @smoothed(%x: tensor<3x8xf32>, %t: tensor<3xi32>) training #zero.training<stage = 0, ranks = 3, accumulation = 2> {
  %w = zero.load @w : tensor<8x4xf32>
  %l = nn.linear %x, %w : (tensor<3x8xf32>, tensor<8x4xf32>) -> tensor<3x4xf32>
  %loss, %lse = nn.cross_entropy %l, %t : (tensor<3x4xf32>, tensor<3xi32>) -> (tensor<f32>, tensor<3xf32>)
  %ignored = arith.constant dense<-100> : tensor<3xi32>
  %counts = arith.cmpi ne, %t, %ignored : tensor<3xi32>
  %kept = arith.uitofp %counts : tensor<3xi1> to tensor<3xf32>
  %rows = nn.reduce mean %l dims [1] : (tensor<3x4xf32>) -> tensor<3xf32>
  %some = arith.mulf %rows, %kept : tensor<3xf32>
  %sum = nn.reduce sum %some dims [0] : (tensor<3xf32>) -> tensor<f32>
  %n = nn.reduce sum %kept dims [0] : (tensor<3xf32>) -> tensor<f32>
  %one = arith.constant dense<1.0> : tensor<f32>
  %least = arith.maximumf %n, %one : tensor<f32>
  %smooth = arith.divf %sum, %least : tensor<f32>
  %all = arith.addf %loss, %smooth : tensor<f32>
  zero.yield %all : tensor<f32>
}

// -----

zero.parameter @w : tensor<4xf32> = #zero.ones

// A mean over a fixed number of elements, and a weight that the model gives.
// CHECK-LABEL: zero.step @fixed
// CHECK:         zero.yield %{{.*}} : tensor<f32>
zero.step @fixed(%x: tensor<4xf32>) training #zero.training<stage = 0, ranks = 3, accumulation = 2> {
  %w = zero.load @w : tensor<4xf32>
  %y = arith.mulf %x, %w : tensor<4xf32>
  %loss = nn.reduce mean %y dims [0] : (tensor<4xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}

// CHECK-LABEL: zero.step @given
// CHECK:         zero.yield %{{.*}} weight %arg1 : tensor<f32>
zero.step @given(%x: tensor<4xf32>, %n: tensor<f32>) training #zero.training<stage = 0, ranks = 3, accumulation = 2> {
  %w = zero.load @w : tensor<4xf32>
  %y = arith.mulf %x, %w : tensor<4xf32>
  %sum = nn.reduce sum %y dims [0] : (tensor<4xf32>) -> tensor<f32>
  %loss = arith.divf %sum, %n : tensor<f32>
  zero.yield %loss weight %n : tensor<f32>
}
