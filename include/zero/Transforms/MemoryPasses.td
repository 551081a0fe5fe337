//===- MemoryPasses.td - lifetimes, proof and addresses ----*- tablegen -*-===//
#ifndef ZERO_TRANSFORMS_MEMORYPASSES_TD
#define ZERO_TRANSFORMS_MEMORYPASSES_TD

include "mlir/Pass/PassBase.td"

def Free : Pass<"zero-free", "::mlir::ModuleOp"> {
  let summary = "End the lifetimes of gathered parameters and reduced gradients";
  let description = [{
    Inserts `zero.free` after the last use of every gathered parameter, through
    views, and of every gradient once its reduction has read it.

    - Needs: all other `zero-insert-*` passes ran.
    - Leaves: one free for each such value. Nothing orders pure users against
      a free, so only verification, planning and lowering may run afterwards.
    - Not done here: activations, whose lifetimes the memory plan derives from the
      order of operations.

    ```mlir
    %y = nn.linear %x, %w : ...
    zero.free %w : tensor<784x250xbf16>
    ```
  }];
  let dependentDialects = ["::mlir::zero::ZeroDialect"];
}

def VerifySchedule : Pass<"zero-verify-schedule", "::mlir::ModuleOp"> {
  let summary = "Verify a schedule";
  let description = [{
    Executes the schedule symbolically: initialize, two updates of up to three
    micro-batches, evaluate, a third update. Each error is reported at the operation,
    with the reason and the other operation involved:

    - handles: never waited for or carried, or more than once; carried while the
      previous one is still in flight; received where nothing is in flight; a
      reduction still in flight after the update;
    - lifetimes: a use after a free, through views; a double free; a free while a
      reduction reads; a gathered parameter or reduced gradient never freed;
    - reads: of a parameter that is not gathered, is being gathered, is stale
      after an update, or is another than the `zero.load` says; of a gathered
      value without a `zero.load`;
    - gradients: never stored or reduced, or twice, or at the wrong place, or before
      all micro-batches have been added, or while another operation accesses them;
      used for a parameter other than the one their `zero.gradient` names, or
      without one;
    - updates: missing, duplicated, before the overflow check or before the
      reductions have completed; norms that are not combined over ranks; a wrong
      divisor; a clip value other than that of the training; a verdict
      without `skip`; updated parameters that are not gathered;
    - weights of micro-batches: that a region does not yield, that the gradient of the
      loss is not multiplied by, or that the update does not divide by;
    - owners: a parameter in two partitions; a partition for other ranks or another
      stage than those of the training;
    - marks: a parameter that is frozen or unused and is trained, or neither and is
      not; a gradient of what is not trained;
    - values that ranks have parts of: what `zero-verify-values` rejects;
    - types: a load of another type than its partition computes in; gradients that are
      stored in a type that follows neither from that nor from the micro-batches;
    - regions: a micro-batch or an evaluation without a loss; no evaluation, once
      memory is planned;
    - traffic: any that differs from what partitions and uses require; with one
      rank, any at all;
    - ranks, where the module holds one module per rank: a rank that is missing,
      duplicated or misnamed; collectives that differ in kind or order;
      training, inputs, parameters, optimizers, partitions or attributes of other
      operations that differ. Compute operations are not compared;
    - places, after `zero-plan-memory`: missing, or with an arena, size or stride
      that does not match; buffers that are not aligned to 64 bytes; states,
      inputs and constants that share bytes;
    - data races: an access to bytes that an operation in flight writes, or a write
      to bytes that one reads, in its own region or a later one;
    - memory: buffers that overlap while both live, and values written over
      padding or over another parameter's state.

    How often a parameter has to be gathered follows from its uses and from
    `max_reuse_distance` of the training. `report` prints the traffic, and what
    reduced it.

    - Needs: `zero-free` ran.
    - Leaves: the module unchanged.

    ```mlir
    zero.free %w : tensor<4xf32>
    %y = nn.linear %x, %w : ...     // error: uses a value that was freed
    ```
  }];
  let options = [
    Option<"maxReuseDistance", "max-reuse-distance", "int64_t", "-1",
      "The value that zero-insert-gathers used; negative: that of the training">,
    Option<"report", "report", "bool", "false", "Print the traffic, and what reduced it">,
    Option<"isInternal", "internal", "bool", "false",
      "Passes of this pipeline wrote the schedule: a remark calls an error internal">];
}

def PlanMemory : Pass<"zero-plan-memory", "::mlir::ModuleOp"> {
  let summary = "Assign an address to every buffer";
  let description = [{
    Places every state of every partition and every buffer of every region: arena
    and byte offset, in the attributes `at` and `zero.at`. Views share their
    root's buffer; gradients are written directly into their bucket; gathers and reductions are
    in place; the gradient of the logits takes the place of the logits, and launches,
    dropout and gated activations that of an operand which they are the last to read.

    With `memory-budget` the pass fails if the arenas of a rank need more in total
    on its device, and with `host-memory-budget` if those in host memory do; it
    lists what is live at the peak of each. `report` prints the same as a remark,
    with the lower bound of each arena that is planned.

    - Needs: `zero-free` ran.
    - Leaves: places on every operation that makes a buffer, and on every partition.
    - Not done here: reordering; the order of operations is taken as given.

    ```mlir
    %h = nn.linear %x, %w {zero.at = [#zero.at<activations[0], 32000 bytes>]} : ...
    ```
  }];
  let dependentDialects = ["::mlir::zero::ZeroDialect"];
  let options = [
    Option<"memoryBudget", "memory-budget", "std::string", /*default=*/"",
      "Limit on the total size of all arenas of a rank on its device, such as "
      "512MiB; empty: no limit">,
    Option<"hostMemoryBudget", "host-memory-budget", "std::string", /*default=*/"",
      "The same for the arenas in host memory">,
    Option<"report", "report", "bool", "false",
      "Report the memory of each arena in a remark">];
}

#endif // ZERO_TRANSFORMS_MEMORYPASSES_TD
