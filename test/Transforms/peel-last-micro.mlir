// DEFINE: %{options} = stage=1 ranks=2 accumulation=2
// DEFINE: %{run} = zero-opt %S/Inputs/mlp.mlir --zero-configure="options='%{options}'" --zero-differentiate --cse --zero-partition="alignment=4 reduce-bucket-size=20" --zero-insert-reductions --zero-insert-updates --zero-peel-last-micro
// RUN: %{run} | FileCheck %s
// REDEFINE: %{options} = stage=1 ranks=2
// RUN: %{run} | FileCheck %s --check-prefix=ONE

// The last of several micro-batches has a form of its own, equal to that of the
// others until a pass tells them apart. One alone is the last, and needs none.
// CHECK: zero.micro {
// CHECK: zero.accumulate whole %{{.*}} into @p1[0 to 6]
// CHECK-NEXT: zero.yield
// CHECK: zero.micro last {
// CHECK: zero.accumulate whole %{{.*}} into @p1[0 to 6]
// CHECK-NEXT: zero.yield
// CHECK-NOT: zero.micro
// CHECK: zero.apply

// ONE: zero.micro {
// ONE-NOT: zero.micro
