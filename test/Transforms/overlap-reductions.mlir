// DEFINE: %{configure} =
// DEFINE: %{overlap} =
// DEFINE: %{run} = zero-opt %S/Inputs/mlp.mlir --zero-configure="options='ranks=2 %{configure}'" --zero-differentiate --cse --zero-partition="alignment=4 reduce-bucket-size=20" --zero-insert-reductions --zero-insert-updates --zero-peel-last-micro --zero-reduce-early --zero-overlap-reductions="%{overlap}" --zero-split-statistics --zero-free --zero-verify-schedule
// REDEFINE: %{configure} = stage=2
// RUN: %{run} | FileCheck %s
// REDEFINE: %{overlap} = in-flight=2
// RUN: %{run} | FileCheck %s --check-prefix=TWO
// REDEFINE: %{overlap} =
// REDEFINE: %{configure} = stage=2 accumulation=3
// RUN: %{run} | FileCheck %s --check-prefix=LAST
// REDEFINE: %{configure} = stage=1 accumulation=3
// RUN: %{run} | FileCheck %s --check-prefix=STORED

// A bucket travels while the next is filled, and is waited for before the next
// one starts. The update waits for the last ones of each group, and reads what
// is there already meanwhile.
// CHECK: zero.micro {
// CHECK: %[[R0:.*]] = zero.reduce_scatter @p0[0 to 24]
// CHECK-NOT: zero.wait
// CHECK: nn.matmul
// CHECK: %[[S0:.*]] = zero.wait %[[R0]]
// CHECK-NEXT: zero.free
// CHECK-NEXT: zero.accumulate slice %[[S0]] into @p0[0 to 24]
// CHECK-NEXT: %[[R1:.*]] = zero.reduce_scatter @p0[24 to 72]
// CHECK-NEXT: nn.reduce
// CHECK-NEXT: zero.gradient @fc1.b
// CHECK-NEXT: zero.wait %[[R1]]
// CHECK-NEXT: zero.free
// CHECK-NEXT: zero.accumulate
// CHECK-NEXT: %[[R2:.*]] = zero.reduce_scatter @p1[0 to 8]
// CHECK-NEXT: zero.carry %[[R2]] as "gradients of p1[0 to 8]" : <tensor<4xf32>>
// CHECK-NEXT: zero.yield
// CHECK: zero.apply
// CHECK-NEXT: %[[A:.*]] = zero.grad_stats [@p0] ranges [0, 72]
// CHECK-NEXT: %[[C2:.*]] = zero.carried "gradients of p1[0 to 8]" : <tensor<4xf32>>
// CHECK-NEXT: %[[S2:.*]] = zero.wait %[[C2]]
// CHECK-NEXT: zero.accumulate slice %[[S2]] into @p1[0 to 8]
// CHECK-NEXT: %[[B:.*]] = zero.grad_stats [@p1] ranges [0, 8] to %[[A]]
// CHECK-NEXT: zero.reduce_stats %[[B]]

// TWO: zero.reduce_scatter @p0[0 to 24]
// TWO-NOT: zero.wait
// TWO: zero.reduce_scatter @p0[24 to 72]
// TWO: zero.wait

// Of three micro-batches, the last one leaves its last bucket to the update.
// LAST: zero.micro {
// LAST-NOT: zero.carry
// LAST: zero.micro last {
// LAST: zero.carry %{{.*}} as "gradients of p1[0 to 8]"
// LAST: zero.apply
// LAST: zero.carried "gradients of p1[0 to 8]"

// What is added up locally is reduced as soon as it is complete.
// STORED: zero.micro {
// STORED-NOT: zero.reduce_scatter
// STORED: zero.micro last {
// STORED: zero.accumulate whole %{{.*}} into @p0[48 to 66]
// STORED-NEXT: %[[R0:.*]] = zero.reduce_scatter @p0[48 to 64]
// STORED-NEXT: zero.carry %[[R0]] as "gradients of p0[48 to 64]"
