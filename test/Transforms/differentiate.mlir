// RUN: zero-opt %s --zero-differentiate | FileCheck %s
// Differentiating twice changes nothing: a schedule is not touched.
// RUN: zero-opt %s --zero-differentiate > %t.once
// RUN: zero-opt %t.once --zero-differentiate | diff %t.once -

zero.parameter @fc1.w : tensor<8x6xf32> = #zero.normal<std = 0.02>
zero.parameter @fc1.b : tensor<6xf32> = #zero.zeros
zero.parameter @fc2.w : tensor<6x4xf32> = #zero.normal<std = 0.02>

// The forward stays as it was, loads included; every zero.gradient stands right
// after its gradient. The input needs none, and gets none.
// CHECK-LABEL: zero.step @plain
// CHECK-SAME:      %[[X:.*]]: tensor<2x8xf32>, %[[T:.*]]: tensor<2xi32>
// CHECK-NEXT:    zero.micro {
// CHECK-NEXT:      %[[W1:.*]] = zero.load @fc1.w
// CHECK-NEXT:      %[[B1:.*]] = zero.load @fc1.b
// CHECK-NEXT:      %[[H:.*]] = nn.linear %[[X]], %[[W1]] bias %[[B1]]
// CHECK-NEXT:      %[[A:.*]] = nn.gelu tanh %[[H]]
// CHECK-NEXT:      %[[W2:.*]] = zero.load @fc2.w
// CHECK-NEXT:      %[[L:.*]] = nn.linear %[[A]], %[[W2]]
// CHECK-NEXT:      %[[LOSS:.*]], %[[LSE:.*]] = nn.cross_entropy %[[L]], %[[T]]
// CHECK-NEXT:      %[[SEED:.*]] = zero.loss_seed : tensor<f32>
// CHECK-NEXT:      %[[DL:.*]] = nn.cross_entropy_grad %[[SEED]], %[[L]], %[[T]], %[[LSE]]
// CHECK-NEXT:      %[[DA:.*]] = nn.linear %[[DL]], %[[W2]] transposed
// CHECK-NEXT:      %[[DW2:.*]] = nn.matmul %[[A]], %[[DL]] transpose_a
// CHECK-NEXT:      zero.gradient @fc2.w, %[[DW2]] : tensor<6x4xf32>
// CHECK-NEXT:      %[[DH:.*]] = nn.gelu_grad tanh %[[DA]], %[[H]]
// CHECK-NEXT:      %[[DW1:.*]] = nn.matmul %[[X]], %[[DH]] transpose_a
// CHECK-NEXT:      zero.gradient @fc1.w, %[[DW1]] : tensor<8x6xf32>
// CHECK-NEXT:      %[[DB1:.*]] = nn.reduce sum %[[DH]] dims [0]
// CHECK-NEXT:      zero.gradient @fc1.b, %[[DB1]] : tensor<6xf32>
// CHECK-NEXT:      zero.yield %[[LOSS]] : tensor<f32>
// CHECK-NEXT:    }
// CHECK-NEXT:    zero.apply {
// CHECK-NEXT:    }
// CHECK-NEXT:    zero.evaluate {
// CHECK-NEXT:      zero.load @fc1.w
// CHECK-NEXT:      zero.load @fc1.b
// CHECK-NEXT:      nn.linear %[[X]]
// CHECK-NEXT:      nn.gelu
// CHECK-NEXT:      zero.load @fc2.w
// CHECK-NEXT:      %[[EL:.*]] = nn.linear
// CHECK-NEXT:      %[[ELOSS:.*]], %{{.*}} = nn.cross_entropy %[[EL]], %[[T]]
// CHECK-NEXT:      zero.yield %[[ELOSS]], %[[EL]] outputs ["logits"]
// CHECK-NEXT:    }
// CHECK-NEXT:  }
zero.step @plain(%x: tensor<2x8xf32>, %t: tensor<2xi32>) {
  %w1 = zero.load @fc1.w : tensor<8x6xf32>
  %b1 = zero.load @fc1.b : tensor<6xf32>
  %h = nn.linear %x, %w1 bias %b1 : (tensor<2x8xf32>, tensor<8x6xf32>, tensor<6xf32>) -> tensor<2x6xf32>
  %a = nn.gelu tanh %h : tensor<2x6xf32>
  %w2 = zero.load @fc2.w : tensor<6x4xf32>
  %l = nn.linear %a, %w2 : (tensor<2x6xf32>, tensor<6x4xf32>) -> tensor<2x4xf32>
  %loss, %lse = nn.cross_entropy %l, %t : (tensor<2x4xf32>, tensor<2xi32>) -> (tensor<f32>, tensor<2xf32>)
  zero.yield %loss, %l outputs ["logits"] : tensor<f32>, tensor<2x4xf32>
}
