// RUN: zero-opt %s --split-input-file --verify-diagnostics

!x = tensor<2x16x32xf32>

func.func @arguments(%x: !x) -> !x {
  // expected-error @below {{has a body whose arguments have other types than its inputs}}
  %y = zero.strided %x : (!x) -> !x {
  ^bb0(%a: tensor<2x16x16xf32>):
    %b = nn.softmax %a : tensor<2x16x16xf32>
    zero.strided_yield %b : tensor<2x16x16xf32>
  }
  return %y : !x
}

// -----

!x = tensor<2x16x32xf32>

func.func @results(%x: !x) -> !x {
  // expected-error @below {{has a body that does not end with zero.strided_yield of the types of its outputs}}
  %y = zero.strided %x : (!x) -> !x {
  ^bb0(%a: !x):
    %b = nn.softmax %a : !x
    zero.strided_yield %b, %b : !x, !x
  }
  return %y : !x
}

// -----

!x = tensor<2x16x32xf32>

func.func @two_kernels(%x: !x) -> !x {
  // expected-error @below {{has 2 kernels in its body, wanted one and moves}}
  %y = zero.strided %x : (!x) -> !x {
  ^bb0(%a: !x):
    %b = nn.softmax %a : !x
    %c = nn.softmax %b : !x
    zero.strided_yield %c : !x
  }
  return %y : !x
}

// -----

!x = tensor<2x16x32xf32>

func.func @no_kernel(%x: !x) -> !x {
  // expected-error @below {{has 0 kernels in its body, wanted one and moves}}
  %y = zero.strided %x : (!x) -> !x {
  ^bb0(%a: !x):
    zero.strided_yield %a : !x
  }
  return %y : !x
}

// -----

!x = tensor<2x16x32xf32>

func.func @joined_operand(%x: !x) -> tensor<4x16x32xf32> {
  %y = zero.strided %x : (!x) -> tensor<4x16x32xf32> {
  ^bb0(%a: !x):
    %b = tensor.concat dim(0) %a, %a : (!x, !x) -> tensor<4x16x32xf32>
    // expected-error @below {{has the operand 0, which is not a part of an input}}
    %c = nn.softmax %b : tensor<4x16x32xf32>
    zero.strided_yield %c : tensor<4x16x32xf32>
  }
  return %y : tensor<4x16x32xf32>
}

// -----

!x = tensor<2x16x32xf32>

func.func @used_twice(%x: !x) -> (!x, !x) {
  %y, %z = zero.strided %x : (!x) -> (!x, !x) {
  ^bb0(%a: !x):
    // expected-error @below {{has the result 0, which is not a part of one output, once}}
    %b = nn.softmax %a : !x
    zero.strided_yield %b, %b : !x, !x
  }
  return %y, %z : !x, !x
}

// -----

!x = tensor<2x16x32xf32>

func.func @not_made(%x: !x) -> tensor<4x16x32xf32> {
  %y = zero.strided %x : (!x) -> tensor<4x16x32xf32> {
  ^bb0(%a: !x):
    %b = nn.softmax %a : !x
    %c = tensor.concat dim(0) %b, %a : (!x, !x) -> tensor<4x16x32xf32>
    // expected-error @below {{has the operand 0, of which the kernel does not make all elements}}
    zero.strided_yield %c : tensor<4x16x32xf32>
  }
  return %y : tensor<4x16x32xf32>
}

// -----

!x = tensor<2x16x32xf32>

func.func @unaligned(%x: !x) -> tensor<2x16x30xf32> {
  %y = zero.strided %x : (!x) -> tensor<2x16x30xf32> {
  ^bb0(%a: !x):
    %p, %q = nn.split %a dim 2 sizes [2, 30] : (!x) -> (tensor<2x16x2xf32>, tensor<2x16x30xf32>)
    // expected-error @below {{has the operand 0, which begins between multiples of 16 bytes}}
    %b = nn.softmax %q : tensor<2x16x30xf32>
    zero.strided_yield %b : tensor<2x16x30xf32>
  }
  return %y : tensor<2x16x30xf32>
}

// -----

!x = tensor<2x16x32xf32>

func.func @no_tensor(%x: !x) -> !x {
  %y = zero.strided %x : (!x) -> !x {
  ^bb0(%a: !x):
    // expected-error @below {{takes or gives something else than tensors, in zero.strided}}
    %i = arith.constant 0 : index
    zero.strided_yield %a : !x
  }
  return %y : !x
}
