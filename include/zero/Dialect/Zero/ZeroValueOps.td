//===- ZeroValueOps.td - values of a model on the ranks of a mesh ---------===//
#ifndef ZERO_DIALECT_ZERO_ZEROVALUEOPS_TD
#define ZERO_DIALECT_ZERO_ZEROVALUEOPS_TD

include "zero/Dialect/Zero/ZeroAttrs.td"
include "zero/Interfaces/DifferentiableOpInterface.td"
include "zero/Interfaces/FactorOpInterface.td"
include "zero/Interfaces/Traits.td"

//===----------------------------------------------------------------------===//
// What one rank computes of a model. On the ranks of a group a value is the same;
// cut, each rank having a part of one dimension; or the term of a sum. These
// operations lead from one to the other, and each has its gradient. They are
// pure: all ranks of a group run one program, so what is dropped or merged is
// dropped or merged on all of them. To another axis each is an operation like any
// other, which needs all of the dimensions that it cuts.
//===----------------------------------------------------------------------===//

class Zero_ValueOp<string mnemonic, list<Trait> traits = []>
    : Zero_Op<mnemonic,
              !listconcat(
                  traits, [Pure, CheapInFloat32,
                           DeclareOpInterfaceMethods<DifferentiableOpInterface>,
                           DeclareOpInterfaceMethods<FactorOpInterface>,
                           DeclareOpInterfaceMethods<SymbolUserOpInterface>])>;

/// An operation whose result has the type of its operand.
class Zero_SameValueOp<string mnemonic, list<Trait> traits = []>
    : Zero_ValueOp<mnemonic,
                   !listconcat(traits, [AllTypesMatch<["value", "result"]>])> {
  let arguments = (ins AnyStaticShapeTensor:$value, Zero_AxesAttr:$over);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = "$value `over` $over attr-dict `:` type($value)";
}

def Zero_ReplicateOp : Zero_SameValueOp<"replicate"> {
  let summary = "The same value, used differently by each rank of a group";
  let description = [{
    The value itself: a view that costs nothing. Behind it each rank computes
    something else with it, so that its gradient is the sum of theirs: a
    `zero.all_reduce_value`.

    Constraints: (C1) the group is axes of the module's mesh, in their order.
    ```mlir
    %y = zero.replicate %x over <tensor = 2> : tensor<2x16x64xf32>
    ```
  }];
}

def Zero_CountOnceOp : Zero_SameValueOp<"count_once"> {
  let summary = "The same value, whose gradient counts once in a sum over a group";
  let description = [{
    The value itself: a view that costs nothing. Gradients of a parameter that all
    ranks of an axis `sequence` have are added up over the axis. Where all of them use
    it in the same way, each has all of the gradient: behind this operation one rank
    gives it, by a `zero.term_value`.

    Constraints: (C1) the group is axes of the module's mesh, in their order.
    ```mlir
    %y = zero.count_once %w over <sequence = 2> : tensor<64x64xf32>
    ```
  }];
}

def Zero_TermValueOp : Zero_SameValueOp<"term_value"> {
  let summary = "A term of a value that all ranks of a group have, which is the sum";
  let description = [{
    The value on the first rank of the group, and zeros on all others.

    Constraints: (C1) the group is axes of the module's mesh, in their order.
    ```mlir
    %t = zero.term_value %g over <sequence = 2> : tensor<64x64xf32>
    ```
  }];
}

def Zero_AllReduceValueOp
    : Zero_SameValueOp<"all_reduce_value", [Zero_ExchangesValue]> {
  let summary = "The sum of what the ranks of a group have; every rank gets it";
  let description = [{
    Added in the order of ranks, in f32 for 16-bit floats, and rounded once. The
    gradient of each term is that of the sum.

    Constraints: (C1) the group is axes of the module's mesh, in their order.
    ```mlir
    %y = zero.all_reduce_value %part over <tensor = 2> : tensor<2x16x64xf32>
    ```
  }];
}

class Zero_CutValueOp<string mnemonic, list<Trait> traits = []>
    : Zero_ValueOp<mnemonic, traits> {
  let arguments = (ins AnyStaticShapeTensor:$value, Zero_CutAttr:$cut);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = "$value `cut` $cut attr-dict `:` type($value) `->` type($result)";
  let hasVerifier = 1;
}

def Zero_SliceValueOp : Zero_CutValueOp<"slice_value"> {
  let summary = "This rank's part of a value that all ranks of a group have";
  let description = [{
    Its gradient is `zero.gather_value`.

    Constraints
    - (C1) the group is axes of the module's mesh, in their order.
    - (C2) the value has the whole dimension, and the result its part.
    ```mlir
    %y = zero.slice_value %x cut <dim 1 of [4] over <tensor = 2>> : tensor<2x4x16xf32> -> tensor<2x2x16xf32>
    ```
  }];
}

def Zero_GatherValueOp
    : Zero_CutValueOp<"gather_value", [Zero_ExchangesValue]> {
  let summary = "A whole value from the parts that the ranks of a group have";
  let description = [{
    Its gradient is `zero.slice_value`: what all ranks compute with the whole is the
    same. With `replicated` each of them computes something else with it, and the
    gradient is `zero.scatter_value`.

    Constraints
    - (C1) the group is axes of the module's mesh, in their order.
    - (C2) the value has the part of the dimension, and the result the whole.
    ```mlir
    %y = zero.gather_value %x cut <dim 1 of [4] over <tensor = 2>> : tensor<2x2x16xf32> -> tensor<2x4x16xf32>
    %r = zero.gather_value %x replicated cut <dim 0 of [64] over <expert = 2>> : tensor<32x16xf32> -> tensor<64x16xf32>
    ```
  }];
  let arguments = (ins AnyStaticShapeTensor:$value, Zero_CutAttr:$cut,
                   UnitAttr:$replicated);
  let assemblyFormat = "$value (`replicated` $replicated^)? `cut` $cut attr-dict `:` type($value) `->` type($result)";
}

def Zero_ScatterValueOp
    : Zero_CutValueOp<"scatter_value", [Zero_ExchangesValue]> {
  let summary = "This rank's part of the sum of what the ranks of a group have";
  let description = [{
    Added in the order of ranks, in f32 for 16-bit floats, and rounded once. The
    gradient is `zero.gather_value`.

    Constraints
    - (C1) the group is axes of the module's mesh, in their order.
    - (C2) the value has the whole dimension, and the result its part.
    - (C3) the dimension is cut in one piece, perhaps repeated.
    ```mlir
    %y = zero.scatter_value %term cut <dim 0 of [64] over <expert = 2>> : tensor<64x16xf32> -> tensor<32x16xf32>
    ```
  }];
}

def Zero_ExchangeValueOp
    : Zero_ValueOp<"exchange_value", [Zero_ExchangesValue]> {
  let summary = "A value that is cut along another dimension";
  let description = [{
    Each rank of a group has a part of one dimension of a value, and gets its part of
    another one: such as some heads of all positions for all heads of some positions.
    Each rank sends every other rank the elements that belong to the other's part.
    The gradient is exchanged the other way.

    Constraints
    - (C1) the group is axes of the module's mesh, in their order, and one for both.
    - (C2) the value has the part of the first dimension, and the result that of the
      second one, of one whole.
    - (C3) the dimensions are two, and each is cut in one piece, perhaps repeated.
    ```mlir
    %y = zero.exchange_value %x from <dim 1 of [8] over <sequence = 2>> to <dim 2 of [4] over <sequence = 2>> : tensor<2x4x4x16xf32> -> tensor<2x8x2x16xf32>
    ```
  }];
  let arguments = (ins AnyStaticShapeTensor:$value, Zero_CutAttr:$from,
                   Zero_CutAttr:$to);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = "$value `from` $from `to` $to attr-dict `:` type($value) `->` type($result)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The type of the whole value, the same for both cuts.
    ::mlir::RankedTensorType getWholeType();
  }];
}

#endif // ZERO_DIALECT_ZERO_ZEROVALUEOPS_TD
