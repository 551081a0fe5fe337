// What an exception says to users.
#ifndef ZERO_RUNTIME_IO_ERRORTEXT_H
#define ZERO_RUNTIME_IO_ERRORTEXT_H

#include <exception>
#include <new>
#include <string>

namespace zrt {

/// What `error` says; where memory has run out, that, which std::bad_alloc does
/// not.
inline std::string textOf(const std::exception &error) {
  return dynamic_cast<const std::bad_alloc *>(&error)
             ? "there is not enough memory"
             : error.what();
}

} // namespace zrt

#endif // ZERO_RUNTIME_IO_ERRORTEXT_H
