// Reads declarations and kernels.
#ifndef ZERO_TEST_DEVICE_PTX_READER_H
#define ZERO_TEST_DEVICE_PTX_READER_H

#include "Lexer.h"

namespace zrt::ptx {

using Variables = std::map<std::string, Variable, std::less<>>;

/// Reads the declaration of memory that begins with `word`; false where it is
/// none. Throws Unreadable.
bool readVariable(Lexer &lexer, std::string_view word, Variables &variables);

/// Reads parameters, bounds and code. `outside`: what the file declares.
void readKernel(Entry &entry, const Pending &text, Variables outside);

/// Of ".u32": 4.
size_t bytesOfType(const Lexer &lexer, std::string_view type);

} // namespace zrt::ptx

#endif // ZERO_TEST_DEVICE_PTX_READER_H
