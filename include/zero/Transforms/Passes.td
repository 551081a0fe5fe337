//===- Passes.td - the passes of zero --------------------*- tablegen -*-===//
#ifndef ZERO_TRANSFORMS_PASSES_TD
#define ZERO_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def OutlineElementwise : Pass<"zero-outline-elementwise", "::mlir::ModuleOp"> {
  let summary = "Turn groups of elementwise operations into kernels";
  let description = [{
    Joins elementwise operations of a `zero.step` into groups and makes each
    group one `zero.launch` of a private function around one `linalg.generic`.
    Members are upstream operations with the `Elementwise` trait and operations
    with `ElementwiseOpInterface`, on ranked static tensors of one shape.
    Arithmetic inside a kernel is f32: 16-bit inputs are extended when loaded
    and results rounded once when stored. Splat constants become part of the
    kernel; an `nn.broadcast` becomes an indexing map.

    A group sits at its last member's place, so no other operation moves. It
    moves down to take in one more member only if no use of its values lies in
    between, and if the values alive in between do not grow.

    - Needs: `zero-differentiate` ran, no collectives yet. Groups must not
      depend on the ZeRO stage: what a group rounds is what the step computes.
    - Leaves: views, constants, kernel operations, launches and `zero`
      operations. Whatever else is left is an error at the operation.
    - Not done here: code for the kernels; see `zero-vectorize-kernels`.

    ```mlir
    %0 = arith.mulf %x, %y : tensor<4x8xbf16>          // before
    %1 = nn.gelu tanh %0 : tensor<4x8xbf16>
    %1 = zero.launch @mulf_gelu_0(%x, %y)              // after
        : (tensor<4x8xbf16>, tensor<4x8xbf16>) -> tensor<4x8xbf16>
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
    "::mlir::tensor::TensorDialect"];
}

def CheckpointActivations : Pass<"zero-checkpoint-activations", "::mlir::ModuleOp"> {
  let summary = "Recompute activations in the backward instead of keeping them";
  let description = [{
    Divides the forward of `zero.micro` into layers: spans between places where
    few bytes are alive, such as a single residual stream, that repeat.
    `every=k` joins each k chosen layers to a span. Of a span the pass keeps
    what takes fewest bytes, mostly its input alone, and computes what the
    backward needs of it a second time, right before the backward needs it
    first. With `policy=cheap`, results of products and attention are kept where
    they are needed, and only what moves data rather than computes is computed
    again; KernelOpInterface says which that is.

    Recomputed operations read kept values through `zero.recompute`, so that CSE
    does not merge them with the first ones. They load their parameters again:
    stage 3 gathers for them as for any use.

    - Needs: `zero-differentiate` ran, and `zero-outline-elementwise`: kernels
      are copied whole, so that recomputed values have the bits of the first
      ones. Before any collective, so that all stages recompute the same.
    - Leaves: the same values, and fewer of them alive at once.
    - Not done here: operations with effects or regions are not recomputed, nor
      is anything between layers or after the last one, where the backward
      begins at once. Dropout is counter-based and repeats by itself.

    ```mlir
    %y, %mean, %rstd = nn.layer_norm %h, %g, %b eps 1.0e-5 : ...   // before
    ...
    %dw = nn.matmul %y, %dz transpose_a : ...
    %y, %mean, %rstd = nn.layer_norm %h, %g, %b eps 1.0e-5 : ...   // after
    ...
    %r = zero.recompute %h : tensor<32x64xbf16>
    %y2, %mean2, %rstd2 = nn.layer_norm %r, %g2, %b2 eps 1.0e-5 : ...
    %dw = nn.matmul %y2, %dz transpose_a : ...
    ```
  }];
  let dependentDialects = ["::mlir::zero::ZeroDialect"];
  let options = [
    Option<"every", "every", "int64_t", "1",
      "Layers between two borders that are kept">,
    Option<"number", "number", "int64_t", "0",
      "Spans to divide the layers into, instead of every; 0: every decides">,
    ListOption<"layers", "layers", "int64_t",
      "Layers to recompute, from 0 on; all if none is given">,
    Option<"policy", "policy", "std::string", "\"all\"",
      "What to recompute: all, or cheap">];
}

def VectorizeKernels : Pass<"zero-vectorize-kernels", "::mlir::ModuleOp"> {
  let summary = "Turn kernel functions into vector loops on raw buffers";
  let description = [{
    Every function with a body becomes a function of
    `(buffers: pointer to pointers, begin: i64, end: i64)` that computes the
    flat elements [begin, end) of its results: whole vectors first, the rest
    with the same code under a mask. An element's bits do not depend on where
    a range begins or ends. `extent` on the function is its number of
    elements, `grain` the fewest elements worth a thread.

    - Needs: functions as `zero-outline-elementwise` leaves them.
    - Leaves: `arith`, `math` and `vector` on vectors of `vector-width` lanes,
      `scf` loops, and loads and stores of the `llvm` dialect.
    - Not done here: transcendental functions; see `zero-expand-math`.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
  let options = [Option<"vectorWidth", "vector-width", "int64_t", "16",
    "Lanes of a vector; a power of two">];
}

def ThreadKernels : Pass<"zero-thread-kernels", "::mlir::ModuleOp"> {
  let summary = "Turn kernel functions into code of a GPU's threads";
  let description = [{
    Every function with a body becomes a function of its buffers' pointers,
    inputs first, in which a thread computes every element whose number is its
    own modulo the number of threads: any grid of one dimension is right.
    `extent` on the function is its number of elements.

    ```mlir
    func.func private @k(%a: tensor<64xf32>) -> tensor<64xf32> { linalg.generic ... }
    // becomes
    func.func @k(%a: !llvm.ptr, %r: !llvm.ptr) attributes {extent = 64 : i64} {
      scf.for %i = %thread to %c64 step %threads { ... }
    }
    ```

    - Needs: functions as `zero-outline-elementwise` leaves them.
    - Leaves: `arith` and `math` on scalars, `scf` loops, thread numbers of the
      `nvvm` dialect, loads and stores of the `llvm` dialect.
    - Not done here: transcendental functions; see `zero-expand-math`.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::NVVM::NVVMDialect", "::mlir::scf::SCFDialect"];
}

def ExpandMath : Pass<"zero-expand-math"> {
  let summary = "Turn math and bf16 conversions into plain vector arithmetic";
  let description = [{
    Expands transcendental functions of f32 into polynomials, and conversions
    between f32 and bf16 into integer arithmetic that rounds to nearest even
    and keeps subnormals, which the native instructions flush. The results are
    then the same on every machine.

    - Leaves: functions without a polynomial (and all of f64), which become
      calls of the C library, an element at a time.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::mlir::vector::VectorDialect"];
}

def Differentiate : Pass<"zero-differentiate", "::mlir::ModuleOp"> {
  let summary = "Build the backward of every model: micro, apply, evaluate";
  let description = [{
    Turns a `zero.step` in model form into a schedule: `zero.micro` with the
    forward, the backward from `zero.loss_seed` and one `zero.gradient` a
    trainable parameter, right after its last contribution; an empty
    `zero.apply`; and `zero.evaluate` with the forward and all outputs.

    Only operations on a path from a trainable parameter to the loss are
    differentiated, through `DifferentiableOpInterface`. The contributions to a
    parameter that is loaded or used more than once are added in the order in
    which the backward computes them, those of 16 bits in f32; an
    `nn.embedding_grad` takes the sum before it as its `init`. Nothing is built
    for frozen parameters. A trainable parameter that the loss does not depend
    on is named in a remark.

    - Needs: `zero-set-precision` ran, where the step is not to be in f32.
    - Leaves: steps in schedule form, `zero.load` where it was. Steps that are
      schedules already are not touched.
    - Not done here: updates; dead code and common subexpressions, which
      `canonicalize` and `cse` remove.

    ```mlir
    zero.step @train(%x: tensor<4xf32>) {                 // before
      %w = zero.load @w : tensor<4xf32>
      %p = arith.mulf %x, %w : tensor<4xf32>
      %loss = nn.reduce sum %p dims [0] : (tensor<4xf32>) -> tensor<f32>
      zero.yield %loss : tensor<f32>
    }
    zero.step @train(%x: tensor<4xf32>) {                 // after
      zero.micro {
        ...
        %seed = zero.loss_seed : tensor<f32>
        %dp = nn.broadcast %seed dims [] : (tensor<f32>) -> tensor<4xf32>
        %dw = arith.mulf %dp, %x : tensor<4xf32>
        zero.gradient @w, %dw : tensor<4xf32>
        zero.yield %loss : tensor<f32>
      }
      zero.apply {
      }
      zero.evaluate {
        ...
        zero.yield %loss : tensor<f32>
      }
    }
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::mlir::tensor::TensorDialect", "::mlir::nn::NNDialect"];
  let options = [Option<"ignoreUnusedParameters", "ignore-unused-parameters",
    "bool", "true", "Whether a trainable parameter without a gradient is named "
    "in a remark; if not, it is an error">];
}

def SetPrecision : Pass<"zero-set-precision", "::mlir::ModuleOp"> {
  let summary = "Turn an f32 model into one that computes in 16 bits";
  let description = [{
    In every `zero.step` in model form, f32 tensors become tensors of `compute`:
    what `zero.load` reads, the results of operations on it, and float arguments
    of the step, which are rounded first. Three things stay f32:

    - statistics (mean, rstd, lse, masks, the loss), as `StatisticsOpInterface`
      says, and what is computed from them;
    - the *loss tail*: elementwise operations, reductions and `nn.softmax` on
      which nothing but the loss depends;
    - what the model itself extends with `arith.extf`, and what is computed from
      it, up to the model's `arith.truncf`.

    An operation on f32 and 16-bit values computes in f32. Values computed from
    constants and integers alone stay f32 until they meet a 16-bit value, and
    are rounded there: positions and masks keep their bits.

    - Needs: model form; runs before `zero-differentiate`.
    - Leaves: parameters with their f32 type (the master), `zero.yield` with an
      f32 loss; its further outputs may be 16-bit. With `compute=f32`,
      everything.

    ```mlir
    %w = zero.load @w : tensor<784x10xf32>                    // before
    %l = nn.linear %x, %w : (tensor<32x784xf32>, tensor<784x10xf32>) -> tensor<32x10xf32>
    %0 = arith.truncf %x : tensor<32x784xf32> to tensor<32x784xbf16>   // after
    %w = zero.load @w : tensor<784x10xbf16>
    %l = nn.linear %0, %w : (tensor<32x784xbf16>, tensor<784x10xbf16>) -> tensor<32x10xbf16>
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
  let options = [Option<"compute", "compute", "std::string", "\"bf16\"",
    "Type of parameters and activations: f32, bf16 or f16">];
}

//===----------------------------------------------------------------------===//
// From a model to a schedule
//===----------------------------------------------------------------------===//

def Configure : Pass<"zero-configure", "::mlir::ModuleOp"> {
  let summary = "Write what the configuration decides into the module";
  let description = [{
    Gives every `zero.step` its `training` attribute and every parameter group a
    `zero.optimizer`. `options` are those of `zero-pipeline`, `config` included.

    - Needs: a model, with every parameter group known to the configuration or
      taking its defaults.
    - Leaves: everything that later passes ask of the configuration, in the IR.
    - Not done here: precision; see `zero-set-precision`.

    ```mlir
    zero.step @train(%x: tensor<4xf32>) {                                  // before
    zero.optimizer "default" = #zero.adam<lr = 0.001>                      // after
    zero.step @train(%x: tensor<4xf32>) training #zero.training<stage = 2, ranks = 4> {
    ```
  }];
  let options = [Option<"settings", "options", "std::string", /*default=*/"",
      "Options of zero-pipeline, such as 'stage=2 ranks=4'">];
  let dependentDialects = ["::mlir::zero::ZeroDialect"];
}

def RunPipeline : Pass<"zero-run-pipeline", "::mlir::ModuleOp"> {
  let summary = "Run zero-pipeline with options that the model completes";
  let description = [{
    What `zero-pipeline` consists of. Resolves `options` against the module, as
    `zero-compile` does: the model's micro-batch gives the accumulation, and the
    configuration gives the precision and the sizes that later passes take as
    options of their own. Then it runs them.

    - Needs: a model.
    - Leaves: a planned schedule.
  }];
  let options = [Option<"settings", "options", "std::string", /*default=*/"",
      "Options of zero-pipeline, such as 'stage=2 ranks=4'">];
}

def SplitGradients : Pass<"zero-split-gradients", "::mlir::ModuleOp"> {
  let summary = "Make large gradients in blocks of rows";
  let description = [{
    At stages 2 and 3, and at stage 1 where each of several micro-batches is
    reduced, a rank takes in its slice of a gradient only. Where a gradient is
    larger than `reduce-bucket-size`, its operation makes blocks of rows instead
    of the whole, each of at most a bucket, and each is a `zero.gradient` of a range
    of elements: reduced and freed before the next one is made. What asks for rows
    of another large value (a tied parameter's earlier contribution) gets them from
    its operation, if that costs less memory than the whole, or as a view of it.

    A remark names a gradient that stays whole: its operation has no
    `RowBlockOpInterface`, something else reads it, or no rows split over ranks.

    - Needs: `zero-differentiate` and `zero-configure` ran.
    - Leaves: blocks that split evenly over ranks, in order; `zero-partition` makes
      a segment of each.
    - Not done here: stages 0 and 1 where they store gradients whole and reduce
      them once an update.

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
    Option<"reduceBucketSize", "reduce-bucket-size", "int64_t", "int64_t{4} << 20",
      "Most elements of a block; larger gradients are cut">,
    Option<"alignment", "alignment", "int64_t", "128",
      "Stages 1 and 2: elements that each rank's part of a block is a multiple of, where rows allow">,
    Option<"contiguous", "contiguous", "bool", "false",
      "Stage 2: blocks need not split over ranks">];
  let dependentDialects = ["::mlir::zero::ZeroDialect", "::mlir::tensor::TensorDialect"];
}

def Partition : Pass<"zero-partition", "::mlir::ModuleOp"> {
  let summary = "Decide who owns which slice of which state";
  let description = [{
    Makes one `zero.partition` for the trainable parameters of each optimizer
    group and compute type, and one for parameters without a gradient. The layout
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
    Option<"reduceBucketSize", "reduce-bucket-size", "int64_t", "int64_t{4} << 20",
      "Most elements of a gradient bucket (stages 0, 2, 3) or interval (stage 1)">,
    Option<"alignment", "alignment", "int64_t", "128",
      "Elements that each rank's part of a segment is a multiple of">,
    Option<"contiguous", "contiguous", "bool", "false",
      "Stage 2: one slice a rank over the whole group">,
    Option<"splitMaster", "split-master", "bool", "false",
      "Keep the lower 16 bits of a bf16 parameter's master instead of all 32">];
  let dependentDialects = ["::mlir::zero::ZeroDialect"];
}

def InsertReductions : Pass<"zero-insert-reductions", "::mlir::ModuleOp"> {
  let summary = "Send gradients to their owners";
  let description = [{
    Replaces every `zero.gradient`. On one rank it becomes `zero.accumulate`.
    Stage 0 combines buckets in the backward, stages 2 and 3 reduce buckets to
    their owners there, stage 1 reduces its intervals in `zero.apply`. With several
    micro-batches an update, stages 0 and 1 add up locally and communicate in
    `zero.apply`, except in deterministic runs, where every stage reduces every
    micro-batch: there stage 1 reduces buckets in the backward, as stage 2 does.

    - Needs: `zero-partition` ran.
    - Leaves: no `zero.gradient`; every start waited for at once.
    - Not done here: overlap; buffers (`zero-plan-memory`).

    ```mlir
    zero.gradient @w, %dw : tensor<6xf32>                                        // before
    %p = zero.reduce_scatter @p0[0 to 12] of [@b, @w] (...) : <tensor<6xf32>>
    %s = zero.wait %p : <tensor<6xf32>>                             // after
    zero.accumulate slice %s into @p0[0 to 12] : tensor<6xf32>
    ```
  }];
  let options = [Option<"reduceBucketSize", "reduce-bucket-size", "int64_t", "int64_t{4} << 20",
      "Most elements of a gradient bucket where segments do not decide it">];
  let dependentDialects = ["::mlir::zero::ZeroDialect"];
}

def InsertGathers : Pass<"zero-insert-gathers", "::mlir::ModuleOp"> {
  let summary = "Stage 3: bring parameters together before their uses";
  let description = [{
    Replaces each `zero.load` of a sharded parameter by a `zero.all_gather` and
    its wait before the first use of each group of uses. Uses are one group while
    fewer than `max-reuse-distance` elements of parameters are used in between, or
    none at all; so a parameter is gathered in the forward and again in the
    backward. Small parameters stay whole: `zero.load` remains, and
    `zero.initialize` gathers their resident copies.

    - Needs: `zero-partition` ran.
    - Leaves: no `zero.load` of a sharded parameter that is not resident.
    - Not done here: release (`zero-free`); the refresh after the update
      (`zero-insert-updates`).

    ```mlir
    %w = zero.load @w : tensor<6xf32>                             // before
    %p = zero.all_gather @w : <tensor<6xf32>>        // after
    %w = zero.wait %p : <tensor<6xf32>>
    ```
  }];
  let options = [
    Option<"maxReuseDistance", "max-reuse-distance", "int64_t", "0",
      "Keep a parameter when fewer elements of parameters are used before its next use">,
    Option<"parameterPersistenceThreshold", "parameter-persistence-threshold", "int64_t", "0",
      "Parameters of at most this many elements stay whole">,
    Option<"modelPersistenceThreshold", "model-persistence-threshold", "int64_t",
      "std::numeric_limits<int64_t>::max()", "Most elements that stay whole in all">];
  let dependentDialects = ["::mlir::zero::ZeroDialect"];
}

def Prefetch : Pass<"zero-prefetch", "::mlir::ModuleOp"> {
  let summary = "Stage 3: start gathers before they are needed";
  let description = [{
    Moves each `zero.all_gather` up to before the wait of an earlier one, as far as
    the limits allow: gathers in flight, elements gathered ahead of their use,
    and elements of gathered parameters that are live, all at once. Neither limit
    holds back a gather that is needed now. The order of collectives stays.

    - Needs: `zero-insert-gathers` ran.
    - Leaves: waits where they were.
    - Not done here: releases, which `zero-free` places after last uses.

    ```mlir
    %p0 = zero.all_gather [@a] : <tensor<4xf32>>      // before
    %a = zero.wait %p0 : <tensor<4xf32>>
    ...
    %p1 = zero.all_gather [@b] : <tensor<4xf32>>
    %b = zero.wait %p1 : <tensor<4xf32>>

    %p0 = zero.all_gather [@a] : <tensor<4xf32>>      // after
    %p1 = zero.all_gather [@b] : <tensor<4xf32>>
    %a = zero.wait %p0 : <tensor<4xf32>>
    ...
    %b = zero.wait %p1 : <tensor<4xf32>>
    ```
  }];
  let options = [
    Option<"prefetchBucketSize", "prefetch-bucket-size", "int64_t", "50000000",
      "Most elements gathered ahead of their use; 0: no prefetch">,
    Option<"maxLiveParameters", "max-live-parameters", "int64_t", "1000000000",
      "Most elements of gathered parameters at once">,
    Option<"maxInFlight", "max-in-flight", "int64_t", "2", "Most gathers started and not waited for">];
}

def PeelLastMicro : Pass<"zero-peel-last-micro", "::mlir::ModuleOp"> {
  let summary = "Give the last micro-batch of an update a form of its own";
  let description = [{
    With several micro-batches an update, only the last one may leave reductions
    running for the update, and only it completes what is added up locally. The
    passes that follow change its form alone. Not with one micro-batch, where the
    only form is the last, nor on one rank, where nothing travels.

    - Needs: `zero-insert-updates` ran.
    - Leaves: `zero.micro` for the micro-batches before, and an equal
      `zero.micro last`.
    - Not done here: anything in which the two differ.

    ```mlir
    zero.micro { ... }         // accumulation = 4: three times
    zero.micro last { ... }    // once
    ```
  }];
  let dependentDialects = ["::mlir::zero::ZeroDialect"];
}

def ReduceEarly : Pass<"zero-reduce-early", "::mlir::ModuleOp"> {
  let summary = "Reduce stored gradients as soon as they are complete";
  let description = [{
    Moves reductions of stored gradients (stages 0 and 1) from `zero.apply` into
    the last micro-batch, each to right after the store that completes its range:
    they travel while the backward goes on. `zero.apply` waits for them, in the
    order in which they started.

    - Needs: `zero-insert-updates`, and `zero-peel-last-micro` where an update
      has several micro-batches.
    - Leaves: starts that are carried, and their waits at the head of
      `zero.apply`. Reduced in place, they need no memory, however many run.
    - Not done here: reductions of gradients that are not stored whole
      (`zero-overlap-reductions`).

    ```mlir
    zero.accumulate whole %dw into @p0[8 to 16] : tensor<8xf32>
    %r = zero.reduce_scatter @p0[0 to 16] : <tensor<8xf32>>
    zero.carry %r as "gradients of p0[0 to 16]" : <tensor<8xf32>>
    ```
  }];
  let dependentDialects = ["::mlir::zero::ZeroDialect"];
}

def OverlapReductions : Pass<"zero-overlap-reductions", "::mlir::ModuleOp"> {
  let summary = "Let gradients travel beside computation";
  let description = [{
    Moves the wait of a reduction, and the `zero.accumulate` that follows, down to
    where the next one starts: while one bucket travels the next is filled, so two
    buckets are alive (`overlap_comm`). What the last micro-batch leaves under
    way, `zero.apply` waits for.

    - Needs: `zero-insert-updates` ran; `zero-peel-last-micro` where an update
      has several micro-batches.
    - Leaves: starts where they were; every wait before what needs its result.
    - Not done here: gathers (`zero-prefetch`, `zero-overlap-gathers`).

    ```mlir
    %r0 = zero.reduce_scatter @p0[0 to 8] of [@a] (...) : <tensor<4xf32>>
    ...the next layer's backward...
    %s0 = zero.wait %r0 : <tensor<4xf32>>
    zero.accumulate slice %s0 into @p0[0 to 8] : tensor<4xf32>
    %r1 = zero.reduce_scatter @p0[8 to 16] of [@b] (...) : <tensor<4xf32>>
    ```
  }];
  let dependentDialects = ["::mlir::zero::ZeroDialect"];
  let options = [Option<"inFlight", "in-flight", "int64_t", "1",
      "Reductions that may be under way while the next bucket is filled">];
}

def SplitStatistics : Pass<"zero-split-statistics", "::mlir::ModuleOp"> {
  let summary = "Check and measure gradients as their reductions end";
  let description = [{
    Where `zero.apply` waits for reductions, reads first what is there already,
    then each range after its wait: one range is read while the next is on the
    link. The deterministic norm is an exact sum, so its bits stay; the other one
    adds the same terms in another order.

    - Needs: `zero-overlap-reductions` ran.
    - Leaves: a chain of `zero.grad_stats`, each adding to the one before.
    - Not done here: a group in the layout `contiguous`, whose buckets follow no
      ranges, is read after its last wait.

    ```mlir
    %a = zero.grad_stats @p0 ranges [0, 8]
    %s = zero.wait %r : <tensor<4xf32>>
    %b = zero.grad_stats @p0 ranges [8, 16] to %a
    ```
  }];
  let dependentDialects = ["::mlir::zero::ZeroDialect"];
}

def OverlapGathers : Pass<"zero-overlap-gathers", "::mlir::ModuleOp"> {
  let summary = "Let updated parameters travel under the next forward";
  let description = [{
    Moves the waits for gathers of updated parameters (stages 1 and 2) and of
    resident copies (stage 3) into `zero.micro`, each before the first operation
    that reads one of them. The gathers of a partition start in the order in which
    the forward needs them. The smallest partition is updated first: it holds
    what every layer has a little of, and all of its gathers are short.

    - Needs: `zero-insert-updates` ran.
    - Leaves: starts in `zero.apply`, waits in `zero.micro`; the first
      micro-batch of the first update has nothing to wait for, nor have those
      after the first.
    - Not done here: `zero.evaluate`, before which the executor waits for all.

    ```mlir
    zero.micro { %p = zero.carried "parameters of p0[0 to 16]" : <>
                 zero.wait %p : <>
                 ... nn.linear %x, %w ... }
    zero.apply { zero.update @p0 if %v
                 %p = zero.refresh @p0[0 to 16] : <>
                 zero.carry %p as "parameters of p0[0 to 16]" : <> }
    ```
  }];
  let dependentDialects = ["::mlir::zero::ZeroDialect"];
}

def InsertUpdates : Pass<"zero-insert-updates", "::mlir::ModuleOp"> {
  let summary = "Norm, overflow check, optimizer and the gathers after it";
  let description = [{
    Fills `zero.apply`: found-inf and norm over the owned slices, combined over
    all ranks, one verdict, one update a partition, the loss scale, and the
    gathers of updated parameters (stages 1 and 2) or of resident copies (3).

    - Needs: `zero-insert-reductions` and, at stage 3, `zero-insert-gathers` ran.
    - Leaves: complete `zero.apply` regions.
    - Not done here: the update's arithmetic, which is a runtime kernel.

    ```mlir
    %s = zero.grad_stats @p0
    %t = zero.reduce_stats %s
    %v = zero.judge %t clip 1.0 divisor 2.0
    zero.update @p0 if %v
    zero.update_scale %v
    ```
  }];
  let options = [Option<"allgatherBucketSize", "allgather-bucket-size", "int64_t", "int64_t{4} << 20",
      "Most elements of one gather of updated parameters, unless a segment is larger">];
  let dependentDialects = ["::mlir::zero::ZeroDialect"];
}

def Free : Pass<"zero-free", "::mlir::ModuleOp"> {
  let summary = "Say where gathered parameters and reduced gradients die";
  let description = [{
    Inserts `zero.free` after the last use of every gathered parameter, through
    views, and of every gradient that a reduction has taken in.

    - Needs: all other `zero-insert-*` passes ran.
    - Leaves: one free for each such value. Pure users are not ordered against a
      free, so only verification, planning and lowering may run after.
    - Not done here: activations; the memory plan reads their lifetimes off the
      order.

    ```mlir
    %y = nn.linear %x, %w : ...
    zero.free %w : tensor<784x250xbf16>
    ```
  }];
  let dependentDialects = ["::mlir::zero::ZeroDialect"];
}

def VerifySchedule : Pass<"zero-verify-schedule", "::mlir::ModuleOp"> {
  let summary = "Reject a schedule that is wrong";
  let description = [{
    Lets the schedule run on facts: initialize, two updates of up to three
    micro-batches, evaluate, a third update. Errors, each at the operation, with
    the reason and the other operation involved:

    - handles: waited for or carried never or twice; carried while the one
      before it is in flight; taken where tensors are wanted and nothing is in
      flight; a reduction that is in flight after the update;
    - lifetimes: a use after a free, through views; a double free; a free while a
      reduction reads; a gathered parameter or reduced gradient never freed;
    - reads: of a parameter that is not gathered, is being gathered, is stale
      after an update, or is another than the operation's `zero.reads` says;
    - gradients: stored or reduced never, twice, at another place, before all
      micro-batches are in, or while another operation is at them;
    - updates: missing, doubled, before the check or before the reductions were
      waited for; norms that are not combined; a factor that does not fit;
      updated parameters that are not gathered;
    - owners: a parameter in two partitions;
    - traffic: other than partitions and uses say. With one rank, any at all;
    - order: where the module holds a module for each rank, collectives that
      differ between ranks;
    - places, after `zero-plan-memory`: one that is missing, or of another
      arena, size or stride than its owner has; states, inputs and constants
      that share bytes;
    - streams: an access to bytes that an operation in flight writes, or a write
      to bytes that one reads, in its own region or a later one;
    - memory: buffers that overlap while both live, and values written over
      padding or over another parameter's state.

    `max-reuse-distance` is that of `zero-insert-gathers`; without it, gathers
    are bounded by one a use. `report` prints the traffic and what saved it.

    - Needs: `zero-free` ran.
    - Leaves: the module unchanged.

    ```mlir
    zero.free %w : tensor<4xf32>
    %y = nn.linear %x, %w : ...     // error: uses a value that was freed
    ```
  }];
  let options = [
    Option<"maxReuseDistance", "max-reuse-distance", "int64_t", "-1",
      "Of zero-insert-gathers; negative: not known">,
    Option<"report", "report", "bool", "false", "Print the traffic and what saved it">];
}

def SpecializeRank : Pass<"zero-specialize-rank", "::mlir::ModuleOp"> {
  let summary = "One program a rank";
  let description = [{
    A schedule is one program for all ranks, with the rank in the strides of
    places. With `rank`, the module becomes that rank's program: each stride is
    part of the offset. Without, the module becomes one that holds a module
    `@rank0`, `@rank1`, ... for each rank; `zero-verify-schedule` takes that
    form, and checks besides that all ranks meet in the same collectives.

    - Needs: a configured schedule; places where `zero-plan-memory` ran.
    - Leaves: places without stride, and `zero.rank` on the step.
    - Not done here: anything else; ranks differ in nothing but places.

    ```mlir
    zero.at = [#zero.at<gradients[0], 144 bytes stride 144>]    // before
    zero.at = [#zero.at<gradients[144], 144 bytes>]             // after, rank=1
    ```
  }];
  let options = [Option<"rank", "rank", "int64_t", "-1",
    "The rank to make a program of; negative: all of them">];
  let dependentDialects = ["::mlir::zero::ZeroDialect"];
}

def PlanMemory : Pass<"zero-plan-memory", "::mlir::ModuleOp"> {
  let summary = "Give every buffer an address";
  let description = [{
    Places every state of every partition and every buffer of every region: arena
    and byte offset, in the attributes `at` and `zero.at`. Views share their
    root's buffer; gradients are produced at their place in a bucket; gathers and
    reductions land in place; a launch takes the place of a dying input.

    With `memory-budget` the pass fails where all arenas of a rank together need
    more, and names what is alive at the peak of each; `report` prints the same
    as a remark, with the lower bound of each arena that is planned.

    - Needs: `zero-free` ran.
    - Leaves: places on every operation that makes a buffer, and on every partition.
    - Not done here: order; the plan takes it as it is.

    ```mlir
    %h = nn.linear %x, %w {zero.at = [#zero.at<activations[0], 32000 bytes>]} : ...
    ```
  }];
  let dependentDialects = ["::mlir::zero::ZeroDialect"];
  let options = [
    Option<"memoryBudget", "memory-budget", "std::string", /*default=*/"",
      "Most bytes that all arenas of a rank may need together, such as 512MiB; "
      "any if empty">,
    Option<"report", "report", "bool", "false",
      "Print the memory of each arena in a remark">];
}

#endif // ZERO_TRANSFORMS_PASSES_TD
