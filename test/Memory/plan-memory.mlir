// DEFINE: %{options} =
// DEFINE: %{run} = zero-opt %S/../Transforms/Inputs/mlp.mlir --zero-pipeline="alignment=4 %{options}"

// REDEFINE: %{options} = stage=0 ranks=2
// RUN: %{run} | FileCheck %s --check-prefix=STAGE0
// REDEFINE: %{options} = stage=1 ranks=2
// RUN: %{run} | FileCheck %s --check-prefix=STAGE1
// REDEFINE: %{options} = stage=2 ranks=2
// RUN: %{run} | FileCheck %s --check-prefix=STAGE2
// REDEFINE: %{options} = stage=2 ranks=2 precision=bf16 accumulation=2
// RUN: %{run} | FileCheck %s --check-prefix=MASTER
// REDEFINE: %{options} = stage=2 ranks=2 precision=bf16 split-master
// RUN: %{run} | FileCheck %s --check-prefix=SPLIT
// RUN: not zero-opt %S/../Transforms/Inputs/mlp.mlir --zero-pipeline="precision=f16 split-master" 2>&1 | FileCheck %s --check-prefix=F16
// F16: error: the option split-master: is for bf16 only, whose values are prefixes of f32 ones; the precision is f16
// REDEFINE: %{options} = stage=3 ranks=2 param-persistence-threshold=6
// RUN: %{run} | FileCheck %s --check-prefix=STAGE3
// RUN: not zero-opt %S/../Transforms/Inputs/mlp.mlir --zero-plan-memory 2>&1 | FileCheck %s --check-prefix=MODEL

// Stage 0: gradients are produced in the stored gradient and reduced in place.
// STAGE0: zero.partition @p0 whole {{.*}} states [exp_avg f32 at #zero.at<optimizer[0], 272 bytes>, exp_avg_sq f32 at #zero.at<optimizer[320], 272 bytes>] at {gradients = #zero.at<gradients[0], 272 bytes>, parameters = #zero.at<parameters[0], 272 bytes>}
// STAGE0: zero.micro
// A launch takes the place of its dying input.
// STAGE0: %[[DH:.*]] = nn.linear {{.*}} transposed {zero.at = [#zero.at<activations{{\[}}[[PLACE:[0-9]+]]{{\]}}, 96 bytes>]
// STAGE0: nn.matmul {{.*}} {zero.at = [#zero.at<gradients[0], 72 bytes>]{{.*}} -> tensor<6x3xf32>
// STAGE0: zero.launch @gelu_grad_1(%[[DH]], {{.*}}) {zero.at = [#zero.at<activations{{\[}}[[PLACE]]{{\]}}, 96 bytes>]
// STAGE0: nn.matmul {{.*}} {zero.at = [#zero.at<gradients[72], 192 bytes>]{{.*}} -> tensor<8x6xf32>
// STAGE0: zero.all_reduce {{.*}} {zero.at = {bucket = #zero.at<gradients[0], 272 bytes>}

// Stage 1: each interval is reduced in place; a rank's slice is at a stride.
// STAGE1: exp_avg f32 at #zero.at<optimizer[0], 144 bytes>
// STAGE1: zero.reduce_scatter @p0[0 to 72] {zero.at = {bucket = #zero.at<gradients[0], 288 bytes>, "slice 0" = #zero.at<gradients[0], 144 bytes stride 144>}}

// Stage 2: produced in the bucket, received where the slice is stored.
// STAGE2: gradients = #zero.at<gradients[0], 144 bytes>
// STAGE2: nn.matmul {{.*}} {zero.at = [#zero.at<communication[0], 72 bytes>]{{.*}} -> tensor<6x3xf32>
// STAGE2: nn.matmul {{.*}} {zero.at = [#zero.at<communication[72], 192 bytes>]{{.*}} -> tensor<8x6xf32>
// STAGE2: zero.reduce_scatter {{.*}} {zero.at = {bucket = #zero.at<communication[0], 288 bytes>, "slice 0" = #zero.at<gradients[0], 144 bytes>}

// 2 bytes a parameter, 4 a summed gradient, 12 of sharded optimizer state.
// MASTER: states [master f32 at #zero.at<optimizer[0], 144 bytes>, exp_avg f32 at #zero.at<optimizer[192], 144 bytes>, exp_avg_sq f32 at #zero.at<optimizer[384], 144 bytes>] at {gradients = #zero.at<gradients[0], 144 bytes>, parameters = #zero.at<parameters[0], 144 bytes>}
// The sum over micro-batches is f32, so the bf16 slice stays in its bucket.
// MASTER: zero.reduce_scatter {{.*}} {zero.at = {bucket = #zero.at<communication[0], 144 bytes>, "slice 0" = #zero.at<communication[0], 72 bytes stride 72>}}

// The upper half of a split master is the parameter.
// SPLIT: gradient bf16 split optimizer
// SPLIT-SAME: states [remainder ui16 at #zero.at<optimizer[0], 72 bytes>, exp_avg f32 at #zero.at<optimizer[128], 144 bytes>, exp_avg_sq f32 at #zero.at<optimizer[320], 144 bytes>] at {gradients = #zero.at<gradients[0], 72 bytes>, parameters = #zero.at<parameters[0], 144 bytes>}

// Stage 3: slices, and a padded whole copy of what stays resident.
// STAGE3: parameters = #zero.at<parameters[0], 144 bytes>
// STAGE3: zero.refresh_resident [@fc1.b] {zero.at = {fc1.b = #zero.at<parameters[{{.*}}], 32 bytes>}
// What travels together has places of its own.
// STAGE3: zero.all_gather [@fc1.w, @fc2.w] {zero.at = {fc1.w = #zero.at<communication[0], 192 bytes>, fc2.w = #zero.at<communication[192], 96 bytes>}

// MODEL: error: 'zero.step' is a model, not a schedule; run zero-differentiate first
