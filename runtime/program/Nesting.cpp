#include "program/Nesting.h"

#include <stdexcept>
#include <string>

using namespace zrt;

void zrt::checkNesting(std::string_view text) {
  size_t depth = 0, line = 1;
  bool inString = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char letter = text[i];
    line += letter == '\n';
    if (letter == '"')
      inString = !inString;
    else if (inString)
      i += letter == '\\';
    else if (letter == ']' || letter == '}')
      depth -= depth > 0;
    else if ((letter == '[' || letter == '{') && ++depth > kMostJsonNesting)
      throw std::runtime_error("line " + std::to_string(line) +
                               ": objects and lists are nested more than " +
                               std::to_string(kMostJsonNesting) +
                               " deep; remove the inner ones");
  }
}
