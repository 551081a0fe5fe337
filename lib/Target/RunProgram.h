// Another program, run to its end.
#ifndef ZERO_LIB_TARGET_RUNPROGRAM_H
#define ZERO_LIB_TARGET_RUNPROGRAM_H

#include "mlir/Support/LLVM.h"

#include <string>

namespace mlir::zero {

/// Runs `arguments`, the first of which is the program's path. `printed` is
/// what it printed, behind what kept it from starting; it fails where the
/// program does.
LogicalResult runProgram(ArrayRef<std::string> arguments, std::string &printed);

} // namespace mlir::zero

#endif // ZERO_LIB_TARGET_RUNPROGRAM_H
