//===- Passes.td - the passes of zero --------------------*- tablegen -*-===//
#ifndef ZERO_TRANSFORMS_PASSES_TD
#define ZERO_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def OutlineElementwise : Pass<"zero-outline-elementwise", "::mlir::ModuleOp"> {
  let summary = "Turn groups of elementwise operations into kernels";
  let description = [{
    Joins elementwise operations of a `zero.step` into groups and makes each
    group one `zero.launch` of a private function around one `linalg.generic`.
    Members are upstream operations with the `Elementwise` trait and operations
    with `ElementwiseOpInterface`, on ranked static tensors of one shape.
    Arithmetic inside a kernel is f32: 16-bit inputs are extended when loaded
    and results rounded once when stored. Splat constants become part of the
    kernel; an `nn.broadcast` becomes an indexing map.

    A group sits at its last member's place, so no other operation moves. It
    moves down to take in one more member only if no use of its values lies in
    between, and if the values alive in between do not grow.

    - Needs: `zero-differentiate` ran, no collectives yet. Groups must not
      depend on the ZeRO stage: what a group rounds is what the step computes.
    - Leaves: views, constants, kernel operations, launches and `zero`
      operations. Whatever else is left is an error at the operation.
    - Not done here: code for the kernels; see `zero-vectorize-kernels`.

    ```mlir
    %0 = arith.mulf %x, %y : tensor<4x8xbf16>          // before
    %1 = nn.gelu tanh %0 : tensor<4x8xbf16>
    %1 = zero.launch @mulf_gelu_0(%x, %y)              // after
        : (tensor<4x8xbf16>, tensor<4x8xbf16>) -> tensor<4x8xbf16>
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
    "::mlir::tensor::TensorDialect"];
}

def VectorizeKernels : Pass<"zero-vectorize-kernels", "::mlir::ModuleOp"> {
  let summary = "Turn kernel functions into vector loops on raw buffers";
  let description = [{
    Every function with a body becomes a function of
    `(buffers: pointer to pointers, begin: i64, end: i64)` that computes the
    flat elements [begin, end) of its results: whole vectors first, the rest
    with the same code under a mask. An element's bits do not depend on where
    a range begins or ends. `zero.extent` on the function is its number of
    elements, `zero.grain` the fewest elements worth a thread.

    - Needs: functions as `zero-outline-elementwise` leaves them.
    - Leaves: `arith`, `math` and `vector` on vectors of `vector-width` lanes,
      `scf` loops, and loads and stores of the `llvm` dialect.
    - Not done here: transcendental functions; see `zero-expand-math`.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
  let options = [Option<"vectorWidth", "vector-width", "int64_t", "16",
    "Lanes of a vector; a power of two">];
}

def ExpandMath : Pass<"zero-expand-math"> {
  let summary = "Turn math and bf16 conversions into plain vector arithmetic";
  let description = [{
    Expands transcendental functions of f32 into polynomials, and conversions
    between f32 and bf16 into integer arithmetic that rounds to nearest even
    and keeps subnormals, which the native instructions flush. The results are
    then the same on every machine.

    - Leaves: functions without a polynomial (and all of f64), which become
      calls of the C library, an element at a time.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::mlir::vector::VectorDialect"];
}

def Differentiate : Pass<"zero-differentiate", "::mlir::ModuleOp"> {
  let summary = "Build the backward of every model: micro, apply, evaluate";
  let description = [{
    Turns a `zero.step` in model form into a schedule: `zero.micro` with the
    forward, the backward from `zero.loss_seed` and one `zero.gradient` a
    trainable parameter, right after its last contribution; an empty
    `zero.apply`; and `zero.evaluate` with the forward and all outputs.

    Only operations on a path from a trainable parameter to the loss are
    differentiated, through `DifferentiableOpInterface`. The contributions to a
    parameter that is loaded or used more than once are added in the order in
    which the backward computes them, those of 16 bits in f32; an
    `nn.embedding_grad` takes the sum before it as its `init`. Nothing is built
    for frozen parameters. A trainable parameter that the loss does not depend
    on is named in a remark.

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
    "bool", "true", "Whether a trainable parameter without a gradient is named "
    "in a remark; if not, it is an error">];
}

def SetPrecision : Pass<"zero-set-precision", "::mlir::ModuleOp"> {
  let summary = "Turn an f32 model into one that computes in 16 bits";
  let description = [{
    In every `zero.step` in model form, f32 tensors become tensors of `compute`:
    what `zero.load` reads, the results of operations on it, and float arguments
    of the step, which are rounded first. Three things stay f32:

    - statistics (mean, rstd, lse, masks, the loss), as `StatisticsOpInterface`
      says, and what is computed from them;
    - the *loss tail*: elementwise operations, reductions and `nn.softmax` on
      which nothing but the loss depends;
    - what the model itself extends with `arith.extf`, and what is computed from
      it, up to the model's `arith.truncf`.

    An operation on f32 and 16-bit values computes in f32. Values computed from
    constants and integers alone stay f32 until they meet a 16-bit value, and
    are rounded there: positions and masks keep their bits.

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

#endif // ZERO_TRANSFORMS_PASSES_TD
