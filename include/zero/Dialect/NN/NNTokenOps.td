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
    [NN_CombinedBySum, NN_Differentiable, NN_CountsUnpadded]> {
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
    [Range<"rows">],
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
  let workspace = "embeddingGrad";
  let assemblyFormat = [{
    $dy `,` $ids (`init` $init^)? (`rows` $rows^)? attr-dict
    `:` functional-type(operands, results)
  }];
}

// The rows of a mean cannot be cut: how many of them count depends on the
// targets of all rows.
def NN_CrossEntropyOp : NN_SignedOp<"cross_entropy",
    [Floats<"logits", "r..,n">, Indices<"targets", "r..">],
    [Flag<"sum">,
     IgnoreIndex,
     OptionalInt<"classes">],
    [Statistics<"loss", "">, Statistics<"lse", "r..">],
    "combined n, sum r?sum",
    [NN_Combined, NN_CountedMean, NN_Differentiable, NN_CountsUnpadded]> {
  let summary = "Mean of -log(probability of the target)";
  let text = [{
    Over the last dimension of `logits`, V classes:

        lse[..] = log of the sum over v of exp(logits[.., v])
        loss    = mean over rows with target != ignore_index of (lse - logits[target])

    With `sum` the loss is the sum over those rows. `ignore_index` is -100 if not given, as in PyTorch: rows with that target do not
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
  let workspace = "loss";
  let assemblyFormat = [{
    $logits `,` $targets (`sum` $sum^)? (`ignore_index` $ignore_index^)?
    (`classes` $classes^)? attr-dict `:` functional-type(operands, results)
  }];
}

def NN_CrossEntropyGradOp : NN_SignedOp<"cross_entropy_grad",
    [Statistics<"dloss", "">, Floats<"logits", "r..,n">,
     Indices<"targets", "r..">, Statistics<"lse", "r..">],
    [Flag<"sum">,
     IgnoreIndex,
     OptionalInt<"classes">],
    [Floats<"dlogits", "r..,n">],
    "combined n, parallel r?sum, linear dloss", [OverwritesOperands]> {
  let summary = "Gradient of cross_entropy for the logits";
  let text = [{
    `dlogits[.., v] = dloss / count * (exp(logits[.., v] - lse) - [v = target])`,
    0 in ignored rows; count is the number of the other rows, or 1 with `sum`. With `classes`, 0 in the
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
  let workspace = "loss";
  let assemblyFormat = [{
    $dloss `,` $logits `,` $targets `,` $lse (`sum` $sum^)?
    (`ignore_index` $ignore_index^)? (`classes` $classes^)? attr-dict `:` functional-type(operands, results)
  }];
}

//===----------------------------------------------------------------------===//
// A range of the vocabulary: what each rank computes where it is cut.
//===----------------------------------------------------------------------===//

def NN_PartialEmbeddingOp : NN_SignedOp<"partial_embedding",
    [Indices<"ids", "t..">,
     NN_Tensor<"table", "E", "v,w", "", "", NN_FloatTensor>,
     Indices<"first", "">],
    [Int<"num_embeddings", ">=1">],
    [NN_Tensor<"y", "E", "t..,w", "", "", NN_FloatTensor>],
    "parallel t w, combined v, linear table",
    [NN_Differentiable]> {
  let summary = "Look rows up in a range of a table";
  let text = [{
    `table` has the rows [first, first + V) of a table of `num_embeddings` rows:
    `y[.., c] = table[ids[..] - first, c]`, and 0 for ids of other rows, so that the
    sum over ranges that are the whole table is `nn.embedding`. An id outside
    [0, num_embeddings) is an error at run time. What is behind those rows in the last
    range is padding.

    `zero-shard-model` makes it of `nn.embedding`.
  }];
  let details = [{
    ```mlir
    %e = nn.partial_embedding %ids, %table, %first num_embeddings 500 : (tensor<4x16xi32>, tensor<256x64xf32>, tensor<i32>) -> tensor<4x16x64xf32>
    ```
  }];
  let work = "nullptr, embeddingBytes";
  let assemblyFormat = [{
    $ids `,` $table `,` $first `num_embeddings` $num_embeddings attr-dict
    `:` functional-type(operands, results)
  }];
}

def NN_PartialEmbeddingGradOp : NN_SignedOp<"partial_embedding_grad",
    [Floats<"dy", "t..,w">, Indices<"ids", "t..">, Indices<"first", "">,
     OptionalFloats<"init", "v@rows,w", "+">],
    [Range<"rows">],
    [Floats<"dtable", "v@rows,w">],
    "parallel w, sum t, combined v, linear dy",
    [RowBlockOpInterface, AccumulatingOpInterface]> {
  let summary = "The gradient of a range of a table";
  let text = [{
    `nn.embedding_grad` of the ids less `first`: rows of other ranges add nothing.
  }];
  let details = [{
    ```mlir
    %dt = nn.partial_embedding_grad %dy, %ids, %first : (tensor<4x16x64xf32>, tensor<4x16xi32>, tensor<i32>) -> tensor<256x64xf32>
    ```
  }];
  let work = "embeddingGradFlops";
  let workspace = "embeddingGrad";
  let assemblyFormat = [{
    $dy `,` $ids `,` $first (`init` $init^)? (`rows` $rows^)? attr-dict
    `:` functional-type(operands, results)
  }];
}

def NN_PartialCrossEntropyOp : NN_SignedOp<"partial_cross_entropy",
    [Floats<"logits", "r..,n">, Indices<"targets", "r..">,
     Indices<"first", "">],
    [Flag<"sum">,
     IgnoreIndex,
     Int<"classes", ">=1">],
    [Statistics<"loss", "">, Statistics<"lse", "r..">],
    "combined n, sum r?sum", [NN_Differentiable]> {
  let summary = "What a range of the classes gives of a cross entropy";
  let text = [{
    `logits` are those of the classes [first, first + N) of `classes`; what is behind
    these in the last range is padding:

        lse[..] = log of the sum over the range of exp(logits[.., n]); -inf of none
        loss    = sum over rows whose target is in the range of
                  (lse - logits[target - first]), over the number of rows with
                  target != ignore_index, or over 1 with `sum`

    With R ranges, the loss of all classes is the sum of their `loss` and of
    `nn.cross_entropy` of the R numbers `lse` of each row, whose target is the range
    that the row's target is in: the probability of a class is that of its range times
    its own within it. Both results have gradients.

    `zero-shard-model` makes it of `nn.cross_entropy`.
  }];
  let details = [{
    ```mlir
    %loss, %lse = nn.partial_cross_entropy %l, %y, %first classes 500 : (tensor<4x16x256xf32>, tensor<4x16xi32>, tensor<i32>) -> (tensor<f32>, tensor<4x16xf32>)
    ```
  }];
  let work = "logitsFlops";
  let workspace = "loss";
  let assemblyFormat = [{
    $logits `,` $targets `,` $first (`sum` $sum^)?
    (`ignore_index` $ignore_index^)? `classes` $classes attr-dict
    `:` functional-type(operands, results)
  }];
}

def NN_PartialCrossEntropyGradOp : NN_SignedOp<"partial_cross_entropy_grad",
    [Statistics<"dloss", "">, Statistics<"dlse", "r..">,
     Floats<"logits", "r..,n">, Indices<"targets", "r..">,
     Indices<"first", "">, Statistics<"lse", "r..">],
    [Flag<"sum">,
     IgnoreIndex,
     Int<"classes", ">=1">],
    [Floats<"dlogits", "r..,n">],
    "combined n, parallel r?sum", [OverwritesOperands]> {
  let summary = "Gradient of partial_cross_entropy for the logits";
  let text = [{
    `dlogits[.., n] = (dlse + g) * exp(logits[.., n] - lse) - g * [n + first = target]`,
    where g is `dloss / count` in rows whose target is in the range, and 0 in others;
    0 in padding, and in rows where `dlse` and g are 0. count is that of
    `nn.partial_cross_entropy`.
  }];
  let details = [{
    ```mlir
    %dl = nn.partial_cross_entropy_grad %dloss, %dlse, %l, %y, %first, %lse classes 500 : (tensor<f32>, tensor<4x16xf32>, tensor<4x16x256xf32>, tensor<4x16xi32>, tensor<i32>, tensor<4x16xf32>) -> tensor<4x16x256xf32>
    ```
  }];
  let work = "logitsFlops";
  let workspace = "loss";
  let assemblyFormat = [{
    $dloss `,` $dlse `,` $logits `,` $targets `,` $first `,` $lse
    (`sum` $sum^)? (`ignore_index` $ignore_index^)? `classes` $classes attr-dict
    `:` functional-type(operands, results)
  }];
}

#endif // ZERO_DIALECT_NN_NNTOKENOPS_TD
