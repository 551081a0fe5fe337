//===- ZeroScheduleOps.td - layouts, carries, frees, updates --------------===//
#ifndef ZERO_DIALECT_ZERO_ZEROSCHEDULEOPS_TD
#define ZERO_DIALECT_ZERO_ZEROSCHEDULEOPS_TD

include "zero/Dialect/Zero/AsyncOpInterface.td"

//===----------------------------------------------------------------------===//
// Layout
//===----------------------------------------------------------------------===//

def Zero_MeshOp : Zero_Op<"mesh", [Symbol]> {
  let summary = "The ranks as a mesh of named axes";
  let description = [{
    Ranks are numbered in row-major order of the axes. The ranks of an axis `tensor` or
    `sequence` compute parts of one model on the same samples; those of all others have
    samples of their own. Over `tensor` they have parts of the parameters. Gradients are
    reduced over all other axes; `cut` are those of these over which states are cut, all
    where it is left out. Ranks that differ in others are replicas: they hold the same
    slices. With one axis `replica` and one axis `shard` that is MiCS, or hybrid
    sharding: reduce-scatter and gathers run within a shard group, and an
    all-reduce of a rank's slice combines the replicas.

    At stage 3, `secondary` are the axes within which a parameter is gathered again
    after its first gather of a micro-batch: the ranks of a node. They share a
    secondary partition (`zero.secondary_slice`), and links between nodes are used
    for the first gather only.

    The ranks of an axis `pipe` have different layers of one model, and a module is
    what those at one place of it run: `stage` says which. Such a module stands among
    those of the other stages in a module around them. `order` says in which order a
    stage makes the passes of micro-batches: `gpipe`, all forward passes first, `1f1b`,
    a backward pass as soon as it can be, or `interleaved`, the same where each stage has
    several groups of layers, its `chunks`: stage s of p has groups s, s + p, s + 2 p.

    A module without this operation has the mesh `<data = n>`.

    Constraints
    - (C1) there is an axis whose ranks have samples, and `cut` has axes over which
      gradients are reduced, in their order.
    - (C2) `secondary` has axes over which states are cut, in their order, and not
      all of them.
    - (C3) `stage` is a place of an axis `pipe`, the order is `gpipe`, `1f1b` or
      `interleaved`, and there are 2 `chunks` or more with the last of these only.
    ```mlir
    zero.mesh @mesh <replica = 2, shard = 3> cut <shard = 3>
    zero.mesh @mesh <node = 2, local = 4> secondary <local = 4>
    zero.mesh @mesh <data = 4, tensor = 2>
    zero.mesh @mesh <data = 4, sequence = 2>
    zero.mesh @mesh <pipe = 4, data = 2> stage 1 order "1f1b"
    zero.mesh @mesh <pipe = 4, data = 2> stage 1 order "interleaved" chunks 2
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Zero_AxesAttr:$axes,
      OptionalAttr<Zero_AxesAttr>:$cut, OptionalAttr<Zero_AxesAttr>:$secondary,
      OptionalAttr<I64Attr>:$stage, OptionalAttr<StrAttr>:$order,
      DefaultValuedAttr<I64Attr, "1">:$chunks);
  let assemblyFormat = [{
    $sym_name $axes (`cut` $cut^)? (`secondary` $secondary^)?
    (`stage` $stage^ `order` $order)? (`chunks` $chunks^)? attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The order of passes; nothing where there is none of that name.
    std::optional<::zrt::PassOrder> getPassOrder();
    ::llvm::LogicalResult verifyStage();
    ::mlir::zero::AxesAttr getCutAxes() { return getCutAttr() ? getCutAttr() : getAxes().getStateAxes(); }
  }];
}

def Zero_PartitionOp : Zero_Op<"partition", [Symbol, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "The layout of a flat group: members, offsets, padding, owners";
  let description = [{
    The parameters of one optimizer group and compute type, one after the other in a
    flat space of elements. `segments` are the boundaries of the units of ownership:
    segment i is [segments[i], segments[i+1]), cut into equal slices, slice r owned by
    rank r of a group. `over` names the axes over which gradients are reduced, and `cut`
    those of them over which states are cut, all where it is left out; `over n ranks` is
    `over <data = n>`. Ranks that differ in axes that are not cut are replicas, which
    own the same slices. `parts` names the axes over which the members themselves are
    cut: no two ranks of these axes have the same elements of them. The layout says how
    the segments came about:

    - `whole` (stage 0): buckets of all-reduces; every rank owns everything.
    - `interval` (stage 1): communication intervals of a bounded size.
    - `bucketed` (stage 2, and stage 1 where each of several micro-batches is
      reduced): one segment a bucket, in the order in which gradients become
      ready.
    - `contiguous` (stage 2): one segment, so one slice a rank.
    - `parameter` (stage 3): segments of one parameter each.

    A parameter whose gradient is made in blocks has a segment a block, without
    padding in between.

    `stage` says which states are sharded: the optimizer's from 1, gradients from 2,
    parameters from 3. `states` are those of the optimizer, with their types, the
    tier that they are in unless it is the device, and their places once memory is
    planned; without the list, they are all on the device. `master` is there when
    the compute type is 16-bit; with `split`, the master's upper half is the bf16
    parameter itself and only the lower 16 bits are kept, as `remainder`.
    `parameters on host` says that slices of parameters are in host memory, from
    where `zero.upload` brings them to gathers, and `parameters on file` that they
    are in a file, from where `zero.read_parameters` brings them to host memory.
    `quantized` says that a rank stores its slice of each parameter packed, as
    `#zero.quantization` describes, from where gathers take it as it is. `errors`
    are the quantization errors of this rank's gradients that each step of an
    exchange with feedback keeps: bf16, one for so many elements of the flat space
    as the list says. `stages` are those of a pipeline that have the same partition:
    what is true of its member is true of each. `wire` is the type in which
    gradients of a micro-batch travel where it is not the compute type. `at` gives
    the places of parameters, gradients and errors.

    Constraints
    - (C1) segments begin at 0 and do not decrease; except in `whole`, each is a
      multiple of the number of slices.
    - (C2) members lie in order inside the segments and do not overlap.
    - (C3) every member is a `zero.parameter` of its size.
    - (C4) `split` needs the compute type bf16: fp16 is no prefix of f32.
    - (C5) in `parameter`, every member begins a segment.
    - (C6) `cut` has axes of `over`, in their order; both are of the mesh.
    - (C7) the states are those of the optimizer, in its order; ranges of a state
      cover the flat space and are cut at segment boundaries.
    - (C8) `compute` and `gradient` are float types, and so is `wire`, which is wider than
      `compute`; the partition is trained.
    - (C9) parameters that are not on the device are sharded; where they are
      trained, no state is on the device.
    - (C10) errors are of a trained partition in `parameter`: one for each element,
      and of a second step one for so many as a group of the first has ranks.
    - (C11) parameters that are stored `quantized` are not trained, and sharded, in
      `parameter`.
    - (C12) every member is cut over the axes of `parts`, or where there are none over
      none.

    Example, 2 ranks, bucketed: `@b` (3 elements) and `@w` (6), alignment 2:
    ```
    flat   0 1 2 | 3 4 5 6 7 8 | 9 10 11
           @b      @w            padding        one segment of 12
    owner  rank 0: 0..5          rank 1: 6..11
    ```
    ```mlir
    zero.partition @p0 bucketed over 2 ranks stage 2 segments [0, 12]
      members [#zero.member<@b at 0 size 3>, #zero.member<@w at 3 size 6>]
      compute f32 gradient f32 optimizer #zero.adam<lr = 1.0e-3>
      states [exp_avg f32, exp_avg_sq f32 on host]
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Zero_Layout:$layout,
      Zero_AxesAttr:$over, Zero_AxesAttr:$cut, OptionalAttr<Zero_AxesAttr>:$parts, I64Attr:$stage, DenseI64ArrayAttr:$segments,
      ArrayAttr:$members, TypeAttr:$compute_type, TypeAttr:$gradient_type, OptionalAttr<TypeAttr>:$wire,
      DefaultValuedAttr<Zero_Tier, "MemoryTier::Device">:$parameter_tier,
      OptionalAttr<Zero_QuantizationAttr>:$quantized, UnitAttr:$split_master, OptionalAttr<AnyAttr>:$optimizer,
      OptionalAttr<ArrayAttr>:$states, OptionalAttr<DenseI64ArrayAttr>:$errors,
      OptionalAttr<DenseI64ArrayAttr>:$stages, OptionalAttr<DictionaryAttr>:$at);
  let assemblyFormat = [{
    $sym_name $layout `over` custom<Owners>($over, $cut) (`parts` $parts^)? `stage` $stage `segments` $segments
    `members` $members `compute` $compute_type `gradient` $gradient_type (`wire` $wire^)?
    (`parameters` `on` $parameter_tier^)? (`quantized` $quantized^)? (`split` $split_master^)? (`optimizer` $optimizer^)?
    (`states` custom<States>($states)^)? (`errors` $errors^)? (`stages` $stages^)? (`at` $at^)? attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Whether the norm of gradients counts the partition in stage `stage` of a
    /// pipeline: only the first stage that has it counts it.
    bool isCountedIn(int64_t stage) { return !getStages() || getStages()->front() == stage; }
    /// Elements of the flat space, padding included.
    int64_t getFlatElements() { return getSegments().back(); }
    bool isTrainable() { return getOptimizer().has_value(); }
    /// The type of a micro-batch's gradients, in which they travel.
    ::mlir::Type getWireType() { return getWire().value_or(getComputeType()); }
    /// Slices of a segment: the ranks of a group over which states are cut.
    int64_t getSlices() { return getCut().getSize(); }
    /// The axes of slices where they are not those of the mesh: of parameters that
    /// are cut themselves; else null.
    ::mlir::zero::AxesAttr getSliceAxes() { return getPartsAttr() ? getCut() : nullptr; }
    /// Whether no gradient of the partition travels.
    bool isSilent(::mlir::zero::TrainingAttr training) {
      return training.isSilent(getOver().getSize());
    }
    /// Ranks that own the same slice.
    int64_t getReplicas() { return getOver().getSize() / getSlices(); }
    /// The number that reduced gradients are divided by for a mean over ranks:
    /// the ranks, times the factors of the groups that reduce them if their
    /// sums are `prescaled`.
    double getDivisor(bool prescaled);
    /// Neighbouring segments as ranges of at most `elements`, or of one segment
    /// where that has more; empty ranges are left out.
    ::llvm::SmallVector<std::pair<int64_t, int64_t>> getSegmentRuns(int64_t elements);
    /// Whether slices travel: one rank's group is whole, unless its trivial
    /// collectives are kept.
    bool isCut() { return getSlices() > 1 || getLayout() != LayoutKind::Whole; }
    bool hasShardedOptimizer() { return getStage() >= 1 && isCut(); }
    bool hasShardedGradients() { return getStage() >= 2 && isCut(); }
    bool hasShardedParameters() { return getStage() >= 3 && isCut(); }
    ::mlir::zero::OptimizerAttrInterface getOptimizerInterface() {
      return ::llvm::cast<::mlir::zero::OptimizerAttrInterface>(*getOptimizer());
    }
    /// The states of a trained partition with such parameters: the one that
    /// stands for the f32 parameter, if parameters are 16-bit, and those that
    /// the optimizer keeps.
    static ::llvm::SmallVector<::mlir::zero::OptimizerState>
    describeStates(::mlir::Type computeType, bool splitMaster, ::mlir::Attribute optimizer);
    /// The states of this partition; none if it is not trained.
    ::llvm::SmallVector<::mlir::zero::OptimizerState> describeStates() {
      return describeStates(getComputeType(), getSplitMaster(), getOptimizer().value_or(nullptr));
    }
    /// The attribute `states` for such parameters, all of them on the device.
    static ::mlir::ArrayAttr makeStates(::mlir::Type computeType, bool splitMaster,
                                        ::mlir::Attribute optimizer);
    /// The states, or where the list is missing what it stands for.
    ::mlir::ArrayAttr getStateList() {
      return getStates() ? *getStates()
                         : makeStates(getComputeType(), getSplitMaster(), getOptimizer().value_or(nullptr));
    }
    auto getStateRange() { return getStateList().getAsRange<::mlir::zero::StateAttr>(); }
    /// The state of that name; null where there is none.
    ::mlir::zero::StateAttr findState(::llvm::StringRef name);
    /// The number of elements of [begin, end) that one rank owns.
    int64_t getOwnedElements(int64_t begin, int64_t end) {
      return (end - begin) / (hasShardedOptimizer() ? getSlices() : 1);
    }
    /// Bytes of what a rank stores of the parameters that begin in [begin, end), or
    /// of all elements there where it stores them as they are.
    int64_t getParameterBytes(int64_t begin, int64_t end);
    /// Bytes of a rank's slice of [begin, end), a parameter's segments, that is stored
    /// quantized.
    int64_t getPackedBytes(int64_t begin, int64_t end) {
      return getQuantizedAttr().getPackedBytes((end - begin) / getSlices());
    }
    /// Whether slices of parameters are in host memory.
    bool hasParametersOnHost() { return getParameterTier() == ::mlir::zero::MemoryTier::Host; }
    /// Whether slices of parameters are in a file.
    bool hasParametersInFile() { return getParameterTier() == ::mlir::zero::MemoryTier::File; }
    /// Whether slices of parameters are in host memory or in a file, so that
    /// the host updates them.
    bool hasOffloadedParameters() { return getParameterTier() != ::mlir::zero::MemoryTier::Device; }
    /// The buffers of an update of [begin, end) that are in a file.
    ::llvm::SmallVector<::mlir::zero::UpdateOperand> getOperandsInFile(int64_t begin, int64_t end);
    /// The flat type of a rank's elements of [begin, end).
    ::mlir::RankedTensorType getOwnedType(int64_t begin, int64_t end, ::mlir::Type element) {
      return ::mlir::RankedTensorType::get({getOwnedElements(begin, end)}, element);
    }
    /// The flat types of the buffers that are in a file, in an update of
    /// [begin, end).
    ::llvm::SmallVector<::mlir::Type> getOwnedTypesInFile(int64_t begin, int64_t end);
    /// The tier of all states of [begin, end), that of parameters where there are none
    /// and parameters are not on the device; nothing where tiers differ or there is
    /// nothing.
    std::optional<::mlir::zero::MemoryTier> getStateTier(int64_t begin, int64_t end);
    /// The element behind the last one whose states are off the device: the
    /// device updates the elements from there on.
    int64_t getHostEnd();
    /// [begin, end) in sub-groups: neighbouring segments of at most `elements` on
    /// one rank, or one segment where that has more.
    ::llvm::SmallVector<std::pair<int64_t, int64_t>>
    getSubGroups(int64_t begin, int64_t end, int64_t elements);
    /// Whether the update reads the parameter that the device computes with.
    bool readsParameters();
    /// The name of the errors that the first or the second step of an exchange keeps.
    static ::llvm::StringRef getErrorsName(bool isSecond) {
      return isSecond ? "errors_between" : "errors";
    }
    /// [begin, end) of a range of a state.
    std::pair<int64_t, int64_t> getBounds(::mlir::zero::StateRangeAttr range) {
      return {range.getBegin(), range.getEnd() < 0 ? getFlatElements() : range.getEnd()};
    }
    /// The buffers of an update's kernel, in its order.
    ::llvm::SmallVector<::mlir::zero::UpdateOperand> getUpdateOperands();
    /// All places with their names, in a fixed order; none before they are planned.
    ::llvm::SmallVector<std::pair<std::string, ::mlir::zero::AtAttr>> getPlaces();
    /// Whether anything has a place.
    bool hasPlaces();
    /// Sets all places, in that order.
    void setPlaces(::llvm::ArrayRef<::mlir::zero::AtAttr> places);
    /// The place of a parameter, or null where it is no member.
    ::mlir::zero::MemberAttr findMember(::llvm::StringRef parameter);
    /// The place of a parameter among the members that touch [begin, end),
    /// found by their offsets; null if it is none of them.
    ::mlir::zero::MemberAttr findMemberIn(::llvm::StringRef parameter, int64_t begin, int64_t end);
    /// The segments that lie in [begin, end), without empty ones, in order.
    ::llvm::SmallVector<std::pair<int64_t, int64_t>> getSegmentsIn(int64_t begin, int64_t end);
    /// The segments [first, second) of a member of the layout `parameter`,
    /// padding included: empty for a parameter without elements.
    std::pair<int64_t, int64_t> getSegmentsOf(::llvm::StringRef parameter);
    /// A member's elements of the flat space that lie in [begin, end); an empty
    /// range where none do.
    std::pair<int64_t, int64_t> getElementsIn(::llvm::StringRef parameter, int64_t begin, int64_t end);
    auto getMemberRange() { return getMembers().getAsRange<::mlir::zero::MemberAttr>(); }
  }];
}

include "zero/Dialect/Zero/ZeroCollectiveOps.td"

//===----------------------------------------------------------------------===//
// From one region to the next
//===----------------------------------------------------------------------===//

def Zero_CarryOp : Zero_Op<"carry", [Zero_LinkEffects, Zero_PassesPending]> {
  let summary = "Leave a started operation running for another region";
  let description = [{
    Names an operation that was started in this region, so that another region
    waits for it with `zero.carried`: the last reductions of a micro-batch run
    under the update, gathers of updated parameters under the next forward.
    Values that the operation borrows stay borrowed until that wait.
    `zero-verify-schedule` checks that every name is carried once and taken
    once, and that nothing is in flight where it would be started again.
    Constraints: (C1) the pending was started in this region.
    ```mlir
    %p = zero.refresh @p0[0 to 12] : <>
    zero.carry %p as "refresh @p0 0" : <>
    ```
  }];
  let arguments = (ins Zero_PendingType:$pending, StrAttr:$handle);
  let assemblyFormat = "$pending `as` $handle attr-dict `:` type($pending)";
  let hasVerifier = 1;
}

def Zero_CarriedOp
    : Zero_Op<"carried", [Zero_LinkEffects, Zero_PassesPending]> {
  let summary = "What another region has carried";
  let description = [{
    The operation that was carried under this name last. Where nothing is in
    flight, since none was carried yet or its end was waited for already, the
    wait has nothing to do; only operations that give no tensors may be so.
    ```mlir
    %p = zero.carried "refresh @p0 0" : <>
    zero.wait %p : <>
    ```
  }];
  let arguments = (ins StrAttr:$handle);
  let results = (outs Zero_PendingType:$pending);
  let assemblyFormat = "$handle attr-dict `:` type($pending)";
}

//===----------------------------------------------------------------------===//
// Gradients after reduction, and frees
//===----------------------------------------------------------------------===//

def Zero_AccumulateOp : Zero_Op<"accumulate", [Zero_StateEffects,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Add to the stored gradient; the first micro-batch of an update overwrites";
  let description = [{
    `value` holds elements [begin, end) of the partition's flat space (`whole`),
    this rank's slice of that range (`slice`), or a bucket of members' elements in
    that range of which this rank's count (`owned`). Sums are f32. With one micro-batch
    an update and equal types, the memory plan lets the producer write the value
    at its place, and nothing runs.
    Constraints
    - (C1) the value's elements are as many as the form says.
    ```mlir
    zero.accumulate slice %s into @p0[0 to 12] : tensor<6xf32>
    ```
  }];
  let arguments = (ins Zero_AccumulateForm:$form,
      AnyRankedTensor:$value, FlatSymbolRefAttr:$partition, I64Attr:$begin, I64Attr:$end,
      OptionalAttr<FlatSymbolRefArrayAttr>:$parameters);
  let assemblyFormat = [{
    $form $value `into` $partition `[` $begin `to` $end `]` (`of` $parameters^)? attr-dict `:` type($value)
  }];
  let hasVerifier = 1;
}

def Zero_FreeOp : Zero_Op<"free", [Zero_StateEffects]> {
  let summary = "These values are dead from here";
  let description = [{
    Gathered parameters and gradients that other ranks own. Inserted last: pure
    users are not ordered against it, so only verification, planning and lowering
    run after.
    ```mlir
    zero.free %w, %dw : tensor<2x4xf32>, tensor<2x4xf32>
    ```
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$values);
  let assemblyFormat = "$values attr-dict `:` type($values)";
}

//===----------------------------------------------------------------------===//
// The update
//===----------------------------------------------------------------------===//

def Zero_GradStatsOp : Zero_Op<"grad_stats", [Zero_StateEffects,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Found-inf and sum of squares of the owned gradients, in one read";
  let description = [{
    Looks at exponents for non-finite elements, not at the norm. With `ranges`,
    reads only the elements [begin, end) of each partition; with `to`, adds the
    result to an earlier one, so that ranges can be read as their reductions
    end.
    Constraints
    - (C1) `ranges` has a begin and an end for each partition, at segment
      boundaries.
    ```mlir
    %s = zero.grad_stats @p0, @p1
    %a = zero.grad_stats @p0, @p1 ranges [0, 8, 4, 12]
    %b = zero.grad_stats @p0 ranges [8, 12] to %a
    ```
  }];
  let arguments = (ins FlatSymbolRefArrayAttr:$partitions,
      OptionalAttr<DenseI64ArrayAttr>:$ranges, Optional<Zero_StatsType>:$sum);
  let results = (outs Zero_StatsType:$stats);
  let assemblyFormat = "$partitions (`ranges` $ranges^)? (`to` $sum^)? attr-dict";
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::ArrayAttr":$partitions)>];
  let extraClassDeclaration = [{
    /// The elements [first, second) that are read of the partition named by
    /// entry `index`.
    std::pair<int64_t, int64_t> getRange(unsigned index, PartitionOp partition);
  }];
}
def Zero_ReduceStatsOp
    : Zero_CollectiveOp<"reduce_stats", [Zero_LinkAndStateEffects]> {
  let summary = "Combine found-inf, sum of squares and loss over all ranks";
  let description = [{
    `loss_only` where every rank has seen all gradients (stage 0); `weighted` where
    micro-batches have weights, whose sum is combined as well.
    ```mlir
    %t = zero.reduce_stats %s
    %t = zero.reduce_stats weighted %s
    ```
  }];
  let arguments = (ins Zero_StatsType:$local, UnitAttr:$loss_only, UnitAttr:$weighted);
  let results = (outs Zero_StatsType:$stats);
  let assemblyFormat = "(`loss_only` $loss_only^)? (`weighted` $weighted^)? $local attr-dict";
}
def Zero_JudgeOp : Zero_Op<"judge", [Zero_StateEffects]> {
  let summary = "Norm, clip factor, and whether the update runs";
  let description = [{
    norm = sqrt(sum of squares) / s and factor = min(1, clip / (norm + 1e-6)) / s
    with s = loss scale x `divisor`; no clip at 0. With `skip`, which every
    complete schedule has, a non-finite element anywhere skips the update on all
    ranks. Where micro-batches have weights, s is also multiplied by the mean weight
    of the `micro_batches` of the update, all ranks together; a sum of 0 counts as a
    mean of 1.
    Constraints: (C1) `clip` is at least 0 and `divisor` above 0, both finite.
    (C2) `micro_batches` is at least 1.
    ```mlir
    %v = zero.judge %t clip 1.0 divisor 4.0 skip
    %v = zero.judge %t clip 1.0 divisor 4.0 micro_batches 8 skip
    ```
  }];
  let arguments = (ins Zero_StatsType:$stats, F64Attr:$clip, F64Attr:$divisor,
                       OptionalAttr<I64Attr>:$micro_batches, UnitAttr:$skip);
  let results = (outs Zero_VerdictType:$verdict);
  let hasVerifier = 1;
  let assemblyFormat = [{
    $stats `clip` $clip `divisor` $divisor (`micro_batches` $micro_batches^)?
    (`skip` $skip^)? attr-dict
  }];
}
def Zero_UpdateOp : Zero_Op<"update", [Zero_StateEffects,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Fused optimizer on the owned slices, predicated on the verdict";
  let description = [{
    Reads the stored gradient, the master weights and the moments of what this
    rank owns; writes them and the compute copy's owned part. With a range, only
    of that range; the rest is updated on the host.
    Constraints: (C1) a range begins and ends at segment boundaries.
    ```mlir
    zero.update @p0 if %v
    zero.update @p0[8 to 12] if %v
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$partition, OptionalAttr<I64Attr>:$begin,
      OptionalAttr<I64Attr>:$end, Zero_VerdictType:$verdict);
  let assemblyFormat = "$partition (`[` $begin^ `to` $end `]`)? `if` $verdict attr-dict";
  let builders = [OpBuilder<(ins "::mlir::StringRef":$partition, "::mlir::Value":$verdict)>];
  let extraClassDeclaration = [{
    /// The elements [first, second) of `partition` that are updated.
    std::pair<int64_t, int64_t> getRange(PartitionOp partition) {
      return {getBegin().value_or(0), getEnd().value_or(partition.getFlatElements())};
    }
  }];
}
def Zero_UpdateScaleOp : Zero_Op<"update_scale", [Zero_StateEffects]> {
  let summary = "Count the update or the skip, and move the loss scale";
  let description = [{
    After the scale's last use of this update.
    ```mlir
    zero.update_scale %v
    ```
  }];
  let arguments = (ins Zero_VerdictType:$verdict);
  let assemblyFormat = "$verdict attr-dict";
}

#endif // ZERO_DIALECT_ZERO_ZEROSCHEDULEOPS_TD
