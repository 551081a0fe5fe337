//===- NNBase.td - the nn dialect, its types and its enumerations ---------===//
#ifndef ZERO_DIALECT_NN_NNBASE_TD
#define ZERO_DIALECT_NN_NNBASE_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "zero/Dialect/NN/NNEnums.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "zero/Interfaces/AccumulatingOpInterface.td"
include "zero/Interfaces/AddendOpInterface.td"
include "zero/Interfaces/BroadcastingOpInterface.td"
include "zero/Interfaces/DifferentiableOpInterface.td"
include "zero/Interfaces/ElementwiseOpInterface.td"
include "zero/Interfaces/EpilogueOpInterface.td"
include "zero/Interfaces/FactorOpInterface.td"
include "zero/Interfaces/KernelOpInterface.td"
include "zero/Interfaces/MoveOpInterface.td"
include "zero/Interfaces/CombinedOpInterface.td"
include "zero/Interfaces/CountedMeanOpInterface.td"
include "zero/Interfaces/PaddableOpInterface.td"
include "zero/Interfaces/RangedOpInterface.td"
include "zero/Interfaces/RowBlockOpInterface.td"
include "zero/Interfaces/SharedOpInterface.td"
include "zero/Interfaces/Traits.td"

//===----------------------------------------------------------------------===//
// Dialect
//===----------------------------------------------------------------------===//

def NN_Dialect : Dialect {
  let name = "nn";
  let cppNamespace = "::mlir::nn";
  let summary = "What models are made of, as pure operations on tensors";
  let description = [{
    Operations of neural networks that upstream has no value-semantics form for,
    and their gradients. Elementwise arithmetic is `arith` and `math` on ranked
    tensors, shape operations are `tensor`: neither is defined here again.

    All operations are pure, on tensors of static shape, and compute in this way:
    operands of f16 or bf16 are widened to f32, sums are kept in f32, and a result
    is rounded once, at the end. f64 tensors are computed in f64 throughout.

    *Statistics* (means, reciprocal deviations, logarithms of sums of
    exponentials, the loss) have the **statistic type**: f64 where the operands
    are f64, else f32. They never become 16-bit.

    A *signature* says an operation's shapes and the bounds of its attributes:
    `x:T[r..,n] w:T[n] -> y:T[r..,n] rstd:S[r..]`, `eps:real>=0`. `T` is one of
    the float types and `S` its statistic type. A letter is a dimension, the same
    wherever it stands, and `r..` any number of them. The whole language, which is
    that of the kernels' rows, is in `runtime/program/KernelSchema.h`.

    A constraint that no signature says is numbered (C1, C2, ...) in an
    operation's description, in its verifier and in its tests.
  }];
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::tensor::TensorDialect"];
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

def NN_Float : AnyTypeOf<[F16, BF16, F32, F64]>;
def NN_Statistic : AnyTypeOf<[F32, F64]>;
def NN_Element : AnyTypeOf<[F16, BF16, F32, F64, I1, I8, I32, I64]>;

/// A tensor of floats: activations, weights and their gradients.
def NN_FloatTensor : StaticShapeTensorOf<[NN_Float]>;
/// A tensor of statistics, or an additive mask.
def NN_StatisticTensor : StaticShapeTensorOf<[NN_Statistic]>;
/// Token ids and targets.
def NN_IndexTensor : StaticShapeTensorOf<[I32]>;
/// Any tensor that can be moved.
def NN_AnyTensor : StaticShapeTensorOf<[NN_Element]>;

//===----------------------------------------------------------------------===//
// Enumerations
//===----------------------------------------------------------------------===//

// An attribute of these prints its own leading space: operations put `` before.
def NN_GeluFormAttr : EnumAttr<NN_Dialect, NN_GeluForm, "gelu_form">;
def NN_ReductionAttr : EnumAttr<NN_Dialect, NN_Reduction, "reduction">;
def NN_ScatterAttr : EnumAttr<NN_Dialect, NN_Scatter, "scatter">;

//===----------------------------------------------------------------------===//
// Operation classes
//===----------------------------------------------------------------------===//

defvar NN_Addend = DeclareOpInterfaceMethods<AddendOpInterface>;
defvar NN_Combined = DeclareOpInterfaceMethods<CombinedOpInterface>;
/// An operation whose results, computed for a range of the combined factor, are
/// terms of a sum over the ranks.
defvar NN_CombinedBySum =
    DeclareOpInterfaceMethods<CombinedOpInterface, ["givesTerms"]>;
defvar NN_CountedMean = DeclareOpInterfaceMethods<CountedMeanOpInterface>;
defvar NN_Differentiable =
    DeclareOpInterfaceMethods<DifferentiableOpInterface>;
defvar NN_Elementwise = DeclareOpInterfaceMethods<ElementwiseOpInterface>;
defvar NN_Epilogue = DeclareOpInterfaceMethods<EpilogueOpInterface>;
defvar NN_Factors = DeclareOpInterfaceMethods<FactorOpInterface>;
/// An operation that is faster if padded dimensions are multiples.
defvar NN_GainsFromPadding =
    DeclareOpInterfaceMethods<PaddableOpInterface, ["gainsFromPadding"]>;
/// An operation with an attribute that says how many indices are no padding.
defvar NN_CountsUnpadded =
    DeclareOpInterfaceMethods<PaddableOpInterface, ["getPadded", "setPadded"]>;
defvar NN_Shared = DeclareOpInterfaceMethods<SharedOpInterface>;
defvar NN_DescribesKernel =
    DeclareOpInterfaceMethods<KernelOpInterface, ["describeKernel"]>;

class NN_Op<string mnemonic, list<Trait> traits = []>
    : Op<NN_Dialect, mnemonic, !listconcat([Pure], traits)>;

/// An operation that only moves elements.
defvar NN_Move = DeclareOpInterfaceMethods<MoveOpInterface>;

#endif // ZERO_DIALECT_NN_NNBASE_TD
