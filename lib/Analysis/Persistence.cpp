//===- Persistence.cpp - parameters that stay whole -----------------------===//

#include "zero/Analysis/Persistence.h"

using namespace mlir;
using namespace mlir::zero;

llvm::SetVector<StringAttr>
mlir::zero::getPersistentParameters(ModuleOp module, int64_t most,
                                    int64_t mostTogether,
                                    function_ref<bool(ParameterOp)> isSharded) {
  llvm::SetVector<StringAttr> persistent;
  int64_t kept = 0;
  for (ParameterOp parameter : module.getOps<ParameterOp>()) {
    const int64_t elements = parameter.getElements();
    if (!isSharded(parameter) || elements > most ||
        elements > mostTogether - kept)
      continue;
    kept += elements;
    persistent.insert(parameter.getSymNameAttr());
  }
  return persistent;
}
