// The text of an exception for users.
#ifndef ZERO_RUNTIME_IO_ERRORTEXT_H
#define ZERO_RUNTIME_IO_ERRORTEXT_H

#include <exception>
#include <new>
#include <string>

namespace zrt {

/// The text of `error`; std::bad_alloc, whose text says nothing, becomes a
/// sentence about memory.
inline std::string textOf(const std::exception &error) {
  return dynamic_cast<const std::bad_alloc *>(&error)
             ? "there is not enough memory"
             : error.what();
}

} // namespace zrt

#endif // ZERO_RUNTIME_IO_ERRORTEXT_H
