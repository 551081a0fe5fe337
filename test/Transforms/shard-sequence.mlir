// Over an axis `sequence` ranks have parts of the positions, and exchange them for
// heads where attention needs all.

// RUN: split-file %s %t
// RUN: zero-opt %t/attention.mlir --zero-shard-model --zero-verify-values | FileCheck %t/attention.mlir
// RUN: zero-opt %t/whole.mlir --zero-shard-model --zero-verify-values 2>&1 | FileCheck %t/whole.mlir
// RUN: zero-opt %t/nothing.mlir --zero-shard-model --zero-verify-values 2>&1 | FileCheck %t/nothing.mlir
// RUN: zero-opt %t/dropout.mlir --zero-shard-model --zero-verify-values | FileCheck %t/dropout.mlir
// RUN: zero-opt %t/weights.mlir --zero-shard-model --zero-verify-values | FileCheck %t/weights.mlir
// RUN: zero-opt %t/weights.mlir --zero-shard-model --zero-differentiate --zero-outline-elementwise --zero-start-exchanges --zero-verify-values | FileCheck %t/weights.mlir --check-prefix=GRADIENT
// RUN: not zero-opt %t/odd.mlir --zero-shard-model 2>&1 | FileCheck %t/odd.mlir
// RUN: zero-opt %t/once.mlir --zero-shard-model --zero-verify-values | FileCheck %t/once.mlir
// RUN: zero-opt %t/once.mlir --zero-shard-model --zero-differentiate --zero-start-exchanges --zero-verify-values | FileCheck %t/once.mlir --check-prefix=GRADIENT
// RUN: zero-opt %t/dropout.mlir --zero-shard-model --zero-differentiate --zero-start-exchanges --zero-verify-values -o /dev/null
// RUN: not zero-opt %t/unused.mlir --zero-shard-model 2>&1 | FileCheck %t/unused.mlir
// RUN: not zero-opt %t/track.mlir --zero-shard-model 2>&1 | FileCheck %t/track.mlir
// RUN: not zero-opt %t/none.mlir --zero-shard-model 2>&1 | FileCheck %t/none.mlir
// RUN: not zero-opt %t/both.mlir --zero-shard-model 2>&1 | FileCheck %t/both.mlir

//--- attention.mlir
zero.mesh @mesh <data = 2, sequence = 2>
zero.parameter @table : tensor<32x16xf32> = #zero.normal<std = 0.02>
// CHECK-LABEL: zero.step @train
zero.step @train(%ids: tensor<2x8xi32>, %labels: tensor<2x8xi32>) {
  %table = zero.load @table : tensor<32x16xf32>
  // CHECK: zero.slice_value %arg0 cut <dim 1 of [8] over <sequence = 2>> : tensor<2x8xi32> -> tensor<2x4xi32>
  // CHECK: nn.embedding {{.*}} -> tensor<2x4x16xf32>
  %x = nn.embedding %ids, %table : (tensor<2x8xi32>, tensor<32x16xf32>) -> tensor<2x8x16xf32>
  %h = tensor.expand_shape %x [[0], [1], [2, 3]] output_shape [2, 8, 4, 4] : tensor<2x8x16xf32> into tensor<2x8x4x4xf32>
  // CHECK: %[[Q:.*]] = zero.exchange_value %{{.*}} from <dim 1 of [8] over <sequence = 2>> to <dim 2 of [4] over <sequence = 2>> : tensor<2x4x4x4xf32> -> tensor<2x8x2x4xf32>
  // CHECK-NEXT: %[[R:.*]] = nn.rotary %[[Q]]
  %r = nn.rotary %h theta 10000.0 : tensor<2x8x4x4xf32>
  // CHECK-NEXT: nn.attention %[[R]], %[[R]], %[[Q]] causal {{.*}} -> (tensor<2x8x2x4xf32>,
  %a, %lse = nn.attention %r, %r, %h causal scale 0.5 : (tensor<2x8x4x4xf32>, tensor<2x8x4x4xf32>, tensor<2x8x4x4xf32>) -> (tensor<2x8x4x4xf32>, tensor<2x4x8xf32>)
  // CHECK-NEXT: tensor.collapse_shape {{.*}} into tensor<2x8x8xf32>
  %c = tensor.collapse_shape %a [[0], [1], [2, 3]] : tensor<2x8x4x4xf32> into tensor<2x8x16xf32>
  // CHECK-NEXT: zero.exchange_value %{{.*}} from <dim 2 of [16] over <sequence = 2>> to <dim 1 of [8] over <sequence = 2>> : tensor<2x8x8xf32> -> tensor<2x4x16xf32>
  // CHECK: nn.linear {{.*}} -> tensor<2x4x32xf32>
  %logits = nn.linear %c, %table transposed : (tensor<2x8x16xf32>, tensor<32x16xf32>) -> tensor<2x8x32xf32>
  // The labels that count are those of all positions.
  // CHECK: arith.cmpi ne, %arg1, %{{.*}} : tensor<2x8xi32>
  // CHECK: %[[COUNT:.*]] = arith.maximumf
  // CHECK: %[[LOSS:.*]], %{{.*}} = nn.cross_entropy %{{.*}}, %{{.*}} sum : (tensor<2x4x32xf32>, tensor<2x4xi32>)
  // CHECK: %[[TERM:.*]] = arith.divf %[[LOSS]], %[[COUNT]]
  // CHECK: zero.all_reduce_value %[[TERM]] over <sequence = 2>
  %loss, %l = nn.cross_entropy %logits, %labels : (tensor<2x8x32xf32>, tensor<2x8xi32>) -> (tensor<f32>, tensor<2x8xf32>)
  zero.yield %loss : tensor<f32>
}

//--- whole.mlir
zero.mesh @mesh <data = 1, sequence = 4>
zero.parameter @table : tensor<32x16xf32> = #zero.normal<std = 0.02>
// CHECK: remark: over #zero.axes<sequence = 4> every rank computes 'nn.attention' of all positions, which it needs: dimension 2 of operand 0 could be cut instead, but has 2 units that stay together for 4 ranks; give the axis a divisor of 2
// CHECK-LABEL: zero.step @train
zero.step @train(%ids: tensor<2x8xi32>, %labels: tensor<2x8xi32>) {
  %table = zero.load @table : tensor<32x16xf32>
  %x = nn.embedding %ids, %table : (tensor<2x8xi32>, tensor<32x16xf32>) -> tensor<2x8x16xf32>
  %h = tensor.expand_shape %x [[0], [1], [2, 3]] output_shape [2, 8, 2, 8] : tensor<2x8x16xf32> into tensor<2x8x2x8xf32>
  // CHECK: zero.gather_value
  // CHECK: nn.attention {{.*}} -> (tensor<2x8x2x8xf32>,
  // CHECK: zero.slice_value
  %a, %lse = nn.attention %h, %h, %h scale 0.5 : (tensor<2x8x2x8xf32>, tensor<2x8x2x8xf32>, tensor<2x8x2x8xf32>) -> (tensor<2x8x2x8xf32>, tensor<2x2x8xf32>)
  %c = tensor.collapse_shape %a [[0], [1], [2, 3]] : tensor<2x8x2x8xf32> into tensor<2x8x16xf32>
  %logits = nn.linear %c, %table transposed : (tensor<2x8x16xf32>, tensor<32x16xf32>) -> tensor<2x8x32xf32>
  %loss, %l = nn.cross_entropy %logits, %labels : (tensor<2x8x32xf32>, tensor<2x8xi32>) -> (tensor<f32>, tensor<2x8xf32>)
  zero.yield %loss : tensor<f32>
}

//--- nothing.mlir
zero.mesh @mesh <data = 1, sequence = 2>
zero.parameter @table : tensor<32x16xf32> = #zero.normal<std = 0.02>
// CHECK: remark: over #zero.axes<sequence = 2> every rank computes 'nn.softmax' of all positions, which it needs, and nothing else of it can be cut
zero.step @train(%ids: tensor<2x8xi32>) {
  %table = zero.load @table : tensor<32x16xf32>
  %x = nn.embedding %ids, %table : (tensor<2x8xi32>, tensor<32x16xf32>) -> tensor<2x8x16xf32>
  %s = nn.reduce sum %x dims [2] : (tensor<2x8x16xf32>) -> tensor<2x8xf32>
  %p = nn.softmax %s : tensor<2x8xf32>
  %q = arith.mulf %p, %p : tensor<2x8xf32>
  %loss = nn.reduce sum %q dims [0, 1] : (tensor<2x8xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}

//--- dropout.mlir
zero.mesh @mesh <data = 1, sequence = 2>
zero.parameter @table : tensor<32x16xf32> = #zero.normal<std = 0.02>
// CHECK-LABEL: zero.step @train
zero.step @train(%ids: tensor<2x8xi32>) {
  %table = zero.load @table : tensor<32x16xf32>
  %x = nn.embedding %ids, %table : (tensor<2x8xi32>, tensor<32x16xf32>) -> tensor<2x8x16xf32>
  // Each rank drops what one would drop of its positions.
  // CHECK: arith.constant dense<[0, 4]> : tensor<2xi32>
  // CHECK: nn.partial_dropout %{{.*}}, %{{.*}} dim 1 of 8 p 1.000000e-01 id 3 : (tensor<2x4x16xf32>, tensor<i32>) -> tensor<2x4x16xf32>
  %d = nn.dropout %x p 0.1 id 3 : tensor<2x8x16xf32>
  %loss = nn.reduce sum %d dims [0, 1, 2] : (tensor<2x8x16xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}

//--- weights.mlir
zero.mesh @mesh <data = 1, tensor = 2, sequence = 2>
zero.parameter @qkv : tensor<16x16xf32> = #zero.normal<std = 0.02> {zero.sharding = 1 : i64}
zero.parameter @proj : tensor<16x16xf32> = #zero.normal<std = 0.02>
zero.parameter @table : tensor<32x16xf32> = #zero.normal<std = 0.02> {zero.sharding = -1 : i64}
// Which heads these are of all decides what is dropped: a range over `tensor`, and within
// it a head over `sequence`.
// CHECK-LABEL: zero.step @train
// CHECK-DAG: %[[TENSORS:.*]] = arith.constant dense<[0, 2]> : tensor<2xi32>
// CHECK-DAG: %[[SEQUENCES:.*]] = arith.constant dense<[0, 1]> : tensor<2xi32>
// CHECK-DAG: zero.slice_value %[[TENSORS]] cut <dim 0 of [2] over <tensor = 2>>
// CHECK-DAG: zero.slice_value %[[SEQUENCES]] cut <dim 0 of [2] over <sequence = 2>>
// CHECK: %[[FIRST:.*]] = arith.addi %{{.*}}, %{{.*}} : tensor<i32>
// CHECK: nn.partial_attention %[[Q:.*]], %[[Q]], %[[Q]], %[[FIRST]] causal scale 5.000000e-01 dropout 1.000000e-01 id 3 : (tensor<2x8x1x4xf32>,
// GRADIENT: nn.partial_attention_grad {{.*}} causal scale 5.000000e-01 dropout 1.000000e-01 id 3 :
zero.step @train(%ids: tensor<2x8xi32>, %labels: tensor<2x8xi32>) {
  %table = zero.load @table : tensor<32x16xf32>
  %w = zero.load @qkv : tensor<16x16xf32>
  %x = nn.embedding %ids, %table : (tensor<2x8xi32>, tensor<32x16xf32>) -> tensor<2x8x16xf32>
  %y = nn.linear %x, %w : (tensor<2x8x16xf32>, tensor<16x16xf32>) -> tensor<2x8x16xf32>
  %h = tensor.expand_shape %y [[0], [1], [2, 3]] output_shape [2, 8, 4, 4] : tensor<2x8x16xf32> into tensor<2x8x4x4xf32>
  %a, %lse = nn.attention %h, %h, %h causal scale 0.5 dropout 0.1 id 3 : (tensor<2x8x4x4xf32>, tensor<2x8x4x4xf32>, tensor<2x8x4x4xf32>) -> (tensor<2x8x4x4xf32>, tensor<2x4x8xf32>)
  %c = tensor.collapse_shape %a [[0], [1], [2, 3]] : tensor<2x8x4x4xf32> into tensor<2x8x16xf32>
  %p = zero.load @proj : tensor<16x16xf32>
  %o = nn.linear %c, %p : (tensor<2x8x16xf32>, tensor<16x16xf32>) -> tensor<2x8x16xf32>
  %logits = nn.linear %o, %table transposed : (tensor<2x8x16xf32>, tensor<32x16xf32>) -> tensor<2x8x32xf32>
  %loss, %l = nn.cross_entropy %logits, %labels : (tensor<2x8x32xf32>, tensor<2x8xi32>) -> (tensor<f32>, tensor<2x8xf32>)
  zero.yield %loss : tensor<f32>
}

//--- once.mlir
zero.mesh @mesh <data = 1, sequence = 2>
zero.parameter @table : tensor<32x16xf32> = #zero.normal<std = 0.02>
zero.parameter @head : tensor<16xf32> = #zero.normal<std = 0.02>
// CHECK-LABEL: zero.step @train
zero.step @train(%ids: tensor<2x8xi32>) {
  // What positions use differently adds up by itself.
  // CHECK: %[[TABLE:.*]] = zero.load @table
  // CHECK: nn.embedding %{{.*}}, %[[TABLE]]
  %table = zero.load @table : tensor<32x16xf32>
  %x = nn.embedding %ids, %table : (tensor<2x8xi32>, tensor<32x16xf32>) -> tensor<2x8x16xf32>
  %sum = nn.reduce sum %x dims [0, 1] : (tensor<2x8x16xf32>) -> tensor<16xf32>
  // CHECK: %[[HEAD:.*]] = zero.load @head
  // CHECK: %[[ONCE:.*]] = zero.count_once %[[HEAD]] over <sequence = 2>
  // CHECK: arith.mulf %{{.*}}, %[[ONCE]]
  %head = zero.load @head : tensor<16xf32>
  %e = math.exp %sum : tensor<16xf32>
  %y = arith.mulf %e, %head : tensor<16xf32>
  %loss = nn.reduce sum %y dims [0] : (tensor<16xf32>) -> tensor<f32>
  // One rank gives the gradient of what all use in the same way.
  // GRADIENT: arith.constant dense<[1.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00]> : tensor<4xf32>
  // GRADIENT: zero.slice_value %{{.*}} cut <dim 0 of [4] over <sequence = 2>> : tensor<4xf32> -> tensor<2xf32>
  // GRADIENT: nn.matmul {{.*}} : (tensor<1x2xf32>, tensor<2x16xf32>) -> tensor<1x16xf32>
  // GRADIENT: zero.gradient @head
  zero.yield %loss : tensor<f32>
}

//--- unused.mlir
zero.mesh @mesh <data = 1, sequence = 2>
zero.parameter @table : tensor<32x16xf32> = #zero.normal<std = 0.02>
// CHECK: error: the model @train computes nothing of the positions of input 0 with parameters, so that #zero.axes<sequence = 2> would cut nothing; name the input with the positions 'input_ids', or leave the axis out
zero.step @train(%unused: tensor<2x6xi32>, %ids: tensor<2x8xi32>) {
  %table = zero.load @table : tensor<32x16xf32>
  %x = nn.embedding %ids, %table : (tensor<2x8xi32>, tensor<32x16xf32>) -> tensor<2x8x16xf32>
  %loss = nn.reduce sum %x dims [0, 1, 2] : (tensor<2x8x16xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}

//--- track.mlir
zero.mesh @mesh <data = 1, sequence = 2>
zero.parameter @table : tensor<32x16xf32> = #zero.normal<std = 0.02>
zero.parameter @average : tensor<16xf32> = #zero.zeros average 0.1
zero.step @train(%ids: tensor<2x8xi32>) {
  %table = zero.load @table : tensor<32x16xf32>
  %x = nn.embedding %ids, %table : (tensor<2x8xi32>, tensor<32x16xf32>) -> tensor<2x8x16xf32>
  %sum = nn.reduce sum %x dims [0, 1] : (tensor<2x8x16xf32>) -> tensor<16xf32>
  // CHECK: error: 'zero.track' op moves an average, which #zero.axes<sequence = 2> would count once a rank; leave the axis out
  zero.track @average, %sum : tensor<16xf32>
  %loss = nn.reduce sum %sum dims [0] : (tensor<16xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}

//--- odd.mlir
zero.mesh @mesh <data = 1, sequence = 2>
zero.parameter @table : tensor<32x16xf32> = #zero.normal<std = 0.02>
// CHECK: error: the model @train has 7 positions in input 0, which 2 ranks of #zero.axes<sequence = 2> do not divide; give the axis a divisor of 7, or pad the samples
zero.step @train(%ids: tensor<2x7xi32>) {
  %table = zero.load @table : tensor<32x16xf32>
  %x = nn.embedding %ids, %table : (tensor<2x7xi32>, tensor<32x16xf32>) -> tensor<2x7x16xf32>
  %loss = nn.reduce sum %x dims [0, 1, 2] : (tensor<2x7x16xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}

//--- none.mlir
zero.mesh @mesh <data = 1, sequence = 2>
zero.parameter @w : tensor<16xf32> = #zero.normal<std = 0.02>
// CHECK: error: the model @train has no input of integers [samples, positions], of which #zero.axes<sequence = 2> would cut the positions; leave the axis out
zero.step @train(%x: tensor<4x16xf32>) {
  %w = zero.load @w : tensor<16xf32>
  %b = nn.broadcast %w dims [1] : (tensor<16xf32>) -> tensor<4x16xf32>
  %y = arith.mulf %x, %b : tensor<4x16xf32>
  %loss = nn.reduce sum %y dims [0, 1] : (tensor<4x16xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}

//--- both.mlir
zero.mesh @mesh <data = 1, sequence = 2, expert = 2>
// CHECK: error: cannot cut a model over #zero.axes<sequence = 2> and over #zero.axes<expert = 2> at once; give one of them 1 rank
zero.step @train(%x: tensor<4x16xf32>) {
  %loss = nn.reduce sum %x dims [0, 1] : (tensor<4x16xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}
