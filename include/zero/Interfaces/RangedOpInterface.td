//===- RangedOpInterface.td - groups of rows, of which ranks have some ----===//
#ifndef ZERO_INTERFACES_RANGEDOPINTERFACE_TD
#define ZERO_INTERFACES_RANGEDOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def RangedOpInterface : OpInterface<"RangedOpInterface"> {
  let cppNamespace = "::mlir::zero";
  let description = [{
    An operation on groups of rows. Each rank may have an equal range of the groups,
    with memory for all rows; it computes only the rows in its own groups. How many
    those are depends on the data; planning assumes equal shares.
  }];
  let methods = [
    InterfaceMethod<[{
      Says that the groups are one of `count` equal ranges.
    }], "void", "setRangeCount", (ins "int64_t":$count), [{
      $_op->setAttr("ranges", ::mlir::Builder($_op->getContext()).getI64IntegerAttr(count));
    }]>];
}

#endif // ZERO_INTERFACES_RANGEDOPINTERFACE_TD
