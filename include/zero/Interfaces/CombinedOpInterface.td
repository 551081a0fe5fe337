//===- CombinedOpInterface.td - computed of ranges, and combined ----------===//
#ifndef ZERO_INTERFACES_COMBINEDOPINTERFACE_TD
#define ZERO_INTERFACES_COMBINEDOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def CombinedOpInterface : OpInterface<"CombinedOpInterface"> {
  let cppNamespace = "::mlir::zero";
  let description = [{
    An operation with one combined factor, such as the rows of a table or the classes of
    a loss, which each rank of a group can compute for its own range of the factor. The
    results of the ranks are then combined by a sum, or by exchanges of a few numbers;
    or each rank has its part of the result, and needs to know which.

    `zero-shard-model` cuts a combined factor only of operations that have this
    interface.
  }];
  let methods = [
    InterfaceMethod<[{
      Builds what one rank computes with `operands`: those that have the factor are
      its part, all others are whole. Returns a value for each result: its part where
      it has the factor; where `givesTerms`, terms whose sum over the ranks is the
      result; else the whole result, the same on every rank.
    }], "::llvm::SmallVector<::mlir::Value>", "buildOfRange",
    (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$operands,
         "::mlir::zero::RankRange &":$range)>,
    InterfaceMethod<[{
      Whether the values that `buildOfRange` returns are terms of a sum.
    }], "bool", "givesTerms", (ins), /*methodBody=*/"", "return false;">];
}

#endif // ZERO_INTERFACES_COMBINEDOPINTERFACE_TD
