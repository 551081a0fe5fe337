// A mesh of two axes through the whole pipeline: what is cut is cut over
// `shard`, and replicas combine what they own once an update.

// RUN: zero-opt %models/gpt-small.mlir --zero-pipeline='stage=3 mesh=replica=2,shard=4' -o %t
// RUN: zero-opt %t --verify-roundtrip -o /dev/null
// RUN: zero-opt %t --zero-verify-schedule | FileCheck %s --check-prefixes=CHECK,STAGE3
// RUN: zero-opt %models/gpt-small.mlir \
// RUN:   --zero-pipeline='stage=2 mesh=replica=2,shard=4 overlap=true accumulation=2' \
// RUN:   | zero-opt --zero-verify-schedule | FileCheck %s --check-prefixes=CHECK,STAGE2
// RUN: zero-opt %models/gpt-small.mlir --zero-pipeline='stage=1 mesh=replica=2,shard=4 accumulation=2' \
// RUN:   | zero-opt --zero-verify-schedule | FileCheck %s --check-prefixes=CHECK,STAGE1
// RUN: zero-opt %models/gpt-small.mlir --zero-pipeline='stage=0 mesh=replica=2,shard=4' \
// RUN:   | zero-opt --zero-verify-schedule | FileCheck %s --check-prefixes=CHECK,STAGE0
// RUN: zero-opt %models/tiny-gpt.mlir --zero-pipeline='stage=2 mesh=replica=3,shard=3 precision=f16' \
// RUN:   | FileCheck %s --check-prefix=PRESCALED
// RUN: zero-opt %t --zero-specialize-rank=rank=6 | FileCheck %s --check-prefix=RANK6

// CHECK: zero.mesh @mesh <replica = 2, shard = 4> cut <shard = 4>
// STAGE0: zero.partition @p0 whole over <replica = 2, shard = 4> cut <shard = 4> stage 0
// STAGE1: zero.partition @p0 interval over <replica = 2, shard = 4> cut <shard = 4> stage 1
// STAGE2: zero.partition @p0 bucketed over <replica = 2, shard = 4> cut <shard = 4> stage 2
// STAGE3: zero.partition @p0 parameter over <replica = 2, shard = 4> cut <shard = 4> stage 3
// CHECK: zero.apply {
// STAGE1: zero.reduce_scatter @p0
// CHECK: %[[P:.*]] = zero.all_reduce_owned @p0[0 to
// CHECK: zero.wait %[[P]]
// CHECK: zero.grad_stats
// CHECK: zero.reduce_stats
// CHECK: zero.judge {{.*}} divisor 8.0

// Each group prescales its own sums: 9 / (4 x 4).
// PRESCALED: zero.reduce_scatter prescaled @p0
// PRESCALED: zero.all_reduce_owned prescaled @p0
// PRESCALED: zero.judge {{.*}} divisor 5.625000e-01 skip

// Rank 6 is the third of its group of four.
// RANK6: zero.rank = 6
