//===- Foreign.td - a dialect that zero does not know ---------------------===//
#ifndef ZERO_TEST_FOREIGN_TD
#define ZERO_TEST_FOREIGN_TD

include "mlir/IR/OpBase.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "zero/Interfaces/DifferentiableOpInterface.td"
include "zero/Interfaces/KernelOpInterface.td"

def Foreign_Dialect : Dialect {
  let name = "foreign";
  let cppNamespace = "::foreign";
}

def Foreign_Tensor : StaticShapeTensorOf<[F16, BF16, F32]>;

class Foreign_Op<string mnemonic, list<Trait> traits = []>
    : Op<Foreign_Dialect, mnemonic, !listconcat([
          Pure, SameOperandsAndResultType, KernelOpInterface], traits)>;

def Foreign_CubeOp : Foreign_Op<"cube", [
    DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let summary = "(x + offset)^3";
  let arguments = (ins Foreign_Tensor:$x, F64Attr:$offset);
  let results = (outs Foreign_Tensor:$y);
  let assemblyFormat = "$x `offset` $offset attr-dict `:` type($x)";
}

def Foreign_CubeGradOp : Foreign_Op<"cube_grad"> {
  let summary = "3 dy (x + offset)^2";
  let arguments = (ins Foreign_Tensor:$dy, Foreign_Tensor:$x, F64Attr:$offset);
  let results = (outs Foreign_Tensor:$dx);
  let assemblyFormat = "$dy `,` $x `offset` $offset attr-dict `:` type($x)";
}

#endif // ZERO_TEST_FOREIGN_TD
