// How deep a text in JSON or MLIR is nested.
#ifndef ZERO_RUNTIME_PROGRAM_NESTING_H
#define ZERO_RUNTIME_PROGRAM_NESTING_H

#include <cstddef>
#include <string_view>

namespace zrt {

/// Many more levels than any file has that is read. Whoever parses or prints
/// JSON may call itself for each level.
inline constexpr size_t kMostJsonNesting = 100;

/// The line, from 1, where more than `most` brackets of any kind are open at
/// once, outside of strings and comments; 0 where that never is. For JSON and
/// MLIR; the text need not be either.
unsigned findDeepNesting(std::string_view text, size_t most);

/// Throws std::runtime_error, naming the line, where more than
/// `kMostJsonNesting` brackets are open at once.
void checkNesting(std::string_view text);

} // namespace zrt

#endif // ZERO_RUNTIME_PROGRAM_NESTING_H
