#include "Lexer.h"

#include <cctype>
#include <cstdlib>

using namespace zrt::ptx;

void Lexer::fail(const std::string &what) const {
  throw Unreadable(file + ":" + std::to_string(line) + ": " + what);
}

void Lexer::skipSpace() {
  for (; at < text.size(); ++at) {
    if (text[at] == '\n')
      ++line;
    else if (text.substr(at, 2) == "//")
      at = std::min(text.find('\n', at), text.size()) - 1;
    else if (!std::isspace(static_cast<unsigned char>(text[at])))
      return;
  }
}

static bool isOfWord(char letter) {
  return std::isalnum(static_cast<unsigned char>(letter)) || letter == '_' ||
         letter == '$' || letter == '%' || letter == '.';
}

std::string_view Lexer::peek() {
  skipSpace();
  if (at == text.size())
    fail("the text ends where more is wanted");
  size_t end = at;
  if (text[at] == '"')
    end = text.find('"', at + 1);
  else
    while (end < text.size() && isOfWord(text[end]))
      ++end;
  if (end == text.npos)
    fail("a string does not end");
  return text.substr(at,
                     end == at || text[at] == '"' ? end - at + 1 : end - at);
}

std::string_view Lexer::next() {
  const std::string_view word = peek();
  at += word.size();
  return word;
}

bool Lexer::take(std::string_view word) {
  if (peek() != word)
    return false;
  next();
  return true;
}

void Lexer::want(std::string_view word) {
  if (!take(word))
    fail("found '" + std::string(peek()) + "', wanted '" + std::string(word) +
         "'");
}

void Lexer::skipTo(char open, char close) {
  for (size_t depth = 1; depth;) {
    const std::string_view word = next();
    depth += word[0] == open;
    depth -= word[0] == close;
  }
}

void Lexer::skipStatement() {
  while (next() != ";")
    ;
}

uint64_t zrt::ptx::bitsOf(const Lexer &lexer, std::string_view word) {
  std::string digits(word);
  const bool isBits =
      word.size() > 2 && word[0] == '0' && (word[1] == 'f' || word[1] == 'd');
  if (!isBits && digits.size() > 1 && digits.back() == 'U')
    digits.pop_back();
  char *end = nullptr;
  const uint64_t bits = isBits ? std::strtoull(digits.c_str() + 2, &end, 16)
                               : std::strtoull(digits.c_str(), &end, 0);
  if (word.empty() || *end)
    lexer.fail("'" + std::string(word) + "' is no number");
  return bits;
}
