//===- KeyLines.cpp - Where the keys of a JSON text stand -------*- C++ -*-===//
#include "KeyLines.h"

using namespace mlir::zero;
using llvm::StringRef;

namespace {
/// An object or array that is open at the scanner's place.
struct OpenValue {
  bool isObject;
  /// The next string is a key, not a value.
  bool wantsKey;
  /// Length of the path when it was opened.
  size_t pathLength;
};

class Scanner {
public:
  explicit Scanner(StringRef text) : text(text) {}

  KeyLines run() {
    for (position = 0; position < text.size(); ++position)
      step(text[position]);
    return std::move(result);
  }

private:
  void step(char c) {
    switch (c) {
    case '\n':
      ++line;
      lineBegin = position + 1;
      break;
    case '{':
    case '[':
      open.push_back({c == '{', c == '{', path.size()});
      break;
    case '}':
    case ']':
      path.resize(open.back().pathLength);
      open.pop_back();
      break;
    case ',':
      path.resize(open.back().pathLength);
      open.back().wantsKey = open.back().isObject;
      break;
    case '"':
      string();
      break;
    default:
      break;
    }
  }

  /// Reads a string from its first quote to its last one.
  void string() {
    size_t begin = ++position;
    while (text[position] != '"')
      position += text[position] == '\\' ? 2 : 1;
    if (!open.empty() && open.back().wantsKey)
      key(text.slice(begin, position));
  }

  void key(StringRef name) {
    OpenValue &object = open.back();
    object.wantsKey = false;
    if (!path.empty())
      path += '.';
    path += name;
    for (const OpenValue &value : open)
      if (!value.isObject)
        return;
    result.order.try_emplace(path, result.order.size());
    if (!result.lines.try_emplace(path, line).second)
      result.repeated.emplace_back(path, line);
    // The quote before the name.
    auto at = static_cast<size_t>(name.begin() - text.begin());
    result.columns.try_emplace(path, unsigned(at - lineBegin));
  }

  StringRef text;
  size_t position = 0;
  size_t lineBegin = 0;
  unsigned line = 1;
  std::string path;
  std::vector<OpenValue> open;
  KeyLines result;
};
} // namespace

KeyLines mlir::zero::findKeyLines(StringRef text) {
  return Scanner(text).run();
}
