// RUN: zero-opt %S/../Transforms/Inputs/mlp.mlir --zero-pipeline="alignment=4 stage=3 ranks=2 accumulation=2" \
// RUN:   | zero-opt --zero-verify-schedule="report max-reuse-distance=0" -o /dev/null 2>&1 | FileCheck %s
// What saved traffic: the backward does not read the bias and the first weight.

// CHECK: remark: sends 160 elements of gradients, 160 of gathered and 0 of refreshed parameters an update, times (n-1)/n
// CHECK: note: 72 elements are trained, 80 with padding
// CHECK: note: the bound of stage 3 is 480; {{.*}}: 160 instead of 320
