// RUN: zero-opt %S/Inputs/mlp.mlir --zero-configure="options='stage=2 ranks=4 accumulation=3 clip=0.5 lr=0.01 weight-decay=0.1'" | FileCheck %s
// RUN: zero-opt %S/Inputs/mlp.mlir --zero-configure="options='optimizer=sgd momentum=0.9 precision=f16'" | FileCheck %s --check-prefix=SGD
// RUN: zero-opt %S/Inputs/mlp.mlir --zero-configure="options='weight-decay=0.1'" -o /dev/null 2>&1 | FileCheck %s --check-prefix=DECAY
// RUN: echo '{"zero": {"parameter_groups": {"no_decay": {"weight_decay": 0}}}}' > %t.json
// RUN: zero-opt %S/Inputs/mlp.mlir --zero-configure="options='config=%t.json weight-decay=0.1'" -o /dev/null 2>&1 | FileCheck %s --check-prefix=MEANT --allow-empty
// RUN: not zero-opt %S/Inputs/mlp.mlir --zero-configure="options='stage=4'" 2>&1 | FileCheck %s --check-prefix=STAGE
// RUN: not zero-opt %S/Inputs/mlp.mlir --zero-configure="options='ranks=0'" 2>&1 | FileCheck %s --check-prefix=RANKS
// RUN: not zero-opt %S/Inputs/mlp.mlir --zero-configure="options='precision=f8'" 2>&1 | FileCheck %s --check-prefix=PRECISION
// RUN: not zero-opt %S/Inputs/mlp.mlir --zero-configure --zero-differentiate --zero-configure 2>&1 | FileCheck %s --check-prefix=TWICE

// RUN: echo 'zero.parameter @w : tensor<6x5xf32> = #zero.zeros rows 3' > %t.rows.mlir
// RUN: echo 'zero.step @train(%x: tensor<2xf32>) { %y = nn.reduce mean %x dims [0] : (tensor<2xf32>) -> tensor<f32> zero.yield %y : tensor<f32> }' >> %t.rows.mlir
// RUN: not zero-opt %t.rows.mlir --zero-configure 2>&1 | FileCheck %s --check-prefix=ROWS
// ROWS: rows.mlir:1:1: error: {{.*}}has 'rows': what is beyond them is padding, which only zero-pad-vocabulary adds; leave them out, and set zero.vocabulary_multiple

// Weight decay is not for the group of biases.
// CHECK: zero.optimizer "default" = #zero.adam<lr = 0.01, weight_decay = 0.1>
// CHECK: zero.optimizer "no_decay" = #zero.adam<lr = 0.01>
// CHECK: zero.step @train
// CHECK-SAME: training #zero.training<stage = 2, ranks = 4, accumulation = 3, clip = 0.5>

// DECAY: mlp.mlir:3:1: remark: weight decay leaves out 1 parameter of the group 'no_decay', such as @fc1.b; zero.parameter_groups gives the group its own, or 0 for none
// MEANT-NOT: remark

// SGD: zero.optimizer "default" = #zero.sgd<momentum = 0.9>
// SGD: loss_scale = <initial = 65536.0, dynamic = true>

// STAGE: error: the option stage: found 4, wanted an integer from 0 to 3
// RANKS: error: found 0 ranks, wanted 1 to 2147483647
// PRECISION: error: the option precision: found "f8", wanted one of "f32", "bf16", "f16", "fp16"
// TWICE: error: 'zero.step' is a schedule already; wanted a model
