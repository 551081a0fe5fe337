//===- ZeroTierOps.td - copies between tiers, and updates on the host -----===//
#ifndef ZERO_DIALECT_ZERO_ZEROTIEROPS_TD
#define ZERO_DIALECT_ZERO_ZEROTIEROPS_TD

include "zero/Dialect/Zero/AsyncOpInterface.td"

//===----------------------------------------------------------------------===//
// Each operation starts a copy or an update; `zero.wait` ends it. A range
// begins and ends at segment boundaries; only this rank's elements of it are
// copied.
//===----------------------------------------------------------------------===//

class Zero_TierOp<string mnemonic, list<Trait> traits = []>
    : Zero_Op<mnemonic, !listconcat(traits,
                        [Zero_StateEffects,
                         DeclareOpInterfaceMethods<AsyncOpInterface>,
                         DeclareOpInterfaceMethods<SymbolUserOpInterface>])> {
  let results = (outs Zero_PendingType:$pending);
}

def Zero_CopyToHostOp : Zero_TierOp<"copy_to_host"> {
  let summary = "Start to copy owned gradients or parameters to host memory";
  let description = [{
    Copies this rank's slices of a range, one after the other, from the memory
    of the device to a staging buffer in host memory. `state` is `gradients`,
    the stored ones, or `parameters`.
    Constraints
    - (C1) the range begins and ends at segment boundaries.
    - (C2) the pending holds one flat tensor of the owned elements, in the type
      in which the partition stores them.
    ```mlir
    %p = zero.copy_to_host "gradients" of @p0[0 to 12] : <tensor<6xbf16>>
    ```
  }];
  let arguments = (ins StrAttr:$state, FlatSymbolRefAttr:$partition, I64Attr:$begin, I64Attr:$end,
      DefaultValuedAttr<Zero_Stream, "StreamKind::Copy">:$stream);
  let assemblyFormat = "$state `of` $partition `[` $begin `to` $end `]` (`on` $stream^)? attr-dict `:` type($pending)";
}

def Zero_UpdateOnHostOp : Zero_TierOp<"update_on_host", [AttrSizedOperandSegments]> {
  let summary = "Start the optimizer on the host, on owned slices of a range";
  let description = [{
    The update of `zero.update`, of a range whose states are not on the device, by
    the host. `gradients` are a copy of the stored ones. `states` are copies of what
    is in a file, states or parameters, in the order of the update's kernel; they are
    updated in place and become the last results. Where the rule reads the
    parameter (f32 training, and split masters), `parameters` is a copy of it, is
    updated in place, and becomes the result; otherwise the result is a staging
    buffer of its own, which a skipped update leaves undefined. Parameters of a
    partition that keeps them in host memory are updated where they are.
    Constraints
    - (C1) the range begins and ends at segment boundaries. No state of it is on the
      device, all are in one tier, and there is one of `states` for each of its
      states that is in a file, and for parameters that are.
    - (C2) there are `parameters` exactly where the rule reads them, and they are
      on the device.
    - (C3) operands and the pending's tensors are flat, with the owned elements;
      the pending has a tensor of parameters of its own only where these are on the
      device.
    ```mlir
    %u = zero.update_on_host @p0[0 to 12] of %g if %v : (tensor<6xbf16>) -> <tensor<6xbf16>>
    %w = zero.update_on_host @p1[0 to 12] of %h if %v : (tensor<6xbf16>) -> <>
    %x = zero.update_on_host @p2[0 to 12] of %i with (%m, %n : tensor<6xf32>, tensor<6xf32>) if %v
        : (tensor<6xbf16>) -> <tensor<6xbf16>, tensor<6xf32>, tensor<6xf32>>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$partition, I64Attr:$begin, I64Attr:$end,
      AnyRankedTensor:$gradients, Optional<AnyRankedTensor>:$parameters,
      Variadic<AnyRankedTensor>:$states, Zero_VerdictType:$verdict,
      DefaultValuedAttr<Zero_Stream, "StreamKind::Host">:$stream);
  let assemblyFormat = [{
    $partition `[` $begin `to` $end `]` `of` $gradients (`in` $parameters^ `:` type($parameters))?
    (`with` `(` $states^ `:` type($states) `)`)? `if` $verdict
    (`on` $stream^)? attr-dict `:` `(` type($gradients) `)` `->` type($pending)
  }];
}

def Zero_CopyToDeviceOp : Zero_TierOp<"copy_to_device"> {
  let summary = "Start to copy updated parameters back to the device";
  let description = [{
    Copies the result of `zero.update_on_host` to this rank's slices of the
    parameters; does nothing if the update is skipped.
    Constraints
    - (C1) the range begins and ends at segment boundaries.
    - (C2) the value is flat, with the owned elements in the compute type; the
      pending holds no tensors.
    ```mlir
    %p = zero.copy_to_device %x to @p0[0 to 12] if %v : tensor<6xbf16> -> <>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$value, FlatSymbolRefAttr:$partition, I64Attr:$begin, I64Attr:$end,
      Zero_VerdictType:$verdict, DefaultValuedAttr<Zero_Stream, "StreamKind::Upload">:$stream);
  let assemblyFormat = "$value `to` $partition `[` $begin `to` $end `]` `if` $verdict (`on` $stream^)? attr-dict `:` type($value) `->` type($pending)";
}

def Zero_ReadStatesOp : Zero_TierOp<"read_states"> {
  let summary = "Start to read owned states of a range from a file";
  let description = [{
    Reads this rank's elements of a range to staging buffers in host memory, for
    `zero.update_on_host`: those of each optimizer state that is in a file, and
    those of the parameters if these are in a file.
    Constraints
    - (C1) the range begins and ends at segment boundaries, and states or parameters
      of it are in a file.
    - (C2) the pending holds one flat tensor for each of them, in the order of the
      update's kernel, with the owned elements.
    ```mlir
    %p = zero.read_states @p0[0 to 12] : <tensor<6xf32>, tensor<6xf32>>
    %m, %v = zero.wait %p : <tensor<6xf32>, tensor<6xf32>>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$partition, I64Attr:$begin, I64Attr:$end,
      DefaultValuedAttr<Zero_Stream, "StreamKind::Read">:$stream);
  let assemblyFormat = "$partition `[` $begin `to` $end `]` (`on` $stream^)? attr-dict `:` type($pending)";
}

def Zero_WriteStatesOp : Zero_TierOp<"write_states"> {
  let summary = "Start to write owned states of a range back to a file";
  let description = [{
    Writes the results of `zero.update_on_host` to the places that
    `zero.read_states` read; if the update is skipped, these are the values that
    were read.
    Constraints
    - (C1) the range begins and ends at segment boundaries, and states or parameters
      of it are in a file.
    - (C2) there is one flat value for each of them, in the order of the update's
      kernel, with the owned elements; the pending holds no tensors.
    ```mlir
    %p = zero.write_states %m, %v to @p0[0 to 12] : tensor<6xf32>, tensor<6xf32> -> <>
    ```
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$states, FlatSymbolRefAttr:$partition, I64Attr:$begin, I64Attr:$end,
      DefaultValuedAttr<Zero_Stream, "StreamKind::Write">:$stream);
  let assemblyFormat = "$states `to` $partition `[` $begin `to` $end `]` (`on` $stream^)? attr-dict `:` type($states) `->` type($pending)";
}

def Zero_ReadParametersOp : Zero_TierOp<"read_parameters"> {
  let summary = "Start to read this rank's slices of parameters from a file";
  let description = [{
    Stage 3: reads slices of parameters that are in a file to staging buffers in host
    memory, for `zero.upload`.
    Constraints
    - (C1) parameters and the pending's tensors are equally many; no parameter is
      named twice.
    - (C2) slices of the parameters are in a file; each tensor is flat, with this
      rank's elements in the compute type.
    ```mlir
    %p = zero.read_parameters [@w] : <tensor<4xf32>>
    %slice = zero.wait %p : <tensor<4xf32>>
    ```
  }];
  let arguments = (ins FlatSymbolRefArrayAttr:$parameters,
      DefaultValuedAttr<Zero_Stream, "StreamKind::Read">:$stream);
  let assemblyFormat = "$parameters (`on` $stream^)? attr-dict `:` type($pending)";
}

def Zero_UploadOp : Zero_TierOp<"upload"> {
  let summary = "Start to copy this rank's slices of parameters to the device";
  let description = [{
    Stage 3: copies slices of parameters that are not on the device to buffers of
    their own there, for a gather to send: from host memory, or, where `from` gives
    them, what `zero.read_parameters` has read.
    Constraints
    - (C1) parameters and the pending's tensors are equally many, and so are the
      values of `from`, if there are any; no parameter is named twice.
    - (C2) slices of the parameters are in host memory, or in a file and read from
      there; each tensor is flat, with this rank's elements in the compute type.
    ```mlir
    %p = zero.upload [@w] : <tensor<4xf32>>
    %slice = zero.wait %p : <tensor<4xf32>>
    %q = zero.upload [@b] from(%read : tensor<2xf32>) : <tensor<2xf32>>
    ```
  }];
  let arguments = (ins FlatSymbolRefArrayAttr:$parameters, Variadic<AnyRankedTensor>:$slices,
      DefaultValuedAttr<Zero_Stream, "StreamKind::Upload">:$stream);
  let assemblyFormat = "$parameters (`from` `(` $slices^ `:` type($slices) `)`)? (`on` $stream^)? attr-dict `:` type($pending)";
}

//===----------------------------------------------------------------------===//
// Activations: values that the forward pass makes and the backward pass reads.
//===----------------------------------------------------------------------===//

class Zero_ActivationTierOp<string mnemonic, string queue>
    : Zero_Op<mnemonic, [Zero_StateEffects,
                         DeclareOpInterfaceMethods<AsyncOpInterface>]> {
  let arguments = (ins AnyStaticShapeTensor:$value, I64Attr:$id, DefaultValuedAttr<Zero_Stream, queue>:$stream);
  let results = (outs Zero_PendingType:$pending);
  let assemblyFormat = "$value `id` $id (`on` $stream^)? attr-dict `:` type($value) `->` type($pending)";
  let hasVerifier = 1;
}

def Zero_OffloadOp : Zero_ActivationTierOp<"offload", "StreamKind::Copy"> {
  let summary = "Start to copy an activation to host memory";
  let description = [{
    Copies `value` to a buffer in host memory, from where `zero.fetch` brings it
    back. After the wait `value` may be freed. `id` is a number of its own in the
    region.
    Constraints
    - (C1) the pending holds one tensor, of the value's type. It is in host
      memory: only `zero.fetch` reads it.
    ```mlir
    %p = zero.offload %x id 0 : tensor<64x32xbf16> -> <tensor<64x32xbf16>>
    %h = zero.wait %p : <tensor<64x32xbf16>>
    ```
  }];
}

def Zero_FetchOp : Zero_ActivationTierOp<"fetch", "StreamKind::Upload"> {
  let summary = "Start to copy an offloaded activation back to the device";
  let description = [{
    Copies an activation that `zero.offload` brought to host memory to a buffer
    of its own on the device, which is freed after its last use.
    Constraints
    - (C1) the pending holds one tensor, of the value's type.
    - (C2) `value` is what the wait for the `zero.offload` of the same `id` gave.
    ```mlir
    %p = zero.fetch %h id 0 : tensor<64x32xbf16> -> <tensor<64x32xbf16>>
    %x = zero.wait %p : <tensor<64x32xbf16>>
    ```
  }];
}

#endif // ZERO_DIALECT_ZERO_ZEROTIEROPS_TD
