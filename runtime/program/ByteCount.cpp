#include "program/ByteCount.h"

#include <cctype>
#include <charconv>

using namespace zrt;

/// How many bits a unit shifts by; -1 where it is none.
static int shiftOf(const std::string &unit) {
  const std::string letters = "bkmgtpe";
  std::string lower;
  for (const char letter : unit)
    lower += char(std::tolower(static_cast<unsigned char>(letter)));
  if (lower.empty())
    return 0;
  const size_t power = letters.find(lower[0]);
  const std::string rest = lower.substr(1);
  const bool isUnit =
      power != std::string::npos &&
      (rest.empty() || (power > 0 && (rest == "b" || rest == "ib")));
  return isUnit ? 10 * int(power) : -1;
}

std::string zrt::readByteCount(const std::string &text, uint64_t &bytes) {
  const char *end = text.data() + text.size();
  uint64_t number = 0;
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  std::string unit(stop, end);
  unit.erase(0, unit.find_first_not_of(' '));
  const int shift = shiftOf(unit);
  uint64_t found = 0;
  if (error != std::errc() || shift < 0 || number == 0 ||
      __builtin_mul_overflow(number, uint64_t(1) << shift, &found))
    return "found '" + text +
           "', wanted a whole number of bytes from 1 to 2^64 - 1; units are "
           "KiB, MiB, GiB, TiB";
  bytes = found;
  return "";
}
