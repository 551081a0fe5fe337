//===- NNExpertOps.td - rows that go to experts, and come back ------------===//
#ifndef ZERO_DIALECT_NN_NNEXPERTOPS_TD
#define ZERO_DIALECT_NN_NNEXPERTOPS_TD

include "zero/Dialect/NN/NNSignature.td"

def NN_DispatchOp : NN_SignedOp<"dispatch",
    [Floats<"rows", "t,w">, Indices<"ids", "t,k">,
     OptionalIndices<"first", "">],
    [Int<"experts", ">=1">],
    [Floats<"sorted", "s,w">, Indices<"places", "t,k">,
     Indices<"offsets", "e">],
    "parallel w, combined e, own t s", [NN_Differentiable, NN_Combined]> {
  let summary = "Bring rows into the order of their experts";
  let text = [{
    Row t has chosen the experts `ids[t, k]`, in [0, experts); others are an error at
    run time. `sorted` has the rows of expert `first`, then those of the next one, and
    so on, of E experts, each in the order of their choices (t, k); a row is there once
    for each of its choices. `places[t, k]` is where the choice has its row, and
    `offsets[e]` where the rows of expert `first` + e end. A choice of another expert,
    or for which `sorted` has no row left, has the place -1. Rows of no choice are 0.

    Without `first`, which is 0 then, with E = `experts` and S = T K every choice has a
    place.
  }];
  let details = [{
    Constraints
    - (C1) E is at most `experts`.

    ```mlir
    %s, %p, %o = nn.dispatch %x, %ids experts 8 : (tensor<32x64xf32>, tensor<32x2xi32>) -> (tensor<64x64xf32>, tensor<32x2xi32>, tensor<8xi32>)
    %t, %q, %u = nn.dispatch %x, %ids first %f experts 8 : (tensor<32x64xf32>, tensor<32x2xi32>, tensor<i32>) -> (tensor<64x64xf32>, tensor<32x2xi32>, tensor<4xi32>)
    ```
  }];
  let work = "nullptr, nullptr, checkExperts";
  let workspace = "dispatch";
  let assemblyFormat = [{
    $rows `,` $ids (`first` $first^)? `experts` $experts attr-dict `:` functional-type(operands, results)
  }];
}

def NN_CapacityDispatchOp : NN_SignedOp<"capacity_dispatch",
    [Floats<"rows", "t,w">, Indices<"ids", "t,k">,
     OptionalIndices<"order", "t.k">],
    [],
    [Floats<"sorted", "e,c,w">, Indices<"places", "t,k">, Indices<"counts", "e">],
    "parallel w, own t c", [NN_Differentiable]> {
  let summary = "Bring rows to their experts, each of which has as many places";
  let workspace = "dispatch";
  let text = [{
    Row t has chosen the experts `ids[t, k]`, in [0, E); others are an error at run
    time. Each expert has C places, which those that have chosen it take one after the
    other: first choices of all rows before second ones, each by the row; or with
    `order`, which numbers choices t K + k, as they stand there. `places[t, k]` is e C + c where the
    choice of expert e has its place c, and -1 where there was none left: the choice is
    dropped. `sorted[e, c]` is the row in a place, and 0 where there is none. `counts[e]`
    is how many have chosen expert e, dropped or not.
  }];
  let details = [{
    `nn.combine` brings back what becomes of [E C] such rows.

    ```mlir
    %s, %p, %n = nn.capacity_dispatch %x, %ids : (tensor<32x64xf32>, tensor<32x2xi32>) -> (tensor<8x10x64xf32>, tensor<32x2xi32>, tensor<8xi32>)
    %t, %q, %m = nn.capacity_dispatch %x, %ids order %o : (tensor<32x64xf32>, tensor<32x2xi32>, tensor<64xi32>) -> (tensor<8x10x64xf32>, tensor<32x2xi32>, tensor<8xi32>)
    ```
  }];
  let assemblyFormat = [{
    $rows `,` $ids (`order` $order^)? attr-dict `:` functional-type(operands, results)
  }];
}

def NN_CombineOp : NN_SignedOp<"combine",
    [Floats<"rows", "s,w">, Indices<"places", "t,k">,
     OptionalFloats<"weights", "t,k">],
    [],
    [Floats<"y", "t,w">],
    "parallel t w, own s", [NN_Differentiable]> {
  let summary = "Add up what experts have made of each row";
  let text = [{
    `y[t, w] = sum over k of weights[t, k] rows[places[t, k], w]`, in the order of k,
    in f32, rounded once; without `weights` each is 1. A place of -1 adds nothing. Other
    places are those that `nn.dispatch` gives: in [0, S), which is an error at run time
    else, and no two the same.
  }];
  let details = [{
    ```mlir
    %y = nn.combine %h, %p weights %g : (tensor<64x64xf32>, tensor<32x2xi32>, tensor<32x2xf32>) -> tensor<32x64xf32>
    ```
  }];
  let work = "combineFlops";
  let assemblyFormat = [{
    $rows `,` $places (`weights` $weights^)? attr-dict
    `:` functional-type(operands, results)
  }];
}

def NN_CombineGradOp : NN_SignedOp<"combine_grad",
    [Floats<"dy", "t,w">, Floats<"rows", "s,w">, Indices<"places", "t,k">,
     OptionalFloats<"weights", "t,k">],
    [],
    [Floats<"drows", "s,w">, OptionalFloats<"dweights", "t,k">],
    "sum t w, own s"> {
  let summary = "The gradient of `nn.combine`";
  let text = [{
    `drows[places[t, k], w] = weights[t, k] dy[t, w]`, and 0 in rows of no place;
    `dweights[t, k] = sum over w of dy[t, w] rows[places[t, k], w]`, and 0 of no place.
  }];
  let details = [{
    Constraints
    - (C1) `dweights` is there where `weights` is.

    ```mlir
    %dh, %dg = nn.combine_grad %dy, %h, %p weights %g : (tensor<32x64xf32>, tensor<64x64xf32>, tensor<32x2xi32>, tensor<32x2xf32>) -> (tensor<64x64xf32>, tensor<32x2xf32>)
    ```
  }];
  let work = "combineGradFlops, nullptr, checkCombineGrad";
  let assemblyFormat = [{
    $dy `,` $rows `,` $places (`weights` $weights^)? attr-dict
    `:` functional-type(operands, results)
  }];
}

def NN_GroupedMatmulOp : NN_SignedOp<"grouped_matmul",
    [Floats<"a", "s,k">, Floats<"b", "e,k,n", "", "~transpose_b">,
     Indices<"offsets", "e">],
    [Flag<"transpose_b">, OptionalInt<"ranges">],
    [Floats<"c", "s,n">],
    "parallel n, sum k, combined e, own s, linear a b",
    [NN_Differentiable, RangedOpInterface]> {
  let summary = "Multiply groups of rows, each by a matrix of its own";
  let text = [{
    Group e of the rows of `a` ends before row `offsets[e]`, where group e + 1
    begins; group 0 begins with row 0. For a row s of group e
    `c[s, n] = sum over k of a[s, k] b[e, k, n]`; rows of no group, from the last
    offset on, are 0. `b` is stored as [E, N, K] with `transpose_b`. Offsets that
    decrease, or that are outside [0, S], are an error at run time. With `ranges` the
    matrices are those of one of as many equal ranges of groups, and that part of the
    rows is expected to be theirs.

    This is how tokens that are sorted by expert go through their experts.
  }];
  let details = [{
    ```mlir
    %c = nn.grouped_matmul %a, %b offsets %o : (tensor<64x16xf32>, tensor<8x16x32xf32>, tensor<8xi32>) -> tensor<64x32xf32>
    ```
  }];
  let work = "groupedFlops, nullptr, checkRanges, groupedProducts<false>";
  let assemblyFormat = [{
    $a `,` $b `offsets` $offsets (`transpose_b` $transpose_b^)? (`ranges` $ranges^)? attr-dict
    `:` functional-type(operands, results)
  }];
}

def NN_GroupedMatmulGradOp : NN_SignedOp<"grouped_matmul_grad",
    [Floats<"a", "s,k">, Floats<"b", "s,n">, Indices<"offsets", "e">],
    [Range<"rows">, OptionalInt<"ranges">],
    [Floats<"d", "e@rows,k,n">],
    "parallel k n, combined e, own s, linear a b",
    [RowBlockOpInterface, RangedOpInterface]> {
  let summary = "A product of columns for each group of rows: the matrices' gradient";
  let text = [{
    `d[e, k, n] = sum over the rows s of group e of a[s, k] b[s, n]`: the gradient of
    the matrices of `nn.grouped_matmul`, from its left operand and the gradient of
    its result, in this order, or the other way around for `transpose_b`. `rows`
    gives a block [begin, end) of the groups; `ranges` is as there.
  }];
  let details = [{
    ```mlir
    %d = nn.grouped_matmul_grad %a, %dc offsets %o : (tensor<64x16xf32>, tensor<64x32xf32>, tensor<8xi32>) -> tensor<8x16x32xf32>
    ```
  }];
  let work = "groupedFlops, nullptr, checkRanges, groupedProducts<true>";
  let assemblyFormat = [{
    $a `,` $b `offsets` $offsets (`rows` $rows^)? (`ranges` $ranges^)? attr-dict
    `:` functional-type(operands, results)
  }];
}

#endif // ZERO_DIALECT_NN_NNEXPERTOPS_TD
