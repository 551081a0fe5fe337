// The files of PTX that launches look their kernels up in.
#ifndef ZERO_TEST_DEVICE_PTX_MODULES_H
#define ZERO_TEST_DEVICE_PTX_MODULES_H

#include "Program.h"

namespace zrt::ptx {

/// All of them, which the build lists.
const std::vector<std::unique_ptr<Module>> &modules();

/// A kernel by its mangled name. Throws Unreadable where no file has
/// it.
Entry &entryNamed(const std::string &name);

/// Kernels that no launch has run, as "Norms.ptx: name", without those that
/// CUDA's own headers bring along.
std::vector<std::string> unreachedEntries();

} // namespace zrt::ptx

#endif // ZERO_TEST_DEVICE_PTX_MODULES_H
