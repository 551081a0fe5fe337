//===- ZeroPipelineOps.td - what stages of a pipeline pass on -------------===//
#ifndef ZERO_DIALECT_ZERO_ZEROPIPELINEOPS_TD
#define ZERO_DIALECT_ZERO_ZEROPIPELINEOPS_TD

include "zero/Dialect/Zero/AsyncOpInterface.td"
include "zero/Dialect/Zero/ZeroAttrs.td"
include "zero/Dialect/Zero/ZeroBase.td"
include "zero/Dialect/Zero/ZeroTypes.td"

//===----------------------------------------------------------------------===//
// In a model
//===----------------------------------------------------------------------===//

def Zero_StageBoundaryOp : Zero_Op<"stage_boundary", [Zero_StageEffects]> {
  let summary = "Where a stage of a pipeline ends and the next one begins";
  let description = [{
    `zero-cut-pipeline` cuts a model here, where its mesh has an axis `pipe`: of p ranks
    there are p - 1 boundaries, in the order of the stages. A model without any is cut
    where the stages are about equally fast. In a model that is not cut, the operation
    has no meaning.
    ```mlir
    zero.stage_boundary
    ```
  }];
  let assemblyFormat = "attr-dict";
}

/// The attributes of a transfer: its name, equal on both sides; `back` of a gradient,
/// which goes to the stage before; and `cuts`, which say how the ranks of axes that cut
/// the model have the value. Over axes without a cut all ranks have the same value, or,
/// over `expert`, each has the value of its own samples.
defvar transferAttributes = (ins StrAttr:$name, UnitAttr:$back,
    OptionalAttr<TypedArrayAttrBase<Zero_CutAttr, "cuts">>:$cuts);

def Zero_SendValueOp : Zero_Op<"send_value", [Zero_StageEffects]> {
  let summary = "A value goes to the next stage of the pipeline";
  let description = [{
    To the rank that is one place further on the axis `pipe`, where a
    `zero.receive_value` of this name takes it; with `back` to the one before. A value
    that is `trained` depends on a trained parameter, so that its gradient comes back:
    `zero-differentiate` makes the two operations that bring it.

    Constraints: (C1) the module is a stage, and there is one to send to.
    ```mlir
    zero.send_value %h as "h" trained : tensor<4x8xf32>
    zero.send_value %g as "h" back : tensor<4x8xf32>
    zero.send_value %x as "x" trained cut <dim 1 of [8] over <sequence = 2>> : tensor<2x4x8xf32>
    ```
  }];
  let arguments = !con((ins AnyStaticShapeTensor:$value), transferAttributes, (ins UnitAttr:$trained));
  let assemblyFormat = "$value `as` $name (`back` $back^)? (`trained` $trained^)? (`cut` custom<Cuts>($cuts)^)? attr-dict `:` type($value)";
}

def Zero_ReceiveValueOp : Zero_Op<"receive_value", [Zero_StageEffects]> {
  let summary = "A value of the stage before";
  let description = [{
    The value that a `zero.send_value` of this name sends; with `back`, from the stage
    behind.

    Constraints: (C1) the module is a stage, and there is one that sends.
    ```mlir
    %h = zero.receive_value "h" trained : tensor<4x8xf32>
    %g = zero.receive_value "h" back : tensor<4x8xf32>
    ```
  }];
  let arguments = !con(transferAttributes, (ins UnitAttr:$trained));
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = "$name (`back` $back^)? (`trained` $trained^)? (`cut` custom<Cuts>($cuts)^)? attr-dict `:` type($result)";
}

//===----------------------------------------------------------------------===//
// In a schedule
//===----------------------------------------------------------------------===//

class Zero_TransferOp<string mnemonic>
    : Zero_Op<mnemonic, [Zero_LinkEffects, DeclareOpInterfaceMethods<AsyncOpInterface>,
                         DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let results = (outs Zero_PendingType:$pending);
}

def Zero_StartSendOp : Zero_TransferOp<"start_send"> {
  let summary = "Start to send a value to a neighbouring stage";
  let description = [{
    A started `zero.send_value`; `zero-start-exchanges` creates it. The value is read
    until the wait, which may be in another region where the value is in the stash.

    Constraints
    - (C1) the pending holds nothing.
    - (C2) the module is a stage, and there is one to send to.
    ```mlir
    %p = zero.start_send %h as "h" : tensor<4x8xf32> -> <>
    ```
  }];
  let arguments = !con((ins AnyStaticShapeTensor:$value), transferAttributes,
      (ins DefaultValuedAttr<Zero_Stream, "StreamKind::Exchange">:$stream));
  let assemblyFormat = "$value `as` $name (`back` $back^)? (`cut` custom<Cuts>($cuts)^)? (`on` $stream^)? attr-dict `:` type($value) `->` type($pending)";
  let hasVerifier = 1;
}

def Zero_StartReceiveOp : Zero_TransferOp<"start_receive"> {
  let summary = "Start to receive a value from a neighbouring stage";
  let description = [{
    A started `zero.receive_value`. The result is memory of its own, and is freed.

    Constraints
    - (C1) the pending holds one tensor.
    - (C2) the module is a stage, and there is one that sends.
    ```mlir
    %p = zero.start_receive "h" : <tensor<4x8xf32>>
    %h = zero.wait %p : <tensor<4x8xf32>>
    ```
  }];
  let arguments = !con(transferAttributes,
      (ins DefaultValuedAttr<Zero_Stream, "StreamKind::Exchange">:$stream));
  let assemblyFormat = "$name (`back` $back^)? (`cut` custom<Cuts>($cuts)^)? (`on` $stream^)? attr-dict `:` type($pending)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::RankedTensorType getTensorType() {
      return ::llvm::cast<::mlir::RankedTensorType>(getPending().getType().getTypes().front());
    }
  }];
}

def Zero_TieGradientsOp : Zero_Op<"tie_gradients",
    [Zero_LinkAndStateEffects, DeclareOpInterfaceMethods<AsyncOpInterface>,
     DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Add up the gradients that several stages have of one parameter";
  let description = [{
    Replaces this rank's part of the stored gradient by the sum of the parts of the
    ranks at its place in all `stages` of the partition, added in the order of the
    stages on each of them. The operation comes after all reductions within a stage, and
    ends where it stands: it has no wait.

    Constraints: (C1) the partition is trained, has `stages`, and gradients of f32.
    ```mlir
    zero.tie_gradients @p2
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$partition);
  let assemblyFormat = "$partition attr-dict";
}

def Zero_StashOp : Zero_Op<"stash", [Zero_StageEffects, AllTypesMatch<["value", "result"]>]> {
  let summary = "A value that outlives its pass, in the stash";
  let description = [{
    The stash has a slot for each micro-batch that is under way, and in each of them the
    same places. The result is the value in its place, where the operation that makes the
    value writes it if it can; otherwise it is copied.

    Constraints: (C1) no two values of a step have one name.
    ```mlir
    %s = zero.stash %h as "h" : tensor<4x8xf32>
    ```
  }];
  let arguments = (ins AnyStaticShapeTensor:$value, StrAttr:$name);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = "$value `as` $name attr-dict `:` type($value)";
}

def Zero_UnstashOp : Zero_Op<"unstash", [Zero_StageEffects]> {
  let summary = "What the forward pass of the micro-batch has left in the stash";
  let description = [{
    Constraints: (C1) `zero.forward` stashes a value of this name and type.
    ```mlir
    %h = zero.unstash "h" : tensor<4x8xf32>
    ```
  }];
  let arguments = (ins StrAttr:$name);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = "$name attr-dict `:` type($result)";
}

#endif // ZERO_DIALECT_ZERO_ZEROPIPELINEOPS_TD
