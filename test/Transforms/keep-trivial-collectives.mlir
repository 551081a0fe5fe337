// One rank has nothing to communicate, and no collective, at any stage.
// RUN: zero-opt %models/tiny-gpt.mlir --zero-pipeline='stage=3' | FileCheck %s --check-prefix=SILENT
// SILENT: zero.partition @p0 whole over 1 ranks stage 3
// SILENT-NOT: zero.all_gather
// SILENT-NOT: zero.reduce_
// SILENT-NOT: zero.refresh

// Asked to, it keeps those of its stage.
// RUN: zero-opt %models/tiny-gpt.mlir --zero-pipeline='stage=0 keep-trivial-collectives' | FileCheck %s --check-prefix=STAGE0
// STAGE0: zero.partition @p0 whole over 1 ranks stage 0
// STAGE0: keep_trivial = true
// STAGE0: zero.all_reduce
// STAGE0: zero.reduce_stats loss_only

// RUN: zero-opt %models/tiny-gpt.mlir --zero-pipeline='stage=1 keep-trivial-collectives' | FileCheck %s --check-prefix=STAGE1
// STAGE1: zero.partition @p0 interval over 1 ranks stage 1
// STAGE1: zero.apply
// STAGE1: zero.reduce_scatter
// STAGE1: zero.reduce_stats
// STAGE1: zero.refresh

// RUN: zero-opt %models/tiny-gpt.mlir --zero-pipeline='stage=2 keep-trivial-collectives' | FileCheck %s --check-prefix=STAGE2
// STAGE2: zero.partition @p0 bucketed over 1 ranks stage 2
// STAGE2: zero.micro
// STAGE2: zero.reduce_scatter
// STAGE2: zero.apply
// STAGE2: zero.refresh

// RUN: zero-opt %models/tiny-gpt.mlir --zero-pipeline='stage=3 keep-trivial-collectives' | FileCheck %s --check-prefix=STAGE3
// STAGE3: zero.partition @p0 parameter over 1 ranks stage 3
// STAGE3: zero.micro
// STAGE3: zero.all_gather
// STAGE3: zero.reduce_scatter

// A kept collective that goes missing is an error, as on several ranks.
// RUN: zero-opt %models/tiny-gpt.mlir --zero-pipeline='stage=3 keep-trivial-collectives' | sed 's/keep_trivial = true/keep_trivial = false/' > %t.mlir
// RUN: not zero-opt %t.mlir --zero-verify-schedule 2>&1 | FileCheck %s --check-prefix=LOUD
// LOUD: error: {{.*}}has no other rank to ask
