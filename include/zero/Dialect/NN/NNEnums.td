//===- NNEnums.td - enumerations of nn operations ----------*- tablegen -*-===//
//
// Those that kernels know as well are shared with programs: their numbers are
// part of the program format, append only.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_DIALECT_NN_NNENUMS_TD
#define ZERO_DIALECT_NN_NNENUMS_TD

include "zero/Dialect/Zero/SharedEnum.td"

/// `name` is the dialect's class, `runtime` that in the namespace zrt.
class NN_SharedEnum<string name, string runtime, string summary,
                    list<Zero_SharedCase> cases>
    : Zero_SharedEnum<name, runtime, summary, cases> {
  let genSpecializedAttr = 0;
  let cppNamespace = "::mlir::nn";
}

def NN_GeluForm : I32EnumAttr<"GeluForm", "how gelu is computed", [
    I32EnumAttrCase<"Exact", 0, "exact">,
    I32EnumAttrCase<"Tanh", 1, "tanh">]> {
  let genSpecializedAttr = 0;
  let cppNamespace = "::mlir::nn";
}

def NN_Reduction : NN_SharedEnum<"Reduction", "ReduceKind",
    "what a reduction computes", [
  Zero_SharedCase<"Sum", 0, "sum">,
  Zero_SharedCase<"Max", 1, "max", "a NaN wins">,
  Zero_SharedCase<"Mean", 2, "mean">]>;

def NN_Scatter : NN_SharedEnum<"Scatter", "ScatterKind",
    "what a scatter does with an element", [
  Zero_SharedCase<"Set", 0, "set">,
  Zero_SharedCase<"Max", 1, "max", "takes the largest; a NaN wins">]>;

#endif // ZERO_DIALECT_NN_NNENUMS_TD
