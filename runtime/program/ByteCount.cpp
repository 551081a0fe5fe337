#include "program/ByteCount.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <iterator>

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

/// A number before a unit of 2^`shift` bytes as bytes; false where it is none,
/// or is below 1 or above 2^64 - 1 bytes.
static bool scale(const char *begin, const char *end, int shift,
                  uint64_t &bytes) {
  uint64_t whole = 0;
  if (const auto [stop, error] = std::from_chars(begin, end, whole);
      error == std::errc() && stop == end)
    return whole > 0 &&
           !__builtin_mul_overflow(whole, uint64_t(1) << shift, &bytes);
  double number = 0;
  const auto [stop, error] =
      std::from_chars(begin, end, number, std::chars_format::fixed);
  const double scaled = std::ldexp(number, shift);
  if (error != std::errc() || stop != end || !(scaled >= 1) ||
      !(scaled < 0x1p64))
    return false;
  bytes = uint64_t(scaled);
  return true;
}

std::string zrt::readByteCount(const std::string &text, uint64_t &bytes) {
  const size_t digits =
      std::min(text.find_first_not_of("0123456789."), text.size());
  std::string unit = text.substr(digits);
  unit.erase(0, unit.find_first_not_of(' '));
  const int shift = shiftOf(unit);
  if (shift < 0 || !scale(text.data(), text.data() + digits, shift, bytes))
    return "found '" + text +
           "', wanted a number of bytes from 1 to 2^64 - 1; units are KiB, "
           "MiB, GiB, TiB";
  return "";
}

std::string zrt::formatBytes(int64_t bytes) {
  constexpr const char *kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  double value = double(bytes);
  size_t unit = 0;
  for (; std::fabs(value) >= 1024 && unit + 1 < std::size(kUnits); ++unit)
    value /= 1024;
  char text[32];
  std::snprintf(text, sizeof(text), unit ? "%.2f %s" : "%.0f %s", value,
                kUnits[unit]);
  return text;
}

std::string zrt::formatCount(int64_t count) {
  std::string digits = std::to_string(count);
  const int64_t first = count < 0;
  for (int64_t at = int64_t(digits.size()) - 3; at > first; at -= 3)
    digits.insert(size_t(at), ",");
  return digits;
}

std::string zrt::plural(int64_t count, const std::string &what,
                        const std::string &ending) {
  return formatCount(count) + " " + what + (count == 1 ? "" : ending);
}

std::string zrt::listRanks(const std::vector<int> &ranks, size_t most) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < std::min(ranks.size(), most); ++i)
    text += (i > 0 ? ", " : "") + std::to_string(ranks[i]);
  if (ranks.size() > most)
    text += " and " + std::to_string(ranks.size() - most) + " others";
  return text;
}
