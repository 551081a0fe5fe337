// RUN: zero-opt %s --split-input-file --verify-diagnostics | FileCheck %s

// On a line of ranks, and of rows of any type.
zero.step @train(%x: tensor<4x2xbf16>, %ids: tensor<8xi32>) training #zero.training<stage = 0, ranks = 4> {
  zero.micro {
    // CHECK: zero.all_to_all %{{.*}} over <data = 4> : tensor<4x2xbf16> -> <tensor<4x2xbf16>>
    %p = zero.all_to_all %x over <data = 4> : tensor<4x2xbf16> -> <tensor<4x2xbf16>>
    // CHECK: zero.all_to_all %{{.*}} over <data = 4> on reduce : tensor<8xi32> -> <tensor<8xi32>>
    %q = zero.all_to_all %ids over <data = 4> on reduce : tensor<8xi32> -> <tensor<8xi32>>
    %y = zero.wait %p : <tensor<4x2xbf16>>
    %i = zero.wait %q : <tensor<8xi32>>
    %loss = arith.constant dense<0.0> : tensor<f32>
    zero.yield %loss : tensor<f32>
  }
  zero.apply {
  }
}

// -----

// Over one axis of a mesh: its ranks are fewer.
// CHECK: zero.mesh @mesh <node = 2, expert = 3>
zero.mesh @mesh <node = 2, expert = 3>
zero.step @train(%x: tensor<6x2xf32>) training #zero.training<stage = 0, ranks = 6> {
  zero.micro {
    // CHECK: over <expert = 3> : tensor<6x2xf32>
    %p = zero.all_to_all %x over <expert = 3> : tensor<6x2xf32> -> <tensor<6x2xf32>>
    %y = zero.wait %p : <tensor<6x2xf32>>
    %loss = arith.constant dense<0.0> : tensor<f32>
    zero.yield %loss : tensor<f32>
  }
  zero.apply {
  }
}

// -----

zero.step @train(%x: tensor<6x2xf32>) training #zero.training<stage = 0, ranks = 4> {
  zero.micro {
    // expected-error @below {{splits 'tensor<6x2xf32>' over 4 ranks, wanted a multiple of as many rows}}
    %p = zero.all_to_all %x over <data = 4> : tensor<6x2xf32> -> <tensor<6x2xf32>>
    %y = zero.wait %p : <tensor<6x2xf32>>
    %loss = arith.constant dense<0.0> : tensor<f32>
    zero.yield %loss : tensor<f32>
  }
  zero.apply {
  }
}

// -----

zero.step @train(%x: tensor<f32>) training #zero.training<stage = 0, ranks = 1> {
  zero.micro {
    // expected-error @below {{splits 'tensor<f32>' over 1 ranks}}
    %p = zero.all_to_all %x over <data = 1> : tensor<f32> -> <tensor<f32>>
    %y = zero.wait %p : <tensor<f32>>
    zero.yield %y : tensor<f32>
  }
  zero.apply {
  }
}

// -----

zero.step @train(%x: tensor<4x2xf32>) training #zero.training<stage = 0, ranks = 4> {
  zero.micro {
    // expected-error @below {{gives '!zero.pending<tensor<8xf32>>', wanted one tensor of type 'tensor<4x2xf32>'}}
    %p = zero.all_to_all %x over <data = 4> : tensor<4x2xf32> -> <tensor<8xf32>>
    %y = zero.wait %p : <tensor<8xf32>>
    %loss = arith.constant dense<0.0> : tensor<f32>
    zero.yield %loss : tensor<f32>
  }
  zero.apply {
  }
}

// -----

zero.step @train(%x: tensor<4x2xf32>) training #zero.training<stage = 0, ranks = 4> {
  zero.micro {
    // expected-error @below {{exchanges over #zero.axes<data = 2>, wanted axes of #zero.axes<data = 4> in their order}}
    %p = zero.all_to_all %x over <data = 2> : tensor<4x2xf32> -> <tensor<4x2xf32>>
    %y = zero.wait %p : <tensor<4x2xf32>>
    %loss = arith.constant dense<0.0> : tensor<f32>
    zero.yield %loss : tensor<f32>
  }
  zero.apply {
  }
}

// -----

zero.mesh @mesh <node = 2, expert = 2>
zero.step @train(%x: tensor<4x2xf32>) training #zero.training<stage = 0, ranks = 4> {
  zero.micro {
    // expected-error @below {{exchanges over #zero.axes<expert = 2, node = 2>, wanted axes of #zero.axes<node = 2, expert = 2> in their order}}
    %p = zero.all_to_all %x over <expert = 2, node = 2> : tensor<4x2xf32> -> <tensor<4x2xf32>>
    %y = zero.wait %p : <tensor<4x2xf32>>
    %loss = arith.constant dense<0.0> : tensor<f32>
    zero.yield %loss : tensor<f32>
  }
  zero.apply {
  }
}
