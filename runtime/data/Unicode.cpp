#include "data/Unicode.h"

#include <algorithm>
#include <iterator>

using namespace zrt;

static constexpr uint32_t kRuns[] = {
#include "data/UnicodeRuns.inc"
};

CharacterClass zrt::classOf(char32_t character) {
  const uint32_t key = uint32_t(character) << 2 | 3;
  if (character > 0x10ffff)
    return CharacterClass::Other;
  const uint32_t run =
      *std::prev(std::upper_bound(std::begin(kRuns), std::end(kRuns), key));
  return CharacterClass(run & 3);
}

Character zrt::firstCharacter(std::string_view text) {
  if (text.empty())
    return {};
  const auto byteAt = [&](size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  const unsigned lead = byteAt(0);
  if (lead < 0x80)
    return {lead, 1};
  const size_t bytes = lead < 0xc2   ? 0
                       : lead < 0xe0 ? 2
                       : lead < 0xf0 ? 3
                       : lead < 0xf5 ? 4
                                     : 0;
  char32_t code = bytes ? lead & (0x7fu >> bytes) : 0;
  for (size_t i = 1; i < bytes; ++i) {
    if ((byteAt(i) & 0xc0) != 0x80)
      return {};
    code = code << 6 | (byteAt(i) & 0x3f);
  }
  // Longer than it need be, half of a pair, or beyond the last one.
  const bool isWrong = (bytes == 3 && code < 0x800) ||
                       (bytes == 4 && code < 0x10000) ||
                       (code >= 0xd800 && code < 0xe000) || code > 0x10ffff;
  return isWrong ? Character{} : Character{code, bytes};
}
