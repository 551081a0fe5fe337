// DEFINE: %{stage} =
// DEFINE: %{run} = zero-opt %S/Inputs/mlp.mlir --zero-pipeline="alignment=4 ranks=2 reduce-bucket-size=48 allgather-bucket-size=24 overlap=true %{stage}" 
// REDEFINE: %{stage} = stage=2
// RUN: %{run} | FileCheck %s
// REDEFINE: %{stage} = stage=2 accumulation=2
// RUN: %{run} | FileCheck %s --check-prefix=TWO
// REDEFINE: %{stage} = stage=3 param-persistence-threshold=10
// RUN: %{run} | FileCheck %s --check-prefix=RESIDENT

// The smaller group is updated first; then gathers start in the order in which
// the forward needs them, and the forward waits for each where it does.
// CHECK: zero.micro
// CHECK-DAG: %[[B:.*]] = zero.carried "parameters of p1[0 to 8]"
// CHECK-DAG: %[[W1:.*]] = zero.carried "parameters of p0[24 to 72]"
// CHECK-DAG: zero.wait %[[B]]
// CHECK-DAG: zero.wait %[[W1]]
// CHECK: nn.linear
// CHECK: %[[W2:.*]] = zero.carried "parameters of p0[0 to 24]"
// CHECK-NEXT: zero.wait %[[W2]]
// CHECK-NEXT: nn.linear
// CHECK: zero.apply
// CHECK: zero.update @p1
// CHECK-NEXT: %[[R1:.*]] = zero.refresh @p1[0 to 8] : <>
// CHECK-NEXT: zero.carry %[[R1]] as "parameters of p1[0 to 8]" : <>
// CHECK-NEXT: zero.update @p0
// CHECK-NEXT: zero.refresh @p0[24 to 72]
// CHECK-NEXT: zero.carry
// CHECK-NEXT: zero.refresh @p0[0 to 24]
// CHECK-NEXT: zero.carry
// CHECK-NEXT: zero.update_scale

// Only the first micro-batch has something to wait for.
// TWO: zero.micro {
// TWO: zero.carried "parameters of
// TWO: zero.micro last {
// TWO-NOT: zero.carried
// TWO: zero.apply

// RESIDENT: zero.micro
// RESIDENT: %[[P:.*]] = zero.carried "resident fc1.b" : <>
// RESIDENT-NEXT: zero.wait %[[P]] : <>
// RESIDENT-NEXT: nn.linear
// RESIDENT: zero.apply
// RESIDENT: %[[R:.*]] = zero.refresh_resident [@fc1.b]
// RESIDENT-NEXT: zero.carry %[[R]] as "resident fc1.b" : <>
