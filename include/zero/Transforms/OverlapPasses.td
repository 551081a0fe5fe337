//===- OverlapPasses.td - overlap of communication and computation --*- tablegen -*-===//
#ifndef ZERO_TRANSFORMS_OVERLAPPASSES_TD
#define ZERO_TRANSFORMS_OVERLAPPASSES_TD

include "mlir/Pass/PassBase.td"

def PeelLastMicro : Pass<"zero-peel-last-micro", "::mlir::ModuleOp"> {
  let summary = "Peel the last micro-batch of an update";
  let description = [{
    With several micro-batches an update, only the last one may leave reductions
    in flight for the update, and only it completes locally accumulated gradients.
    The passes that follow change this copy alone. Not with one micro-batch, where the
    only form is the last, nor on one rank that offloads nothing, where nothing travels.

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
    the last micro-batch, each to right after the store that completes its range,
    so that they overlap the rest of the backward pass. `zero.apply` waits for them, in the
    order in which they started.

    - Needs: `zero-insert-updates`, and `zero-peel-last-micro` where an update
      has several micro-batches.
    - Leaves: starts that are carried, and their waits at the head of
      `zero.apply`. Being in place, they need no extra memory, however many are in flight.
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
  let summary = "Overlap gradient reductions with computation";
  let description = [{
    Moves the wait of a reduction, and the `zero.accumulate` that follows, down to
    where the next one starts: while one bucket is reduced the next is filled, so two
    buckets are live (`overlap_comm`). `zero.apply` waits for what the last
    micro-batch leaves in flight.

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
      "Reductions that may be in flight while the next bucket is filled">];
}

def SplitStatistics : Pass<"zero-split-statistics", "::mlir::ModuleOp"> {
  let summary = "Compute gradient norms as reductions complete";
  let description = [{
    Where `zero.apply` waits for reductions, reads what has arrived first, then each
    range after its wait, so that reading one range overlaps the reduction of the
    next. The deterministic norm is an exact sum and does not change; the other
    one adds the same terms in another order.

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
  let summary = "Overlap gathers of updated parameters with the next forward pass";
  let description = [{
    Moves the waits for gathers of updated parameters (stages 1 and 2) and of
    resident copies (stage 3) into `zero.micro`, each before the first operation
    that reads one of them. The gathers of a partition start in the order in which
    the forward pass needs them. The smallest partition is updated first: it holds
    what every layer has a little of, and all of its gathers are short.

    - Needs: `zero-insert-updates` ran.
    - Leaves: starts in `zero.apply`, waits in `zero.micro`; the first
      micro-batch of the first update has nothing to wait for, nor have those
      after the first.
    - Not done here: `zero.evaluate`, before which the executor waits for all;
      gathers of slices that are in host memory, which end in `zero.apply`.

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

def OverlapUpdates : Pass<"zero-overlap-updates", "::mlir::ModuleOp"> {
  let summary = "Copy, read and write other sub-groups while the host updates one";
  let description = [{
    With `pipeline_read` of `#zero.offload`, the copies and the read of a file that a
    sub-group's update on the host takes are started right before the update before
    it, and run beside that; the first read is started where `zero.apply` begins. With `pipeline_write`, the
    copy of its parameters to the device ends during the one after it, if that is of
    the same partition, and the write of its states ends where the next one starts,
    the last where `zero.apply` ends. What is in flight has staging buffers of its
    own.

    - Needs: `zero-insert-updates` ran.
    - Leaves: updates in their order; without either flag, everything as it was.
    - Not done here: copies during the backward pass (`zero-copy-early`).

    Before, and after with `pipeline_read`:
    ```mlir
    %p = zero.copy_to_host "gradients" of @p0[0 to 8] : <tensor<4xbf16>>
    %g = zero.wait %p : <tensor<4xbf16>>
    %u = zero.update_on_host @p0[0 to 8] of %g if %v : (tensor<4xbf16>) -> <tensor<4xbf16>>
    %x = zero.wait %u : <tensor<4xbf16>>
    ...
    %q = zero.copy_to_host "gradients" of @p0[8 to 16] : <tensor<4xbf16>>
    ```
    ```mlir
    %p = zero.copy_to_host "gradients" of @p0[0 to 8] : <tensor<4xbf16>>
    %g = zero.wait %p : <tensor<4xbf16>>
    %q = zero.copy_to_host "gradients" of @p0[8 to 16] : <tensor<4xbf16>>
    %u = zero.update_on_host @p0[0 to 8] of %g if %v : (tensor<4xbf16>) -> <tensor<4xbf16>>
    %x = zero.wait %u : <tensor<4xbf16>>
    ```
  }];
  let dependentDialects = ["::mlir::zero::ZeroDialect"];
}

def CopyEarly : Pass<"zero-copy-early", "::mlir::ModuleOp"> {
  let summary = "Copy gradients to the host as they are reduced";
  let description = [{
    Starts each copy of gradients for an update on the host right after the operation
    that completes the last of them: the copies overlap with the rest of the backward
    pass, and with the reductions for which `zero.apply` still waits. They are waited
    for where they were. Each is in flight, or waits for its update, in a staging buffer
    of its own.

    - Needs: `zero-overlap-updates` ran, and what moves reductions before it;
      `zero-peel-last-micro` where an update has several micro-batches.
    - Leaves: copies in the last micro-batch, which are carried to `zero.apply`.
    - Not done here: gradients are stored on the device as well, where they are checked.

    ```mlir
    %s = zero.wait %r : <tensor<4xbf16>>
    zero.accumulate slice %s into @p0[0 to 8] : tensor<4xbf16>
    %p = zero.copy_to_host "gradients" of @p0[0 to 8] : <tensor<4xbf16>>
    zero.carry %p as "gradients to host of p0[0 to 8]" : <tensor<4xbf16>>
    ...the backward pass of the layers before...
    ```
  }];
  let dependentDialects = ["::mlir::zero::ZeroDialect"];
}

def UploadParameters : Pass<"zero-upload-parameters", "::mlir::ModuleOp"> {
  let summary = "Bring slices of parameters from host memory to their gathers";
  let description = [{
    Where slices of parameters are in host memory, gives each gather copies of
    them: an upload, which is waited for where the gather starts. With n
    `upload_buffers` it starts n - 1 gathers before, besides those that are in
    flight; with one, where the gather does. The first gather of a
    region waits for all of its upload.

    Slices that are in a file are read to host memory first. Their read starts n - 1
    gathers before, and is waited for where the upload starts: with the gather
    before from three buffers on, otherwise with their own.

    - Needs: gathers are where they stay: `zero-prefetch` ran.
    - Leaves: every gather of such slices with its copies as operands.
    - Not done here: uploads and reads more than one gather ahead in `zero.apply`.

    With two buffers:
    ```mlir
    %p = zero.all_gather [@a] : <tensor<8xf32>>      // before
    %q = zero.all_gather [@b] : <tensor<8xf32>>

    %u = zero.upload [@a] : <tensor<4xf32>>          // after
    %s = zero.wait %u : <tensor<4xf32>>
    %v = zero.upload [@b] : <tensor<4xf32>>
    %p = zero.all_gather [@a] from(%s : tensor<4xf32>) : <tensor<8xf32>>
    %t = zero.wait %v : <tensor<4xf32>>
    %q = zero.all_gather [@b] from(%t : tensor<4xf32>) : <tensor<8xf32>>
    ```
  }];
  let dependentDialects = ["::mlir::zero::ZeroDialect"];
}

def JoinGathers : Pass<"zero-join-gathers", "::mlir::ModuleOp"> {
  let summary = "Stage 3: gather parameters that are needed close together at once";
  let description = [{
    Joins each `zero.all_gather` with those before it, as the cost model suggests: a
    collective costs a launch and a latency whatever it moves, and one that is joined
    saves them, but the first wait is for all that is joined, and what comes early
    takes memory. So a gather is joined while that saves 2 % of the time of all
    that then travel together, and while the limits on prefetched and on live
    elements allow: where the first of them is needed, the others are gathered ahead
    of their use. Where a block, prefetched, would take 0.5 % longer than with none
    joined, or hold a quarter more elements at once, fewer of them come early.

    Gathers are joined that run over the same axes on one stream, of slices of the
    same kind and elements of one type, quantized alike, and of different parameters.
    Those of parameters that are not on the device stay as they are: each has uploads
    of its own. Nothing is joined on a machine whose collectives make no progress until
    they are waited for, or with `gathers_in_flight` above 0, where time plays no role.

    - Needs: `zero-insert-gathers` ran. Passes that move reductions come before
      it, as what waits for them counts.
    - Leaves: loads where they were; of gathers that are joined one start and one
      wait, where the first of them had its own.
    - Not done here: starts before waits of others, which `zero-prefetch` moves.

    ```mlir
    %p0 = zero.all_gather [@a] : <tensor<4xf32>>      // before
    %0 = zero.wait %p0 : <tensor<4xf32>>
    %a = zero.load @a from %0 : tensor<4xf32>
    ...
    %p1 = zero.all_gather [@b] : <tensor<8xf32>>
    %1 = zero.wait %p1 : <tensor<8xf32>>
    %b = zero.load @b from %1 : tensor<8xf32>

    %p = zero.all_gather [@a, @b] : <tensor<4xf32>, tensor<8xf32>>      // after
    %0:2 = zero.wait %p : <tensor<4xf32>, tensor<8xf32>>
    %a = zero.load @a from %0#0 : tensor<4xf32>
    ...
    %b = zero.load @b from %0#1 : tensor<8xf32>
    ```
  }];
  let dependentDialects = ["::mlir::zero::ZeroDialect"];
  let options = [
    Option<"prefetchBucketSize", "prefetch-bucket-size", "int64_t", "-1",
      "Maximum elements gathered ahead of their use; 0: nothing is joined; negative: that of the training">,
    Option<"maxLiveParameters", "max-live-parameters", "int64_t", "-1",
      "Maximum elements of gathered parameters at once; negative: that of the training">,
    Option<"machine", "machine", "std::string", /*default=*/"",
      "The machine of the cost model: a name, such as h100, or a file from zero-plan calibrate; empty: that of the training">];
}

def Prefetch : Pass<"zero-prefetch", "::mlir::ModuleOp"> {
  let summary = "Stage 3: start gathers before they are needed";
  let description = [{
    Moves each `zero.all_gather` up to before the wait of an earlier one, as the
    cost model suggests: as few gathers in flight as keep the block within 0.5 % of
    its time with as many as the limits on prefetched and on live elements allow,
    each starting as late as it can without a longer wait. On a machine whose
    collectives make no progress until they are waited for, nothing moves.

    With `gathers_in_flight` above 0 time plays no role: each starts as early as the
    limits allow, with at most that many in flight. No limit delays a gather that
    is needed now. The order of collectives stays.

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
      "Maximum elements gathered ahead of their use; 0: no prefetch; negative: that of the training">,
    Option<"maxLiveParameters", "max-live-parameters", "int64_t", "-1",
      "Maximum elements of gathered parameters at once; negative: that of the training">,
    Option<"maxInFlight", "max-in-flight", "int64_t", "-1",
      "Maximum gathers in flight; 0: the cost model decides; negative: that of the training">,
    Option<"machine", "machine", "std::string", /*default=*/"",
      "The machine of the cost model: a name, such as h100, or a file from zero-plan calibrate; empty: that of the training">];
}

#endif // ZERO_TRANSFORMS_OVERLAPPASSES_TD
