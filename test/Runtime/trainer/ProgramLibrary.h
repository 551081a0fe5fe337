// What zero-compile --emit=program wrote, loaded.
#ifndef ZERO_TEST_RUNTIME_TRAINER_PROGRAMLIBRARY_H
#define ZERO_TEST_RUNTIME_TRAINER_PROGRAMLIBRARY_H

#include "kernels/Kernel.h"
#include "program/Program.h"

#include <dlfcn.h>

#include <stdexcept>
#include <string>

namespace zrt::testing {

/// Throws where `path` is no such library. It stays loaded.
struct ProgramLibrary {
  explicit ProgramLibrary(const char *path) {
    handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
      throw std::runtime_error(dlerror());
    std::string error;
    if (!parseStages(find<unsigned char>("zero_program"),
                     size_t(*find<int64_t>("zero_program_size")), stages,
                     error))
      throw std::runtime_error(error);
    kernels = find<GeneratedKernel>("zero_generated_kernels");
    kernelCount = *find<int64_t>("zero_generated_kernel_count");
  }

  template <typename T> const T *find(const char *name) const {
    if (void *symbol = dlsym(handle, name))
      return static_cast<const T *>(symbol);
    throw std::runtime_error(std::string("the library has no ") + name);
  }

  /// The program of rank `rank`.
  const Program &programOf(int rank) const {
    return stages[stageOf(stages, rank)];
  }

  void *handle = nullptr;
  std::vector<Program> stages; ///< one, unless the model is cut into several
  const GeneratedKernel *kernels = nullptr;
  int64_t kernelCount = 0;
};

} // namespace zrt::testing

#endif // ZERO_TEST_RUNTIME_TRAINER_PROGRAMLIBRARY_H
