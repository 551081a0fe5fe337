// DEFINE: %{options} =
// DEFINE: %{reduce} =
// DEFINE: %{run} = zero-opt %S/Inputs/mlp.mlir --zero-configure="options='%{options}'" --zero-set-precision="compute=f32" --zero-differentiate --zero-partition="alignment=4 %{reduce}" --zero-insert-reductions="reduce-bucket-size=20"

// REDEFINE: %{options} = stage=2
// RUN: %{run} | FileCheck %s --check-prefix=ONE
// REDEFINE: %{options} = stage=0 ranks=2
// RUN: %{run} | FileCheck %s --check-prefix=STAGE0
// REDEFINE: %{options} = stage=0 ranks=2 accumulation=2
// RUN: %{run} | FileCheck %s --check-prefix=SUMS0
// REDEFINE: %{options} = stage=1 ranks=2
// RUN: %{run} | FileCheck %s --check-prefix=STAGE1
// REDEFINE: %{options} = stage=1 ranks=2 accumulation=2 deterministic=true
// REDEFINE: %{reduce} = reduce-bucket-size=20
// RUN: %{run} | FileCheck %s --check-prefix=EXACT1
// REDEFINE: %{reduce} =
// REDEFINE: %{options} = stage=2 ranks=2
// RUN: %{run} | FileCheck %s --check-prefix=STAGE2
// REDEFINE: %{options} = stage=3 ranks=2
// RUN: %{run} | FileCheck %s --check-prefix=STAGE3
// REDEFINE: %{options} = stage=2 ranks=2
// REDEFINE: %{reduce} = contiguous
// RUN: %{run} | FileCheck %s --check-prefix=OWNERS

// On one rank nothing travels.
// ONE-NOT: zero.reduce_scatter
// ONE: %[[G:.*]] = zero.gradient @fc2.w, %{{.*}} : tensor<6x3xf32>
// ONE-NEXT: zero.accumulate whole %[[G]] into @p0[0 to 18] : tensor<6x3xf32>
// ONE-NOT: zero.reduce_scatter

// Stage 0: one all-reduce a bucket, as soon as its last gradient is there.
// STAGE0: zero.micro
// STAGE0: %[[W2:.*]] = zero.gradient @fc2.w, %{{.*}} : tensor<6x3xf32>
// STAGE0: %[[W1:.*]] = zero.gradient @fc1.w, %{{.*}} : tensor<8x6xf32>
// STAGE0-NEXT: %[[P:.*]] = zero.all_reduce @p0[0 to 68] of [@fc2.w, @fc1.w](%[[W2]], %[[W1]] : tensor<6x3xf32>, tensor<8x6xf32>) : <tensor<68xf32>>
// STAGE0-NEXT: %[[R:.*]] = zero.wait %[[P]]
// STAGE0-NEXT: zero.accumulate whole %[[R]] into @p0[0 to 68] : tensor<68xf32>

// Several micro-batches: add up locally, communicate once.
// SUMS0: zero.accumulate whole %{{.*}} into @p0[18 to 66] : tensor<8x6xf32>
// SUMS0-NOT: zero.all_reduce
// SUMS0: zero.apply
// SUMS0: %[[P:.*]] = zero.all_reduce @p0[0 to 68] : <tensor<68xf32>>
// SUMS0: zero.wait %[[P]]

// Stage 1: intervals, after the backward.
// STAGE1: zero.accumulate whole %{{.*}} into @p0[48 to 66] : tensor<6x3xf32>
// STAGE1: zero.apply
// STAGE1: zero.reduce_scatter @p0[0 to 72] : <tensor<36xf32>>

// A deterministic run reduces every micro-batch, bucket by bucket in the
// backward, as stage 2 does.
// EXACT1: zero.partition @p0 bucketed over 2 ranks stage 1 segments [0, 24, 72]
// EXACT1: %[[M2:.*]] = nn.matmul {{.*}} -> tensor<6x3xf32>
// EXACT1-NEXT: %[[W2:.*]] = zero.gradient @fc2.w, %[[M2]]
// EXACT1-NEXT: %[[P2:.*]] = zero.reduce_scatter @p0[0 to 24] of [@fc2.w](%[[W2]] : tensor<6x3xf32>) : <tensor<12xf32>>
// EXACT1-NEXT: %[[S2:.*]] = zero.wait %[[P2]]
// EXACT1-NEXT: zero.accumulate slice %[[S2]] into @p0[0 to 24] : tensor<12xf32>
// EXACT1: zero.reduce_scatter @p0[24 to 72] of [@fc1.w]({{.*}}) : <tensor<24xf32>>
// EXACT1: zero.accumulate slice %{{.*}} into @p0[24 to 72] : tensor<24xf32>
// EXACT1: zero.apply
// EXACT1-NOT: zero.reduce_scatter

// STAGE2: zero.reduce_scatter @p0[0 to 72] of [@fc2.w, @fc1.w]({{.*}}) : <tensor<36xf32>>
// STAGE2: zero.accumulate slice %{{.*}} into @p0[0 to 72] : tensor<36xf32>

// Stage 3 cuts buckets between parameters: 18 + 48 elements exceed 20.
// STAGE3: zero.reduce_scatter @p0[0 to 24] of [@fc2.w]({{.*}}) : <tensor<12xf32>>
// STAGE3: zero.accumulate slice %{{.*}} into @p0[0 to 24] : tensor<12xf32>
// STAGE3: zero.reduce_scatter @p0[24 to 72] of [@fc1.w]({{.*}}) : <tensor<24xf32>>

// OWNERS: %[[P:.*]] = zero.bucketed_reduce @p0 of [@fc2.w]({{.*}}) : <tensor<18xf32>>
// OWNERS: %[[R:.*]] = zero.wait %[[P]]
// OWNERS: zero.accumulate owned %[[R]] into @p0[0 to 72] of [@fc2.w] : tensor<18xf32>
