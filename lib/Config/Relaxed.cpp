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

  StrictJson run() {
    while (!rest().empty())
      step();
    if (isRootOpen && last == Token::Comma)
      out[lastEnd - 1] = ' ';
    if (isRootOpen)
      out += '}';
    result.text = std::move(out);
    return std::move(result);
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
    else if (rest().starts_with("'''"))
      severalLines();
    else if (c == '\'')
      singleQuoted();
    else if (c == '"')
      copyString(endOfString());
    else if (wantsValue())
      unquoted();
    else
      word(endOfWord());
  }

  /// Whether a value is next in an object or array, not a key.
  bool wantsValue() const {
    return !open.empty() && (open.back() == '[' || isBehindColon);
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
    if (closes && !open.empty())
      open.pop_back();
    if (closes && last == Token::Comma)
      out[lastEnd - 1] = ' ';
    if (c == '{' || c == '[') {
      separate();
      open.push_back(c);
    }
    // A comma that nothing is before stays, for the parser to show.
    const bool separates = c == ',' && last == Token::Value;
    copy(position + 1, separates ? Token::Comma
                       : closes  ? Token::Value
                                 : Token::Other);
    isBehindColon = c == ':';
  }

  /// Whether what ends there is a key.
  bool isKey(size_t end) const {
    return text.drop_front(end).ltrim().starts_with(":");
  }

  /// The brace of the whole file, where it begins with a key, which ends there.
  void beginRoot(size_t end) {
    if (last != Token::None || !isKey(end))
      return;
    isRootOpen = true;
    out += '{';
    open.push_back('{');
  }

  void copyString(size_t end) {
    beginRoot(end);
    separate();
    copy(end, Token::Value);
  }

  /// What is written without quotes where no value is: a key, where a colon
  /// follows.
  void word(size_t end) {
    if (isKey(end))
      return write(text.slice(position, end), end);
    separate();
    copy(end, Token::Value);
  }

  /// A value without quotes: a number, true, false or null, or else a string,
  /// to which all of its line belongs.
  void unquoted() {
    const StringRef line = rest().take_until([](char c) { return c == '\n'; });
    const size_t delimiter =
        std::min({line.find_first_of(",]}#"), line.find("//"), line.find("/*"),
                  line.size()});
    const StringRef word = line.take_front(delimiter).rtrim();
    llvm::Expected<json::Value> value = json::parse(word);
    const bool isValue = bool(value);
    llvm::consumeError(value.takeError());
    if (isValue)
      return copyString(position + word.size());
    const StringRef string = line.rtrim();
    if (StringRef(",]}").contains(string.back()))
      hint("the string '" + string +
           "' has no quotes, so that it goes to the end of its line; write "
           "\"" +
           string.take_front(string.find_first_of(",]}")).rtrim() + "\"");
    quote(string, position + string.size());
  }

  /// A string in single quotes, whose escapes are those of JSON and \'.
  void singleQuoted() {
    std::string string;
    for (size_t at = position + 1; at < text.size(); ++at) {
      if (text[at] == '\'')
        return write(string, at + 1);
      if (text[at] == '\n')
        break;
      if (text[at] == '\\' && at + 1 < text.size() && text[at + 1] != '\'')
        string += text[at++];
      else if (text[at] == '\\' && at + 1 < text.size())
        ++at;
      else if (text[at] == '"')
        string += '\\';
      string += text[at];
    }
    hint("a string that begins with ' ends in its line with another one");
    copy(text.size(), Token::Other);
  }

  void severalLines() {
    hint("strings of several lines, between ''', are not read; write one line "
         "in quotes");
    copy(text.size(), Token::Other);
  }

  /// Writes `string`, which is JSON but for its quotes, in place of what goes
  /// to `end`.
  void write(StringRef string, size_t end) {
    beginRoot(end);
    separate();
    out += '"';
    out += string;
    out += '"';
    position = end;
    finish(Token::Value);
  }

  /// The same of any text.
  void quote(StringRef string, size_t end) {
    std::string escaped;
    for (char c : string) {
      if (c == '"' || c == '\\')
        escaped += '\\';
      escaped += c == '\t' ? ' ' : c;
    }
    write(escaped, end);
  }

  /// The first one counts.
  void hint(const llvm::Twine &message) {
    if (!result.hint.empty())
      return;
    result.hint = message.str();
    result.hintLine = 1 + text.take_front(position).count('\n');
  }

  /// A comma behind a value that has none and ends its line.
  void separate() {
    if (last == Token::Value && hasNewLine)
      out.insert(lastEnd, ",");
  }

  void copy(size_t end, Token kind) {
    out += text.slice(position, end);
    position = end;
    finish(kind);
  }

  /// A token is written.
  void finish(Token kind) {
    last = kind;
    lastEnd = out.size();
    hasNewLine = false;
    isBehindColon = false;
  }

  size_t endOfString() const {
    size_t end = position + 1;
    while (end < text.size() && text[end] != '"')
      end += text[end] == '\\' ? 2 : 1;
    return std::min(end + 1, text.size());
  }

  size_t endOfWord() const {
    return std::min(text.find_first_of("{}[],:\"# \t\r\n", position + 1),
                    text.size());
  }

  StringRef text;
  size_t position = 0;
  std::string out;
  Token last = Token::None;
  /// The end of the last token in `out`, and whether a line ended since.
  size_t lastEnd = 0;
  bool hasNewLine = false;
  /// The brackets that are open, and whether a colon is the last token.
  std::string open;
  bool isBehindColon = false;
  /// The file has no brace around all of it.
  bool isRootOpen = false;
  StrictJson result;
};
} // namespace

StrictJson mlir::zero::toStrictJson(StringRef text) {
  return Relaxed(text).run();
}
