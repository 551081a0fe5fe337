// What a function says that fails.
#ifndef ZERO_TEST_RUNTIME_MESSAGEOF_H
#define ZERO_TEST_RUNTIME_MESSAGEOF_H

#include <exception>
#include <functional>
#include <string>

namespace zrt::test {

/// What `function` throws.
inline std::string messageOf(const std::function<void()> &function) {
  try {
    function();
  } catch (const std::exception &error) {
    return error.what();
  }
  return "(no error)";
}

} // namespace zrt::test

#endif // ZERO_TEST_RUNTIME_MESSAGEOF_H
