//===- ZeroBase.td - the zero dialect and its effects ---------------------===//
#ifndef ZERO_DIALECT_ZERO_ZEROBASE_TD
#define ZERO_DIALECT_ZERO_ZEROBASE_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "zero/Interfaces/Traits.td"

def Zero_Dialect : Dialect {
  let name = "zero";
  let cppNamespace = "::mlir::zero";
  let summary = "A training step, and everything that ZeRO adds to it";
  let description = [{
    The dialect has two levels. A *model* is a `zero.step` whose body is a
    forward computation on parameters; it says nothing of optimizer, precision,
    stage or ranks. A *schedule* is a `zero.step` that holds regions: `micro`
    runs once a micro-batch, `apply` once an update, `evaluate` forward only,
    `initialize` once before the first step.

    State that outlives a step (parameters, gradients, moments, the loss scale)
    is named by symbols; operations on it declare effects on a resource, so that
    upstream passes neither merge, delete nor reorder what other ranks wait for.
    Collectives are never pure: every start and every wait reads and writes
    the link.

    A start returns a `!zero.pending`; only `zero.wait` turns it into tensors,
    so that a use before completion does not type-check.
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let dependentDialects = ["::mlir::func::FuncDialect"];
}

/// The link between ranks: operations on it have one order, the same on every
/// rank.
def Zero_LinkResource : Resource<"::mlir::zero::LinkResource">;
/// Parameters, gradients, optimizer state, the loss scale.
def Zero_StateResource : Resource<"::mlir::zero::StateResource">;
/// The beginning of recomputation: operations behind it are computed again.
def Zero_RecomputeResource : Resource<"::mlir::zero::RecomputeResource">;

/// Values that stages of a pipeline send each other and keep for later passes.
def Zero_StageResource : Resource<"::mlir::zero::StageResource">;

def Zero_StageEffects : MemoryEffects<[MemRead<Zero_StageResource>, MemWrite<Zero_StageResource>]>;
def Zero_LinkEffects : MemoryEffects<[MemRead<Zero_LinkResource>, MemWrite<Zero_LinkResource>]>;
def Zero_StateEffects : MemoryEffects<[MemRead<Zero_StateResource>, MemWrite<Zero_StateResource>]>;
def Zero_LinkAndStateEffects : MemoryEffects<[
    MemRead<Zero_LinkResource>, MemWrite<Zero_LinkResource>,
    MemRead<Zero_StateResource>, MemWrite<Zero_StateResource>]>;

/// A collective that sends slices of parameters, or the copies of them that are
/// its operands.
def Zero_GathersSlices : NativeOpTrait<"GathersSlices"> {
  let cppNamespace = "::mlir::zero";
}

/// An operation that sends a value of the model to other ranks: it is computed
/// once, and runs when all of them have the value.
def Zero_ExchangesValue : NativeOpTrait<"ExchangesValue"> {
  let cppNamespace = "::mlir::zero";
}

/// An operation that ends another one that was started, or hands its handle on.
def Zero_PassesPending : NativeOpTrait<"PassesPending"> {
  let cppNamespace = "::mlir::zero";
}

/// An operation whose results are named after parameters.
def Zero_NamesResults : DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>;

class Zero_Op<string mnemonic, list<Trait> traits = []> : Op<Zero_Dialect, mnemonic, traits>;

#endif // ZERO_DIALECT_ZERO_ZEROBASE_TD
