//===- KernelPasses.td - kernels of arithmetic -------------*- tablegen -*-===//
#ifndef ZERO_TRANSFORMS_KERNELPASSES_TD
#define ZERO_TRANSFORMS_KERNELPASSES_TD

include "mlir/Pass/PassBase.td"

def FuseEpilogues : Pass<"zero-fuse-epilogues", "::mlir::ModuleOp"> {
  let summary = "Fuse operations into the kernels of matrix products";
  let description = [{
    Fuses each operation with `EpilogueOpInterface` into the matrix product that
    makes its operand, or reads the same one, where there is a kernel for both.

    Of `nn`: a matrix product kernel can apply gelu to its result while that is
    still in registers, and write both; likewise gelu's gradient, and the sum of
    its rows. `nn.linear` and the `nn.gelu tanh` that reads it become
    `nn.linear_gelu`; an `nn.linear` without a bias, whose only reader is an
    `nn.gelu_grad tanh`, becomes `nn.linear_gelu_grad` with it, and with the
    `nn.reduce sum` over all but the last dimension of what it leaves, if there
    is one. Any other such sum, of what the product of a weight's gradient reads,
    is the bias's gradient, and becomes `nn.linear_weight_grad` with it: sums that
    nothing is read again for. Each stands at the place of the product.

    Only 16-bit products whose last dimension is a multiple of 8, which is what
    cuBLASLt takes. A weight's gradient that is larger than a bucket is split into
    blocks all the same, and the sum then is by itself again.

    - Needs: `zero-differentiate` ran; before `zero-outline-elementwise`.
    - Leaves: fewer passes over memory. Gelu is of a value that may not have
      been rounded to 16 bits, so losses differ in their last bits.
    - Not done here: the exact form of gelu, sums of rows that no product reads,
      and f32.

    ```mlir
    %h = nn.linear %x, %w bias %b : ...                // before
    %a = nn.gelu tanh %h : tensor<4x8xbf16>
    %a, %h = nn.linear_gelu %x, %w bias %b : ...       // after
    ```
  }];
  let options = [Option<"gradientsOnly", "gradients-only", "bool", "false",
    "Leave the forward alone, so that gelu may be recomputed by itself">];
}

def FuseCrossEntropy : Pass<"zero-fuse-cross-entropy", "::mlir::ModuleOp"> {
  let summary = "Compute the loss and its gradient some rows of logits at a time";
  let description = [{
    `nn.cross_entropy` of an `nn.linear`, with `nn.cross_entropy_grad` and the
    products and sums that are the gradients of the linear operation, become one
    `nn.linear_cross_entropy_grad`, at the place of `nn.cross_entropy_grad`;
    where there is no gradient, as in `zero.evaluate`, the two become
    `nn.linear_cross_entropy`. Logits then exist some rows at a time, in the
    kernel's workspace.

    A chunk has as many rows as keep its logits within `chunk-bytes`, a multiple
    of 64 and at least 64, or all rows where there are fewer.

    A loss that stays as it is gets a remark that says why: its logits are used
    otherwise, such as by an output of that name; its logits are no `nn.linear`'s;
    its gradient is made of the loss, or its logarithms are used beside the gradient;
    or a gradient of an operand is not computed. What reads the loss before goes behind
    the gradient.

    - Needs: `zero-differentiate` and `cse` ran; before
      `zero-outline-elementwise`.
    - Leaves: no tensor of logits in the memory plan. The gradient of the weight
      is whole: `zero-split-gradients` does not make it in blocks of rows.
    - Not done here: losses whose logits are changed on their way, as by a cap.

    ```mlir
    %l = nn.linear %x, %w transposed : ...                        // before
    %loss, %lse = nn.cross_entropy %l, %y : ...
    %s = zero.loss_seed : tensor<f32>
    %dl = nn.cross_entropy_grad %s, %l, %y, %lse : ...
    %dx = nn.linear %dl, %w : ...
    %dw = nn.matmul %dl, %x transpose_a : ...
    %s = zero.loss_seed : tensor<f32>                              // after
    %loss, %dx, %dw = nn.linear_cross_entropy_grad %s, %x, %w, %y transposed chunk 640 : ...
    ```
  }];
  let options = [Option<"chunkBytes", "chunk-bytes", "int64_t", "67108864",
    "Bytes within which the logits of a chunk stay">];
  let dependentDialects = ["::mlir::nn::NNDialect"];
}

def OutlineElementwise : Pass<"zero-outline-elementwise", "::mlir::ModuleOp"> {
  let summary = "Fuse elementwise operations into kernels";
  let description = [{
    Groups the elementwise operations of a `zero.step` and turns each group into
    one `zero.launch` of a private function around one `linalg.generic`.
    Members are upstream operations with the `Elementwise` trait and operations
    with `ElementwiseOpInterface`, on ranked static tensors of one shape.
    Arithmetic inside a kernel is f32: 16-bit inputs are extended when loaded
    and results rounded once when stored. With `round-members` each member
    gives what its type can hold, as where runs are in f32 and 16-bit types are
    the model's own. Splat constants become part of the
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
  let options = [
    Option<"roundMembers", "round-members", "bool", "false",
           "Round the value of each member to its type">];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
    "::mlir::tensor::TensorDialect"];
}

def FuseAdditions : Pass<"zero-fuse-additions", "::mlir::ModuleOp"> {
  let summary = "Fuse additions into the kernels beside them";
  let description = [{
    Fuses each `zero.launch` that adds two tensors and does nothing else into an
    operation with `AddendOpInterface`: one that reads the sum, or one whose
    result is an addend.

    Of `nn`: a norm of a residual sum becomes `nn.add_layer_norm` or
    `nn.add_rms_norm`, which gives the sum as well; and the gradient of a norm
    whose result is added to the residual's gradient becomes
    `nn.add_layer_norm_grad` or `nn.add_rms_norm_grad`. Each stands at the place
    of the norm. With `products`, and of what norms leave, `nn.linear` whose
    result is added to another tensor becomes `nn.linear_add`. So does each of
    several whose results are added, as the gradients that the projections of one
    tensor send back, or as attention and perceptron beside each other.

    - Needs: `zero-outline-elementwise`, and `zero-checkpoint-activations` where
      activations are recomputed: a recomputation has a norm of a sum that is
      kept, and not of its addends.
    - Leaves: one kernel and one pass over memory less for each, and the same
      bits, except that products add before they round. Where a reshape lies in between, as before a group norm, addends and
      sums are views.
    - Not done here: sums that something reads before the norm does, and addends
      that are made after the gradient or the product. Of a sum of three tensors,
      which is one kernel, no norm takes the last addition alone: the sum of the
      other two would be written and read again.

    ```mlir
    %s = zero.launch @addf_0(%x, %f) : ...                 // before
    %y, %rstd = nn.rms_norm %s, %w eps 1.0e-5 : ...
    %y, %rstd, %s = nn.add_rms_norm %x, %f, %w eps 1.0e-5 : ... // after
    ```
  }];
  let options = [Option<"products", "products", "bool", "false",
    "Also into matrix products, whose sums then differ in their last bits">];
  let dependentDialects = ["::mlir::tensor::TensorDialect"];
}

def ExpandMath : Pass<"zero-expand-math"> {
  let summary = "Expand math functions and bf16 conversions into vector arithmetic";
  let description = [{
    Expands transcendental functions of f32 into polynomials, and conversions
    between f32 and bf16 into integer arithmetic that rounds to nearest even
    and keeps subnormals, which the native instructions flush. The results are
    then bitwise equal on every machine.

    - Leaves: functions without a polynomial (and all of f64), which become
      calls of the C library, an element at a time.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::mlir::vector::VectorDialect"];
}

def VectorizeKernels : Pass<"zero-vectorize-kernels", "::mlir::ModuleOp"> {
  let summary = "Lower kernel functions to vector loops on raw buffers";
  let description = [{
    Every function with a body becomes a function of
    `(buffers: pointer to pointers, begin: i64, end: i64)` that computes the
    flat elements [begin, end) of its results: whole vectors first, the rest
    with the same code under a mask. The result for an element does not depend on
    where a range begins or ends, bit by bit. `extent` on the function is its number of
    elements, `grain` the smallest number of elements worth
    giving to a thread.

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

def ThreadKernels : Pass<"zero-thread-kernels", "::mlir::ModuleOp"> {
  let summary = "Lower kernel functions to GPU threads";
  let description = [{
    Every function with a body becomes a function of its buffers' pointers,
    inputs first, in which a thread computes every vector of neighbours whose
    number is its own modulo the number of threads: any grid of one dimension is
    right. A vector has as many elements as 16 bytes of the narrowest buffer hold,
    at most 8. Where a buffer is not aligned to 16 bytes, vectors would reach over
    the ends of rows, or fewer elements are left than a vector has, threads compute
    single elements in the same way. `extent` on the function is its number of
    elements, and `grain` that of a vector.

    ```mlir
    func.func private @k(%a: tensor<64xf32>) -> tensor<64xf32> { linalg.generic ... }
    // becomes
    func.func @k(%a: !llvm.ptr, %r: !llvm.ptr) attributes {extent = 64 : i64, grain = 4 : i64} {
      scf.if %aligned {
        scf.for %i = %first to %c64 step %fours { ... } // four elements
      } else {
        scf.for %i = %thread to %c64 step %threads { ... } // one
      }
    }
    ```

    - Needs: functions as `zero-outline-elementwise` leaves them.
    - Leaves: `arith` and `math` on scalars, `scf` loops, thread numbers of the
      `nvvm` dialect, loads and stores of the `llvm` dialect.
    - Not done here: transcendental functions; see `zero-expand-math`.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::NVVM::NVVMDialect", "::mlir::scf::SCFDialect"];
}

#endif // ZERO_TRANSFORMS_KERNELPASSES_TD
