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
    interface is computed whole. A block has the bits of the same rows of the
    whole result: `--deterministic` rests on it.

    How a block is built, factors tell: where the signature gives a range of the
    result's first dimension (`v@rows`), the operation is built of that range, with
    the same rows of addends; where that dimension is parallel, of the same rows of
    all operands that begin with it.
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
      Once blocks stand for a result: puts a cheaper operation, with the same bits,
      in the place of one that nothing reads all results of any more. By default
      there is none.
    }],
    "void", "dropUnusedResults", (ins "::mlir::OpBuilder &":$builder),
    /*methodBody=*/"", /*defaultImplementation=*/"return;">];
}

#endif // ZERO_INTERFACES_ROWBLOCKOPINTERFACE_TD
