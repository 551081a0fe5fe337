//===- SchedulePasses.td - a schedule for n ranks ----------*- tablegen -*-===//
#ifndef ZERO_TRANSFORMS_SCHEDULEPASSES_TD
#define ZERO_TRANSFORMS_SCHEDULEPASSES_TD

include "mlir/Pass/PassBase.td"

def SplitForward : Pass<"zero-split-forward", "::mlir::ModuleOp"> {
  let summary = "Separate the forward pass of a stage of a pipeline from the backward pass";
  let description = [{
    In a stage of a pipeline, what stands before the first gradient of a micro-batch
    becomes `zero.forward`, and `zero.micro` keeps the rest. What the backward pass reads
    of the forward pass is stashed there and unstashed here; loads, constants and views
    are repeated instead. Where `zero.stage_boundary` are between chunks, each chunk has a
    forward and a backward pass.

    What is sent lies in the stash, and stays there until the pass that follows in the
    same slot: a value that goes to the next stage is waited for in the backward pass, a
    gradient that goes back in the next forward pass. So a stage never waits for another
    one to take what it has sent before it goes on.

    - Needs: `zero-start-exchanges`, and reductions that stand in the pass of their
      gradients, as `zero-insert-reductions` puts them; a `zero.mesh` with a `stage`. Any
      other step stays.
    - Leaves: `zero.forward` and `zero.micro`, which run in the order of the pipeline.
    - Not done here: choosing that order.

    ```mlir
    zero.micro {                                                     // before
      %p = zero.start_receive "h" : <tensor<4x8xf32>>
      %h = zero.wait %p : <tensor<4x8xf32>>
      %y = nn.gelu tanh %h : tensor<4x8xf32>
      ...
      %seed = zero.loss_seed : tensor<f32>
      %d = nn.gelu_grad tanh %h, %g : tensor<4x8xf32>
    }

    zero.forward {                                                   // after
      ...
      %s = zero.stash %h as "stashed 0" : tensor<4x8xf32>
    }
    zero.micro {
      %h = zero.unstash "stashed 0" : tensor<4x8xf32>
      %seed = zero.loss_seed : tensor<f32>
      %d = nn.gelu_grad tanh %h, %g : tensor<4x8xf32>
    }
    ```
  }];
}

def SplitGradients : Pass<"zero-split-gradients", "::mlir::ModuleOp"> {
  let summary = "Compute large gradients in blocks of rows";
  let description = [{
    At stages 2 and 3, and at stage 1 where each of several micro-batches is
    reduced, a rank keeps its slice of a gradient only. Where a gradient is
    larger than a bucket, it is computed in blocks of rows of at most a bucket each,
    and each block is a `zero.gradient` of a range of elements: reduced and freed
    before the next one is computed. What asks for rows
    of another large value (a tied parameter's earlier contribution) gets them from
    its operation, if that costs less memory than the whole, or as a view of it.

    A remark names each gradient that is not split: its operation has no
    `RowBlockOpInterface`, it has other readers, or its rows do not divide evenly
    over the ranks.

    - Needs: `zero-differentiate` and `zero-configure` ran.
    - Leaves: blocks that divide evenly over the ranks, in order; `zero-partition` makes
      a segment of each.
    - Not done here: stages 0 and 1 where they store gradients whole and reduce
      them once an update; parameters that a rank has alone, such as experts on an axis of
      all ranks; and those that stages of a pipeline share.

    ```mlir
    %dw = nn.matmul %x, %dy transpose_a : ... -> tensor<8x6xf32>              // before
    zero.gradient @w, %dw : tensor<8x6xf32>
    %b0 = nn.matmul %x, %dy transpose_a rows [0, 4] : ... -> tensor<4x6xf32>  // after
    zero.gradient @w[0 to 24], %b0 : tensor<4x6xf32>
    %b1 = nn.matmul %x, %dy transpose_a rows [4, 8] : ... -> tensor<4x6xf32>
    zero.gradient @w[24 to 48], %b1 : tensor<4x6xf32>
    ```
  }];
  let options = [
    Option<"reduceBucketSize", "reduce-bucket-size", "int64_t", "-1",
      "Maximum elements of a block; negative: that of the training">,
    Option<"alignment", "alignment", "int64_t", "-1",
      "Stages 1 and 2: each rank's part of a block is a multiple of this many elements, where rows allow; negative: that of the training">,
    Option<"contiguous", "contiguous", "bool", "false",
      "Stage 2: blocks need not divide over the ranks; overrides the training">];
  let dependentDialects = ["::mlir::zero::ZeroDialect", "::mlir::tensor::TensorDialect"];
}

def Partition : Pass<"zero-partition", "::mlir::ModuleOp"> {
  let summary = "Partition parameters, gradients and optimizer states over ranks";
  let description = [{
    Makes one `zero.partition` for the trainable parameters of each optimizer
    group and compute type, one for averages of each weight, and one for parameters
    without a gradient. An average's weight is that of all micro-batches of an
    update. The layout
    follows the stage: `whole`, `interval`, `bucketed` or `contiguous`,
    `parameter`; stage 1 has `bucketed` where each of several micro-batches is
    reduced. `docs/Design.md` has the rules.

    - Needs: `zero-differentiate` and `zero-configure` ran.
    - Leaves: every parameter a member of exactly one partition.
    - Not done here: any change to the step; see `zero-insert-reductions`.

    ```mlir
    zero.partition @p0 bucketed over 2 ranks stage 2 segments [0, 12]
      members [#zero.member<@b at 0 size 3>, #zero.member<@w at 3 size 6>]
      compute f32 gradient f32 optimizer #zero.adam<lr = 1.0e-3>
    ```
  }];
  let options = [
    Option<"reduceBucketSize", "reduce-bucket-size", "int64_t", "-1",
      "Maximum elements of a gradient bucket (stages 0, 2, 3) or interval (stage 1); negative: that of the training">,
    Option<"alignment", "alignment", "int64_t", "-1",
      "Each rank's part of a segment is a multiple of this many elements; negative: that of the training">,
    Option<"contiguous", "contiguous", "bool", "false",
      "Stage 2: one contiguous slice per rank over the whole parameter group; overrides the training">,
    Option<"splitMaster", "split-master", "bool", "false",
      "Keep only the lower 16 bits of the master of a bf16 parameter; overrides the training">];
  let dependentDialects = ["::mlir::zero::ZeroDialect"];
}

def InsertReductions : Pass<"zero-insert-reductions", "::mlir::ModuleOp"> {
  let summary = "Reduce gradients over ranks";
  let description = [{
    Reduces or stores every `zero.gradient`. On one rank `zero.accumulate` stores it.
    Stage 0 all-reduces buckets in the backward pass, stages 2 and 3 reduce-scatter
    them there, stage 1 reduces its intervals in `zero.apply`. With several
    micro-batches an update, stages 0 and 1 add up locally and communicate in
    `zero.apply`, except in deterministic runs, where every stage reduces every
    micro-batch: there stage 1 reduces buckets in the backward, as stage 2 does.

    - Needs: `zero-partition` ran.
    - Leaves: every `zero.gradient` used exactly once; every collective waited for
      right where it starts.
    - Not done here: overlap; buffers (`zero-plan-memory`).

    ```mlir
    %g = zero.gradient @w, %dw : tensor<6xf32>                      // before
    %g = zero.gradient @w, %dw : tensor<6xf32>                      // after
    %p = zero.reduce_scatter @p0[0 to 12] of [@b, @w] (%h, %g : ...) : <tensor<6xf32>>
    %s = zero.wait %p : <tensor<6xf32>>
    zero.accumulate slice %s into @p0[0 to 12] : tensor<6xf32>
    ```
  }];
  let options = [Option<"reduceBucketSize", "reduce-bucket-size", "int64_t", "-1",
      "Maximum elements of a gradient bucket where segments do not determine it; negative: that of the training">];
  let dependentDialects = ["::mlir::zero::ZeroDialect"];
}

def InsertGathers : Pass<"zero-insert-gathers", "::mlir::ModuleOp"> {
  let summary = "Stage 3: gather parameters before their uses";
  let description = [{
    Provides each `zero.load` of a sharded parameter with a source: a `zero.all_gather` and
    its wait, before the first use of each group of uses. Uses are one group while
    fewer than `max_reuse_distance` elements of parameters are used in between, or
    none at all; so a parameter is gathered in the forward pass and again in the
    backward pass. Small parameters stay whole: `zero.load` remains, and
    `zero.initialize` gathers their resident copies. Where the mesh has a secondary
    partition, a `zero.secondary_slice` follows the first gather of a parameter in
    `zero.micro` if others do, and those gather it `over` the secondary axes.

    - Needs: `zero-partition` ran.
    - Leaves: no `zero.load` of a sharded parameter without a source, but of
      resident ones.
    - Not done here: release (`zero-free`); the refresh after the update
      (`zero-insert-updates`).

    ```mlir
    %w = zero.load @w : tensor<6xf32>                             // before
    %p = zero.all_gather [@w] : <tensor<6xf32>>      // after
    %g = zero.wait %p : <tensor<6xf32>>
    %w = zero.load @w from %g : tensor<6xf32>
    ```
  }];
  let options = [
    Option<"maxReuseDistance", "max-reuse-distance", "int64_t", "-1",
      "Keep a gathered parameter if fewer elements of parameters than this are used before its next use; negative: that of the training">,
    Option<"parameterPersistenceThreshold", "parameter-persistence-threshold", "int64_t", "-1",
      "Parameters of at most this many elements stay whole; negative: that of the training">,
    Option<"modelPersistenceThreshold", "model-persistence-threshold", "int64_t", "-1",
      "Maximum total elements that stay whole; negative: that of the training">];
  let dependentDialects = ["::mlir::zero::ZeroDialect"];
}

def InsertUpdates : Pass<"zero-insert-updates", "::mlir::ModuleOp"> {
  let summary = "Insert the gradient norm, overflow check, optimizer and gathers";
  let description = [{
    Fills `zero.apply`: found-inf and norm over the owned slices, combined over
    all ranks, one verdict, one update per partition, the loss scale, and the
    gathers of updated parameters (stages 1 and 2) or of resident copies (3). What
    of a partition has its states elsewhere than on the device is updated on the
    host, in sub-groups: from copies of gradients and, where states are in a file,
    of these, which are written back.

    - Needs: `zero-insert-reductions` and, at stage 3, `zero-insert-gathers` ran.
    - Leaves: complete `zero.apply` regions.
    - Not done here: the update's arithmetic, which is a runtime kernel.

    ```mlir
    %s = zero.grad_stats @p0
    %t = zero.reduce_stats %s
    %v = zero.judge %t clip 1.0 divisor 2.0 skip
    zero.update @p0 if %v
    zero.update_scale %v
    ```
  }];
  let options = [Option<"allgatherBucketSize", "allgather-bucket-size", "int64_t", "-1",
      "Maximum elements of one gather of updated parameters, unless a segment is larger; negative: that of the training">];
  let dependentDialects = ["::mlir::zero::ZeroDialect"];
}

def SpecializeRank : Pass<"zero-specialize-rank", "::mlir::ModuleOp"> {
  let summary = "Specialize the schedule for each rank";
  let description = [{
    A schedule is one program for all ranks, in which the rank appears only in the
    strides of places. With `rank`, the module becomes that rank's program: each stride is
    part of the offset. Without, the module becomes one that holds a module
    `@rank0`, `@rank1`, ... for each rank; `zero-verify-schedule` takes that
    form, and also checks that all ranks are there, take part in the same
    collectives, and differ in nothing but places.

    - Needs: a configured schedule; places where `zero-plan-memory` ran.
    - Leaves: places without stride, and `zero.rank` on the step.
    - Not done here: anything else; ranks differ in nothing but places.

    ```mlir
    zero.at = [#zero.at<gradients[0], 144 bytes stride 144>]    // before
    zero.at = [#zero.at<gradients[144], 144 bytes>]             // after, rank=1
    ```
  }];
  let options = [Option<"rank", "rank", "int64_t", "-1",
    "The rank to specialize for; negative: all ranks">];
  let dependentDialects = ["::mlir::zero::ZeroDialect"];
}

#endif // ZERO_TRANSFORMS_SCHEDULEPASSES_TD
