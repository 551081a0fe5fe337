// DEFINE: %{gather} =
// DEFINE: %{run} = zero-opt %S/Inputs/mlp.mlir --zero-configure="options='stage=3 ranks=2'" --zero-differentiate --cse --zero-partition="alignment=4" --zero-insert-reductions --zero-insert-gathers="%{gather}"

// RUN: %{run} | FileCheck %s
// REDEFINE: %{gather} = max-reuse-distance=1000
// RUN: %{run} | FileCheck %s --check-prefix=KEPT
// REDEFINE: %{gather} = parameter-persistence-threshold=6
// RUN: %{run} | FileCheck %s --check-prefix=RESIDENT
// REDEFINE: %{gather} = parameter-persistence-threshold=18 model-persistence-threshold=20
// RUN: %{run} | FileCheck %s --check-prefix=BOUNDED

// Parameters of one operation come in one group of gathers. Nothing is used
// between the last layer's forward and its backward, so it is gathered once.
// CHECK-NOT: zero.initialize
// CHECK: zero.micro
// CHECK: %[[P1:.*]] = zero.all_gather [@fc1.w, @fc1.b] : <tensor<8x6xf32>, tensor<6xf32>>
// CHECK-NEXT: %[[G1:.*]]:2 = zero.wait %[[P1]]
// CHECK-NEXT: %[[W1:.*]] = zero.load @fc1.w from %[[G1]]#0
// CHECK-NEXT: %[[B1:.*]] = zero.load @fc1.b from %[[G1]]#1
// CHECK-NEXT: nn.linear %{{.*}}, %[[W1]] bias %[[B1]]
// CHECK: zero.all_gather [@fc2.w]
// CHECK: nn.linear
// CHECK: nn.linear {{.*}} transposed
// CHECK-NOT: zero.all_gather
// CHECK: zero.evaluate
// CHECK: zero.all_gather [@fc1.w, @fc1.b]
// CHECK-NOT: zero.load @{{[a-z0-9.]+}} :

// KEPT: zero.micro
// KEPT-COUNT-2: zero.all_gather
// KEPT-NOT: zero.all_gather
// KEPT: zero.apply

// RESIDENT: zero.initialize
// RESIDENT-NEXT: %[[R:.*]] = zero.refresh_resident [@fc1.b] : <>
// RESIDENT-NEXT: zero.wait %[[R]] : <>
// RESIDENT: zero.micro
// RESIDENT: %[[B:.*]] = zero.load @fc1.b
// RESIDENT: zero.all_gather [@fc1.w] : <tensor<8x6xf32>>
// RESIDENT: nn.linear %{{.*}}, %{{.*}} bias %[[B]]

// In declaration order: @fc1.b (6) is kept, @fc2.w (18) would exceed 20.
// BOUNDED: zero.refresh_resident [@fc1.b] : <>
