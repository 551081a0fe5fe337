//===- Nesting.cpp - How deep a text is nested ----------------------------===//

#include "zero/Config/Nesting.h"

#include <algorithm>

using llvm::StringRef;

/// The place of the quote that ends the string that begins at `i`.
static size_t endOfString(StringRef text, size_t i) {
  for (++i; i < text.size() && text[i] != '"'; ++i)
    i += text[i] == '\\';
  return i;
}

unsigned mlir::zero::findDeepNesting(StringRef text, size_t most) {
  size_t depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    char next = i + 1 < text.size() ? text[i + 1] : '\0';
    switch (text[i]) {
    case '"':
      i = endOfString(text, i);
      break;
    case '/':
      if (next == '/')
        i = std::min(text.find('\n', i), text.size());
      break;
    case '-': // an arrow
      i += next == '>';
      break;
    case '{':
    case '[':
    case '(':
    case '<':
      if (++depth > most)
        return 1 + text.take_front(i).count('\n');
      break;
    case '}':
    case ']':
    case ')':
    case '>':
      depth -= depth > 0;
      break;
    default:
      break;
    }
  }
  return 0;
}
