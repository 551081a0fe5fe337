// Philox4x32-10: a block of 128 random bits as a function of a counter.
//
// Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3",
// 2011. No state, so any element's bits can be made anywhere.
#ifndef ZERO_RUNTIME_STATE_PHILOX_H
#define ZERO_RUNTIME_STATE_PHILOX_H

#include <array>
#include <cstdint>

namespace zrt {

struct Philox {
  using Words = std::array<uint32_t, 4>;

  static Words block(uint64_t key, uint64_t counterLow, uint64_t counterHigh) {
    Words x = {static_cast<uint32_t>(counterLow),
               static_cast<uint32_t>(counterLow >> 32),
               static_cast<uint32_t>(counterHigh),
               static_cast<uint32_t>(counterHigh >> 32)};
    uint32_t k0 = static_cast<uint32_t>(key);
    uint32_t k1 = static_cast<uint32_t>(key >> 32);
    for (int round = 0; round < 10; ++round) {
      uint64_t a = uint64_t(0xD2511F53u) * x[0];
      uint64_t b = uint64_t(0xCD9E8D57u) * x[2];
      x = {static_cast<uint32_t>(b >> 32) ^ x[1] ^ k0, static_cast<uint32_t>(b),
           static_cast<uint32_t>(a >> 32) ^ x[3] ^ k1,
           static_cast<uint32_t>(a)};
      k0 += 0x9E3779B9u;
      k1 += 0xBB67AE85u;
    }
    return x;
  }
};

} // namespace zrt

#endif // ZERO_RUNTIME_STATE_PHILOX_H
