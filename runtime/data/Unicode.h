// Characters of texts in UTF-8, and their classes.
#ifndef ZERO_RUNTIME_DATA_UNICODE_H
#define ZERO_RUNTIME_DATA_UNICODE_H

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace zrt {

/// Unicode's categories L and N, its White_Space, and all else.
enum class CharacterClass : uint8_t { Other, Letter, Number, Space };

/// The class of a character; `Other` for what is none.
CharacterClass classOf(char32_t character);

/// A character, and the bytes that it takes.
struct Character {
  char32_t code = 0;
  size_t bytes = 0;
};

/// The first character of `text`; of no bytes where the text is empty or begins
/// with what UTF-8 does not allow.
Character firstCharacter(std::string_view text);

} // namespace zrt

#endif // ZERO_RUNTIME_DATA_UNICODE_H
