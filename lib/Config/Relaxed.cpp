//===- Relaxed.cpp - JSON with the freedoms of Hjson ------------*- C++ -*-===//
#include "Relaxed.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"

using namespace mlir::zero;
using llvm::StringRef;
namespace json = llvm::json;

namespace {
class Relaxed {
public:
  explicit Relaxed(StringRef text) : text(text) {}

  std::string run() {
    while (!rest().empty())
      step();
    return std::move(out);
  }

private:
  enum class Token { None, Comma, Value, Other };

  StringRef rest() const { return text.drop_front(position); }

  void step() {
    const char c = text[position];
    if (c == '#' || rest().starts_with("//"))
      blank(std::min(text.find('\n', position), text.size()));
    else if (rest().starts_with("/*"))
      blankBlock();
    else if (llvm::isSpace(c))
      space();
    else if (StringRef("{}[],:").contains(c))
      punctuation(c);
    else
      word(c == '"' ? endOfString() : endOfWord());
  }

  /// Spaces in the place of a comment.
  void blank(size_t end) {
    for (; position < end; ++position) {
      const bool isEnd = text[position] == '\n';
      hasNewLine |= isEnd;
      out += isEnd ? '\n' : ' ';
    }
  }

  /// A comment without an end stays, for the parser to show.
  void blankBlock() {
    const size_t end = text.find("*/", position + 2);
    if (end == StringRef::npos)
      return copy(text.size(), Token::Other);
    blank(end + 2);
  }

  void space() {
    hasNewLine |= text[position] == '\n';
    out += text[position++];
  }

  void punctuation(char c) {
    const bool closes = c == '}' || c == ']';
    if (closes && last == Token::Comma)
      out[lastEnd - 1] = ' ';
    if (c == '{' || c == '[')
      separate();
    // A comma that nothing is before stays, for the parser to show.
    const bool separates = c == ',' && last == Token::Value;
    copy(position + 1, separates ? Token::Comma
                       : closes  ? Token::Value
                                 : Token::Other);
  }

  /// A string or what is written without quotes: a key, where a colon follows.
  void word(size_t end) {
    separate();
    const bool isQuoted = text[position] == '"';
    const bool isKey = text.drop_front(end).ltrim().starts_with(":");
    if (isKey && !isQuoted)
      out += '"';
    copy(end, Token::Value);
    if (isKey && !isQuoted)
      out += '"';
  }

  /// A comma behind a value that has none and ends its line.
  void separate() {
    if (last == Token::Value && hasNewLine)
      out.insert(lastEnd, ",");
  }

  void copy(size_t end, Token kind) {
    out += text.slice(position, end);
    position = end;
    last = kind;
    lastEnd = out.size();
    hasNewLine = false;
  }

  size_t endOfString() const {
    size_t end = position + 1;
    while (end < text.size() && text[end] != '"')
      end += text[end] == '\\' ? 2 : 1;
    return std::min(end + 1, text.size());
  }

  /// A comment may follow a number, or another value of JSON, without a space;
  /// in other words its signs are letters.
  size_t endOfWord() const {
    const size_t end = std::min(
        text.find_first_of("{}[],:\"# \t\r\n", position + 1), text.size());
    const StringRef found = text.slice(position, end);
    const size_t comment = std::min(found.find("//"), found.find("/*"));
    if (comment == StringRef::npos)
      return end;
    llvm::Expected<json::Value> value = json::parse(found.take_front(comment));
    const bool isValue = bool(value);
    llvm::consumeError(value.takeError());
    return isValue ? position + comment : end;
  }

  StringRef text;
  size_t position = 0;
  std::string out;
  Token last = Token::None;
  /// The end of the last token in `out`, and whether a line ended since.
  size_t lastEnd = 0;
  bool hasNewLine = false;
};
} // namespace

std::string mlir::zero::toStrictJson(StringRef text) {
  return Relaxed(text).run();
}
