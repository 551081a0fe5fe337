//===- NNTokenOps.td - embeddings and the loss ----------------------------===//
#ifndef ZERO_DIALECT_NN_NNTOKENOPS_TD
#define ZERO_DIALECT_NN_NNTOKENOPS_TD

include "zero/Dialect/NN/NNBase.td"

def NN_EmbeddingOp : NN_KernelOp<"embedding", [NN_Differentiable, NN_Paddable]> {
  let summary = "Look rows of a table up";
  let description = [{
    `y[.., c] = table[ids[..], c]`. An id outside [0, V) is an error at run time.
    `num_embeddings`, if given, stands for V: what rows the table has from there on are
    padding, which no id may name.

    Constraints
    - (C1) `table` has rank 2: [V, C].
    - (C2) the result has the dimensions of `ids`, then C, and the table's
      element type.
    - (C3) `num_embeddings` is in [0, V].

    ```mlir
    %e = nn.embedding %ids, %table : (tensor<4x16xi32>, tensor<256x64xf32>) -> tensor<4x16x64xf32>
    %f = nn.embedding %ids, %table num_embeddings 250 : (tensor<4x16xi32>, tensor<256x64xf32>) -> tensor<4x16x64xf32>
    ```
  }];
  let arguments = (ins NN_IndexTensor:$ids, NN_FloatTensor:$table,
                       OptionalAttr<I64Attr>:$num_embeddings);
  let results = (outs NN_FloatTensor:$y);
  let assemblyFormat = [{
    $ids `,` $table (`num_embeddings` $num_embeddings^)? attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def NN_EmbeddingGradOp : NN_KernelOp<"embedding_grad", [
    NN_RowBlocks, AccumulatingOpInterface]> {
  let summary = "Add rows up by id: the gradient of the table";
  let description = [{
    Row v of the result is the sum of the rows of `dy` whose id is v, in f32,
    rounded once. The host adds in the order of the tokens; a device adds chunks of
    32 tokens so, and then the chunks in an order that their number decides. With
    `init` the sum starts from its row: so a table that is also an output
    projection needs one buffer. `rows` gives a block [begin, end) of the table's
    rows; ids outside add to other blocks.

    Constraints
    - (C1) the result has rank 2: [V, C].
    - (C2) `dy` has the dimensions of `ids`, then C, and the result's element type.
    - (C3) `init` has the result's type.
    - (C4) `rows` is a range of as many rows as the result has.

    ```mlir
    %dt = nn.embedding_grad %dy, %ids : (tensor<4x16x64xf32>, tensor<4x16xi32>) -> tensor<256x64xf32>
    %du = nn.embedding_grad %dy, %ids init %dt : (tensor<4x16x64xf32>, tensor<4x16xi32>, tensor<256x64xf32>) -> tensor<256x64xf32>
    %dv = nn.embedding_grad %dy, %ids rows [128, 256] : (tensor<4x16x64xf32>, tensor<4x16xi32>) -> tensor<128x64xf32>
    ```
  }];
  let arguments = (ins NN_FloatTensor:$dy, NN_IndexTensor:$ids,
                       Optional<NN_FloatTensor>:$init,
                       OptionalAttr<DenseI64ArrayAttr>:$rows);
  let results = (outs NN_FloatTensor:$dtable);
  let assemblyFormat = [{
    $dy `,` $ids (`init` $init^)? (`rows` $rows^)? attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def NN_CrossEntropyOp : NN_KernelOp<"cross_entropy", [
    NN_CountedMean, NN_Differentiable, NN_Paddable]> {
  let summary = "Mean of -log(probability of the target)";
  let description = [{
    Over the last dimension of `logits`, V classes:

        lse[..] = log of the sum over v of exp(logits[.., v])
        loss    = mean over rows with target != ignore_index of (lse - logits[target])

    `ignore_index` is -100 if not given, as in PyTorch: rows with that target do not
    count. With every row ignored the loss is 0, and so is its gradient. A target that is
    neither `ignore_index` nor in [0, V) is an error at run time. `classes`, if given,
    stands for V: logits from there on are padding, which nothing reads.

    Constraints
    - (C1) `logits` has rank 1 or more.
    - (C2) `targets` has the leading dimensions of `logits`.
    - (C3) `loss` is a scalar, `lse` has the shape of `targets`, both of the
      statistic type.
    - (C4) `classes` is in [1, V].

    ```mlir
    %loss, %lse = nn.cross_entropy %l, %y : (tensor<4x16x256xf32>, tensor<4x16xi32>) -> (tensor<f32>, tensor<4x16xf32>)
    %loss, %lse = nn.cross_entropy %l, %y ignore_index 0 classes 250 : (...) -> (...)
    ```
  }];
  let arguments = (ins NN_FloatTensor:$logits, NN_IndexTensor:$targets,
                       DefaultValuedAttr<I64Attr, "-100">:$ignore_index,
                       OptionalAttr<I64Attr>:$classes);
  let results = (outs NN_StatisticTensor:$loss, NN_StatisticTensor:$lse);
  let assemblyFormat = [{
    $logits `,` $targets (`ignore_index` $ignore_index^)? (`classes` $classes^)?
    attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def NN_CrossEntropyGradOp : NN_KernelOp<"cross_entropy_grad", [
    OverwritesOperands]> {
  let summary = "Gradient of cross_entropy for the logits";
  let description = [{
    `dlogits[.., v] = dloss / count * (exp(logits[.., v] - lse) - [v = target])`,
    0 in ignored rows; count is the number of the other rows. With `classes`, 0 in the
    columns from there on.

    Constraints
    - (C1) `logits` has rank 1 or more.
    - (C2) `targets` has the leading dimensions of `logits`.
    - (C3) `dloss` and `lse` have the types of the forward's results.
    - (C4) the result has the type of `logits`.
    - (C5) `classes` is in [1, V].

    ```mlir
    %dl = nn.cross_entropy_grad %dloss, %l, %y, %lse : (tensor<f32>, tensor<4x16x256xf32>, tensor<4x16xi32>, tensor<4x16xf32>) -> tensor<4x16x256xf32>
    ```
  }];
  let arguments = (ins NN_StatisticTensor:$dloss, NN_FloatTensor:$logits,
                       NN_IndexTensor:$targets, NN_StatisticTensor:$lse,
                       DefaultValuedAttr<I64Attr, "-100">:$ignore_index,
                       OptionalAttr<I64Attr>:$classes);
  let results = (outs NN_FloatTensor:$dlogits);
  let assemblyFormat = [{
    $dloss `,` $logits `,` $targets `,` $lse (`ignore_index` $ignore_index^)?
    (`classes` $classes^)? attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

#endif // ZERO_DIALECT_NN_NNTOKENOPS_TD
