#include "data/NpyFile.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <limits>
#include <stdexcept>
#include <string_view>

using namespace zrt;

namespace {

constexpr char kMagic[] = {'\x93', 'N', 'U', 'M', 'P', 'Y'};
/// Headers of plain arrays have some hundred bytes.
constexpr uint64_t kMostHeaderBytes = 1 << 20;

/// The header's dictionary.
struct Header {
  std::string descr;
  bool fortranOrder = false;
  std::vector<int64_t> shape;
};

struct TypeRow {
  const char *descr; ///< without the byte order
  TensorDataType type;
};
constexpr TypeRow kTypes[] = {
    {"b1", TensorDataType::Bool}, {"i1", TensorDataType::I8},
    {"u1", TensorDataType::U8},   {"i2", TensorDataType::I16},
    {"u2", TensorDataType::U16},  {"i4", TensorDataType::I32},
    {"u4", TensorDataType::U32},  {"i8", TensorDataType::I64},
    {"u8", TensorDataType::U64},  {"f2", TensorDataType::F16},
    {"f4", TensorDataType::F32},  {"f8", TensorDataType::F64}};

/// Reads the few Python literals that a header is made of.
class HeaderParser {
public:
  HeaderParser(const std::string &path, std::string_view text)
      : path(path), text(text) {}

  Header parse() {
    Header header;
    bool seen[3] = {};
    expect('{');
    while (!take('}')) {
      const std::string key = readString();
      expect(':');
      readValue(key, header, seen);
      if (!take(',') && peek() != '}')
        fail("wanted ',' or '}' after the value of '" + key + "'");
    }
    if (at != text.size())
      fail("there is more after the dictionary");
    if (!seen[0] || !seen[1] || !seen[2])
      fail("wanted the keys 'descr', 'fortran_order' and 'shape'");
    return header;
  }

private:
  [[noreturn]] void fail(const std::string &why) const {
    throw std::runtime_error("'" + path + "' is no valid .npy file: at byte " +
                             std::to_string(at) + " of its header, " + why);
  }

  void skipSpace() {
    while (at < text.size() && std::strchr(" \t\r\n", text[at]))
      ++at;
  }
  /// The next character, or 0 at the end.
  char peek() {
    skipSpace();
    return at < text.size() ? text[at] : '\0';
  }
  bool take(char c) {
    const bool found = peek() == c;
    at += found;
    if (found)
      skipSpace();
    return found;
  }
  void expect(char c) {
    if (!take(c))
      fail(std::string("wanted '") + c + "'");
  }

  std::string readString() {
    const char quote = peek();
    if (quote != '\'' && quote != '"')
      fail("wanted a string");
    const size_t end = text.find(quote, at + 1);
    if (end == std::string_view::npos)
      fail("a string does not end");
    const std::string value(text.substr(at + 1, end - at - 1));
    at = end + 1;
    return value;
  }

  bool readBool() {
    for (const bool value : {false, true}) {
      const std::string_view word = value ? "True" : "False";
      if (peek() == word[0] && text.substr(at, word.size()) == word) {
        at += word.size();
        return value;
      }
    }
    fail("wanted True or False");
  }

  std::vector<int64_t> readShape() {
    std::vector<int64_t> shape;
    expect('(');
    while (!take(')')) {
      skipSpace();
      int64_t size = 0;
      const char *begin = text.data() + at, *end = text.data() + text.size();
      const auto [stop, error] = std::from_chars(begin, end, size);
      if (error != std::errc() || size < 0)
        fail("wanted sizes from 0 to 2^63 - 1 in the shape");
      at += size_t(stop - begin);
      shape.push_back(size);
      if (!take(',') && peek() != ')')
        fail("wanted ',' or ')' in the shape");
    }
    return shape;
  }

  void readValue(const std::string &key, Header &header, bool (&seen)[3]) {
    const char *const names[] = {"descr", "fortran_order", "shape"};
    const auto *name = std::find(std::begin(names), std::end(names), key);
    if (name == std::end(names))
      fail("found the unknown key '" + key + "'");
    const size_t which = size_t(name - names);
    if (seen[which])
      fail("found the key '" + key + "' twice");
    seen[which] = true;
    if (which == 1) {
      header.fortranOrder = readBool();
    } else if (which == 2) {
      header.shape = readShape();
    } else {
      if (peek() == '[')
        fail("the elements have fields; save each field as an array of its "
             "own");
      header.descr = readString();
    }
  }

  const std::string &path;
  std::string_view text;
  size_t at = 0;
};

TensorDataType readType(const std::string &path, const std::string &descr) {
  const auto refuse = [&](const std::string &why) {
    throw std::runtime_error("'" + path + "' has elements of type '" + descr +
                             "': " + why);
  };
  const char order = descr.empty() ? '\0' : descr[0];
  for (const TypeRow &row : kTypes)
    if (order != '\0' && descr.substr(1) == row.descr) {
      if (order == '<' || (order == '|' && sizeOf(row.type) == 1))
        return row.type;
      if (order == '>')
        refuse("big-endian; save it as little-endian, "
               "array.astype(array.dtype.newbyteorder('<'))");
    }
  refuse("wanted bool, integers, float16, float32 or float64; bfloat16 can be "
         "given as .safetensors");
  return TensorDataType::F32;
}

/// Bytes of the elements. Throws where 64 bits do not count them.
uint64_t bytesOf(const std::string &path, TensorDataType type,
                 const std::vector<int64_t> &shape) {
  uint64_t bytes = sizeOf(type);
  bool empty = false;
  for (const int64_t size : shape) {
    empty |= size == 0;
    if (!empty && __builtin_mul_overflow(bytes, uint64_t(size), &bytes))
      throw std::runtime_error("'" + path +
                               "' is no valid .npy file: its "
                               "shape has more bytes than 64 bits count");
  }
  return empty ? 0 : bytes;
}

} // namespace

NpyFile::NpyFile(const std::string &path) : file(path, O_RDONLY), path(path) {
  const uint64_t bytes = file.size();
  const auto refuse = [&](const std::string &why) {
    throw std::runtime_error("'" + path + "' is no valid .npy file: " + why);
  };
  unsigned char begin[12] = {};
  const uint64_t least = 10; // of version 1
  file.read(0, begin, std::min<uint64_t>(bytes, sizeof(begin)));
  if (bytes < least || std::memcmp(begin, kMagic, sizeof(kMagic)) != 0)
    refuse(bytes < least ? "it has " + std::to_string(bytes) + " bytes"
                         : "it does not begin with \\x93NUMPY");
  const int version = begin[6];
  if (version < 1 || version > 3)
    refuse("it has version " + std::to_string(version) + "." +
           std::to_string(begin[7]) + ", wanted 1 to 3");
  const int width = version == 1 ? 2 : 4;
  uint64_t length = 0;
  for (int i = 0; i < width; ++i)
    length |= uint64_t(begin[8 + i]) << (8 * i);
  dataBegin = 8 + uint64_t(width) + length;
  if (length > kMostHeaderBytes || dataBegin > bytes)
    refuse("it announces a header of " + std::to_string(length) +
           " bytes; the file has " + std::to_string(bytes));
  std::string text(length, '\0');
  file.read(dataBegin - length, text.data(), length);
  const Header header = HeaderParser(path, text).parse();
  elementType = readType(path, header.descr);
  sizes = header.shape;
  if (header.fortranOrder)
    throw std::runtime_error("'" + path +
                             "' is in Fortran order, wanted C "
                             "order: save numpy.ascontiguousarray(array)");
  const uint64_t wanted = bytesOf(path, elementType, sizes);
  if (bytes - dataBegin != wanted)
    refuse("its shape and type need " + std::to_string(wanted) +
           " bytes after the header, found " +
           std::to_string(bytes - dataBegin));
}

void NpyFile::read(uint64_t first, uint64_t count, void *out) const {
  const uint64_t width = sizeOf(elementType);
  file.read(dataBegin + first * width, out, count * width);
}
