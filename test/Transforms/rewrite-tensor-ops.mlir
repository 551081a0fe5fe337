// RUN: zero-opt %s --split-input-file --verify-diagnostics --zero-rewrite-tensor-ops | FileCheck %s

// CHECK-LABEL: zero.step @reshape
// CHECK-NEXT:    %[[C:.*]] = arith.constant
// CHECK-NEXT:    %[[FLAT:.*]] = tensor.collapse_shape %{{.*}} {{\[\[}}0, 1]] : tensor<4x6xf32> into tensor<24xf32>
// CHECK-NEXT:    %[[X:.*]] = tensor.expand_shape %[[FLAT]] {{\[\[}}0, 1]] output_shape [3, 8] : tensor<24xf32> into tensor<3x8xf32>
// CHECK-NEXT:    nn.reduce mean %[[X]]
zero.step @reshape(%x: tensor<4x6xf32>) {
  %shape = arith.constant dense<[3, 8]> : tensor<2xindex>
  %y = tensor.reshape %x(%shape) : (tensor<4x6xf32>, tensor<2xindex>) -> tensor<3x8xf32>
  %loss = nn.reduce mean %y dims [0, 1] : (tensor<3x8xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}

// -----

// CHECK-LABEL: zero.step @gather
// CHECK:         %[[IDS:.*]] = tensor.collapse_shape %{{.*}} : tensor<2x3x1xi32> into tensor<6xi32>
// CHECK:         %[[ROWS:.*]] = nn.embedding %[[IDS]], %{{.*}} : (tensor<6xi32>, tensor<5x4xf32>) -> tensor<6x4xf32>
// CHECK:         tensor.expand_shape {{.*}} into tensor<2x3x4xf32>
// CHECK:         %[[T:.*]] = nn.transpose %{{.*}} permutation [1, 0]
// CHECK:         nn.embedding %{{.*}}, %[[T]] : (tensor<6xi32>, tensor<4x5xf32>) -> tensor<6x5xf32>
// CHECK-NOT:     tensor.gather
zero.step @gather(%x: tensor<5x4xf32>, %i: tensor<2x3x1xi32>) {
  %rows = tensor.gather %x[%i] gather_dims([0]) : (tensor<5x4xf32>, tensor<2x3x1xi32>) -> tensor<2x3x4xf32>
  %columns = tensor.gather %x[%i] gather_dims([1]) : (tensor<5x4xf32>, tensor<2x3x1xi32>) -> tensor<2x3x5xf32>
  %a = nn.reduce mean %rows dims [0, 1, 2] : (tensor<2x3x4xf32>) -> tensor<f32>
  %b = nn.reduce mean %columns dims [0, 1, 2] : (tensor<2x3x5xf32>) -> tensor<f32>
  %loss = arith.addf %a, %b : tensor<f32>
  zero.yield %loss : tensor<f32>
}

// -----

// Pairs of indices number the rows of the gathered dimensions.
// CHECK-LABEL: zero.step @gather_pairs
// CHECK:         %[[T:.*]] = nn.transpose %{{.*}} permutation [0, 2, 1] : (tensor<5x4x3xf32>) -> tensor<5x3x4xf32>
// CHECK:         %[[TABLE:.*]] = tensor.collapse_shape %{{.*}} {{\[\[}}0, 1], [2]] : tensor<5x3x4xf32> into tensor<15x4xf32>
// CHECK:         %[[I:.*]] = tensor.extract_slice %{{.*}}[0, 0] [6, 1] [1, 1] : tensor<6x2xi32> to tensor<6xi32>
// CHECK:         %[[K:.*]] = tensor.extract_slice %{{.*}}[0, 1] [6, 1] [1, 1] : tensor<6x2xi32> to tensor<6xi32>
// CHECK:         %[[THREE:.*]] = arith.constant dense<3> : tensor<6xi32>
// CHECK:         %[[ROW:.*]] = arith.muli %[[I]], %[[THREE]] : tensor<6xi32>
// CHECK:         %[[IDS:.*]] = arith.addi %[[ROW]], %[[K]] : tensor<6xi32>
// CHECK:         nn.embedding %[[IDS]], %[[TABLE]] : (tensor<6xi32>, tensor<15x4xf32>) -> tensor<6x4xf32>
// CHECK-NOT:     tensor.gather
zero.step @gather_pairs(%x: tensor<5x4x3xf32>, %i: tensor<2x3x2xi32>) {
  %y = tensor.gather %x[%i] gather_dims([0, 2]) : (tensor<5x4x3xf32>, tensor<2x3x2xi32>) -> tensor<2x3x4xf32>
  %loss = nn.reduce mean %y dims [0, 1, 2] : (tensor<2x3x4xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}

// -----

// Scalars are tensors of rank 0, whatever is computed from them.
// CHECK-LABEL: zero.step @scalars
// CHECK:         %[[S:.*]] = tensor.extract_slice %{{.*}}[1, 2] [1, 1] [1, 1] : tensor<3x4xf32> to tensor<f32>
// CHECK:         %[[E:.*]] = math.exp %[[S]] : tensor<f32>
// CHECK:         %[[TWO:.*]] = arith.constant dense<2.000000e+00> : tensor<f32>
// CHECK:         %[[P:.*]] = arith.mulf %[[E]], %[[TWO]] : tensor<f32>
// CHECK:         %[[B:.*]] = nn.broadcast %[[P]] dims [] : (tensor<f32>) -> tensor<5xf32>
// CHECK:         %[[I:.*]] = tensor.insert_slice %[[E]] into %[[B]][3] [1] [1] : tensor<f32> into tensor<5xf32>
// CHECK:         tensor.expand_shape %[[S]] [] output_shape [1] : tensor<f32> into tensor<1xf32>
// CHECK:         %[[F:.*]] = tensor.concat dim(0)
// CHECK-NOT:     tensor.extract %
zero.step @scalars(%x: tensor<3x4xf32>) {
  %i = arith.constant 1 : index
  %j = arith.constant 2 : index
  %k = arith.constant 3 : index
  %two = arith.constant 2.0 : f32
  %s = tensor.extract %x[%i, %j] : tensor<3x4xf32>
  %e = math.exp %s : f32
  %p = arith.mulf %e, %two : f32
  %b = tensor.splat %p : tensor<5xf32>
  %y = tensor.insert %e into %b[%k] : tensor<5xf32>
  %f = tensor.from_elements %s, %e, %two, %p, %e : tensor<5xf32>
  %z = arith.addf %y, %f : tensor<5xf32>
  %loss = nn.reduce mean %z dims [0] : (tensor<5xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}

// -----

// An index that is computed stays, and so does what fills with a constant.
// CHECK-LABEL: zero.step @stays
// CHECK:         tensor.splat
// CHECK:         tensor.extract %
zero.step @stays(%x: tensor<4xf32>, %n: tensor<1xi32>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1.0 : f32
  %c = tensor.splat %one : tensor<4xf32>
  %y = arith.addf %x, %c : tensor<4xf32>
  %m = tensor.extract %n[%zero] : tensor<1xi32>
  %k = arith.index_cast %m : i32 to index
  %s = tensor.extract %y[%k] : tensor<4xf32>
  %loss = tensor.from_elements %s : tensor<f32>
  zero.yield %loss : tensor<f32>
}

// -----

zero.step @outside(%x: tensor<4xf32>) {
  %i = arith.constant 4 : index
  // expected-error @+1 {{'tensor.extract' op has the index 4 in dimension 0 of 'tensor<4xf32>': wanted one from 0 to 3}}
  %s = tensor.extract %x[%i] : tensor<4xf32>
  %loss = tensor.from_elements %s : tensor<f32>
  zero.yield %loss : tensor<f32>
}

// -----

// Samples and heads that are merged, moved and split again, as in
// nn.MultiheadAttention of PyTorch.
// CHECK-LABEL: zero.step @merged
// CHECK-NEXT:    %[[HEADS:.*]] = tensor.expand_shape %{{.*}} {{\[\[}}0], [1], [2, 3]] output_shape [6, 2, 4, 8] : tensor<6x2x32xf32> into tensor<6x2x4x8xf32>
// CHECK-NEXT:    %[[MOVED:.*]] = nn.transpose %[[HEADS]] permutation [1, 2, 0, 3]
// CHECK-NEXT:    nn.reduce mean %[[MOVED]]
zero.step @merged(%x: tensor<6x2x32xf32>) {
  %a = tensor.collapse_shape %x [[0], [1, 2]] : tensor<6x2x32xf32> into tensor<6x64xf32>
  %b = tensor.expand_shape %a [[0], [1, 2]] output_shape [6, 8, 8] : tensor<6x64xf32> into tensor<6x8x8xf32>
  %c = nn.transpose %b permutation [1, 0, 2] : (tensor<6x8x8xf32>) -> tensor<8x6x8xf32>
  %d = tensor.expand_shape %c [[0, 1], [2], [3]] output_shape [2, 4, 6, 8] : tensor<8x6x8xf32> into tensor<2x4x6x8xf32>
  %loss = nn.reduce mean %d dims [0, 1, 2, 3] : (tensor<2x4x6x8xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}

// -----

// A dimension of one index that is put in, moved and taken out, and moves that
// undo each other.
// CHECK-LABEL: zero.step @moved
// CHECK-SAME:      (%[[X:.*]]: tensor<6x12xf32>, %[[Y:.*]]: tensor<6x12xf32>)
// CHECK-NEXT:    %[[PARTS:.*]] = tensor.expand_shape %[[X]] {{\[\[}}0], [1, 2]] output_shape [6, 3, 4]
// CHECK-NEXT:    nn.transpose %[[PARTS]] permutation [1, 0, 2] : (tensor<6x3x4xf32>) -> tensor<3x6x4xf32>
// CHECK-NEXT:    nn.reduce
// CHECK-NEXT:    nn.reduce mean %[[Y]]
zero.step @moved(%x: tensor<6x12xf32>, %y: tensor<6x12xf32>) {
  %a = tensor.expand_shape %x [[0, 1], [2, 3]] output_shape [1, 6, 3, 4] : tensor<6x12xf32> into tensor<1x6x3x4xf32>
  %b = nn.transpose %a permutation [2, 1, 0, 3] : (tensor<1x6x3x4xf32>) -> tensor<3x6x1x4xf32>
  %c = tensor.collapse_shape %b [[0], [1], [2, 3]] : tensor<3x6x1x4xf32> into tensor<3x6x4xf32>
  %s = nn.reduce mean %c dims [0, 1, 2] : (tensor<3x6x4xf32>) -> tensor<f32>
  %d = nn.transpose %y permutation [1, 0] : (tensor<6x12xf32>) -> tensor<12x6xf32>
  %e = nn.transpose %d permutation [1, 0] : (tensor<12x6xf32>) -> tensor<6x12xf32>
  %t = nn.reduce mean %e dims [0, 1] : (tensor<6x12xf32>) -> tensor<f32>
  %loss = arith.addf %s, %t : tensor<f32>
  zero.yield %loss : tensor<f32>
}

// -----

// What is read in between, too, stays; so do merged dimensions that are split where
// none of them ends.
// CHECK-LABEL: zero.step @stays_moved
// CHECK:         %[[T:.*]] = nn.transpose
// CHECK-NEXT:    nn.transpose %[[T]]
// CHECK:         tensor.collapse_shape %{{.*}} {{\[\[}}0, 1]] : tensor<4x6xf32> into tensor<24xf32>
// CHECK-NEXT:    tensor.expand_shape
zero.step @stays_moved(%x: tensor<2x3x4xf32>, %y: tensor<4x6xf32>) {
  %a = nn.transpose %x permutation [1, 0, 2] : (tensor<2x3x4xf32>) -> tensor<3x2x4xf32>
  %b = nn.transpose %a permutation [0, 2, 1] : (tensor<3x2x4xf32>) -> tensor<3x4x2xf32>
  %s = nn.reduce mean %a dims [0, 1, 2] : (tensor<3x2x4xf32>) -> tensor<f32>
  %t = nn.reduce mean %b dims [0, 1, 2] : (tensor<3x4x2xf32>) -> tensor<f32>
  %c = tensor.collapse_shape %y [[0, 1]] : tensor<4x6xf32> into tensor<24xf32>
  %d = tensor.expand_shape %c [[0, 1]] output_shape [3, 8] : tensor<24xf32> into tensor<3x8xf32>
  %u = nn.reduce mean %d dims [0, 1] : (tensor<3x8xf32>) -> tensor<f32>
  %v = arith.addf %s, %t : tensor<f32>
  %loss = arith.addf %u, %v : tensor<f32>
  zero.yield %loss : tensor<f32>
}

// -----

// Nine dimensions in an order of their own are more than a device moves at once.
// CHECK-LABEL: zero.step @many
// CHECK-COUNT-3: nn.transpose
zero.step @many(%x: tensor<512xf32>) {
  %a = tensor.expand_shape %x [[0, 1, 2]] output_shape [8, 8, 8] : tensor<512xf32> into tensor<8x8x8xf32>
  %b = nn.transpose %a permutation [2, 1, 0] : (tensor<8x8x8xf32>) -> tensor<8x8x8xf32>
  %c = tensor.expand_shape %b [[0, 1, 2], [3, 4, 5], [6, 7, 8]] output_shape [2, 2, 2, 2, 2, 2, 2, 2, 2] : tensor<8x8x8xf32> into tensor<2x2x2x2x2x2x2x2x2xf32>
  %d = nn.transpose %c permutation [8, 7, 6, 5, 4, 3, 2, 1, 0] : (tensor<2x2x2x2x2x2x2x2x2xf32>) -> tensor<2x2x2x2x2x2x2x2x2xf32>
  %e = nn.transpose %d permutation [0, 2, 1, 4, 3, 6, 5, 8, 7] : (tensor<2x2x2x2x2x2x2x2x2xf32>) -> tensor<2x2x2x2x2x2x2x2x2xf32>
  %loss = nn.reduce mean %e dims [0, 1, 2, 3, 4, 5, 6, 7, 8] : (tensor<2x2x2x2x2x2x2x2x2xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}
