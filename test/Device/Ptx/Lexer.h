// The words of PTX, with their lines.
#ifndef ZERO_TEST_DEVICE_PTX_LEXER_H
#define ZERO_TEST_DEVICE_PTX_LEXER_H

#include "Program.h"

namespace zrt::ptx {

/// Reads words and signs one after another. A word is a name, an opcode with
/// its dots, a number, or one sign.
class Lexer {
public:
  Lexer(const std::string &file, std::string_view text, uint32_t line)
      : file(file), text(text), line(line) {}

  bool isDone() {
    skipSpace();
    return at == text.size();
  }
  std::string_view peek();
  std::string_view next();
  /// Takes `word` if it comes next.
  bool take(std::string_view word);
  void want(std::string_view word);
  /// Behind the sign that closes what was opened just before.
  void skipTo(char open, char close);
  /// Behind the next `;`.
  void skipStatement();

  size_t position() const { return at; }
  uint32_t lineNumber() const { return line; }
  [[noreturn]] void fail(const std::string &what) const;

private:
  void skipSpace();

  const std::string &file;
  std::string_view text;
  size_t at = 0;
  uint32_t line;
};

/// The bits of a number: decimal, hexadecimal, 0f and 0d. Throws Unreadable.
uint64_t bitsOf(const Lexer &lexer, std::string_view word);

} // namespace zrt::ptx

#endif // ZERO_TEST_DEVICE_PTX_LEXER_H
