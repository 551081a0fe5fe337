// The shared libraries that an executable carries in a folder beside it.
#ifndef ZERO_LIB_TARGET_COPYLIBRARIES_H
#define ZERO_LIB_TARGET_COPYLIBRARIES_H

#include "mlir/Support/LLVM.h"

#include <string>

namespace mlir::zero {

/// The words with which a linker makes `output` look for libraries, and for
/// those that these need, in `folder` first, wherever both are moved together.
SmallVector<std::string> searchLibrariesIn(StringRef folder, StringRef output);

/// Copies into `folder`, which is made, the shared libraries that the dynamic
/// loader finds for `output`, and what they load late by name; not those of the
/// C and C++ libraries and of the GPU's driver, which are the machine's. One
/// that is not found is an error.
LogicalResult copyLibraries(StringRef output, StringRef folder,
                            std::string &error);

} // namespace mlir::zero

#endif // ZERO_LIB_TARGET_COPYLIBRARIES_H
