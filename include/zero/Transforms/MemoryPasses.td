//===- MemoryPasses.td - lifetimes, proof and addresses ----*- tablegen -*-===//
#ifndef ZERO_TRANSFORMS_MEMORYPASSES_TD
#define ZERO_TRANSFORMS_MEMORYPASSES_TD

include "mlir/Pass/PassBase.td"

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
      after an update, or is another than the `zero.load` says; of a gathered
      value without a `zero.load`;
    - gradients: stored or reduced never, twice, at another place, before all
      micro-batches are in, or while another operation is at them; taken for
      another than their `zero.gradient` says, or without one;
    - updates: missing, doubled, before the check or before the reductions were
      waited for; norms that are not combined; a factor that does not fit; a
      clip other than the training's; 16-bit gradients without `skip`; updated
      parameters that are not gathered;
    - owners: a parameter in two partitions; one that is cut for other ranks or
      another stage than the training's;
    - traffic: other than partitions and uses say. With one rank, any at all;
    - ranks, where the module holds a module for each: one that is missing, there
      twice or under another name; collectives that differ in kind or order;
      training, inputs, parameters, optimizers, partitions or attributes of other
      operations that differ. Kernels and what computes are not compared;
    - places, after `zero-plan-memory`: one that is missing, or of another
      arena, size or stride than its owner has; a buffer that begins between
      multiples of 64 bytes; states, inputs and constants that share bytes;
    - streams: an access to bytes that an operation in flight writes, or a write
      to bytes that one reads, in its own region or a later one;
    - memory: buffers that overlap while both live, and values written over
      padding or over another parameter's state.

    How often a parameter is gathered follows from its uses and from
    `max_reuse_distance` of the training. `report` prints the traffic and what
    saved it.

    - Needs: `zero-free` ran.
    - Leaves: the module unchanged.

    ```mlir
    zero.free %w : tensor<4xf32>
    %y = nn.linear %x, %w : ...     // error: uses a value that was freed
    ```
  }];
  let options = [
    Option<"maxReuseDistance", "max-reuse-distance", "int64_t", "-1",
      "Of zero-insert-gathers; negative: the training's">,
    Option<"report", "report", "bool", "false", "Print the traffic and what saved it">];
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

#endif // ZERO_TRANSFORMS_MEMORYPASSES_TD
