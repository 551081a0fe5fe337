// RUN: zero-opt %S/Inputs/mlp.mlir --zero-pipeline="alignment=4 stage=1 ranks=2" > %t
// RUN: zero-opt %t --zero-specialize-rank="rank=0" | FileCheck %s --check-prefix=RANK0
// RUN: zero-opt %t --zero-specialize-rank="rank=1" | FileCheck %s --check-prefix=RANK1
// RUN: zero-opt %t --zero-specialize-rank --zero-verify-schedule | FileCheck %s --check-prefix=ALL
// RUN: not zero-opt %t --zero-specialize-rank="rank=2" 2>&1 | FileCheck %s --check-prefix=NONE

// RANK0: attributes {{.*}}zero.rank = 0 : i64
// RANK0: zero.reduce_scatter @p0[0 to 72] {zero.at = {bucket = #zero.at<gradients[0], 288 bytes>, "slice 0" = #zero.at<gradients[0], 144 bytes>}
// RANK1: attributes {{.*}}zero.rank = 1 : i64
// RANK1: zero.reduce_scatter @p0[0 to 72] {zero.at = {bucket = #zero.at<gradients[0], 288 bytes>, "slice 0" = #zero.at<gradients[144], 144 bytes>}
// ALL: module @rank0
// ALL: zero.step
// ALL: module @rank1
// ALL: zero.step
// NONE: runs on 2 ranks, and there is no rank 2
