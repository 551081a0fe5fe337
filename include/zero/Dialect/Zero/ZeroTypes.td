//===- ZeroTypes.td - pending values and verdicts -------------------------===//
#ifndef ZERO_DIALECT_ZERO_ZEROTYPES_TD
#define ZERO_DIALECT_ZERO_ZEROTYPES_TD

include "zero/Dialect/Zero/ZeroBase.td"

class Zero_Type<string name, string typeMnemonic> : TypeDef<Zero_Dialect, name> {
  let mnemonic = typeMnemonic;
}

def Zero_PendingType : Zero_Type<"Pending", "pending"> {
  let summary = "Tensors that a started operation will have made";
  let description = [{
    Handle of a collective that was started. It borrows the operation's operands
    and owns its buffers until the one `zero.wait` that every handle needs.
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::Type">:$types);
  let hasCustomAssemblyFormat = 1;
}
def Zero_StatsType : Zero_Type<"Stats", "stats"> {
  let summary = "Found-inf and sum of squares of gradients, on the device";
}
def Zero_VerdictType : Zero_Type<"Verdict", "verdict"> {
  let summary = "Whether an update runs, and the factor on its gradients";
  let description = [{
    Lives in device memory: the host never waits for it. `zero.update` takes one,
    so that an update before its overflow check does not type-check.
  }];
}

#endif // ZERO_DIALECT_ZERO_ZEROTYPES_TD
