//===- RowBlockOpInterface.td - results made some rows at a time ----------===//
#ifndef ZERO_INTERFACES_ROWBLOCKOPINTERFACE_TD
#define ZERO_INTERFACES_ROWBLOCKOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def RowBlockOpInterface : OpInterface<"RowBlockOpInterface"> {
  let cppNamespace = "::mlir::zero";
  let description = [{
    An operation that can compute a block of leading rows (indices of the first
    dimension) of a result by itself.

    `zero-split-gradients` asks for blocks of a gradient that is larger than a
    bucket, so that it is never whole in memory. An operation without this
    interface is computed whole. A block must be bitwise equal to the same rows
    of the whole result: `--deterministic` rests on it.

    The default implementation builds a block from the operation's factors: if the
    signature has a range of the result's first dimension (`v@rows`), it sets that
    range and takes the same rows of addends; if that dimension is parallel, it
    takes the same rows of all operands that begin with it.
  }];
  let methods = [
    InterfaceMethod<"Whether result `index` can be computed in blocks of rows.",
      "bool", "hasRowBlocks", (ins "unsigned":$index), /*methodBody=*/"",
      "return ::mlir::zero::tellsRowBlocks($_op.getOperation(), index);">,
    InterfaceMethod<[{
      Builds rows [begin, end) of result `index` at the builder's insertion
      point, out of the operation's operands. `rowsOf(i)` gives the same rows of
      operand `i`, which has as many rows as the result.
    }],
    "::mlir::Value", "buildRowBlock",
    (ins "::mlir::OpBuilder &":$builder, "unsigned":$index, "int64_t":$begin,
         "int64_t":$end,
         "::llvm::function_ref<::mlir::Value(unsigned)>":$rowsOf),
    /*methodBody=*/"", [{
      return ::mlir::zero::buildToldRowBlock($_op.getOperation(), builder, index,
                                             begin, end, rowsOf);
    }]>,
    InterfaceMethod<[{
      Called after a result has been replaced by blocks. Replaces the operation by
      a cheaper, bitwise equal one if some of its results are no longer read. By
      default there is none.
    }],
    "void", "dropUnusedResults", (ins "::mlir::OpBuilder &":$builder),
    /*methodBody=*/"", /*defaultImplementation=*/"return;">];
}

#endif // ZERO_INTERFACES_ROWBLOCKOPINTERFACE_TD
