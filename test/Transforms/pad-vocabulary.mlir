// RUN: zero-opt %s --split-input-file --zero-pad-vocabulary=multiple=8 --verify-diagnostics | FileCheck %s

// A tied embedding, with what is in between and an output.
// CHECK-LABEL: module @tied
// CHECK: zero.parameter @wte : tensor<136x4xf32> = #zero.normal<std = 0.02> rows 130
// CHECK: %[[W:.*]] = zero.load @wte : tensor<136x4xf32>
// CHECK: nn.embedding %{{.*}}, %[[W]] num_embeddings 130 : (tensor<2x3xi32>, tensor<136x4xf32>) -> tensor<2x3x4xf32>
// CHECK: %[[L:.*]] = nn.linear {{.*}} transposed : {{.*}} -> tensor<2x3x136xf32>
// CHECK: %[[F:.*]] = tensor.collapse_shape %[[L]] {{.*}} into tensor<6x136xf32>
// CHECK: %[[S:.*]] = tensor.extract_slice %[[F]][1, 0] [5, 136] [1, 1] : tensor<6x136xf32> to tensor<5x136xf32>
// CHECK: nn.cross_entropy %[[S]], {{.*}} classes 130 :
// CHECK: %[[ROWS:.*]] = tensor.extract_slice %{{.*}}[0, 0] [130, 4] [1, 1] : tensor<136x4xf32> to tensor<130x4xf32>
// CHECK: %[[OUT:.*]] = nn.linear %{{.*}}, %[[ROWS]] transposed : {{.*}} -> tensor<2x3x130xf32>
// CHECK: zero.yield {{.*}}, %[[OUT]] outputs ["logits"] : tensor<f32>, tensor<2x3x130xf32>
module @tied {
  zero.optimizer "default" = #zero.adam<lr = 1.0e-3>
  zero.parameter @wte : tensor<130x4xf32> = #zero.normal<std = 0.02>
  zero.step @train(%ids: tensor<2x3xi32>, %y: tensor<5xi32>) {
    %w = zero.load @wte : tensor<130x4xf32>
    %e = nn.embedding %ids, %w : (tensor<2x3xi32>, tensor<130x4xf32>) -> tensor<2x3x4xf32>
    %h = zero.load @wte : tensor<130x4xf32>
    %l = nn.linear %e, %h transposed : (tensor<2x3x4xf32>, tensor<130x4xf32>) -> tensor<2x3x130xf32>
    %f = tensor.collapse_shape %l [[0, 1], [2]] : tensor<2x3x130xf32> into tensor<6x130xf32>
    %s = tensor.extract_slice %f[1, 0] [5, 130] [1, 1] : tensor<6x130xf32> to tensor<5x130xf32>
    %loss, %lse = nn.cross_entropy %s, %y : (tensor<5x130xf32>, tensor<5xi32>) -> (tensor<f32>, tensor<5xf32>)
    zero.yield %loss, %l outputs ["logits"] : tensor<f32>, tensor<2x3x130xf32>
  }
}

// -----

// A projection by itself, with a bias, in other shapes and types; frozen
// parameters have no optimizer.
// CHECK-LABEL: module @bias
// CHECK: zero.parameter @head : tensor<136x4xbf16> = #zero.zeros frozen rows 130
// CHECK: zero.parameter @bias : tensor<136xbf16> = #zero.ones frozen rows 130
// CHECK: nn.linear {{.*}} -> tensor<6x136xbf16>
// CHECK: arith.extf {{.*}} : tensor<6x136xbf16> to tensor<6x136xf32>
// CHECK: tensor.expand_shape {{.*}} output_shape [2, 3, 136] : tensor<6x136xf32> into tensor<2x3x136xf32>
// CHECK: nn.cross_entropy {{.*}} ignore_index 3 classes 130
module @bias {
  zero.parameter @head : tensor<130x4xbf16> = #zero.zeros frozen
  zero.parameter @bias : tensor<130xbf16> = #zero.ones frozen
  zero.step @train(%x: tensor<6x4xbf16>, %y: tensor<2x3xi32>) {
    %w = zero.load @head : tensor<130x4xbf16>
    %b = zero.load @bias : tensor<130xbf16>
    %l = nn.linear %x, %w bias %b transposed : (tensor<6x4xbf16>, tensor<130x4xbf16>, tensor<130xbf16>) -> tensor<6x130xbf16>
    %f = arith.extf %l : tensor<6x130xbf16> to tensor<6x130xf32>
    %s = tensor.expand_shape %f [[0, 1], [2]] output_shape [2, 3, 130] : tensor<6x130xf32> into tensor<2x3x130xf32>
    %loss, %lse = nn.cross_entropy %s, %y ignore_index 3 : (tensor<2x3x130xf32>, tensor<2x3xi32>) -> (tensor<f32>, tensor<2x3xf32>)
    zero.yield %loss : tensor<f32>
  }
}

// -----

// A matrix product with a transposed weight is one.
// CHECK-LABEL: module @matmul
// CHECK: nn.matmul {{.*}} transpose_b : (tensor<6x4xf32>, tensor<136x4xf32>) -> tensor<6x136xf32>
// CHECK: nn.cross_entropy {{.*}} classes 130
module @matmul {
  zero.optimizer "default" = #zero.sgd<>
  zero.parameter @head : tensor<130x4xf32> = #zero.zeros
  zero.step @train(%x: tensor<6x4xf32>, %y: tensor<6xi32>) {
    %w = zero.load @head : tensor<130x4xf32>
    %l = nn.matmul %x, %w transpose_b : (tensor<6x4xf32>, tensor<130x4xf32>) -> tensor<6x130xf32>
    %loss, %lse = nn.cross_entropy %l, %y : (tensor<6x130xf32>, tensor<6xi32>) -> (tensor<f32>, tensor<6xf32>)
    zero.yield %loss : tensor<f32>
  }
}

// -----

// Rows of what a product reads are rows of what it gives.
// CHECK-LABEL: module @projected
// CHECK: zero.parameter @head : tensor<136x4xf32> = #zero.zeros rows 130
// CHECK: zero.parameter @p : tensor<4x4xf32>
// CHECK: nn.linear {{.*}} : (tensor<136x4xf32>, tensor<4x4xf32>) -> tensor<136x4xf32>
// CHECK: nn.linear {{.*}} transposed : {{.*}} -> tensor<6x136xf32>
// CHECK: nn.cross_entropy {{.*}} classes 130
module @projected {
  zero.optimizer "default" = #zero.sgd<>
  zero.parameter @head : tensor<130x4xf32> = #zero.zeros
  zero.parameter @p : tensor<4x4xf32> = #zero.zeros
  zero.step @train(%x: tensor<6x4xf32>, %y: tensor<6xi32>) {
    %w = zero.load @head : tensor<130x4xf32>
    %p = zero.load @p : tensor<4x4xf32>
    %t = nn.linear %w, %p : (tensor<130x4xf32>, tensor<4x4xf32>) -> tensor<130x4xf32>
    %l = nn.linear %x, %t transposed : (tensor<6x4xf32>, tensor<130x4xf32>) -> tensor<6x130xf32>
    %loss, %lse = nn.cross_entropy %l, %y : (tensor<6x130xf32>, tensor<6xi32>) -> (tensor<f32>, tensor<6xf32>)
    zero.yield %loss : tensor<f32>
  }
}

// -----

// Nothing is said of parameters without a vocabulary, of few rows, and of tables
// that no product reads.
// CHECK-LABEL: module @others
// CHECK-NOT: rows
module @others {
  zero.optimizer "default" = #zero.sgd<>
  zero.parameter @wpe : tensor<1001x4xf32> = #zero.zeros
  zero.parameter @few : tensor<126x4xf32> = #zero.zeros
  zero.parameter @up : tensor<130x126xf32> = #zero.zeros
  zero.parameter @even : tensor<136x130xf32> = #zero.zeros
  zero.step @train(%ids: tensor<6xi32>, %y: tensor<6xi32>) {
    %p = zero.load @wpe : tensor<1001x4xf32>
    %e = nn.embedding %ids, %p : (tensor<6xi32>, tensor<1001x4xf32>) -> tensor<6x4xf32>
    %f = zero.load @few : tensor<126x4xf32>
    %a = nn.linear %e, %f transposed : (tensor<6x4xf32>, tensor<126x4xf32>) -> tensor<6x126xf32>
    %u = zero.load @up : tensor<130x126xf32>
    %b = nn.linear %a, %u transposed : (tensor<6x126xf32>, tensor<130x126xf32>) -> tensor<6x130xf32>
    %c = nn.gelu tanh %b : tensor<6x130xf32>
    %v = zero.load @even : tensor<136x130xf32>
    %l = nn.linear %c, %v transposed : (tensor<6x130xf32>, tensor<136x130xf32>) -> tensor<6x136xf32>
    %loss, %lse = nn.cross_entropy %l, %y : (tensor<6x136xf32>, tensor<6xi32>) -> (tensor<f32>, tensor<6xf32>)
    zero.yield %loss : tensor<f32>
  }
}

// -----

// What reads logits and does not know padding is in the way.
// CHECK-LABEL: module @softmax
// CHECK-NOT: rows
module @softmax {
  zero.optimizer "default" = #zero.sgd<>
  // expected-remark @+1 {{'@head' keeps 130 rows, which are no multiple of 8}}
  zero.parameter @head : tensor<130x4xf32> = #zero.zeros
  zero.step @train(%x: tensor<6x4xf32>, %y: tensor<6xi32>) {
    %w = zero.load @head : tensor<130x4xf32>
    %l = nn.linear %x, %w transposed : (tensor<6x4xf32>, tensor<130x4xf32>) -> tensor<6x130xf32>
    %loss, %lse = nn.cross_entropy %l, %y : (tensor<6x130xf32>, tensor<6xi32>) -> (tensor<f32>, tensor<6xf32>)
    // expected-note @+1 {{nn.softmax cannot be computed of padding}}
    %p = nn.softmax %l : tensor<6x130xf32>
    zero.yield %loss, %p outputs ["p"] : tensor<f32>, tensor<6x130xf32>
  }
}

// -----

// So is a bias that is computed.
// CHECK-LABEL: module @computed
// CHECK-NOT: rows
module @computed {
  zero.optimizer "default" = #zero.sgd<>
  // expected-remark @+1 {{'@head' keeps 130 rows, which are no multiple of 8}}
  zero.parameter @head : tensor<130x4xf32> = #zero.zeros
  zero.step @train(%x: tensor<6x4xf32>, %b: tensor<130xf32>, %y: tensor<6xi32>) {
    %w = zero.load @head : tensor<130x4xf32>
    // expected-note @+1 {{an operand of it is no parameter whose first dimension could be padded}}
    %l = nn.linear %x, %w bias %b transposed : (tensor<6x4xf32>, tensor<130x4xf32>, tensor<130xf32>) -> tensor<6x130xf32>
    %loss, %lse = nn.cross_entropy %l, %y : (tensor<6x130xf32>, tensor<6xi32>) -> (tensor<f32>, tensor<6xf32>)
    zero.yield %loss : tensor<f32>
  }
}

// -----

// Padding would not stay zero.
// CHECK-LABEL: module @eps
// CHECK-NOT: rows
module @eps {
  zero.optimizer "default" = #zero.adam<eps = 0.0>
  // expected-remark @+2 {{'@head' keeps 130 rows, which are no multiple of 8}}
  // expected-note @+1 {{its optimizer has an eps of 0, so that elements without a gradient do not stay 0}}
  zero.parameter @head : tensor<130x4xf32> = #zero.zeros
  zero.step @train(%x: tensor<6x4xf32>, %y: tensor<6xi32>) {
    %w = zero.load @head : tensor<130x4xf32>
    %l = nn.linear %x, %w transposed : (tensor<6x4xf32>, tensor<130x4xf32>) -> tensor<6x130xf32>
    %loss, %lse = nn.cross_entropy %l, %y : (tensor<6x130xf32>, tensor<6xi32>) -> (tensor<f32>, tensor<6xf32>)
    zero.yield %loss : tensor<f32>
  }
}

// -----

// Nor is it known of no optimizer.
// CHECK-LABEL: module @unknown
// CHECK-NOT: rows
module @unknown {
  // expected-remark @+2 {{'@head' keeps 130 rows, which are no multiple of 8}}
  // expected-note @+1 {{its optimizer is not known}}
  zero.parameter @head : tensor<130x4xf32> = #zero.zeros
  zero.step @train(%x: tensor<6x4xf32>, %y: tensor<6xi32>) {
    %w = zero.load @head : tensor<130x4xf32>
    %l = nn.linear %x, %w transposed : (tensor<6x4xf32>, tensor<130x4xf32>) -> tensor<6x130xf32>
    %loss, %lse = nn.cross_entropy %l, %y : (tensor<6x130xf32>, tensor<6xi32>) -> (tensor<f32>, tensor<6xf32>)
    zero.yield %loss : tensor<f32>
  }
}

// -----

// Of a conversion of an embedding that no product reads nothing gains.
// CHECK-LABEL: module @converted
// CHECK-NOT: rows
module @converted {
  zero.optimizer "default" = #zero.sgd<>
  zero.parameter @wpe : tensor<130x4xf32> = #zero.zeros
  zero.step @train(%ids: tensor<6xi32>) {
    %w = zero.load @wpe : tensor<130x4xf32>
    %t = arith.truncf %w : tensor<130x4xf32> to tensor<130x4xbf16>
    %e = nn.embedding %ids, %t : (tensor<6xi32>, tensor<130x4xbf16>) -> tensor<6x4xbf16>
    %f = arith.extf %e : tensor<6x4xbf16> to tensor<6x4xf32>
    %loss = nn.reduce sum %f dims [0, 1] : (tensor<6x4xf32>) -> tensor<f32>
    zero.yield %loss : tensor<f32>
  }
}

// -----

// Logits that are scaled before the loss keep their size, and say so.
// CHECK-LABEL: module @scaled
// CHECK-NOT: rows
module @scaled {
  zero.optimizer "default" = #zero.adagrad<>
  // expected-remark @+1 {{'@head' keeps 130 rows, which are no multiple of 8}}
  zero.parameter @head : tensor<130x4xf32> = #zero.zeros
  zero.step @train(%x: tensor<6x4xf32>, %y: tensor<6xi32>) {
    %w = zero.load @head : tensor<130x4xf32>
    %l = nn.linear %x, %w transposed : (tensor<6x4xf32>, tensor<130x4xf32>) -> tensor<6x130xf32>
    %half = arith.constant dense<0.5> : tensor<6x130xf32>
    // expected-note @+1 {{arith.mulf cannot be computed of padding}}
    %s = arith.mulf %l, %half : tensor<6x130xf32>
    %loss, %lse = nn.cross_entropy %s, %y : (tensor<6x130xf32>, tensor<6xi32>) -> (tensor<f32>, tensor<6xf32>)
    zero.yield %loss : tensor<f32>
  }
}

// -----

// A bias behind a conversion is padded like the weight behind one.
// CHECK-LABEL: module @cast
// CHECK: zero.parameter @head : tensor<136x4xbf16> {{.*}} rows 130
// CHECK: zero.parameter @bias : tensor<136xbf16> {{.*}} rows 130
module @cast {
  zero.optimizer "default" = #zero.sgd<>
  zero.parameter @head : tensor<130x4xbf16> = #zero.zeros
  zero.parameter @bias : tensor<130xbf16> = #zero.zeros
  zero.step @train(%x: tensor<6x4xf32>, %y: tensor<6xi32>) {
    %w = zero.load @head : tensor<130x4xbf16>
    %v = arith.extf %w : tensor<130x4xbf16> to tensor<130x4xf32>
    %b = zero.load @bias : tensor<130xbf16>
    %c = arith.extf %b : tensor<130xbf16> to tensor<130xf32>
    %l = nn.linear %x, %v bias %c transposed : (tensor<6x4xf32>, tensor<130x4xf32>, tensor<130xf32>) -> tensor<6x130xf32>
    %loss, %lse = nn.cross_entropy %l, %y : (tensor<6x130xf32>, tensor<6xi32>) -> (tensor<f32>, tensor<6xf32>)
    zero.yield %loss : tensor<f32>
  }
}

// -----

// What has padding already keeps it.
// CHECK-LABEL: module @padded
// CHECK: zero.parameter @head : tensor<130x4xf32> = #zero.zeros{{$}}
// CHECK: zero.parameter @bias : tensor<130xf32> = #zero.ones rows 120
module @padded {
  zero.optimizer "default" = #zero.sgd<>
  // expected-remark @+1 {{'@head' keeps 130 rows, which are no multiple of 8}}
  zero.parameter @head : tensor<130x4xf32> = #zero.zeros
  // expected-note @+1 {{it has padding already}}
  zero.parameter @bias : tensor<130xf32> = #zero.ones rows 120
  zero.step @train(%x: tensor<6x4xf32>, %y: tensor<6xi32>) {
    %w = zero.load @head : tensor<130x4xf32>
    %b = zero.load @bias : tensor<130xf32>
    %l = nn.linear %x, %w bias %b transposed : (tensor<6x4xf32>, tensor<130x4xf32>, tensor<130xf32>) -> tensor<6x130xf32>
    %loss, %lse = nn.cross_entropy %l, %y : (tensor<6x130xf32>, tensor<6xi32>) -> (tensor<f32>, tensor<6xf32>)
    zero.yield %loss : tensor<f32>
  }
}

// -----

// Ranks of the axis tensor have ranges of every table, however few its rows are;
// an output is what counts of the logits.
// CHECK-LABEL: module @ranges
// CHECK: zero.parameter @table : tensor<12x4xf32> = #zero.ones rows 10
// CHECK: zero.parameter @head : tensor<12x4xf32> = #zero.ones rows 9
// CHECK: nn.embedding %{{.*}}, %{{.*}} num_embeddings 10
// CHECK: %[[L:.*]] = nn.linear {{.*}} -> tensor<2x3x12xf32>
// CHECK: nn.cross_entropy %[[L]], {{.*}} classes 9
// CHECK: %[[O:.*]] = tensor.extract_slice %[[L]][0, 0, 0] [2, 3, 9] [1, 1, 1] : tensor<2x3x12xf32> to tensor<2x3x9xf32>
// CHECK: zero.yield %{{.*}}, %[[O]] outputs ["logits"]
module @ranges {
  zero.mesh @mesh <data = 2, tensor = 4>
  zero.optimizer "default" = #zero.adam<>
  zero.parameter @table : tensor<10x4xf32> = #zero.ones
  zero.parameter @head : tensor<9x4xf32> = #zero.ones
  zero.step @train(%ids: tensor<2x3xi32>, %y: tensor<2x3xi32>) {
    %w = zero.load @table : tensor<10x4xf32>
    %e = nn.embedding %ids, %w : (tensor<2x3xi32>, tensor<10x4xf32>) -> tensor<2x3x4xf32>
    %h = zero.load @head : tensor<9x4xf32>
    %l = nn.linear %e, %h transposed : (tensor<2x3x4xf32>, tensor<9x4xf32>) -> tensor<2x3x9xf32>
    %loss, %lse = nn.cross_entropy %l, %y : (tensor<2x3x9xf32>, tensor<2x3xi32>) -> (tensor<f32>, tensor<2x3xf32>)
    zero.yield %loss, %l outputs ["logits"] : tensor<f32>, tensor<2x3x9xf32>
  }
}

// -----

// In f32, this is 0 as well.
module @tiny {
  zero.optimizer "default" = #zero.adagrad<eps = 1.0e-46>
  // expected-remark @+2 {{'@head' keeps 130 rows, which are no multiple of 8}}
  // expected-note @+1 {{its optimizer has an eps of 0, so that elements without a gradient do not stay 0}}
  zero.parameter @head : tensor<130x4xf32> = #zero.zeros
  zero.step @train(%x: tensor<6x4xf32>, %y: tensor<6xi32>) {
    %w = zero.load @head : tensor<130x4xf32>
    %l = nn.linear %x, %w transposed : (tensor<6x4xf32>, tensor<130x4xf32>) -> tensor<6x130xf32>
    %loss, %lse = nn.cross_entropy %l, %y : (tensor<6x130xf32>, tensor<6xi32>) -> (tensor<f32>, tensor<6xf32>)
    zero.yield %loss : tensor<f32>
  }
}

// -----

module @two {
  zero.step @train(%loss: tensor<f32>) { zero.yield %loss : tensor<f32> }
  // expected-error @+1 {{is a second step that may read the same parameters; pad the vocabulary of one step}}
  zero.step @other(%loss: tensor<f32>) { zero.yield %loss : tensor<f32> }
}

// -----

// A schedule is too late.
module @late {
  zero.parameter @head : tensor<130x4xf32> = #zero.zeros frozen
  // expected-error @+1 {{is a schedule already; pad its vocabulary before zero-differentiate}}
  zero.step @train() {
    zero.micro {
      %loss = arith.constant dense<0.0> : tensor<f32>
      zero.yield %loss : tensor<f32>
    }
    zero.apply {
    }
  }
}
