//===- AxisPasses.td - models cut over axes of a mesh ------*- tablegen -*-===//
#ifndef ZERO_TRANSFORMS_AXISPASSES_TD
#define ZERO_TRANSFORMS_AXISPASSES_TD

include "mlir/Pass/PassBase.td"

def PadVocabulary : Pass<"zero-pad-vocabulary", "::mlir::ModuleOp"> {
  let summary = "Pad the rows of output projections to a multiple";
  let description = [{
    A matrix product is fast on GPUs where its sizes are multiples of 64, and a
    vocabulary of 50,257 tokens takes longer than one of 50,304. The pass gives an
    output projection, the token embedding that may be the same parameter, and a bias
    as many rows as make the vocabulary a multiple of `multiple`. They are zeros, get no
    gradient and stay zeros. The loss is told how many classes there are, and the
    embedding how many ids, so that both mean what they did. Outputs of the model keep
    their size: they are computed by themselves, of the rows that count, in an evaluation.
    Files of weights and checkpoints know nothing of the padding.

    `PaddableOpInterface` says what an operation makes of padding. A parameter is padded
    where all that reads it, or what is computed of it, can be, and a matrix product and a
    loss or an embedding are among it. Where something else would be, a remark names it.

    Where the mesh has an axis `tensor`, the rows become a multiple of its ranks as well,
    however few they are, so that `zero-shard-model` can cut the vocabulary; outputs are
    then the first columns of what is padded.

    - Needs: `zero-configure`, since padding stays zero only as the optimizer allows;
      before `zero-differentiate`.
    - Leaves: the same loss and gradients. Sums over the vocabulary, in the gradient of
      what is projected, have more terms, which are 0, and may be added in another order.
    - Not done here: a projection that is stored with its columns first; rows that are
      fewer than 16 times the multiple, beyond what ranks need.

    ```mlir
    zero.parameter @wte : tensor<50257x768xf32> = #zero.normal<std = 0.02>            // before
    ...
    %l = nn.linear %x, %w transposed : (tensor<4x768xf32>, tensor<50257x768xf32>) -> tensor<4x50257xf32>
    %loss, %lse = nn.cross_entropy %l, %y
    zero.parameter @wte : tensor<50304x768xf32> = #zero.normal<std = 0.02> rows 50257 // after
    ...
    %l = nn.linear %x, %w transposed : (tensor<4x768xf32>, tensor<50304x768xf32>) -> tensor<4x50304xf32>
    %loss, %lse = nn.cross_entropy %l, %y classes 50257
    ```
  }];
  let dependentDialects = ["::mlir::tensor::TensorDialect"];
  let options = [Option<"multiple", "multiple", "int64_t", "64",
    "What the number of rows becomes a multiple of">];
}

def LimitExperts : Pass<"zero-limit-experts", "::mlir::ModuleOp"> {
  let summary = "Give experts a capacity, and drop what finds no place";
  let description = [{
    Rows that are sorted by experts, each once for every choice (`nn.dispatch`), become
    rows in places: of T rows with k choices each, every one of E experts has
    C = max(`least`, k T `factor` / E, rounded up) of them (`nn.capacity_dispatch`). What
    finds none is dropped, and adds nothing where rows come back. By `position`, first
    choices find places before second ones, and rows in their order; by `probs`, those
    of greater weight before others; without a `policy`, as in DeepSpeed, by position for
    k up to 2.
    With `renormalize` the weights of a row's choices that have a place are divided by
    their sum, or by 2^-23 where that is less.

    What is computed row by row is computed of places. A product of groups is one of
    batches, and a remark says how many places there are.

    - Needs: before `zero-shard-model`, since T rows are those of one rank's
      micro-batch.
    - Leaves: a model that is the same where nothing is dropped.
    - Not done here: models that say themselves where rows go. What needs the rows of
      all choices is an error.

    ```mlir
    %s, %p, %o = nn.dispatch %x, %i experts 8 : (tensor<32x64xf32>, tensor<32x2xi32>) -> (tensor<64x64xf32>, tensor<32x2xi32>, tensor<8xi32>) // before
    %h = nn.grouped_matmul %s, %w offsets %o : (tensor<64x64xf32>, tensor<8x64x16xf32>, tensor<8xi32>) -> tensor<64x16xf32>

    %s, %p, %n = nn.capacity_dispatch %x, %i : (tensor<32x64xf32>, tensor<32x2xi32>) -> (tensor<8x10x64xf32>, tensor<32x2xi32>, tensor<8xi32>) // after
    %h = nn.matmul %s, %w : (tensor<8x10x64xf32>, tensor<8x64x16xf32>) -> tensor<8x10x16xf32>
    ```
  }];
  let dependentDialects = ["::mlir::nn::NNDialect", "::mlir::arith::ArithDialect",
                           "::mlir::tensor::TensorDialect"];
  let options = [
    Option<"factor", "factor", "double", "1",
      "Places of an expert, by its share of the choices">,
    Option<"least", "least", "int64_t", "0", "The fewest places of an expert">,
    Option<"policy", "policy", "std::string", "",
      "What is dropped: position or probs">,
    Option<"renormalize", "renormalize", "bool", "false",
      "Divide the weights of what is left by their sum">];
}

def ShardModel : Pass<"zero-shard-model", "::mlir::ModuleOp"> {
  let summary = "Cut a model to what one rank of an axis tensor, sequence or expert computes";
  let description = [{
    Where the module's mesh has an axis `tensor`, each of its ranks computes a part of
    the model on the same samples. Which classes of dimensions are cut follows from
    what operations say of their factors: a class is taken where the work that a rank
    is spared is worth what must be sent for it. So the hidden width of an MLP, the heads
    of attention and the vocabulary are cut, and the width of the residual stream is not.

    The body becomes that of one rank: cut parameters and values have the types of
    parts, and attributes the sizes of parts. What is a term of a sum is all-reduced
    where something needs the sum, and an addend such as a bias is added behind that.
    A trained value that all ranks have is read through a `zero.replicate` where what
    they compute differs. An operation that needs all of a class that is cut gathers
    it, and slices follow where it is cut again. Of a table's rows and a loss's classes
    each rank has a range, and `CombinedOpInterface` says what combines what they
    compute: of a loss one number a row and rank, and never the logits. Of what several
    share, such as key heads (`SharedOpInterface`), each rank reads a copy of one where
    there are fewer than ranks. The mean of what
    is cut is a sum of the ranks' means; of a maximum each rank gives one of its range.

    With `cut-rows` each rank of the axis `tensor` computes some of the rows, samples or
    positions, of what is between cut operations, such as norms, dropout and the
    residual stream: what is a term of a sum is scattered (`zero.scatter_value`), each rank
    gets its rows of the sum, and where a cut operation reads them a `zero.gather_value`
    brings them together. The bytes of an all-reduce are sent, and each rank has a part of
    the values in between. What ranks share there, such as the gain of a norm, is read
    through a `zero.replicate`; an operation with which that costs more than a quarter of
    what it gives computes all rows.

    Over an axis `sequence` each rank has a part of the positions of the samples: the
    second dimension of `input_ids`, or of the first input of integers that has two. What depends on no
    parameter, such as labels, counts and masks, each rank computes whole, or by element
    where only a part of it is read. What needs
    all positions, such as attention, is cut along another class that all it reads has,
    such as heads, and so is what follows for as long as it can: a
    `zero.exchange_value` stands before and behind. Where there is no such class, or the
    ranks do not divide it, the operation is whole on every rank, and a remark says so.
    A mean over labels that count becomes the sum, over the number of those of all
    positions. Parameters are whole, and what the ranks give their gradients are terms,
    which ZeRO adds up as it does over samples: where an operation is whole, it reads a
    parameter through a `zero.count_once`.

    Of dropout each rank computes its part (`nn.partial_dropout`): the elements that one
    rank would drop.

    Over an axis `expert` each rank has samples of its own and an equal range of the
    experts. Where rows are sorted by experts (`nn.dispatch`), those of all ranks are
    gathered, and a rank sorts them for its experts; what is computed of such rows and of
    matrices of experts it computes of its part; and where rows come back
    (`nn.combine`), their weights are gathered as well, and a `zero.scatter_value` gives
    each rank the sum for its rows. Each choice is computed, on one rank: memory between
    is that of the rows of all ranks. Where each expert has as many places for rows
    (`nn.capacity_dispatch`), a rank fills those of all experts with its own rows, and a
    `zero.exchange_value` brings each rank the places of its experts for the rows of all
    ranks. What is computed place by place is computed there, with matrices of these
    experts, and another exchange brings it back for all else that reads it: memory between
    is that of as many places as before. All else is as on an axis of samples.

    - Needs: a `zero.mesh`; before `zero-differentiate`, which gives exchanges their
      gradients.
    - Leaves: a model of the same loss. Sums over what is cut are added in another
      order. A remark says how many parameters are cut.
    - Not done here: a mesh that has two of these axes, of more than one rank each. A class that is worth cutting
      and is no multiple of the axis is an error, but for a vocabulary that
      `zero-pad-vocabulary` could not pad: it stays whole.

    ```mlir
    zero.mesh @mesh <data = 2, tensor = 2>
    zero.parameter @up : tensor<64x256xf32> = #zero.normal<std = 0.02>    // before
    zero.parameter @down : tensor<256x64xf32> = #zero.normal<std = 0.02>
    ...
    %h = nn.linear %x, %up : (tensor<8x64xf32>, tensor<64x256xf32>) -> tensor<8x256xf32>
    %g = nn.gelu tanh %h : tensor<8x256xf32>
    %y = nn.linear %g, %down : (tensor<8x256xf32>, tensor<256x64xf32>) -> tensor<8x64xf32>

    zero.parameter @up : tensor<64x128xf32> = ... cut <dim 1 of [256] over <tensor = 2>> // after
    zero.parameter @down : tensor<128x64xf32> = ... cut <dim 0 of [256] over <tensor = 2>>
    ...
    %r = zero.replicate %x over <tensor = 2> : tensor<8x64xf32>
    %h = nn.linear %r, %up : (tensor<8x64xf32>, tensor<64x128xf32>) -> tensor<8x128xf32>
    %g = nn.gelu tanh %h : tensor<8x128xf32>
    %p = nn.linear %g, %down : (tensor<8x128xf32>, tensor<128x64xf32>) -> tensor<8x64xf32>
    %y = zero.all_reduce_value %p over <tensor = 2> : tensor<8x64xf32>
    ```
  }];
  let dependentDialects = ["::mlir::nn::NNDialect", "::mlir::arith::ArithDialect"];
  let options = [
    Option<"cutRows", "cut-rows", "bool", /*default=*/"false",
      "Over tensor, cut rows between what is cut otherwise">];
}

def GatherAgain : Pass<"zero-gather-again", "::mlir::ModuleOp"> {
  let summary = "Gather rows again in the backward pass, instead of keeping them";
  let description = [{
    Where ranks have rows between what is cut (`zero-shard-model` with `cut-rows`), a cut
    operation reads the rows of all ranks in the forward pass, and its weight gradient
    reads them in the backward pass. Between the two each rank keeps its own rows, and a
    second gather brings them together again: a quarter more is sent over the axis.

    - Needs: `zero-differentiate`.
    - Leaves: the same values; gathers of rows for experts are as they were.
    - Not done here: hiding that gather; `zero-overlap-exchanges` does.

    ```mlir
    %y = zero.gather_value %x replicated cut <dim 0 of [8] over <tensor = 2>> : ... // before
    %h = nn.linear %y, %w : ...
    ...
    %dw = nn.matmul %y, %dh transpose_a : ...

    %y = zero.gather_value %x replicated cut <dim 0 of [8] over <tensor = 2>> : ... // after
    %h = nn.linear %y, %w : ...
    ...
    %z = zero.gather_value %x replicated cut <dim 0 of [8] over <tensor = 2>> : ...
    %dw = nn.matmul %z, %dh transpose_a : ...
    ```
  }];
}

def StartExchanges : Pass<"zero-start-exchanges", "::mlir::ModuleOp"> {
  let summary = "Start exchanges of values, and wait for them where they are read";
  let description = [{
    What ranks that compute one model send one another becomes a started operation and
    its wait, as the collectives of states are: from here on it is planned, priced,
    traced and proven like them. It starts where the value is, and is waited for where
    the first operation reads it, so that what lies between runs beside it.

    - Needs: `zero-shard-model` and `zero-differentiate`; all that computes is there.
    What is gathered is brought into the order of the whole by moves behind the wait,
    what is exchanged by moves before the start and behind the wait,
    and a slice of an inner dimension becomes one of rows, which lie side by side, with
    moves around it.

    - Leaves: no `zero.all_reduce_value`, no `zero.gather_value` and no
      `zero.exchange_value`; slices of rows.
    - Not done here: overlapping what does not depend on an exchange by moving it;
      `zero-overlap-exchanges` does.

    ```mlir
    %y = zero.all_reduce_value %x over <tensor = 2> : tensor<8x64xf32>             // before
    %p = zero.start_all_reduce %x over <tensor = 2> : tensor<8x64xf32> -> <tensor<8x64xf32>> // after
    ...
    %y = zero.wait %p : <tensor<8x64xf32>>
    ```
  }];
  let dependentDialects = ["::mlir::nn::NNDialect", "::mlir::tensor::TensorDialect"];
}

def OverlapExchanges : Pass<"zero-overlap-exchanges", "::mlir::ModuleOp"> {
  let summary = "Compute what an exchange of values does not need while it is under way";
  let description = [{
    In a backward pass the gradients of a layer's weights stand before the sum of its
    input's gradient, and the next layer waits for that sum. As many of them as hide it,
    by the cost model, move behind its start: the last ones, from as far back as the wait
    before it. What they read is in memory until then, and their reductions start later.
    On a machine whose exchanges make no progress until they are waited for, nothing
    moves.

    - Needs: `zero-start-exchanges`; the last pass on the model.
    - Leaves: the same operations, each with the same operands, in another order: the
      result is bitwise equal.
    - Not done here: moving starts or waits, and moving anything past a wait or from one
      chunk of a pipeline to the next. What is sent to another stage stays where it is.

    ```mlir
    %d = nn.linear %g, %w : ...                                      // before
    %dw = nn.matmul %g, %x transpose_a : ...
    %p = zero.start_all_reduce %d over <tensor = 2> : ...
    %s = zero.wait %p : ...

    %d = nn.linear %g, %w : ...                                      // after
    %p = zero.start_all_reduce %d over <tensor = 2> : ...
    %dw = nn.matmul %g, %x transpose_a : ...
    %s = zero.wait %p : ...
    ```
  }];
  let options = [
    Option<"machine", "machine", "std::string", /*default=*/"",
      "The machine of the cost model: a name, such as h100, or a file from zero-plan calibrate; empty: that of the training">];
}

def CutPipeline : Pass<"zero-cut-pipeline", "::mlir::ModuleOp"> {
  let summary = "Cut a model into the stages of a pipeline, a module each";
  let description = [{
    Where the module's mesh has an axis `pipe` of p ranks, the model becomes p: each
    stage has the operations of some neighbouring layers, with their parameters and all
    inputs, in a module of its own. The cuts are at the model's
    `zero.stage_boundary`, of which there are then p - 1, or before the first use of what
    `boundaries` name; where there is none, after operations behind which little is alive,
    where the slowest stage takes the least time of all cuts whose stages fit into the
    memory of the training's machine, which has the workspace of kernels beside them where it
    has GPUs, or into `memory-budget`. A remark says what the stages have. A stage without a
    trained parameter is an error.
    With c `chunks` there are c times as many cuts, and rank s of the axis has the parts s,
    s + p, s + 2 p and so on of the model, one behind the other in one module with a
    `zero.stage_boundary` between each two.
    Where the mesh has no axis `pipe`, boundaries are taken out.

    What such a cut costs is measured in a trial: one stage that has all that lies between
    two places to cut at as a chunk of its own goes through the passes up to kernels, and is
    thrown away. Time is that of both passes' kernels on the machine; without training,
    their floating-point operations. A stage needs the states of its parameters, as many
    slots of what its forward passes leave as the order of passes has under way, and the
    most that is alive in a pass. Where layers are recomputed, none is cut in two if there
    are enough of them. Where no cut fits, a second remark says by how much the one misses
    whose largest stage needs the least. With several chunks the search goes from the
    fastest cut to better ones in its neighbourhood.

    What a stage computes of a later stage's operands it sends: `zero.send_value` there,
    `zero.receive_value` here, through all stages between. What depends on inputs and
    constants alone each stage computes for itself.

    - Needs: after `zero-shard-model` and `zero-set-precision`, before
      `zero-differentiate`.
    - Leaves: a module of modules `@stage0`, `@stage1`, ..., each with a `zero.mesh` that
      says which stage it is. All later passes run on each by itself.
      A parameter that several stages use, as a table that is tied to the output
      projection, is in each of them, with its `stages`.

    ```mlir
    zero.mesh @mesh <pipe = 2, data = 2>                  // before
    zero.step @train(%x: tensor<4x8xf32>) {
      %h = nn.linear %x, %up : ...
      zero.stage_boundary
      %y = nn.linear %h, %down : ...
      ...
    }

    module @stage0 {                                      // after
      zero.mesh @mesh <pipe = 2, data = 2> stage 0 order "1f1b"
      zero.step @train(%x: tensor<4x8xf32>) {
        %h = nn.linear %x, %up : ...
        zero.send_value %h as "value 0" trained : tensor<4x16xf32>
        zero.yield
      }
    }
    module @stage1 {
      zero.mesh @mesh <pipe = 2, data = 2> stage 1 order "1f1b"
      zero.step @train(%x: tensor<4x8xf32>) {
        %h = zero.receive_value "value 0" trained : tensor<4x16xf32>
        %y = nn.linear %h, %down : ...
        ...
      }
    }
    ```
  }];
  let options = [
    Option<"order", "order", "std::string", "\"1f1b\"",
           "Order of passes: gpipe, 1f1b, or interleaved">,
    Option<"chunks", "chunks", "int64_t", "1",
           "Groups of layers of each rank, with the order interleaved">,
    Option<"boundaries", "boundaries", "std::string", "\"\"",
           "Names of layers or parameters, separated by commas, before whose first "
           "use the model is cut">,
    Option<"memoryBudget", "memory-budget", "std::string", "\"\"",
           "Bytes of a device that a stage may need, such as 80GiB; empty: those of the "
           "machine of the step's training">
  ];
}

def SeparateChunks : Pass<"zero-separate-chunks", "::mlir::ModuleOp"> {
  let summary = "Let each chunk of a stage compute for itself what follows from inputs";
  let description = [{
    In a stage of a pipeline with several chunks, which one `zero.micro` computes one
    behind the other, masks and tables that follow from inputs and constants alone are
    computed where the first chunk uses them. Here each chunk gets its own, at its
    beginning, as the stages of a pipeline without chunks have: they are fused in the same
    way, so that they are rounded alike, and what is kept of them for the backward pass
    lies in the chunk's own slots.

    - Needs: `zero-differentiate`; no removal of common subexpressions behind it.
    - Leaves: the same, with copies. A step without `zero.stage_boundary` stays.

    ```mlir
    %m = arith.mulf %x, %x : tensor<4x8xf32>                // before
    %h = arith.addf %a, %m : tensor<4x8xf32>
    zero.stage_boundary
    %k = arith.addf %b, %m : tensor<4x8xf32>

    %m = arith.mulf %x, %x : tensor<4x8xf32>                // after
    %h = arith.addf %a, %m : tensor<4x8xf32>
    zero.stage_boundary
    %n = arith.mulf %x, %x : tensor<4x8xf32>
    %k = arith.addf %b, %n : tensor<4x8xf32>
    ```
  }];
}

def VerifyValues : Pass<"zero-verify-values", "::mlir::ModuleOp"> {
  let summary = "Verify that ranks compute parts of one model";
  let description = [{
    For each axis of the mesh that cuts the model, follows what its ranks have of every
    value: the same; a part, of which dimension and in which pieces; or the term of a
    sum. It asks operations for their factors, launches and `zero.strided` for their
    bodies, and nothing of what `zero-shard-model` decided. An error is

    - an operation that needs all of a dimension of which each rank has a part; parts of
      different cuts, or of more than one dimension, in one operation; a part beside a
      value of which a part is wanted;
    - the term of a sum in what is not linear in it; an addend that each rank would
      count; a sum of what is the same on all ranks;
    - a `zero.gather_value` or `zero.exchange_value` of other parts than there are, or a
      `zero.slice_value` of what is not whole;
    - in a model: a value that ranks use differently without a `zero.replicate`, or with
      two of them, or a loss that depends on one;
    - in a schedule: a gradient that is not the sum, once, cut as its parameter is, or over
      `sequence` not a term of it; a loss or an output that differs between ranks.

    - Needs: a model or a schedule, on a mesh.
    - Leaves: the same. `zero-verify-schedule` verifies this as well.
    - Not done here: values along the axes that have samples of their own. Types are of
      one rank's parts: where a rank has one index of several dimensions, or adds up what
      is the same along its indices, what reads a value says which of the dimensions is
      cut, and whether the sum is a term.
  }];
  let options = [
    Option<"isInternal", "internal", "bool", "false",
      "Passes of this pipeline wrote the module: a remark calls an error internal">];
}

#endif // ZERO_TRANSFORMS_AXISPASSES_TD
