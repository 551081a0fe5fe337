// Which of the runtimes that are built an executable is linked with.
#ifndef ZERO_LIB_TARGET_FINDRUNTIME_H
#define ZERO_LIB_TARGET_FINDRUNTIME_H

#include "zero/Target/Target.h"

namespace mlir::zero {

/// The folder of runtimes: `lib/zero` beside that of the running tool.
std::string runtimeFolder();

/// The file of arguments of the runtime that `options` asks for, or nothing and
/// `error`.
std::string findRuntime(const LinkOptions &options, std::string &error);

} // namespace mlir::zero

#endif // ZERO_LIB_TARGET_FINDRUNTIME_H
