// Numbers that are a function of a seed, on any machine and library.
#ifndef ZERO_TOOLS_FUZZ_RANDOM_H
#define ZERO_TOOLS_FUZZ_RANDOM_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fuzz {

/// SplitMix64.
class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {}

  uint64_t next() {
    uint64_t x = state += 0x9e3779b97f4a7c15ull;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
  }
  /// One of [0, count); 0 where `count` is 0.
  size_t below(size_t count) { return count ? next() % count : 0; }
  bool oneIn(size_t count) { return below(count) == 0; }
  template <typename List> auto &pick(List &list) {
    return list[below(std::size(list))];
  }

private:
  uint64_t state;
};

} // namespace fuzz

#endif // ZERO_TOOLS_FUZZ_RANDOM_H
