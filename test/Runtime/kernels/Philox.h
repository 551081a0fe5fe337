// The generator of dropout, for references.
#ifndef ZERO_TEST_RUNTIME_KERNELS_PHILOX_H
#define ZERO_TEST_RUNTIME_KERNELS_PHILOX_H

#include <array>
#include <cstdint>

namespace zrt::test {

/// Word `index` of Philox4x32-10, as its authors state it.
inline uint32_t philoxWord(std::array<uint32_t, 4> c, uint64_t seed,
                           int index) {
  uint32_t key[2] = {uint32_t(seed), uint32_t(seed >> 32)};
  for (int round = 0; round < 10; ++round) {
    uint64_t a = uint64_t(0xD2511F53) * c[0], b = uint64_t(0xCD9E8D57) * c[2];
    c = {uint32_t(b >> 32) ^ c[1] ^ key[0], uint32_t(b),
         uint32_t(a >> 32) ^ c[3] ^ key[1], uint32_t(a)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return c[index];
}

} // namespace zrt::test

#endif // ZERO_TEST_RUNTIME_KERNELS_PHILOX_H
