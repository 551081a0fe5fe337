//===- ZeroCollectiveOps.td - what ranks start together, and its end ------===//
#ifndef ZERO_DIALECT_ZERO_ZEROCOLLECTIVEOPS_TD
#define ZERO_DIALECT_ZERO_ZEROCOLLECTIVEOPS_TD

include "zero/Dialect/Zero/AsyncOpInterface.td"

//===----------------------------------------------------------------------===//
// Collectives. Each starts; `zero.wait` ends it.
//
// A started operation runs on a stream: after every operation before it on the
// compute stream, where all else runs, and after those before it on its own;
// beside whatever follows, until its wait.
//===----------------------------------------------------------------------===//

class Zero_CollectiveOp<string mnemonic, list<Trait> traits>
    : Zero_Op<mnemonic,
              !listconcat(
                  traits, [DeclareOpInterfaceMethods<AsyncOpInterface>,
                           DeclareOpInterfaceMethods<CollectiveOpInterface>])>;

class Zero_ReduceOp<string mnemonic>
    : Zero_CollectiveOp<
          mnemonic, [Zero_LinkAndStateEffects,
                     DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let arguments = (ins FlatSymbolRefAttr:$partition, I64Attr:$begin, I64Attr:$end,
      Variadic<AnyRankedTensor>:$gradients, OptionalAttr<FlatSymbolRefArrayAttr>:$parameters,
      UnitAttr:$prescaled, DefaultValuedAttr<Zero_Stream, "StreamKind::Reduce">:$stream);
  let results = (outs Zero_PendingType:$pending);
  let assemblyFormat = [{
    (`prescaled` $prescaled^)? $partition `[` $begin `to` $end `]`
    (`of` $parameters^ `(` $gradients `:` type($gradients) `)`)? (`on` $stream^)? attr-dict `:` type($pending)
  }];
}
defvar ReduceSources = [{
    The sources are the gradients of the named members, as far as they lie in the
    range, and fill it but for padding; without any, the stored gradient of the
    range.
    `prescaled` multiplies the f32 sum over n ranks by 2^-ceil(log2 n) and rounds
    once: a sum of fp16 values would overflow. The rest of 1/n is in the divisor
    of `zero.judge`.
    Constraints
    - (C1) the range begins and ends at segment boundaries of the partition.
    - (C2) gradients and parameters are equally many, each a member in the range,
      and a gradient has the member's elements in the range.
}];

def Zero_AllReduceOp : Zero_ReduceOp<"all_reduce"> {
  let summary = "Start to combine a range of gradients; every rank gets the whole";
  let description = !strconcat(ReduceSources, [{
    - (C3) the pending holds one flat tensor of the range's size.
    ```mlir
    %r = zero.all_reduce @p0[0 to 8] of [@w] (%dw : tensor<2x4xf32>) : <tensor<8xf32>>
    ```
  }]);
  let hasVerifier = 1;
}
def Zero_ReduceScatterOp : Zero_ReduceOp<"reduce_scatter"> {
  let summary = "Start to combine a range of gradients; rank r gets slice r of each segment";
  let description = !strconcat(ReduceSources, [{
    - (C3) the pending holds one flat tensor a segment of the range, of the
      segment's size / slices.
    ```mlir
    %r = zero.reduce_scatter @p0[0 to 8] of [@w] (%dw : tensor<2x4xf32>) : <tensor<4xf32>>
    ```
  }]);
  let hasVerifier = 1;
}
def Zero_BucketedReduceOp
    : Zero_CollectiveOp<"bucketed_reduce", [Zero_LinkEffects,
                                            DeclareOpInterfaceMethods<
                                                SymbolUserOpInterface>]> {
  let summary = "Start to combine a bucket of gradients, each part at its owner";
  let description = [{
    For the `contiguous` layout, whose slices do not follow buckets: the bucket
    holds the named members' gradients one after the other, and each piece is
    reduced to the rank that owns it; neighbouring pieces of one owner are one
    reduction. On a rank, the parts that it does not own are undefined after. With
    a range, only the members' elements in it are meant.
    Constraints
    - (C1) gradients and parameters are equally many, each a member in the range.
    - (C2) the pending holds one flat tensor of all gradients' elements.
    ```mlir
    %r = zero.bucketed_reduce @p0 of [@w, @b] (%dw, %db : tensor<2x4xf32>, tensor<4xf32>) : <tensor<12xf32>>
    %s = zero.bucketed_reduce @p0[0 to 4] of [@w] (%block : tensor<1x4xf32>) : <tensor<4xf32>>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$partition, OptionalAttr<I64Attr>:$begin,
      OptionalAttr<I64Attr>:$end, FlatSymbolRefArrayAttr:$parameters,
      Variadic<AnyRankedTensor>:$gradients, UnitAttr:$prescaled,
      DefaultValuedAttr<Zero_Stream, "StreamKind::Reduce">:$stream);
  let results = (outs Zero_PendingType:$pending);
  let assemblyFormat = [{
    (`prescaled` $prescaled^)? $partition (`[` $begin^ `to` $end `]`)? `of` $parameters `(` $gradients `:` type($gradients) `)` (`on` $stream^)? attr-dict `:` type($pending)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The range [first, second) of the flat space that is meant.
    std::pair<int64_t, int64_t> getRange(::mlir::zero::PartitionOp partition);
  }];
}

def Zero_ExchangeGradientsOp
    : Zero_CollectiveOp<"exchange_gradients", [Zero_LinkEffects,
                                               DeclareOpInterfaceMethods<
                                                   SymbolUserOpInterface>]> {
  let summary = "Start to add up quantized gradients; rank r gets slice r of each segment";
  let description = [{
    A `zero.reduce_scatter` of less traffic (qgZ of ZeRO++,
    <https://arxiv.org/abs/2306.10209>): each rank quantizes the slices of the
    others, all exchange them, and the wait adds them up in f32, in the order of
    ranks. The sum is an approximation, bitwise equal wherever it is computed.

    `whole` is that, over all ranks that the partition is cut over. In two steps,
    `within` is over the last axes of these, such as the ranks of a node: rank l
    gets the sums of the slices of all ranks that have its index in these axes.
    `between` takes these sums over the other axes: only they cross between nodes.
    `prescaled` means what it means in `zero.reduce_scatter`, with all ranks that the
    partition is cut over; `within` is not.

    With `feedback`, the quantization errors of this rank's earlier exchanges of the
    range are added before it quantizes, and the new errors are kept in the partition's
    `errors`, by the step `between` in those of its sums.
    Constraints
    - (C1) the range begins and ends at segment boundaries of the partition, which
      is cut by parameter, and each segment in it is of one of the parameters.
    - (C2) `whole` and `within` take gradients, each with the parameter's elements in
      the segment; `between` takes what a `within` of the same range gave.
    - (C3) the group: `whole` all axes over which the partition is cut,
      `within` some last ones, and `between` the others.
    - (C4) the pending holds one flat tensor a segment: of `within`, f32 sums of the
      segment's size / ranks of the group; otherwise of its size / slices.
    - (C5) the partition keeps errors of a step with `feedback`, and of no other.
    ```mlir
    %p = zero.exchange_gradients within @p0[0 to 16] of [@w] (%dw : tensor<4x4xf32>)
        over <local = 2> quantized <bits = 4> : <tensor<8xf32>>
    %h = zero.wait %p : <tensor<8xf32>>
    %q = zero.exchange_gradients between @p0[0 to 16] of [@w] (%h : tensor<8xf32>)
        over <node = 2> quantized <bits = 4> : <tensor<4xf32>>
    ```
  }];
  let arguments = (ins Zero_Exchange:$step, FlatSymbolRefAttr:$partition,
      I64Attr:$begin, I64Attr:$end, FlatSymbolRefArrayAttr:$parameters,
      Variadic<AnyRankedTensor>:$gradients, Zero_AxesAttr:$over,
      Zero_QuantizationAttr:$quantized, OptionalAttr<Zero_FeedbackAttr>:$feedback,
      UnitAttr:$prescaled,
      DefaultValuedAttr<Zero_Stream, "StreamKind::Reduce">:$stream);
  let results = (outs Zero_PendingType:$pending);
  let assemblyFormat = [{
    $step (`prescaled` $prescaled^)? $partition `[` $begin `to` $end `]`
    `of` $parameters `(` $gradients `:` type($gradients) `)` `over` $over
    `quantized` $quantized
    (`feedback` $feedback^)? (`on` $stream^)? attr-dict `:` type($pending)
  }];
  let extraClassDeclaration = [{
    /// The packed pieces of each segment of `partition` in the range.
    ::llvm::SmallVector<::mlir::zero::PackedPieces> getPieces(
        ::mlir::zero::PartitionOp partition);
  }];
}

def Zero_AllReduceOwnedOp
    : Zero_CollectiveOp<
          "all_reduce_owned", [Zero_LinkAndStateEffects,
                               DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Start to combine the stored gradients of replicas";
  let description = [{
    After the gradients of a range were reduced within the group that states are
    cut over: combines what this rank owns of the stored gradient, in place, with
    that of its replicas. It runs over the axes of the partition that are not cut.
    `prescaled` means what it means in the reductions within the group, with the
    number of replicas.
    Constraints
    - (C1) the range begins and ends at segment boundaries.
    - (C2) the partition has replicas.
    - (C3) the pending holds no tensors.
    ```mlir
    %p = zero.all_reduce_owned @p0[0 to 12] : <>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$partition, I64Attr:$begin, I64Attr:$end, UnitAttr:$prescaled,
      DefaultValuedAttr<Zero_Stream, "StreamKind::Reduce">:$stream);
  let results = (outs Zero_PendingType:$pending);
  let assemblyFormat = "(`prescaled` $prescaled^)? $partition `[` $begin `to` $end `]` (`on` $stream^)? attr-dict `:` type($pending)";
}

def Zero_AllGatherOp
    : Zero_CollectiveOp<
          "all_gather", [Zero_LinkAndStateEffects, Zero_GathersSlices,
                         DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Start to bring whole parameters together from their owners' slices";
  let description = [{
    Stage 3: one group of in-place gathers, one a segment of each parameter. Where
    slices are in host memory, `from` gives copies of this rank's own. With `over`,
    `from` gives slices of the secondary partition, and the gather runs over these
    axes instead of those that the partition is cut over. With `quantized`, slices
    are packed before they travel, and the wait unpacks them (qwZ of ZeRO++,
    <https://arxiv.org/abs/2306.10209>); the gathered parameter is an approximation,
    the same on every rank.
    Constraints
    - (C1) parameters and the pending's tensors are equally many, of equal shapes.
    - (C2) the parameters' partitions are sharded.
    - (C3) there are as many copies as parameters, or none; those of parameters in
      host memory are what the wait for their `zero.upload` gave.
    - (C4) `over` is what the module's mesh has as `secondary`, and there are slices,
      which `zero.secondary_slice` made.
    - (C5) `quantized` and `over` exclude each other.
    - (C6) the parameters' partitions are cut over the same axes.
    ```mlir
    %p = zero.all_gather [@w, @b] : <tensor<2x4xf32>, tensor<4xf32>>
    %q = zero.all_gather [@w] from(%slice : tensor<4xf32>) : <tensor<2x4xf32>>
    %s = zero.all_gather [@w] quantized <block = 4> : <tensor<2x4xf32>>
    %r = zero.all_gather [@w] from(%second : tensor<4xf32>) over <local = 2> : <tensor<2x4xf32>>
    ```
  }];
  let arguments = (ins FlatSymbolRefArrayAttr:$parameters, Variadic<AnyRankedTensor>:$slices,
      OptionalAttr<Zero_AxesAttr>:$over, OptionalAttr<Zero_QuantizationAttr>:$quantized,
      DefaultValuedAttr<Zero_Stream, "StreamKind::Gather">:$stream);
  let results = (outs Zero_PendingType:$pending);
  let assemblyFormat = "$parameters (`from` `(` $slices^ `:` type($slices) `)`)? (`over` $over^)? (`quantized` $quantized^)? (`on` $stream^)? attr-dict `:` type($pending)";
  let hasVerifier = 1;
}

def Zero_SecondarySliceOp
    : Zero_Op<"secondary_slice",
              [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "This rank's slice of a parameter within its node";
  let description = [{
    The slice of a gathered parameter that this rank keeps, so that the ranks of a
    group, such as a node, can gather it again among themselves: slice i of each of
    its segments, padding included, one after the other, where i is the rank's
    index in the group of the axes `over`. ZeRO++ calls these slices of all
    parameters a secondary partition (hpZ, <https://arxiv.org/abs/2306.10209>).
    Constraints
    - (C1) the value is a `zero.load` of the parameter, from a gather of it.
    - (C2) `over` is what the module's mesh has as `secondary`.
    - (C3) the result is flat, of the value's element type, with the elements of the
      parameter's segments / ranks of the group.
    ```mlir
    %s = zero.secondary_slice @w(%w : tensor<2x4xf32>) over <local = 2> : tensor<4xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$parameter, AnyRankedTensor:$value,
      Zero_AxesAttr:$over);
  let results = (outs AnyRankedTensor:$slice);
  let assemblyFormat = "$parameter `(` $value `:` type($value) `)` `over` $over attr-dict `:` type($slice)";
}

def Zero_RefreshOp
    : Zero_CollectiveOp<
          "refresh", [Zero_LinkAndStateEffects,
                      DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Start to gather a range of updated parameters in place";
  let description = [{
    Stages 1 and 2, after the update: slice r of each segment of the range comes
    from rank r; all land in the whole copy that every rank keeps.
    Constraints
    - (C1) the range begins and ends at segment boundaries.
    - (C2) the pending holds no tensors.
    ```mlir
    %p = zero.refresh @p0[0 to 12] : <>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$partition, I64Attr:$begin, I64Attr:$end,
      DefaultValuedAttr<Zero_Stream, "StreamKind::Gather">:$stream);
  let results = (outs Zero_PendingType:$pending);
  let assemblyFormat = "$partition `[` $begin `to` $end `]` (`on` $stream^)? attr-dict `:` type($pending)";
}

def Zero_RefreshResidentOp
    : Zero_CollectiveOp<"refresh_resident", [Zero_LinkAndStateEffects, Zero_GathersSlices,
                                             DeclareOpInterfaceMethods<
                                                 SymbolUserOpInterface>]> {
  let summary = "Start to gather the resident copies of persisted parameters";
  let description = [{
    Stage 3: parameters below the persistence threshold keep a whole 16-bit copy,
    gathered once after the update (and once at start), in one operation for each
    group of ranks that slices are cut over. `from` is as in `zero.all_gather`.
    Constraints
    - (C1) every symbol is a `zero.parameter`.
    - (C2) the pending holds no tensors.
    - (C3) there are as many copies of slices as parameters, or none.
    - (C4) the parameters' partitions are cut over the same axes.
    ```mlir
    %p = zero.refresh_resident [@ln.w, @ln.b] : <>
    ```
  }];
  let arguments = (ins FlatSymbolRefArrayAttr:$parameters, Variadic<AnyRankedTensor>:$slices,
      DefaultValuedAttr<Zero_Stream, "StreamKind::Gather">:$stream);
  let results = (outs Zero_PendingType:$pending);
  let assemblyFormat = "$parameters (`from` `(` $slices^ `:` type($slices) `)`)? (`on` $stream^)? attr-dict `:` type($pending)";
}

/// A collective that starts to send a value of the model, which is in no
/// partition.
class Zero_StartExchangeOp<string mnemonic>
    : Zero_CollectiveOp<
          mnemonic, [Zero_LinkEffects,
                     DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let arguments = (ins AnyStaticShapeTensor:$value, Zero_AxesAttr:$over,
      DefaultValuedAttr<Zero_Stream, "StreamKind::Exchange">:$stream);
  let results = (outs Zero_PendingType:$pending);
  let assemblyFormat = "$value `over` $over (`on` $stream^)? attr-dict `:` type($value) `->` type($pending)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::RankedTensorType getTensorType() {
      return ::llvm::cast<::mlir::RankedTensorType>(getValue().getType());
    }
  }];
}

def Zero_AllToAllOp : Zero_StartExchangeOp<"all_to_all"> {
  let summary = "Start to exchange equal blocks of rows with every rank of a group";
  let description = [{
    The value is n equal blocks of rows, one for each of the n ranks of a group
    of axes of the mesh. Block s goes to rank s of the group, where it arrives as
    block r if it came from rank r. All-to-alls dispatch tokens to the ranks of
    their experts, and bring them back.

    The result is memory of its own, and is freed. The value stays as it is, and
    is read until the wait.
    Constraints
    - (C1) the blocks are equal: the number of rows is a multiple of the group's
      ranks.
    - (C2) the pending holds one tensor of the value's type.
    - (C3) the group is axes of the module's mesh, in their order; without a
      mesh, the line of its ranks.

    Example, 2 ranks: rank 0 has rows [a, b], rank 1 has [c, d]; then rank 0 gets
    [a, c] and rank 1 gets [b, d].
    ```mlir
    %p = zero.all_to_all %x over <data = 2> : tensor<4x8xbf16> -> <tensor<4x8xbf16>>
    %y = zero.wait %p : <tensor<4x8xbf16>>
    ```
  }];
}

def Zero_StartAllReduceOp : Zero_StartExchangeOp<"start_all_reduce"> {
  let summary = "Start to add up what the ranks of a group have of a value";
  let description = [{
    A started `zero.all_reduce_value`; `zero-start-exchanges` creates it. The result
    is memory of its own, and is freed. The value stays as it is, and is read until
    the wait.
    Constraints
    - (C1) the pending holds one tensor of the value's type.
    - (C2) the group is axes of the module's mesh, in their order.
    ```mlir
    %p = zero.start_all_reduce %x over <tensor = 2> : tensor<4x8xbf16> -> <tensor<4x8xbf16>>
    %y = zero.wait %p : <tensor<4x8xbf16>>
    ```
  }];
}

def Zero_StartAllGatherOp : Zero_StartExchangeOp<"start_all_gather"> {
  let summary = "Start to bring together what the ranks of a group have of a value";
  let description = [{
    The values of all ranks, in their order, in a new dimension in front;
    `zero-start-exchanges` creates it from `zero.gather_value`. The result is memory of
    its own, and is freed. The value stays as it is, and is read until the wait.
    Constraints
    - (C1) the pending holds one tensor of the value's type, with the ranks of the group
      in front.
    - (C2) the group is axes of the module's mesh, in their order.
    ```mlir
    %p = zero.start_all_gather %x over <tensor = 2> : tensor<4x8xbf16> -> <tensor<2x4x8xbf16>>
    %y = zero.wait %p : <tensor<2x4x8xbf16>>
    ```
  }];
}

def Zero_WaitOp : Zero_Op<"wait", [Zero_LinkEffects, Zero_PassesPending]> {
  let summary = "The end of a started operation";
  let description = [{
    Gives the operation's tensors. Reads and writes the link, so that a wait whose
    results are not used survives, as it must: other ranks wait as well.
    Constraints: (C1) the results are the pending's tensors.
    ```mlir
    %w = zero.wait %p : <tensor<2x4xf32>>
    ```
  }];
  let arguments = (ins Zero_PendingType:$pending);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::Value":$pending)>];
}

#endif // ZERO_DIALECT_ZERO_ZEROCOLLECTIVEOPS_TD
