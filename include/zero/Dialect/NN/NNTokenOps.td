//===- NNTokenOps.td - embeddings and the loss ----------------------------===//
#ifndef ZERO_DIALECT_NN_NNTOKENOPS_TD
#define ZERO_DIALECT_NN_NNTOKENOPS_TD

include "zero/Dialect/NN/NNSignature.td"

def NN_EmbeddingOp : NN_SignedOp<"embedding",
    [Indices<"ids", "t..">,
     NN_Tensor<"table", "E", "v,w", "", "", NN_FloatTensor>],
    [OptionalInt<"num_embeddings">],
    [NN_Tensor<"y", "E", "t..,w", "", "", NN_FloatTensor>],
    "parallel t w, combined v, linear table",
    [NN_Differentiable, NN_CountsUnpadded]> {
  let summary = "Look rows of a table up";
  let text = [{
    `y[.., c] = table[ids[..], c]`. An id outside [0, V) is an error at run time.
    `num_embeddings`, if given, stands for V: what rows the table has from there on are
    padding, which no id may name.
  }];
  let details = [{
    Constraints
    - (C1) `num_embeddings` is in [0, V].

    ```mlir
    %e = nn.embedding %ids, %table : (tensor<4x16xi32>, tensor<256x64xf32>) -> tensor<4x16x64xf32>
    %f = nn.embedding %ids, %table num_embeddings 250 : (tensor<4x16xi32>, tensor<256x64xf32>) -> tensor<4x16x64xf32>
    ```
  }];
  let work = "nullptr, embeddingBytes, checkEmbedding";
  let assemblyFormat = [{
    $ids `,` $table (`num_embeddings` $num_embeddings^)? attr-dict
    `:` functional-type(operands, results)
  }];
}

def NN_EmbeddingGradOp : NN_SignedOp<"embedding_grad",
    [Floats<"dy", "t..,w">, Indices<"ids", "t..">,
     OptionalFloats<"init", "v@rows,w", "+">],
    [Range<"rows">, Present<"init">],
    [Floats<"dtable", "v@rows,w">],
    "parallel w, sum t, combined v, linear dy",
    [RowBlockOpInterface, AccumulatingOpInterface]> {
  let summary = "Add rows up by id: the gradient of the table";
  let text = [{
    Row v of the result is the sum of the rows of `dy` whose id is v, in f32,
    rounded once. The host adds in the order of the tokens; a device adds chunks of
    32 tokens so, and then the chunks in an order that their number decides. With
    `init` the sum starts from its row: so a table that is also an output
    projection needs one buffer. `rows` gives a block [begin, end) of the table's
    rows; ids outside add to other blocks.
  }];
  let details = [{
    ```mlir
    %dt = nn.embedding_grad %dy, %ids : (tensor<4x16x64xf32>, tensor<4x16xi32>) -> tensor<256x64xf32>
    %du = nn.embedding_grad %dy, %ids init %dt : (tensor<4x16x64xf32>, tensor<4x16xi32>, tensor<256x64xf32>) -> tensor<256x64xf32>
    %dv = nn.embedding_grad %dy, %ids rows [128, 256] : (tensor<4x16x64xf32>, tensor<4x16xi32>) -> tensor<128x64xf32>
    ```
  }];
  let work = "embeddingGradFlops";
  let assemblyFormat = [{
    $dy `,` $ids (`init` $init^)? (`rows` $rows^)? attr-dict
    `:` functional-type(operands, results)
  }];
}

// Rows of a loss are whole: it is a mean over those that count.
def NN_CrossEntropyOp : NN_SignedOp<"cross_entropy",
    [Floats<"logits", "r..,n">, Indices<"targets", "r..">],
    [NN_Attribute<"ignore_index", "int?", DefaultValuedAttr<I64Attr, "-100">>,
     OptionalInt<"classes">],
    [Statistics<"loss", "">, Statistics<"lse", "r..">],
    "combined n", [NN_CountedMean, NN_Differentiable, NN_CountsUnpadded]> {
  let summary = "Mean of -log(probability of the target)";
  let text = [{
    Over the last dimension of `logits`, V classes:

        lse[..] = log of the sum over v of exp(logits[.., v])
        loss    = mean over rows with target != ignore_index of (lse - logits[target])

    `ignore_index` is -100 if not given, as in PyTorch: rows with that target do not
    count. With every row ignored the loss is 0, and so is its gradient. A target that is
    neither `ignore_index` nor in [0, V) is an error at run time. `classes`, if given,
    stands for V: logits from there on are padding, which nothing reads.
  }];
  let details = [{
    Constraints
    - (C1) `classes` is in [1, V].

    ```mlir
    %loss, %lse = nn.cross_entropy %l, %y : (tensor<4x16x256xf32>, tensor<4x16xi32>) -> (tensor<f32>, tensor<4x16xf32>)
    %loss, %lse = nn.cross_entropy %l, %y ignore_index 0 classes 250 : (...) -> (...)
    ```
  }];
  let work = "logitsFlops, nullptr, checkClasses";
  let assemblyFormat = [{
    $logits `,` $targets (`ignore_index` $ignore_index^)? (`classes` $classes^)?
    attr-dict `:` functional-type(operands, results)
  }];
}

def NN_CrossEntropyGradOp : NN_SignedOp<"cross_entropy_grad",
    [Statistics<"dloss", "">, Floats<"logits", "r..,n">,
     Indices<"targets", "r..">, Statistics<"lse", "r..">],
    [NN_Attribute<"ignore_index", "int?", DefaultValuedAttr<I64Attr, "-100">>,
     OptionalInt<"classes">],
    [Floats<"dlogits", "r..,n">],
    "combined n, linear dloss", [OverwritesOperands]> {
  let summary = "Gradient of cross_entropy for the logits";
  let text = [{
    `dlogits[.., v] = dloss / count * (exp(logits[.., v] - lse) - [v = target])`,
    0 in ignored rows; count is the number of the other rows. With `classes`, 0 in the
    columns from there on.
  }];
  let details = [{
    Constraints
    - (C1) `classes` is in [1, V].

    ```mlir
    %dl = nn.cross_entropy_grad %dloss, %l, %y, %lse : (tensor<f32>, tensor<4x16x256xf32>, tensor<4x16xi32>, tensor<4x16xf32>) -> tensor<4x16x256xf32>
    ```
  }];
  let work = "logitsFlops, nullptr, checkClasses";
  let assemblyFormat = [{
    $dloss `,` $logits `,` $targets `,` $lse (`ignore_index` $ignore_index^)?
    (`classes` $classes^)? attr-dict `:` functional-type(operands, results)
  }];
}

#endif // ZERO_DIALECT_NN_NNTOKENOPS_TD
