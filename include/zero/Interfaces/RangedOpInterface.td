//===- RangedOpInterface.td - groups of rows, of which ranks have some ----===//
#ifndef ZERO_INTERFACES_RANGEDOPINTERFACE_TD
#define ZERO_INTERFACES_RANGEDOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def RangedOpInterface : OpInterface<"RangedOpInterface"> {
  let cppNamespace = "::mlir::zero";
  let description = [{
    An operation on rows in groups, of which each of several ranks may have an equal
    range, with memory for the rows of all: its work is that of the rows which it finds
    in its groups. How many these are, data say; what is planned with is that they are
    as many on each rank.
  }];
  let methods = [
    InterfaceMethod<[{
      Says that the groups are one of `count` equal ranges.
    }], "void", "setRangeCount", (ins "int64_t":$count), [{
      $_op->setAttr("ranges", ::mlir::Builder($_op->getContext()).getI64IntegerAttr(count));
    }]>];
}

#endif // ZERO_INTERFACES_RANGEDOPINTERFACE_TD
