//===- ZeroOps.td - models: parameters, steps, regions --------------------===//
#ifndef ZERO_DIALECT_ZERO_ZEROOPS_TD
#define ZERO_DIALECT_ZERO_ZEROOPS_TD

include "zero/Dialect/Zero/ZeroAttrs.td"
include "zero/Dialect/Zero/ZeroTypes.td"
include "zero/Interfaces/FactorOpInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/Interfaces/FunctionInterfaces.td"

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

def Zero_StoredTensorOp : Zero_Op<"stored_tensor",
    [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "A tensor that weights files may have beside the parameters";
  let description = [{
    Says what a file of the model's weights may have besides its parameters, such as the
    `state_dict` of the module that it was imported from. With `of` it is another name of
    a parameter, as of a tied embedding, and must have the parameter's values. With
    `digest` it is a buffer whose values are constants of the step: the bytes in the file
    must be those. The model does not read any other stored tensor.

    Constraints
    - (C1) the name is UTF-8, not `__metadata__`, and not that of a parameter; no two
      have one name.
    - (C2) `of` is a `zero.parameter` of this module, or, in a stage of a pipeline, of
      any stage.
    - (C3) a digest is 16 hexadecimal digits: the sum of the XXH3 of blocks of 4 MiB, the
      number of a block as its seed. There is none beside `of`.

    ```mlir
    zero.stored_tensor "lm_head.weight" of @wte.weight
    zero.stored_tensor "h.0.attn.bias" digest "7f3a90c41be2d5f8"
    zero.stored_tensor "bn.num_batches_tracked"
    ```
  }];
  let arguments = (ins StrAttr:$tensor, OptionalAttr<FlatSymbolRefAttr>:$parameter,
      OptionalAttr<StrAttr>:$digest);
  let assemblyFormat = "$tensor (`of` $parameter^)? (`digest` $digest^)? attr-dict";
  let hasVerifier = 1;
}

def Zero_ParameterOp : Zero_Op<"parameter", [Symbol]> {
  let summary = "A parameter: shape, initial values, and how it changes";
  let description = [{
    Declares state that every step may read with `zero.load`. `group` names the
    optimizer group (weight decay, learning rate) and defaults to `default`; a
    `frozen` parameter gets no gradient and no optimizer state. An `average` is
    state that training tracks, such as the running statistics of a batch norm: it
    moves towards what `zero.track` gives it, by this part of the difference in
    each micro-batch, and no optimizer, learning rate or clipping applies to it.

    `rows` says how many indices of the first dimension are the parameter: further
    rows are padding, 0 from the start and without a gradient, and are in no file.
    `zero-pad-vocabulary` adds it.

    With `cut` the parameter is what one rank has of it: the type is that of the part,
    and weights, initial values and checkpoints are about the whole. `zero-shard-model`
    adds it, one for each axis that cuts the parameter.

    `stages` are those of a pipeline that have the parameter, where several use it: each
    updates it alike, after a `zero.tie_gradients`, and the first one of them writes
    files. `zero-cut-pipeline` adds it.

    `unused` says that no gradient reaches a parameter that is not frozen, so that it is
    left untouched. `zero-differentiate` adds it.

    Constraints
    - (C1) the type is a ranked tensor of static shape and float elements.
    - (C2) the initial value is `#zero.zeros`, `ones`, `constant`, `normal` or `uniform`.
    - (C3) the name, which it also has in weights files, is UTF-8 and not `__metadata__`.
    - (C4) an `average` is in (0, 1], and the parameter is f32, not frozen, and in
      no group.
    - (C5) `rows` is in [1, D] where the first dimension is D, of all ranks where it is
      cut, and the parameter is no average.
    - (C6) an `unused` parameter is not frozen, and no average.
    - (C8) `stages` are two or more, rising, among them that of the module; the parameter
      is no average.
    - (C7) a dimension that is `cut` has the size of a part, and the parameter is no
      average. With `rows`, it is the first dimension, of one piece. Each `cut` is of
      another dimension and over other axes.

    The attribute `zero.sharding` says which dimension an axis `tensor` is to cut, or -1
    that it is to cut none; without it `zero-shard-model` chooses.

    ```mlir
    zero.parameter @fc1.w : tensor<784x250xf32> = #zero.normal<std = 0.02>
    zero.parameter @fc1.b : tensor<250xf32> = #zero.zeros group "no_decay"
    zero.parameter @table : tensor<64x8xf32> = #zero.ones frozen
    zero.parameter @bn.running_mean : tensor<16xf32> = #zero.zeros average 0.1
    zero.parameter @wte : tensor<50304x768xf32> = #zero.normal<std = 0.02> rows 50257
    zero.parameter @fc2.w : tensor<125x10xf32> = #zero.zeros cut <dim 0 of [250] over <tensor = 2>>
    zero.parameter @up : tensor<2x64x16xf32> = #zero.ones cut <dim 1 of [128] over <tensor = 2>>, <dim 0 of [4] over <expert = 2>>
    zero.parameter @fc3.w : tensor<250x10xf32> = #zero.zeros {zero.sharding = -1 : i64}
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<AnyRankedTensor>:$type,
      AnyAttr:$init, DefaultValuedStrAttr<StrAttr, "default">:$group,
      UnitAttr:$frozen, OptionalAttr<F64Attr>:$average,
      OptionalAttr<I64Attr>:$rows, OptionalAttr<TypedArrayAttrBase<Zero_CutAttr, "cuts">>:$cuts,
      UnitAttr:$unused, OptionalAttr<DenseI64ArrayAttr>:$stages);
  let assemblyFormat = [{
    $sym_name `:` $type `=` $init (`group` $group^)? (`frozen` $frozen^)?
    (`unused` $unused^)? (`average` $average^)? (`stages` $stages^)? (`rows` $rows^)?
    (`cut` custom<Cuts>($cuts)^)? attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::RankedTensorType getTensorType() {
      return ::llvm::cast<::mlir::RankedTensorType>(getType());
    }
    /// Elements in memory, padding included.
    int64_t getElements() { return getTensorType().getNumElements(); }
    /// Whether the gradient of the loss changes the parameter.
    bool isTrained() { return !getFrozen() && !getAverage(); }
    /// The parameter's cuts, one for each axis that cuts it.
    ::llvm::SmallVector<CutAttr, 2> getCutList();
    /// The parameter's cut over `axis`; null: every rank of the axis has all of
    /// it.
    CutAttr getCutOver(AxesAttr axis);
    /// The axes over which the parameter is cut, in the order of `mesh`; null if it
    /// is whole.
    AxesAttr getCutAxes(AxesAttr mesh);
    /// Cuts the parameter once more; its type becomes that of a part.
    void addCut(CutAttr cut);
    /// The type of the whole, of which each rank has a part where it is cut.
    ::mlir::RankedTensorType getWholeType();
    /// The type in files: whole, and without padding.
    ::mlir::RankedTensorType getFileType();
    /// The dimension that the axis `tensor` is to cut, -1: none, as the attribute
    /// of this name says; nothing where the compiler chooses.
    static ::llvm::StringRef getShardingName() { return "zero.sharding"; }
    std::optional<int64_t> getSharding() {
      auto dim = (*this)->getAttrOfType<::mlir::IntegerAttr>(getShardingName());
      return dim ? std::optional(dim.getInt()) : std::nullopt;
    }
    ::llvm::LogicalResult verifyAverage();
    ::llvm::LogicalResult verifyRows();
    ::llvm::LogicalResult verifyCuts();
    ::llvm::LogicalResult verifyStages();
  }];
}

def Zero_OptimizerOp : Zero_Op<"optimizer"> {
  let summary = "How the parameters of a group are updated";
  let description = [{
    Written by `zero-configure`; `group` is the name that parameters carry.
    Constraints: (C1) the optimizer implements `OptimizerAttrInterface`.
    ```mlir
    zero.optimizer "no_decay" = #zero.adam<lr = 3.0e-4>
    ```
  }];
  let arguments = (ins StrAttr:$group, AnyAttr:$optimizer);
  let assemblyFormat = "$group `=` $optimizer attr-dict";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// The step and its regions
//===----------------------------------------------------------------------===//

def Zero_StepOp : Zero_Op<"step", [IsolatedFromAbove, FunctionOpInterface,
    SingleBlock, NoTerminator]> {
  let summary = "A training step";
  let description = [{
    As a *model*, the body is a forward computation that ends in `zero.yield` of
    the loss and of further named outputs. As a *schedule*, the body holds
    `zero.micro`, `zero.apply`, `zero.evaluate` and, where needed,
    `zero.initialize`; in a stage of a pipeline also `zero.forward`. The arguments are the micro-batch of one rank; an argument
    attribute `zero.input = "name"` names what the data loader puts there. A step with
    the attribute `zero.pretrained` has weights beside it, as an import writes them:
    its executable does not start from new values unless it is told to.

    Constraints
    - (C1) arguments are ranked tensors of static shape; there are no results.
    - (C2) the body is a model (ends in `zero.yield`) or a schedule (has exactly
      one `zero.micro`, at most one `zero.micro last` after it and one
      `zero.apply`, at most one `zero.forward`, before them, and no `zero.yield` of
      its own).
    - (C3) `zero.input` is a name, and no two arguments are one input.

    ```mlir
    zero.step @train(%x: tensor<32x784xf32>, %y: tensor<32xi32>) {
      ...
      zero.yield %loss : tensor<f32>
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
      TypeAttrOf<FunctionType>:$function_type,
      OptionalAttr<DictArrayAttr>:$arg_attrs, OptionalAttr<DictArrayAttr>:$res_attrs,
      OptionalAttr<Zero_TrainingAttr>:$training);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::Region *getCallableRegion() { return &getBody(); }
    ::llvm::ArrayRef<::mlir::Type> getArgumentTypes() { return getFunctionType().getInputs(); }
    ::llvm::ArrayRef<::mlir::Type> getResultTypes() { return getFunctionType().getResults(); }
    /// Whether the body is a forward computation, before differentiation.
    bool isModel();
    /// The region operation of kind `RegionOp`, or null.
    template <typename RegionOp> RegionOp getRegionOp() {
      for (::mlir::Operation &op : getBody().front())
        if (auto found = ::llvm::dyn_cast<RegionOp>(op)) return found;
      return nullptr;
    }
    /// The region that runs for the last micro-batch of an update: the form
    /// `last`, or the only one there is.
    MicroOp getLastMicro();
    /// Whether a micro-batch's backward pass begins in `region`, so that it has the
    /// loss: of several chunks that of the last.
    bool beginsBackward(MicroOp region);
    ::llvm::LogicalResult verifyChunks();
    /// Whether the micro-batches of a schedule have weights: its own yield says so,
    /// or for a stage of a pipeline without the loss the attribute of this name.
    static ::llvm::StringRef getWeightedName() { return "zero.weighted"; }
    bool hasWeights();
    /// The number of times that `region` runs in an update of a configured
    /// schedule.
    int64_t getRunsPerUpdate(::mlir::Operation *region);
  }];
}

/// The trait of operations that hold the regions of a schedule.
def Zero_StepRegion : NativeOpTrait<"StepRegion"> {
  let cppNamespace = "::mlir::zero";
}

class Zero_RegionOp<string mnemonic> : Zero_Op<mnemonic,
    [HasParent<"::mlir::zero::StepOp">, SingleBlock, NoTerminator, Zero_StepRegion]> {
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "custom<PhaseBody>($body) attr-dict";
}

def Zero_MicroOp : Zero_RegionOp<"micro"> {
  let summary = "Forward and backward, once a micro-batch";
  let description = [{
    Ends in `zero.yield` of the loss. Where an update has several micro-batches,
    `last` is the form that runs for the last of them, and the one without runs
    for those before. Beside `zero.forward` it is the backward pass of one `chunk` of a
    stage.
    ```mlir
    zero.micro { ... zero.yield %loss : tensor<f32> }
    zero.micro last { ... zero.yield %loss : tensor<f32> }
    zero.micro chunk 1 { ... zero.yield %loss : tensor<f32> }
    ```
  }];
  let arguments = (ins UnitAttr:$last, DefaultValuedAttr<I64Attr, "0">:$chunk);
  let assemblyFormat = "(`last` $last^)? (`chunk` $chunk^)? custom<PhaseBody>($body) attr-dict";
}
def Zero_ForwardOp : Zero_RegionOp<"forward"> {
  let summary = "The forward pass of a stage of a pipeline, once a micro-batch";
  let description = [{
    `zero-split-forward` takes it out of `zero.micro`, which is the backward pass from
    then on. Forward passes of several micro-batches may run before the first backward
    pass: what that needs of them is in the stash. A stage with several chunks, groups
    of layers between which a micro-batch passes all other stages, has a forward pass
    for each, in their order, and then their backward passes in the other order.
    ```mlir
    zero.forward { %s = zero.stash %h as "h" : tensor<4x8xf32> }
    zero.forward chunk 1 { %s = zero.stash %g as "g" : tensor<4x8xf32> }
    ```
  }];
  let arguments = (ins DefaultValuedAttr<I64Attr, "0">:$chunk);
  let assemblyFormat = "(`chunk` $chunk^)? custom<PhaseBody>($body) attr-dict";
}
def Zero_ApplyOp : Zero_RegionOp<"apply"> {
  let summary = "Reductions that wait for the last micro-batch, norm, update, gathers; once an update";
  let description = [{
    ```mlir
    zero.apply { zero.update @p0 if %verdict }
    ```
  }];
}
def Zero_EvaluateOp : Zero_RegionOp<"evaluate"> {
  let summary = "Forward only: no gradients are planned";
  let description = [{
    Ends in `zero.yield` of the loss and the model's further outputs.
    ```mlir
    zero.evaluate { ... zero.yield %loss, %logits : tensor<f32>, tensor<4x8xf32> }
    ```
  }];
}
def Zero_InitializeOp : Zero_RegionOp<"initialize"> {
  let summary = "Once, after the parameters have their first values";
  let description = [{
    Gathers the resident copies of persisted parameters.
    ```mlir
    zero.initialize { %p = zero.refresh_resident @w : <>  zero.wait %p : <> }
    ```
  }];
}

/// The weight of a micro-batch in the mean of an update.
def Zero_Weight : Type<
    CPred<"$_self == ::mlir::RankedTensorType::get({}, ::mlir::Float32Type::get($_self.getContext()))">,
    "tensor<f32>">,
    BuildableType<"::mlir::RankedTensorType::get({}, $_builder.getF32Type())">;

def Zero_YieldOp : Zero_Op<"yield", [Terminator, AttrSizedOperandSegments,
    ParentOneOf<["::mlir::zero::StepOp", "::mlir::zero::MicroOp", "::mlir::zero::EvaluateOp"]>]> {
  let summary = "The loss, then named outputs";
  let description = [{
    An update follows the mean of the losses of its micro-batches, of all ranks. With a
    `weight`, it is the weighted mean: the sum of weight times loss over the sum of the
    weights. The weight is at least 0 and has no gradient; best it is near 1, since in
    f16 it takes part in the range of gradients.

    Constraints
    - (C1) the first operand is the loss, a `tensor<f32>` (or `tensor<f64>`), unless
      the module is a stage of a pipeline before the last.
    - (C2) `outputs` names the operands after the first, one each.
    - (C3) no two outputs have one name, that of the first is `loss`, and none is empty or
      `__metadata__`.

    ```mlir
    zero.yield %loss : tensor<f32>
    zero.yield %loss, %logits outputs ["logits"] : tensor<f32>, tensor<4x8xf32>
    zero.yield %loss weight %share : tensor<f32>
    ```
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$values, Optional<Zero_Weight>:$weight,
                       OptionalAttr<StrArrayAttr>:$outputs);
  let assemblyFormat = [{
    $values (`outputs` $outputs^)? (`weight` $weight^)? attr-dict (`:` type($values)^)?
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Uses of parameters
//===----------------------------------------------------------------------===//

class Zero_ParameterUse<string mnemonic, list<Trait> traits> : Zero_Op<mnemonic,
    !listconcat(traits, [DeclareOpInterfaceMethods<SymbolUserOpInterface>])>;

def Zero_LoadOp : Zero_ParameterUse<"load",
    [MemoryEffects<[MemRead<Zero_StateResource>]>, Zero_NamesResults,
     DeclareOpInterfaceMethods<FactorOpInterface>]> {
  let summary = "A use of a parameter";
  let description = [{
    Every operation that computes with a parameter reads it through a load, which
    says whose value the schedule must bring there. Where ranks hold slices only,
    `zero-insert-gathers` gives it the `source`: what a wait for a gather of that
    parameter gave. It is then a view of the source and costs nothing.

    Constraints
    - (C1) the symbol is a `zero.parameter` of this module.
    - (C2) the result has the parameter's shape; its elements are the parameter's
      or, after `zero-set-precision`, a 16-bit float.
    - (C3) the source has the result's type.

    ```mlir
    %w = zero.load @fc1.w : tensor<784x250xf32>
    %v = zero.load @fc1.w from %gathered : tensor<784x250xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$parameter, Optional<AnyRankedTensor>:$source);
  let results = (outs AnyRankedTensor:$result);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Zero_GradientOp : Zero_ParameterUse<"gradient",
    [Zero_StateEffects, AllTypesMatch<["value", "result"]>]> {
  let summary = "The gradient of a parameter, complete";
  let description = [{
    Says whose gradient a value is; the result is the value itself, a view that
    costs nothing. One a trainable parameter, after the last contribution: tied
    and reused parameters have had their contributions added. What reduces or
    stores a gradient takes the result, so `zero-verify-schedule` compares two
    statements: this one, and where the gradient goes. One that
    `zero-split-gradients` has cut comes in blocks, each elements [begin, end) of
    the flattened parameter.

    Constraints
    - (C1), (C2) as `zero.load`; elements may be f32 as well, where gradients travel so.
    - (C3) a block is a range of the parameter's elements, and as large as its
      value.
    ```mlir
    %g = zero.gradient @fc1.w, %dw1 : tensor<784x250xf32>
    %b = zero.gradient @fc1.w[0 to 64000], %block : tensor<256x250xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$parameter, OptionalAttr<I64Attr>:$begin,
      OptionalAttr<I64Attr>:$end, AnyRankedTensor:$value);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $parameter (`[` $begin^ `to` $end `]`)? `,` $value attr-dict `:` type($value)
  }];
  let extraClassDeclaration = [{
    /// The block's elements [first, second) of the flattened parameter.
    std::pair<int64_t, int64_t> getElements() {
      return {getBegin().value_or(0),
              getEnd().value_or(::llvm::cast<::mlir::RankedTensorType>(getValue().getType()).getNumElements())};
    }
    bool isBlock() { return getBegin().has_value(); }
  }];
}

def Zero_TrackOp : Zero_ParameterUse<"track",
    [HasParent<"::mlir::zero::StepOp">, MemoryEffects<[MemWrite<Zero_StateResource>]>]> {
  let summary = "What an average follows";
  let description = [{
    In training the parameter, an `average`, moves towards the value: with the mean
    over ranks and micro-batches of an update, in the update. If a step tracks
    several values, each counts in its turn. Evaluation leaves the parameter as it
    is. `zero-differentiate` replaces it.

    Constraints
    - (C1) the symbol is a `zero.parameter` of this module that is an `average`.
    - (C2) the value has the parameter's shape and is f32.

    ```mlir
    zero.track @bn.running_mean, %mean : tensor<16xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$parameter, AnyRankedTensor:$value);
  let assemblyFormat = "$parameter `,` $value attr-dict `:` type($value)";
}

def Zero_SelectModeOp : Zero_Op<"select_mode", [Pure, HasParent<"::mlir::zero::StepOp">,
    AllTypesMatch<["training", "evaluation", "result"]>]> {
  let summary = "One value in training, another in evaluation";
  let description = [{
    The first operand in `zero.micro`, the second in `zero.evaluate`;
    `zero-differentiate` replaces it, and what computes the other one goes.
    ```mlir
    %y = zero.select_mode %by_batch, %by_average : tensor<8x16x32x32xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$training, AnyRankedTensor:$evaluation);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$training `,` $evaluation attr-dict `:` type($result)";
}

def Zero_LossSeedOp : Zero_Op<"loss_seed", [MemoryEffects<[MemRead<Zero_StateResource>]>]> {
  let summary = "The gradient of the loss: loss scale / micro-batches of an update";
  let description = [{
    Times the weight of the micro-batch, where its loss is yielded with one.

    ```mlir
    %seed = zero.loss_seed : tensor<f32>
    %seed = zero.loss_seed weight %share : tensor<f32>
    ```
  }];
  let arguments = (ins Optional<Zero_Weight>:$weight);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "(`weight` $weight^)? attr-dict `:` type($result)";
}

def Zero_LaunchOp : Zero_Op<"launch", [Pure, OverwritesOperands,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Run an outlined elementwise group";
  let description = [{
    Host and device compile the same function.

    Constraints
    - (C1) the symbol is a function of this module whose argument and result
      types are the operation's.

    ```mlir
    %r0, %r1 = zero.launch @k7(%h, %x) : (tensor<32x250xbf16>, tensor<32x250xbf16>) -> (tensor<32x250xbf16>, tensor<32x250xbf16>)
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<AnyRankedTensor>:$inputs);
  let results = (outs Variadic<AnyRankedTensor>:$outputs);
  let assemblyFormat = "$kernel `(` $inputs `)` attr-dict `:` functional-type($inputs, $outputs)";
}

def Zero_RecomputeOp : Zero_Op<"recompute", [AllTypesMatch<["value", "result"]>,
    MemoryEffects<[MemRead<Zero_RecomputeResource>, MemWrite<Zero_RecomputeResource>]>]> {
  let summary = "A kept value, from which others are computed again";
  let description = [{
    The value itself: a view that costs nothing. Operations that are computed a
    second time read their inputs through it. It is not pure, so CSE does not
    merge them with the first ones, and loads are not merged across it; without
    it recomputation would be undone in silence.

    ```mlir
    %r = zero.recompute %h : tensor<4x16x64xbf16>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$value);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$value attr-dict `:` type($value)";
}

def Zero_StridedOp : Zero_Op<"strided", [Pure, IsolatedFromAbove,
    SingleBlock]> {
  let summary = "A kernel that reads and writes parts of tensors in place";
  let description = [{
    Computes its body in one kernel: the moves of the body do not happen. The kernel's
    operands are parts of the inputs, and its results parts of the outputs, with the
    strides that follow from the moves. So nothing outside needs to know of strides.

    Constraints
    - (C1) the body's arguments have the types of `inputs`, and `zero.strided_yield`
      gives the types of `outputs`.
    - (C2) the body has one operation that is no `MoveOpInterface`: the kernel. All its
      operands and results are tensors.
    - (C3) each operand of the kernel is an argument, or a part of one by the layouts
      of the moves.
    - (C4) each result of the kernel, and of a move behind it, is used once: it is
      yielded, or a part of what is yielded. All that is yielded consists of such
      results.
    - (C5) a part begins at a multiple of 16 bytes.

    ```mlir
    %out, %lse = zero.strided %qkv : (tensor<2x16x96xf32>) -> (tensor<2x16x4x8xf32>, tensor<2x4x16xf32>) {
    ^bb0(%x: tensor<2x16x96xf32>):
      %q, %k, %v = nn.split %x dim 2 sizes [32, 32, 32] : (tensor<2x16x96xf32>) -> (tensor<2x16x32xf32>, tensor<2x16x32xf32>, tensor<2x16x32xf32>)
      %qh = tensor.expand_shape %q [[0], [1], [2, 3]] output_shape [2, 16, 4, 8] : tensor<2x16x32xf32> into tensor<2x16x4x8xf32>
      %kh = tensor.expand_shape %k [[0], [1], [2, 3]] output_shape [2, 16, 4, 8] : tensor<2x16x32xf32> into tensor<2x16x4x8xf32>
      %vh = tensor.expand_shape %v [[0], [1], [2, 3]] output_shape [2, 16, 4, 8] : tensor<2x16x32xf32> into tensor<2x16x4x8xf32>
      %o, %l = nn.attention %qh, %kh, %vh causal scale 0.35 : (tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>) -> (tensor<2x16x4x8xf32>, tensor<2x4x16xf32>)
      zero.strided_yield %o, %l : tensor<2x16x4x8xf32>, tensor<2x4x16xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<AnyStaticShapeTensor>:$inputs);
  let results = (outs Variadic<AnyStaticShapeTensor>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $inputs attr-dict `:` functional-type($inputs, $outputs) $body
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// The kernel.
    Operation *getKernel();
    /// The parts of the inputs that the kernel's operands are, and the parts of
    /// the outputs that its results are.
    StridedParts getParts();
  }];
}

def Zero_StridedYieldOp : Zero_Op<"strided_yield", [Pure, Terminator,
    HasParent<"::mlir::zero::StridedOp">]> {
  let summary = "What a `zero.strided` gives";
  let description = [{
    ```mlir
    zero.strided_yield %o, %l : tensor<2x16x4x8xf32>, tensor<2x4x16xf32>
    ```
  }];
  let arguments = (ins Variadic<AnyStaticShapeTensor>:$values);
  let assemblyFormat = "$values attr-dict `:` type($values)";
}

include "zero/Dialect/Zero/ZeroScheduleOps.td"
include "zero/Dialect/Zero/ZeroTierOps.td"
include "zero/Dialect/Zero/ZeroValueOps.td"
include "zero/Dialect/Zero/ZeroPipelineOps.td"

#endif // ZERO_DIALECT_ZERO_ZEROOPS_TD
