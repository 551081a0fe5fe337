// RUN: zero-opt %s --split-input-file --zero-fuse-moves --verify-diagnostics | FileCheck %s

!x = tensor<2x16x32xf32>
!qkv = tensor<2x16x96xf32>
!heads = tensor<2x16x4x8xf32>
!lse = tensor<2x4x16xf32>

// What a product makes for queries, keys and values is read where it is, by
// both passes, and its gradient is written in one piece.
// CHECK-LABEL: zero.step @fused
zero.step @fused(%x: !x, %w: tensor<32x96xf32>) {
  zero.micro {
    // CHECK:      %[[QKV:.*]] = nn.linear
    // CHECK-NEXT: %[[OUT:.*]]:2 = zero.strided %[[QKV]] : (tensor<2x16x96xf32>) -> (tensor<2x16x4x8xf32>, tensor<2x4x16xf32>) {
    // CHECK-NEXT: ^bb0(%[[A:.*]]: tensor<2x16x96xf32>):
    // CHECK-NEXT:   %[[P:.*]]:3 = nn.split %[[A]] dim 2
    // CHECK-NEXT:   %[[Q:.*]] = tensor.expand_shape %[[P]]#0
    // CHECK-NEXT:   %[[K:.*]] = tensor.expand_shape %[[P]]#1
    // CHECK-NEXT:   %[[V:.*]] = tensor.expand_shape %[[P]]#2
    // CHECK-NEXT:   %[[O:.*]], %[[L:.*]] = nn.attention %[[Q]], %[[K]], %[[V]] causal
    // CHECK-NEXT:   zero.strided_yield %[[O]], %[[L]]
    // CHECK-NEXT: }
    %qkv = nn.linear %x, %w : (!x, tensor<32x96xf32>) -> !qkv
    %q, %k, %v = nn.split %qkv dim 2 sizes [32, 32, 32] : (!qkv) -> (!x, !x, !x)
    %qh = tensor.expand_shape %q [[0], [1], [2, 3]] output_shape [2, 16, 4, 8] : !x into !heads
    %kh = tensor.expand_shape %k [[0], [1], [2, 3]] output_shape [2, 16, 4, 8] : !x into !heads
    %vh = tensor.expand_shape %v [[0], [1], [2, 3]] output_shape [2, 16, 4, 8] : !x into !heads
    %out, %lse = nn.attention %qh, %kh, %vh causal scale 1.0 : (!heads, !heads, !heads) -> (!heads, !lse)
    // CHECK-NEXT: %[[GRAD:.*]] = zero.strided %[[OUT]]#0, %[[QKV]], %[[OUT]]#1 :
    // CHECK-SAME:   -> tensor<2x16x96xf32> {
    // CHECK:        %[[D:.*]], %[[E:.*]], %[[F:.*]] = nn.attention_grad
    // CHECK-COUNT-3: tensor.collapse_shape
    // CHECK-NEXT:   %[[C:.*]] = tensor.concat dim(2)
    // CHECK-NEXT:   zero.strided_yield %[[C]]
    // CHECK-NEXT: }
    // CHECK-NEXT: nn.reduce sum %[[GRAD]]
    %dq, %dk, %dv = nn.attention_grad %out, %qh, %kh, %vh, %out, %lse causal scale 1.0 : (!heads, !heads, !heads, !heads, !heads, !lse) -> (!heads, !heads, !heads)
    %dqc = tensor.collapse_shape %dq [[0], [1], [2, 3]] : !heads into !x
    %dkc = tensor.collapse_shape %dk [[0], [1], [2, 3]] : !heads into !x
    %dvc = tensor.collapse_shape %dv [[0], [1], [2, 3]] : !heads into !x
    %d = tensor.concat dim(2) %dqc, %dkc, %dvc : (!x, !x, !x) -> !qkv
    %loss = nn.reduce sum %d dims [0, 1, 2] : (!qkv) -> tensor<f32>
    zero.yield %loss : tensor<f32>
  }
  zero.apply {
  }
}

// -----

!rows = tensor<2x4x16x8xf32>
!heads = tensor<2x16x4x8xf32>
!keys = tensor<2x16x2x8xf32>
!lse = tensor<2x4x16xf32>

// Transposed operands and results, and slices; grouped-query heads.
// CHECK-LABEL: zero.step @transposed
zero.step @transposed(%x: tensor<2x4x16x16xf32>, %y: tensor<2x16x4x8xf32>) {
  zero.micro {
    // CHECK:      nn.softmax
    // CHECK-NEXT: nn.softmax
    // CHECK-NEXT: zero.strided
    // CHECK-DAG:    tensor.extract_slice
    // CHECK-DAG:    nn.transpose
    // CHECK-DAG:    tensor.extract_slice
    // CHECK-DAG:    tensor.extract_slice
    // CHECK:        nn.attention
    // CHECK:        nn.transpose
    // CHECK:      }
    // CHECK-NEXT: nn.reduce
    %a = nn.softmax %x : tensor<2x4x16x16xf32>
    %b = nn.softmax %y : !heads
    %rows = tensor.extract_slice %a[0, 0, 0, 8] [2, 4, 16, 8] [1, 1, 1, 1] : tensor<2x4x16x16xf32> to !rows
    %q = nn.transpose %rows permutation [0, 2, 1, 3] : (!rows) -> !heads
    %k = tensor.extract_slice %b[0, 0, 0, 0] [2, 16, 2, 8] [1, 1, 1, 1] : !heads to !keys
    %v = tensor.extract_slice %b[0, 0, 1, 0] [2, 16, 2, 8] [1, 1, 2, 1] : !heads to !keys
    %out, %lse = nn.attention %q, %k, %v scale 1.0 : (!heads, !keys, !keys) -> (!heads, !lse)
    %back = nn.transpose %out permutation [0, 2, 1, 3] : (!heads) -> !rows
    %loss = nn.reduce sum %back dims [0, 1, 2, 3] : (!rows) -> tensor<f32>
    zero.yield %loss : tensor<f32>
  }
  zero.apply {
  }
}

// -----

!qkv = tensor<2x16x12x8xf32>
!heads = tensor<2x16x4x8xf32>
!lse = tensor<2x4x16xf32>

// One reader wants the tensor by itself, so that all do.
// CHECK-LABEL: zero.step @read_elsewhere
// CHECK-NOT: zero.strided
zero.step @read_elsewhere(%x: !qkv) {
  zero.micro {
    %qkv = nn.softmax %x : !qkv
    // expected-remark @below {{'nn.split' is a copy}}
    %q, %k, %v = nn.split %qkv dim 2 sizes [4, 4, 4] : (!qkv) -> (!heads, !heads, !heads)
    %out, %lse = nn.attention %q, %k, %v scale 1.0 : (!heads, !heads, !heads) -> (!heads, !lse)
    // expected-note @below {{'nn.softmax' takes no part of a tensor where it is}}
    %other = nn.softmax %v : !heads
    %sum = arith.addf %out, %other : !heads
    %loss = nn.reduce sum %sum dims [0, 1, 2, 3] : (!heads) -> tensor<f32>
    zero.yield %loss : tensor<f32>
  }
  zero.apply {
  }
}

// -----

!wide = tensor<2x16x8x8xf32>
!heads = tensor<2x16x4x8xf32>
!lse = tensor<2x4x16xf32>

// What two kernels make is joined by a third. An input may begin anywhere: no
// kernel wants to read its parts, and nobody says so.
// CHECK-LABEL: zero.step @joined
// CHECK-NOT: zero.strided
zero.step @joined(%x: !wide) {
  zero.micro {
    %a, %b = nn.split %x dim 2 sizes [4, 4] : (!wide) -> (!heads, !heads)
    %o0, %l0 = nn.attention %a, %b, %b scale 1.0 : (!heads, !heads, !heads) -> (!heads, !lse)
    // expected-note @below {{'nn.attention' is the second kernel that makes a part of it}}
    %o1, %l1 = nn.attention %b, %a, %a scale 1.0 : (!heads, !heads, !heads) -> (!heads, !lse)
    // expected-remark @below {{'tensor.concat' is a copy}}
    %both = tensor.concat dim(2) %o0, %o1 : (!heads, !heads) -> !wide
    %loss = nn.reduce sum %both dims [0, 1, 2, 3] : (!wide) -> tensor<f32>
    zero.yield %loss : tensor<f32>
  }
  zero.apply {
  }
}

// -----

!qkv = tensor<2x16x3x6xf32>
!heads = tensor<2x16x1x6xf32>
!lse = tensor<2x1x16xf32>

// Rows of 24 bytes: parts begin where kernels cannot read 16 at once.
// CHECK-LABEL: zero.step @unaligned
// CHECK-NOT: zero.strided
zero.step @unaligned(%x: !qkv) {
  zero.micro {
    %qkv = nn.softmax %x : !qkv
    %q, %k, %v = nn.split %qkv dim 2 sizes [1, 1, 1] : (!qkv) -> (!heads, !heads, !heads)
    %out, %lse = nn.attention %q, %k, %v scale 1.0 : (!heads, !heads, !heads) -> (!heads, !lse)
    %loss = nn.reduce sum %out dims [0, 1, 2, 3] : (!heads) -> tensor<f32>
    zero.yield %loss : tensor<f32>
  }
  zero.apply {
  }
}
