// DEFINE: %{overlap} =
// DEFINE: %{run} = zero-opt %S/Inputs/mlp.mlir --zero-configure="options='stage=2 ranks=2'" --zero-differentiate --cse --zero-partition="alignment=4 reduce-bucket-size=20" --zero-insert-reductions --zero-insert-updates --zero-overlap-reductions="%{overlap}" --zero-free --zero-verify-schedule
// RUN: %{run} | FileCheck %s
// REDEFINE: %{overlap} = in-flight=2
// RUN: %{run} | FileCheck %s --check-prefix=TWO

// A bucket travels while the next is filled, and is waited for before the next
// one starts.
// CHECK: zero.micro
// CHECK: %[[R0:.*]] = zero.reduce_scatter @p0[0 to 24]
// CHECK-NOT: zero.wait
// CHECK: nn.matmul
// CHECK: %[[S0:.*]] = zero.wait %[[R0]]
// CHECK-NEXT: zero.free
// CHECK-NEXT: zero.accumulate slice %[[S0]] into @p0[0 to 24]
// CHECK-NEXT: %[[R1:.*]] = zero.reduce_scatter @p0[24 to 72]
// CHECK-NEXT: nn.reduce
// CHECK-NEXT: zero.wait %[[R1]]
// CHECK: zero.yield

// Updated parameters travel while the next partition is updated.
// CHECK: zero.apply
// CHECK: zero.update @p0
// CHECK-NEXT: %[[F:.*]] = zero.refresh @p0[0 to 72]
// CHECK-NEXT: zero.update @p1
// CHECK-NEXT: zero.wait %[[F]]
// CHECK-NEXT: zero.refresh @p1

// TWO: zero.reduce_scatter @p0[0 to 24]
// TWO-NOT: zero.wait
// TWO: zero.reduce_scatter @p0[24 to 72]
// TWO: zero.wait
