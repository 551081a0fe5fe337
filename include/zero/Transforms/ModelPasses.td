//===- ModelPasses.td - from a model to its training step *- tablegen -*-===//
#ifndef ZERO_TRANSFORMS_MODELPASSES_TD
#define ZERO_TRANSFORMS_MODELPASSES_TD

include "mlir/Pass/PassBase.td"

def Configure : Pass<"zero-configure", "::mlir::ModuleOp"> {
  let summary = "Record the configuration in the module";
  let description = [{
    Gives every `zero.step` its `training` attribute and every parameter group a
    `zero.optimizer`. `options` are those of `zero-pipeline`, `config` included. A remark
    says what weight decay leaves out unless the configuration names that group.

    - Needs: a model, with every parameter group either named in the configuration or
      using its defaults.
    - Leaves: everything that later passes need from the configuration, in the IR.
    - Not done here: precision; see `zero-set-precision`.

    ```mlir
    zero.step @train(%x: tensor<4xf32>) {                                  // before
    zero.optimizer "default" = #zero.adam<lr = 0.001>                      // after
    zero.step @train(%x: tensor<4xf32>) training #zero.training<stage = 2, ranks = 4> {
    ```
  }];
  let options = [Option<"settings", "options", "std::string", /*default=*/"",
      "Options of zero-pipeline, such as 'stage=2 ranks=4'">];
  let dependentDialects = ["::mlir::zero::ZeroDialect"];
}

def RunPipeline : Pass<"zero-run-pipeline", "::mlir::ModuleOp"> {
  let summary = "Run zero-pipeline with options completed from the model";
  let description = [{
    What `zero-pipeline` consists of. Resolves `options` against the module, as
    `zero-compile` does: the accumulation follows from the micro-batch of the model, and the
    precision and the sizes that later passes take as options follow from the
    configuration. Then it runs the passes.

    - Needs: a model.
    - Leaves: a planned schedule.
  }];
  let options = [Option<"settings", "options", "std::string", /*default=*/"",
      "Options of zero-pipeline, such as 'stage=2 ranks=4'">];
}

def RewriteTensorOps : Pass<"zero-rewrite-tensor-ops", "::mlir::ModuleOp"> {
  let summary = "Rewrite operations of tensor as ones with a kernel, or a better one";
  let description = [{
    In every `zero.step` in model form:

    - `tensor.reshape` of static shapes becomes `tensor.collapse_shape` and
      `tensor.expand_shape`, which are views;
    - `tensor.gather` of floats becomes `nn.embedding`, after an `nn.transpose`
      where the gathered dimensions are not the first;
    - `tensor.extract` at constant indices becomes a slice of rank 0. Arithmetic
      on such scalars is done on tensors of rank 0; `tensor.splat` of one becomes
      `nn.broadcast`, `tensor.insert` an inserted slice, `tensor.from_elements`
      a concatenation;
    - `tensor.extract_slice`s that cut a tensor along one dimension, and together are
      all of it, become one `nn.split`, whose gradient is one concatenation and no
      sum of tensors of zeros. Slices of leading dimensions are views, and stay;
    - a chain of `tensor.collapse_shape`, `tensor.expand_shape` and `nn.transpose`
      becomes one expansion, one transposition and one collapse, where these are fewer,
      or where the chain splits what it has merged. `nn.MultiheadAttention` of PyTorch
      merges samples and heads, and splits them again: where each rank has one head,
      the shapes in between do not tell which of the two is cut.

    A constant index outside its tensor is an error. What else has no kernel is
    left to `zero-outline-elementwise`, which reports it.

    - Needs: model form; runs before `zero-set-precision`.
    - Leaves: model form.

    ```mlir
    %i = arith.constant 2 : index                              // before
    %s = tensor.extract %x[%i] : tensor<4xf32>
    %t = math.exp %s : f32
    %y = tensor.splat %t : tensor<3xf32>
    %s = tensor.extract_slice %x[2] [1] [1] : tensor<4xf32> to tensor<f32>   // after
    %t = math.exp %s : tensor<f32>
    %y = nn.broadcast %t dims [] : (tensor<f32>) -> tensor<3xf32>
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::tensor::TensorDialect",
    "::mlir::nn::NNDialect"];
}

def SetPrecision : Pass<"zero-set-precision", "::mlir::ModuleOp"> {
  let summary = "Convert an f32 model to 16-bit compute";
  let description = [{
    In every `zero.step` in model form, f32 tensors become tensors of `compute`:
    what `zero.load` reads, and the results of operations on it. These stay f32:

    - statistics (mean, rstd, lse, masks, the loss), as the row of an
      operation's kernel says, and what is computed from them;
    - the *loss tail*: elementwise operations, reductions, `nn.softmax`, pooling,
      moves, sorts and exchanges between ranks on which nothing but the loss depends. Moves and
      exchanges at its beginning are of 16-bit values, and their results are extended;
    - in f16, *addends*: elementwise operations on which nothing but sums and means
      depend, perhaps through moves of all elements, and those sums and means. f16 has no square of 300, but the norm of
      such numbers;
    - what the model itself extends with `arith.extf`, and what is computed from
      it, up to the model's `arith.truncf`;
    - parameters that are an `average`, and what `zero.track` gives them.

    An operation on f32 and 16-bit values computes in f32. Arguments of the step,
    sums of addends, constants, and what is computed from them and from integers
    alone, stay f32 until they are combined with a 16-bit value: positions, masks
    and times stay exact. An elementwise operation computes that combination in f32,
    and its result is rounded, unless the other value is a constant that 16 bits hold;
    all other operations read them rounded.

    - Needs: model form; runs before `zero-differentiate`.
    - Leaves: parameters with their f32 type (the master), `zero.yield` with an
      f32 loss; its further outputs may be 16-bit. With `compute=f32`,
      everything.

    ```mlir
    %w = zero.load @w : tensor<784x10xf32>                    // before
    %l = nn.linear %x, %w : (tensor<32x784xf32>, tensor<784x10xf32>) -> tensor<32x10xf32>
    %0 = arith.truncf %x : tensor<32x784xf32> to tensor<32x784xbf16>   // after
    %w = zero.load @w : tensor<784x10xbf16>
    %l = nn.linear %0, %w : (tensor<32x784xbf16>, tensor<784x10xbf16>) -> tensor<32x10xbf16>
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
  let options = [Option<"compute", "compute", "std::string", "\"bf16\"",
    "Type of parameters and activations: f32, bf16 or f16">];
}

def WeighMicroBatches : Pass<"zero-weigh-micro-batches", "::mlir::ModuleOp"> {
  let summary = "Weigh micro-batches by what their losses count";
  let description = [{
    A loss that leaves ignored labels out is a mean over as many labels as a
    micro-batch happens to have. An update follows the mean of its micro-batches'
    losses, so that a label weighs more in a micro-batch that has few of them: the same
    samples give another loss, and other gradients, where they are dealt to ranks and
    micro-batches in another way. With `mean=tokens` the pass yields the loss with a
    weight, the share of the labels that count, and sums and counts are combined once
    an update. Any layout of the samples then gives the same loss within rounding.

    `CountedMeanOpInterface` says what a loss counts; a division by a scalar that the
    data alone decide counts as well. The loss is followed through sums of such means,
    each times a constant, and all of them must count the same. Anything else that a
    counted mean goes into is an error at that operation.

    With `mean=micro_batches` nothing changes. Nor does it without an option, but then a
    remark says where the two may differ.

    - Needs: model form; before `zero-shard-model`, behind which a loss is a sum of what
      ranks have, and `zero-set-precision`, which leaves the weight f32.
    - Leaves: model form. A `zero.yield` that has a weight already keeps it.
    - Not done here: the weight's way through the update, which
      `zero-differentiate` and `zero-insert-updates` begin.

    ```mlir
    %loss, %lse = nn.cross_entropy %l, %y : (tensor<4x8xf32>, tensor<4xi32>) -> (tensor<f32>, tensor<4xf32>)
    zero.yield %loss : tensor<f32>                            // before
    %ignored = arith.constant dense<-100> : tensor<4xi32>     // after
    %counts = arith.cmpi ne, %y, %ignored : tensor<4xi32>
    %ones = arith.uitofp %counts : tensor<4xi1> to tensor<4xf32>
    %share = nn.reduce mean %ones dims [0] : (tensor<4xf32>) -> tensor<f32>
    zero.yield %loss weight %share : tensor<f32>
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::tensor::TensorDialect",
    "::mlir::nn::NNDialect"];
  let options = [Option<"mean", "mean", "std::string", "",
    "What weighs the same: tokens or micro_batches">];
}

def Differentiate : Pass<"zero-differentiate", "::mlir::ModuleOp"> {
  let summary = "Build the backward pass: the regions micro, apply and evaluate";
  let description = [{
    Turns a `zero.step` in model form into a schedule: `zero.micro` with the
    forward pass, the backward pass from `zero.loss_seed` and one `zero.gradient`
    per trainable parameter, right after its last contribution; an empty
    `zero.apply`; and `zero.evaluate` with the forward and all outputs.

    Only operations on a path from a trainable parameter to the loss are
    differentiated, through `DifferentiableOpInterface`. The contributions to a
    parameter that is loaded or used more than once are added in the order in
    which the backward computes them, those of 16 bits in f32; an
    `nn.embedding_grad` takes the sum before it as its `init`. Frozen
    parameters get no gradient. A remark names each trainable parameter that the
    loss does not depend on, which is `unused` from here on. What is started, such as
    a `zero.all_to_all`, has no gradient: on a path it is an error.

    Of a `zero.select_mode`, `zero.micro` has the value for training and
    `zero.evaluate` the other one, each without what only the other needs. What
    `zero.track` gives an average becomes its `zero.gradient`: the value times the
    loss's gradient, so that loss scale and ranks are taken out of it as of all
    others.

    - Needs: `zero-set-precision` ran, where the step is not to be in f32.
    - Leaves: steps in schedule form, `zero.load` where it was. Steps that are
      schedules already are not touched.
    - Not done here: updates; dead code and common subexpressions, which
      `canonicalize` and `cse` remove.

    ```mlir
    zero.step @train(%x: tensor<4xf32>) {                 // before
      %w = zero.load @w : tensor<4xf32>
      %p = arith.mulf %x, %w : tensor<4xf32>
      %loss = nn.reduce sum %p dims [0] : (tensor<4xf32>) -> tensor<f32>
      zero.yield %loss : tensor<f32>
    }
    zero.step @train(%x: tensor<4xf32>) {                 // after
      zero.micro {
        ...
        %seed = zero.loss_seed : tensor<f32>
        %dp = nn.broadcast %seed dims [] : (tensor<f32>) -> tensor<4xf32>
        %dw = arith.mulf %dp, %x : tensor<4xf32>
        zero.gradient @w, %dw : tensor<4xf32>
        zero.yield %loss : tensor<f32>
      }
      zero.apply {
      }
      zero.evaluate {
        ...
        zero.yield %loss : tensor<f32>
      }
    }
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::mlir::tensor::TensorDialect", "::mlir::nn::NNDialect"];
  let options = [Option<"ignoreUnusedParameters", "ignore-unused-parameters",
    "bool", "true", "Report a trainable parameter without a gradient in a remark; "
    "if false, it is an error">];
}

def WidenGradients : Pass<"zero-widen-gradients", "::mlir::ModuleOp"> {
  let summary = "Have gradients travel in f32";
  let description = [{
    Extends each gradient of a 16-bit parameter to f32 before `zero.gradient` takes it. So
    gradients of a micro-batch are reduced, and stored, in f32: sums over ranks are not
    rounded to 16 bits, for twice the bytes on the link and in buckets.
    `zero-partition` says of each partition, in `wire`, that its gradients are wider than
    its parameters.

    - Needs: `zero-differentiate` ran; nothing of what starts or stores gradients did.
    - Leaves: the schedule, with gradients of f32.
    - Not done here: what computes a gradient still gives it in its own type.

    ```mlir
    zero.gradient @w, %dw : tensor<4x3xbf16>                    // before
    %0 = arith.extf %dw : tensor<4x3xbf16> to tensor<4x3xf32>   // after
    zero.gradient @w, %0 : tensor<4x3xf32>
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def TakeGradients : Pass<"zero-take-gradients", "::mlir::ModuleOp"> {
  let summary = "Take gradients of micro-batches from outside";
  let description = [{
    Gives the step an argument for each parameter that is trained, with the argument
    attribute `zero.gradient_of`: its gradient, whole and f32, of the micro-batch's loss
    and without a loss scale. It is multiplied by `zero.loss_seed`, as the loss is, and
    rounded to the type of the parameter's gradient. From there on it is a gradient like
    any other: what reduces, stores, clips and updates does not know where it is from.

    With `mode=instead` it is what `zero.gradient` takes; the forward and the backward
    pass have no use then and go, with the gathers that they would need, and the loss is
    0. With `mode=add` it is added to the gradient of the loss, in f32.

    An error names the axes of a mesh whose ranks compute parts of a model, and with
    `instead` what only a forward pass has: weights of micro-batches and averages.

    - Needs: `zero-differentiate` ran; nothing of what starts or stores gradients did.
    - Leaves: the schedule, with more arguments.
    - Not done here: dead code, which `canonicalize` removes.

    ```mlir
    zero.step @train(%x: tensor<4xf32>) {                 // before
      zero.micro {
        ...
        zero.gradient @w, %dw : tensor<4xf32>
        zero.yield %loss : tensor<f32>
      }
      ...
    zero.step @train(%x: tensor<4xf32>,                   // after, with instead
                     %g: tensor<4xf32> {zero.gradient_of = @w}) {
      zero.micro {
        %seed = zero.loss_seed : tensor<f32>
        %s = nn.broadcast %seed dims [] : (tensor<f32>) -> tensor<4xf32>
        %dw = arith.mulf %g, %s : tensor<4xf32>
        zero.gradient @w, %dw : tensor<4xf32>
        %loss = arith.constant dense<0.0> : tensor<f32>
        zero.yield %loss : tensor<f32>
      }
      ...
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::nn::NNDialect"];
  let options = [Option<"mode", "mode", "std::string", "\"instead\"",
    "What becomes of the loss's own gradients: instead or add">];
}

def CheckpointActivations : Pass<"zero-checkpoint-activations", "::mlir::ModuleOp"> {
  let summary = "Recompute activations in the backward pass instead of keeping them";
  let description = [{
    Divides the forward pass of `zero.micro` into layers: repeating spans between
    points where few bytes are live, such as a single residual stream.
    `every=k` groups k chosen layers into a span. Of each span the pass keeps the
    cheapest set of values, usually its input alone, and recomputes what the
    backward pass needs right before its first use. With `policy=cheap`, results
    of products and attention are kept where
    they are needed, and only what moves data rather than computes is computed
    again; KernelOpInterface says which that is. With `policy=full`, the whole
    forward of a span is computed again where the backward first needs a part of it,
    also the results that nothing reads: as frameworks recompute, for plans that are
    to be compared with theirs.

    With `offload`, kept values of at least `offload-bytes` bytes wait for the
    backward pass in host memory. The copy to the host, `zero.offload`, starts where
    a value is made and is waited for at the end of the span that reads it; the copy
    back, `zero.fetch`, starts where the recomputation of the span after it begins.
    What the last span keeps stays on the device: the backward pass begins with it.

    Recomputed operations read kept values through `zero.recompute`, so that CSE
    does not merge them with the first ones. They load their parameters again:
    stage 3 gathers for them as for any use.

    - Needs: `zero-differentiate` ran, and `zero-outline-elementwise`: kernels
      are copied whole, so that recomputed values are bitwise equal to the first
      ones. Before any collective, so that all stages recompute the same.
    - Leaves: the same values, and fewer of them alive at once.
    - Not done here: operations with effects or regions are not recomputed, nor
      is anything between layers or after the last one, where the backward
      begins at once. Dropout is counter-based and repeats by itself.

    ```mlir
    %y, %mean, %rstd = nn.layer_norm %h, %g, %b eps 1.0e-5 : ...   // before
    ...
    %dw = nn.matmul %y, %dz transpose_a : ...
    %y, %mean, %rstd = nn.layer_norm %h, %g, %b eps 1.0e-5 : ...   // after
    ...
    %r = zero.recompute %h : tensor<32x64xbf16>
    %y2, %mean2, %rstd2 = nn.layer_norm %r, %g2, %b2 eps 1.0e-5 : ...
    %dw = nn.matmul %y2, %dz transpose_a : ...
    ```
  }];
  let dependentDialects = ["::mlir::zero::ZeroDialect"];
  let options = [
    Option<"every", "every", "int64_t", "1",
      "Layers between two activations that are kept">,
    Option<"number", "number", "int64_t", "0",
      "Number of spans to divide the layers into, instead of every; 0: use every">,
    ListOption<"layers", "layers", "int64_t",
      "Layers to recompute, counted from 0; all if none is given">,
    Option<"policy", "policy", "std::string", "\"all\"",
      "What to recompute: all, cheap, or full">,
    Option<"offload", "offload", "bool", "false",
      "Copy what is kept to host memory, and back for the backward pass">,
    Option<"offloadBytes", "offload-bytes", "int64_t", "1024",
      "Smaller values stay on the device">];
}

def JoinRotary : Pass<"zero-join-rotary", "::mlir::ModuleOp"> {
  let summary = "Rotate queries and keys where their projection is";
  let description = [{
    Where one projection gives queries, keys and values, and parts of it are
    rotated, one `nn.rotary` of the heads that they are takes their place, before
    the projection is cut. It runs in place, attention then reads all three where
    the projection has them, and the gradient of the whole is rotated back likewise.

    The parts are results of `nn.split` or slices along the heads, or along the
    features of heads side by side.

    - Needs: before `zero-differentiate`.
    - Leaves: bitwise equal results, with fewer kernels, and without copies of
      the parts.
    - Not done here: heads whose parts are not neighbours, are rotated by other
      angles, or are read before they are rotated; parts of one head each, side by
      side.

    ```mlir
    %q, %k, %v = nn.split %qkv dim 2 sizes [64, 32, 32] : ...     // before
    %a = nn.rotary %q_heads theta 10000.0 : tensor<2x16x4x16xf32>
    %b = nn.rotary %k_heads theta 10000.0 : tensor<2x16x2x16xf32>
    %r = nn.rotary %heads theta 10000.0 heads [0, 6] : tensor<2x16x8x16xf32> // after
    %q, %k, %v = nn.split %qkv_rotated dim 2 sizes [64, 32, 32] : ...
    ```
  }];
  let dependentDialects = ["::mlir::tensor::TensorDialect"];
}

def FuseMoves : Pass<"zero-fuse-moves", "::mlir::ModuleOp"> {
  let summary = "Let kernels read and write parts of tensors where they are";
  let description = [{
    A split, slice or transposition whose results only kernels read that take strides,
    and a concatenation or transposition of what one such kernel writes, become part of
    these kernels: a `zero.strided` each. Which kernels take strides, and of which
    tensors, the kernels' table says; how a move lays out its results or operands,
    `MoveOpInterface`.

    - Needs: `zero-outline-elementwise`.
    - Leaves: the same values with fewer kernels and buffers. A remark names a move that
      stays because of one of its readers, while others take strides.
    - Not done here: a concatenation of the results of several kernels; moves of
      parameters and inputs, which may begin anywhere.

    ```mlir
    %q, %k, %v = nn.split %qkv dim 2 sizes [32, 32, 32]                      // before
    %o, %lse = nn.attention %q, %k, %v
    %o, %lse = zero.strided %qkv { the same }                                // after
    ```
  }];
  let dependentDialects = ["::mlir::zero::ZeroDialect"];
}

#endif // ZERO_TRANSFORMS_MODELPASSES_TD
