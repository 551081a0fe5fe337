//===- NNIndexOps.td - gather, scatter, sort, running sums ----------------===//
#ifndef ZERO_DIALECT_NN_NNINDEXOPS_TD
#define ZERO_DIALECT_NN_NNINDEXOPS_TD

include "zero/Dialect/NN/NNSignature.td"

def NN_Ordered : AnyTypeOf<[F16, BF16, F32, F64, I32]>;

/// A tensor of numbers: floats, or integers that count.
def NN_NumberTensor : StaticShapeTensorOf<[NN_Ordered]>;

def NN_GatherOp : NN_SignedOp<"gather",
    [Elements<"x", "o..dim,p,i..">, Indices<"ids", "o..dim,q,i..?">],
    [Int<"dim">],
    [Elements<"y", "o..dim,q,i..">],
    "parallel o q i, linear x", [NN_Differentiable, CheapInFloat32]> {
  let summary = "Take elements at given positions along a dimension";
  let text = [{
    `y[o.., k, i..] = x[o.., ids[o.., k, i..], i..]`, where k is at `dim`: each
    element has a position of its own. Where `ids` ends with `dim` the positions
    are those of whole rows: `y[o.., k, i..] = x[o.., ids[o.., k], i..]`. A
    position outside [0, size of `dim`) is an error at run time.

    The gradient is `nn.scatter_add`.
  }];
  let details = [{
    ```mlir
    %y = nn.gather %x, %ids dim 1 : (tensor<4x16x64xf32>, tensor<4x8x64xi32>) -> tensor<4x8x64xf32>
    %r = nn.gather %x, %rows dim 1 : (tensor<4x16x64xf32>, tensor<4x8xi32>) -> tensor<4x8x64xf32>
    ```
  }];
  let work = "nullptr, gatherBytes";
  let assemblyFormat = [{
    $x `,` $ids `dim` $dim attr-dict `:` functional-type(operands, results)
  }];
}

def NN_ScatterAddOp : NN_SignedOp<"scatter_add",
    [Floats<"x", "o..dim,q,i..">, Indices<"ids", "o..dim,q,i..?">,
     OptionalFloats<"init", "o..dim,p@rows,i..", "+">],
    [Int<"dim">, Range<"rows">],
    [Floats<"y", "o..dim,p@rows,i..">],
    "parallel o i, sum q, linear x",
    [NN_Differentiable, CheapInFloat32, RowBlockOpInterface, AccumulatingOpInterface]> {
  let summary = "Add elements up at given positions along a dimension";
  let text = [{
    An element of the result is the sum of those elements of `x` whose position it
    is, in the order of k, in f32, rounded once: equal inputs give bitwise equal
    results. With `init` the sum starts from its element. Positions are given as
    those of `nn.gather` are, of elements or of rows; one outside [0, size of
    `dim`) is an error at run time. With `dim` 0, `rows` gives a block [begin, end)
    of the result; positions outside add to other blocks.
  }];
  let details = [{
    ```mlir
    %y = nn.scatter_add %x, %ids dim 1 : (tensor<4x8x64xf32>, tensor<4x8x64xi32>) -> tensor<4x16x64xf32>
    %z = nn.scatter_add %m, %to init %h dim 0 : (tensor<24x64xf32>, tensor<24xi32>, tensor<6x64xf32>) -> tensor<6x64xf32>
    ```
  }];
  let work = [{[](Shapes s) -> uint64_t { return s.elements("x"); } }];
  let workspace = "scatter";
  let assemblyFormat = [{
    $x `,` $ids (`init` $init^)? `dim` $dim (`rows` $rows^)? attr-dict
    `:` functional-type(operands, results)
  }];
}

def NN_ScatterOp : NN_SignedOp<"scatter",
    [Elements<"x", "o..dim,q,i..">, Indices<"ids", "o..dim,q,i..?">,
     Elements<"into", "o..dim,p,i..">],
    [Kind<"kind", NN_ScatterAttr, NN_Scatter>, Int<"dim">],
    [Elements<"y", "o..dim,p,i..">],
    "parallel o i", [NN_Differentiable, CheapInFloat32], NN_DescribesKernel> {
  let summary = "Set elements at given positions, or take the largest there";
  let text = [{
    The result is `into` but where elements of `x` have their positions, which are
    given as those of `nn.gather` are, of elements or of rows. `set` puts the last
    of them there, in the order of k; `max` the largest of them and of the element
    of `into`, or a NaN if there is one. A position outside [0, size of `dim`) is an
    error at run time.

    The gradient of `set` for `x` is gathered: where several elements have one
    position, each gets it, as in PyTorch. The gradient of `max` is divided evenly
    among all that are the largest.
  }];
  let details = [{
    Constraints
    - (C1) `max` is of floats.

    ```mlir
    %y = nn.scatter set %x, %ids into %z dim 0 : (tensor<8xi32>, tensor<8xi32>, tensor<8xi32>) -> tensor<8xi32>
    %m = nn.scatter max %x, %to into %h dim 0 : (tensor<24x64xf32>, tensor<24xi32>, tensor<6x64xf32>) -> tensor<6x64xf32>
    ```
  }];
  let work = [{[](Shapes s) -> uint64_t { return s.elements("x"); }, nullptr, checkScatterKind}];
  let workspace = "scatter";
  let assemblyFormat = [{
    `` $kind $x `,` $ids `into` $into `dim` $dim attr-dict
    `:` functional-type(operands, results)
  }];
}

def NN_ArgsortOp : NN_SignedOp<"argsort",
    [NN_Tensor<"x", "any", "r..,n", "", "", NN_NumberTensor>],
    [Flag<"descending">,
     NN_Attribute<"first", "int>=1?", OptionalAttr<I64Attr>>],
    [Indices<"order", "r..,m">],
    "parallel r", [NN_Differentiable, CheapInFloat32]> {
  let summary = "Positions in the order of their elements, along the last dimension";
  let text = [{
    Position k of a row of the result is that of the k-th smallest element of the
    row of `x`, or of the k-th largest with `descending`. Equal elements keep their
    order, and a NaN is larger than any number. With `first`, the positions are
    those of so many elements only: `descending first 1` is that of the first
    maximum. Elements themselves are `nn.gather` of the positions, which has their
    gradient; positions have none.
  }];
  let details = [{
    Constraints
    - (C1) `first` is at most N; M is `first`, or N without it.

    ```mlir
    %order = nn.argsort %x : tensor<64xi32> -> tensor<64xi32>
    %top = nn.argsort %p descending first 2 : tensor<32x8xf32> -> tensor<32x2xi32>
    ```
  }];
  let work = "argsortFlops, nullptr, checkArgsort";
  let workspace = "argsort";
  let assemblyFormat = [{
    $x (`descending` $descending^)? (`first` $first^)? attr-dict
    `:` type($x) `->` type($order)
  }];
}

def NN_CumsumOp : NN_SignedOp<"cumsum",
    [NN_Tensor<"x", "E", "o..dim,n,i..", "", "", NN_NumberTensor>],
    [Int<"dim">, Flag<"reverse">],
    [NN_Tensor<"y", "E", "o..dim,n,i..", "", "", NN_NumberTensor>],
    "parallel o i, linear x",
    [NN_Differentiable, AddsUp, CheapInFloat32, SameOperandsAndResultType]> {
  let summary = "Running sums along a dimension";
  let text = [{
    Element k along `dim` is the sum of the elements 0 to k of `x`, or with
    `reverse` of those from k to the end. Floats are summed in f32 and each result is
    rounded once; integers wrap around. The gradient is the other direction.
  }];
  let details = [{
    ```mlir
    %s = nn.cumsum %x dim 1 : tensor<4x16xi32>
    %r = nn.cumsum %y dim 0 reverse : tensor<16x64xf32>
    ```
  }];
  let work = [{[](Shapes s) -> uint64_t { return s.elements("x"); }, nullptr, checkNumbers}];
  let assemblyFormat = [{
    $x `dim` $dim (`reverse` $reverse^)? attr-dict `:` type($x)
  }];
}

// The work of a number is 15 operations of the generator, then a root, a
// logarithm, a sine or cosine and their products. The factors are whole, as those
// of dropout.
def NN_RandomNormalOp : NN_SignedOp<"random_normal",
    [],
    [DrawId<"id">],
    [Floats<"y", "samples,r..">],
    "", [NN_Differentiable]> {
  let summary = "Numbers drawn from the standard normal distribution";
  let text = [{
    Dimension 0 is the sample. A number is a function of the run's seed, the number
    of batches consumed, the sample's global index, `id` and the element's position
    within its sample, and of nothing else, as the masks of `nn.dropout` are: ranks,
    stages and recomputation neither change nor repeat it. Evaluation draws as well.

    Elements 2 j and 2 j + 1 of a sample are `r cos t` and `r sin t` of two words u
    and v of a generator: `r = sqrt(-2 log((u + 1) / 2^32))`, `t = 2 pi v / 2^32`.
    An operation with the `id` of another that draws, or of an `nn.dropout`, takes the same
    words: give each its own.
  }];
  let details = [{
    ```mlir
    %z = nn.random_normal id 3 : tensor<4x16xf32>
    ```
  }];
  let work = [{[](Shapes s) -> uint64_t { return 21 * s.elements("y"); } }];
  let assemblyFormat = "`id` $id attr-dict `:` type($y)";
}

// The work of a number is 15 operations of the generator, and two more.
def NN_RandomUniformOp : NN_SignedOp<"random_uniform",
    [],
    [DrawId<"id">],
    [Floats<"y", "samples,r..">],
    "", [NN_Differentiable]> {
  let summary = "Numbers drawn evenly from 0 to below 1";
  let text = [{
    A number is the upper 24 bits of a word over 2^24, in bf16 the upper 8 over 2^8 and in
    f16 the upper 11 over 2^11, so that none is rounded to 1. Element i of a sample takes
    word i mod 4 of counter i / 4 of the generator; samples, `id` and evaluation are as
    for `nn.random_normal`.
  }];
  let details = [{
    ```mlir
    %u = nn.random_uniform id 4 : tensor<4x16xf32>
    ```
  }];
  let work = [{[](Shapes s) -> uint64_t { return 17 * s.elements("y"); } }];
  let assemblyFormat = "`id` $id attr-dict `:` type($y)";
}

def NN_RandomIntegersOp : NN_SignedOp<"random_integers",
    [],
    [DrawId<"id">, Int<"below", ">=1<2147483648">],
    [Indices<"y", "samples,r..">],
    "", [NN_Differentiable]> {
  let summary = "Integers drawn evenly from 0 to below a limit";
  let text = [{
    An integer is the upper 32 bits of a word times `below`, for the words of
    `nn.random_uniform`. Each is as likely as any other to within `below` / 2^32.
  }];
  let details = [{
    ```mlir
    %t = nn.random_integers id 5 below 1000 : tensor<4xi32>
    ```
  }];
  let work = [{[](Shapes s) -> uint64_t { return 17 * s.elements("y"); } }];
  let assemblyFormat = "`id` $id `below` $below attr-dict `:` type($y)";
}

#endif // ZERO_DIALECT_NN_NNINDEXOPS_TD
