// How deep a text in JSON is nested.
#ifndef ZERO_RUNTIME_PROGRAM_NESTING_H
#define ZERO_RUNTIME_PROGRAM_NESTING_H

#include <cstddef>
#include <string_view>

namespace zrt {

/// Many more levels than any file has that is read. Whoever parses or prints
/// JSON may call itself for each level.
inline constexpr size_t kMostJsonNesting = 100;

/// Throws std::runtime_error, naming the line, where more than
/// `kMostJsonNesting` objects and lists are open at once. The text need not be
/// JSON.
void checkNesting(std::string_view text);

} // namespace zrt

#endif // ZERO_RUNTIME_PROGRAM_NESTING_H
