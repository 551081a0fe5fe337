// Declarations of memory: `.shared .align 8 .b8 name[256];`.
#include "Reader.h"

#include "../Bench/Block.h"

#include <algorithm>
#include <cstring>

using namespace zrt::ptx;

size_t zrt::ptx::bytesOfType(const Lexer &lexer, std::string_view type) {
  const size_t digits = type.find_first_of("0123456789");
  if (type.size() < 3 || type[0] != '.' || digits != 2)
    lexer.fail("'" + std::string(type) + "' is no type of memory");
  return size_t(bitsOf(lexer, type.substr(digits))) / 8;
}

/// The elements behind `=`, as bytes of `size` each.
static std::vector<char> readValues(Lexer &lexer, size_t size) {
  std::vector<char> bytes;
  lexer.want("{");
  do {
    const uint64_t bits = bitsOf(lexer, lexer.next());
    bytes.resize(bytes.size() + size);
    std::memcpy(bytes.data() + bytes.size() - size, &bits, size);
  } while (lexer.take(","));
  lexer.want("}");
  return bytes;
}

bool zrt::ptx::readVariable(Lexer &lexer, std::string_view word,
                            Variables &variables) {
  Variable made;
  if (word == ".shared")
    made.space = Variable::Shared;
  else if (word == ".local")
    made.space = Variable::Local;
  else if (word == ".global")
    made.space = Variable::Global;
  else
    return false;
  if (lexer.take(".align"))
    made.alignment = size_t(bitsOf(lexer, lexer.next()));
  const size_t element = bytesOfType(lexer, lexer.next());
  made.alignment = std::max(made.alignment, element);
  made.bytes = element;
  const std::string name(lexer.next());
  if (lexer.take("[")) {
    made.isOfLaunch = lexer.peek() == "]";
    if (!made.isOfLaunch)
      made.bytes = element * size_t(bitsOf(lexer, lexer.next()));
    lexer.want("]");
  }
  std::vector<char> values;
  if (lexer.take("="))
    values = readValues(lexer, element);
  if (made.space == Variable::Global) {
    char *memory = static_cast<char *>(bench::allocate(made.bytes));
    std::memset(memory, 0, made.bytes);
    std::copy_n(values.begin(), std::min(values.size(), made.bytes), memory);
    made.place = reinterpret_cast<uint64_t>(memory);
    made.isPlaced = true;
  }
  lexer.want(";");
  variables[name] = made;
  return true;
}
