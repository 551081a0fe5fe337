// DEFINE: %{options} =
// DEFINE: %{split} =
// DEFINE: %{model} = cat %s
// DEFINE: %{run} = %{model} | zero-opt --zero-configure="options='%{options}'" --zero-set-precision="compute=f32" --zero-differentiate --canonicalize --cse --zero-split-gradients="%{split}"

// REDEFINE: %{options} = stage=2 ranks=2
// REDEFINE: %{split} = reduce-bucket-size=40 alignment=4
// RUN: %{run} 2>&1 | FileCheck %s
// REDEFINE: %{options} = stage=3 ranks=2
// RUN: %{run} 2>&1 | FileCheck %s
// REDEFINE: %{options} = stage=1 ranks=2 accumulation=2 deterministic=true
// RUN: %{run} 2>&1 | FileCheck %s
// REDEFINE: %{options} = stage=3 ranks=2
// REDEFINE: %{model} = sed 's/<2x/<5x/g' %s
// RUN: %{run} 2>&1 | FileCheck %s --check-prefix=TOKENS
// REDEFINE: %{model} = cat %s
// REDEFINE: %{options} = stage=2 ranks=5
// RUN: %{run} 2>&1 | FileCheck %s --check-prefix=UNEVEN
// REDEFINE: %{split} = reduce-bucket-size=40 contiguous
// RUN: %{run} 2>&1 | FileCheck %s --check-prefix=OWNERS

// REDEFINE: %{split} = reduce-bucket-size=5
// RUN: %{run} 2>&1 | FileCheck %s --check-prefix=ROW
// ROW: remark: the gradient of @w, 48 elements, is made whole, although a bucket has 5: a row of it has 6

// Stages 0 and 1 store gradients whole where they reduce once an update, and
// so does one rank.
// REDEFINE: %{options} = stage=1 ranks=2 accumulation=2
// RUN: %{run} 2>&1 | FileCheck %s --check-prefix=WHOLE
// REDEFINE: %{options} = stage=1 ranks=2 deterministic=true
// RUN: %{run} 2>&1 | FileCheck %s --check-prefix=WHOLE
// REDEFINE: %{options} = stage=3 ranks=1
// RUN: %{run} 2>&1 | FileCheck %s --check-prefix=WHOLE
// WHOLE-NOT: rows
// WHOLE-NOT: made whole

// With alignment 4, or 16 bytes, for each of 2 ranks, rows of 6 come by fours.
// A tied table's rows start from those of its other contribution. Of 2 tokens,
// what that reads is smaller than the contribution: its blocks are made late.
// CHECK: :[[#@LINE+39]]:8: remark: the gradient of @sum, 48 elements, is made whole, although a bucket has 40: the operation that makes it has no blocks of rows, which RowBlockOpInterface would give it
// CHECK: zero.micro
// CHECK: %[[W0:.*]] = nn.matmul %[[X:.*]], %[[DY:.*]] transpose_a rows [0, 4] : (tensor<2x8xf32>, tensor<2x6xf32>) -> tensor<4x6xf32>
// CHECK-NEXT: zero.gradient @w[0 to 24], %[[W0]] : tensor<4x6xf32>
// CHECK-NEXT: %[[W1:.*]] = nn.matmul %[[X]], %[[DY]] transpose_a rows [4, 8]
// CHECK-NEXT: zero.gradient @w[24 to 48], %[[W1]] : tensor<4x6xf32>
// CHECK: %[[ROWS:.*]] = nn.matmul {{.*}} transpose_a rows [0, 4]
// CHECK-NEXT: %[[E0:.*]] = nn.embedding_grad %{{.*}}, %{{.*}} init %[[ROWS]] rows [0, 4] : {{.*}} -> tensor<4x6xf32>
// CHECK-NEXT: zero.gradient @e[0 to 24], %[[E0]] : tensor<4x6xf32>
// CHECK-NEXT: nn.matmul {{.*}} transpose_a rows [4, 8]
// CHECK-NEXT: nn.embedding_grad {{.*}} rows [4, 8]
// CHECK-NEXT: zero.gradient @e[24 to 48]

// Of 5 tokens it is larger, and the contribution is made whole, once.
// TOKENS: %[[TABLE:.*]] = nn.matmul {{.*}} transpose_a : {{.*}} -> tensor<8x6xf32>
// TOKENS: zero.gradient @w[24 to 48]
// TOKENS: %[[ROWS:.*]] = tensor.extract_slice %[[TABLE]][0, 0] [4, 6] [1, 1]
// TOKENS-NEXT: nn.embedding_grad {{.*}} init %[[ROWS]] rows [0, 4]
// TOKENS-NEXT: zero.gradient @e[0 to 24]
// TOKENS-NEXT: tensor.extract_slice %[[TABLE]][4, 0] [4, 6] [1, 1]

// Six elements a row split over five ranks, four each, by tens of rows.
// UNEVEN: remark: the gradient of @w, 48 elements, is made whole, although a bucket has 40: no number of its rows that fits splits evenly over 5 ranks
// UNEVEN-NOT: rows [

// Reduced to owners, blocks may end anywhere.
// OWNERS: nn.matmul {{.*}} transpose_a rows [0, 6]
// OWNERS-NEXT: zero.gradient @w[0 to 36]
// OWNERS-NEXT: nn.matmul {{.*}} transpose_a rows [6, 8]
// OWNERS-NEXT: zero.gradient @w[36 to 48]

zero.parameter @w : tensor<8x6xf32> = #zero.ones
zero.parameter @e : tensor<8x6xf32> = #zero.ones
zero.parameter @sum : tensor<8x6xf32> = #zero.ones
zero.step @train(%ids: tensor<2xi32> {zero.input = "x"}) {
  %e = zero.load @e : tensor<8x6xf32>
  %w = zero.load @w : tensor<8x6xf32>
  %s = zero.load @sum : tensor<8x6xf32>
  %r = nn.embedding %ids, %e : (tensor<2xi32>, tensor<8x6xf32>) -> tensor<2x6xf32>
  %t = arith.mulf %s, %s : tensor<8x6xf32>
  %x = nn.linear %r, %t transposed : (tensor<2x6xf32>, tensor<8x6xf32>) -> tensor<2x8xf32>
  %y = nn.linear %x, %w : (tensor<2x8xf32>, tensor<8x6xf32>) -> tensor<2x6xf32>
  %l = nn.linear %y, %e transposed : (tensor<2x6xf32>, tensor<8x6xf32>) -> tensor<2x8xf32>
  %loss = nn.reduce mean %l dims [0, 1] : (tensor<2x8xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}
