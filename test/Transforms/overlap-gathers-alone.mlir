// DEFINE: %{options} = stage=2 ranks=2
// DEFINE: %{gathers} =
// DEFINE: %{prepare} = zero-opt %S/Inputs/mlp.mlir --zero-configure="options='%{options}'" --zero-differentiate --cse --zero-partition="alignment=4 reduce-bucket-size=20" --zero-insert-reductions --zero-insert-gathers="%{gathers}" --zero-insert-updates=allgather-bucket-size=24
// RUN: %{prepare} --zero-overlap-gathers | FileCheck %s
// REDEFINE: %{options} = stage=3 ranks=2
// REDEFINE: %{gathers} = parameter-persistence-threshold=10
// RUN: %{prepare} --zero-overlap-gathers | FileCheck %s --check-prefix=RESIDENT

// The pass by itself: starts stay in apply, sorted, and waits go to where the
// forward first reads something of the range.
// CHECK: zero.micro {
// CHECK: %[[W1:.*]] = zero.carried "parameters of p0[24 to 72]" : <>
// CHECK-NEXT: zero.wait %[[W1]] : <>
// CHECK-NEXT: %[[B:.*]] = zero.carried "parameters of p1[0 to 8]" : <>
// CHECK-NEXT: zero.wait %[[B]] : <>
// CHECK-NEXT: nn.linear
// CHECK-NEXT: nn.gelu
// CHECK-NEXT: %[[W2:.*]] = zero.carried "parameters of p0[0 to 24]" : <>
// CHECK-NEXT: zero.wait %[[W2]] : <>
// CHECK-NEXT: nn.linear
// CHECK: zero.apply {
// CHECK: zero.update @p1
// CHECK-NEXT: %[[R:.*]] = zero.refresh @p1[0 to 8]
// CHECK-NEXT: zero.carry %[[R]] as "parameters of p1[0 to 8]"
// CHECK-NEXT: zero.update @p0
// CHECK-NEXT: zero.refresh @p0[24 to 72]
// CHECK-NEXT: zero.carry
// CHECK-NEXT: zero.refresh @p0[0 to 24]
// CHECK-NEXT: zero.carry
// CHECK: zero.evaluate {
// CHECK-NOT: zero.carried

// RESIDENT: zero.micro {
// RESIDENT: zero.carried "resident fc1.b" : <>
// RESIDENT-NEXT: zero.wait
// RESIDENT-NEXT: nn.linear
// RESIDENT: zero.apply {
// RESIDENT: %[[P:.*]] = zero.refresh_resident [@fc1.b]
// RESIDENT-NEXT: zero.carry %[[P]] as "resident fc1.b"
