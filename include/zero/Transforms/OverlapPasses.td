//===- OverlapPasses.td - communication under computation --*- tablegen -*-===//
#ifndef ZERO_TRANSFORMS_OVERLAPPASSES_TD
#define ZERO_TRANSFORMS_OVERLAPPASSES_TD

include "mlir/Pass/PassBase.td"

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

def Prefetch : Pass<"zero-prefetch", "::mlir::ModuleOp"> {
  let summary = "Stage 3: start gathers before they are needed";
  let description = [{
    Moves each `zero.all_gather` up to before the wait of an earlier one, by the
    cost model: as few are in flight as let the block end within 3 % of its time
    with all that the limits allow, on elements gathered ahead of their use and
    on those that are live in all; and each starts as late as leaves no wait
    longer. On a machine whose collectives do nothing until they are waited for,
    nothing moves.

    With `gathers_in_flight` above 0 the time is not looked at: each starts as early as the
    limits allow, with at most so many under way. No limit holds back a gather
    that is needed now. The order of collectives stays.

    - Needs: `zero-insert-gathers` ran. Passes that move reductions come before
      it, as what waits for them counts.
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
    Option<"prefetchBucketSize", "prefetch-bucket-size", "int64_t", "-1",
      "Most elements gathered ahead of their use; 0: no prefetch; negative: the training's">,
    Option<"maxLiveParameters", "max-live-parameters", "int64_t", "-1",
      "Most elements of gathered parameters at once; negative: the training's">,
    Option<"maxInFlight", "max-in-flight", "int64_t", "-1",
      "Most gathers started and not waited for; 0: as the cost model says; negative: the training's">,
    Option<"machine", "machine", "std::string", /*default=*/"",
      "What the cost model is of: host, a100, h100, h200, or a file of zero-plan --calibrate; empty: the training's">];
}

#endif // ZERO_TRANSFORMS_OVERLAPPASSES_TD
