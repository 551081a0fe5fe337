#include "program/Nesting.h"

#include <algorithm>
#include <stdexcept>
#include <string>

using namespace zrt;

/// The place of the quote that ends the string that begins at `i`.
static size_t endOfString(std::string_view text, size_t i) {
  for (++i; i < text.size() && text[i] != '"'; ++i)
    i += text[i] == '\\';
  return i;
}

unsigned zrt::findDeepNesting(std::string_view text, size_t most) {
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
        return 1 + unsigned(std::count(text.begin(),
                                       text.begin() + std::ptrdiff_t(i), '\n'));
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

void zrt::checkNesting(std::string_view text) {
  if (const unsigned line = findDeepNesting(text, kMostJsonNesting))
    throw std::runtime_error("line " + std::to_string(line) +
                             ": objects and lists are nested more than " +
                             std::to_string(kMostJsonNesting) +
                             " deep; remove the inner ones");
}
