// What `zero-compile --emit=shared` wrote: a program, and its kernels.
#ifndef ZERO_TEST_DEVICE_PROGRAMLIBRARY_H
#define ZERO_TEST_DEVICE_PROGRAMLIBRARY_H

#include "trainer/TrainerMain.h"

#include <dlfcn.h>

#include <stdexcept>
#include <string>

namespace zrt::test {

/// Stays loaded until the process ends. Throws std::runtime_error where the
/// file is none.
class ProgramLibrary {
public:
  explicit ProgramLibrary(const char *path)
      : handle(::dlopen(path, RTLD_NOW | RTLD_LOCAL)) {
    if (!handle)
      throw std::runtime_error(::dlerror());
  }

  template <typename T> const T *find(const char *name) const {
    if (void *symbol = ::dlsym(handle, name))
      return static_cast<const T *>(symbol);
    throw std::runtime_error(std::string("the library has no ") + name);
  }

  EmbeddedProgram embedded() const {
    EmbeddedProgram result;
    result.bytes = find<unsigned char>("zero_program");
    result.size = *find<int64_t>("zero_program_size");
    result.kernels = find<GeneratedKernel>("zero_generated_kernels");
    result.kernelCount = *find<int64_t>("zero_generated_kernel_count");
    return result;
  }

private:
  void *handle;
};

} // namespace zrt::test

#endif // ZERO_TEST_DEVICE_PROGRAMLIBRARY_H
