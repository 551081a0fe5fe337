// The arithmetic below the communicators: 16-bit conversions, sums in order.
#include "CommunicatorTesting.h"

#include "communicator/Reduce.h"
#include "communicator/Traffic.h"
#include "program/Float16.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace zrt;
using namespace zrt::testing;

namespace {

/// f32 bit patterns: a fine grid over all, and the neighbourhood of every
/// pattern that a 16-bit float or a tie between two has.
template <class Body> void forEachPattern(int droppedBits, Body body) {
  for (uint64_t bits = 0; bits < (uint64_t(1) << 32); bits += 4093)
    body(static_cast<uint32_t>(bits));
  for (uint64_t bits = 0; bits < (uint64_t(1) << 32);
       bits += uint64_t(1) << (droppedBits - 1))
    for (int offset : {-1, 0, 1})
      body(static_cast<uint32_t>(bits + offset));
}

/// The 16-bit pattern nearest to `value`, even on a tie, by looking at both
/// neighbours. `widen` is exact and monotonic in the magnitude.
template <class Widen>
uint16_t nearestByComparison(float value, uint16_t infinity, Widen widen) {
  const double magnitude = std::fabs(static_cast<double>(value));
  uint32_t low = 0, high = infinity;
  while (high - low > 1) {
    uint32_t middle = (low + high) / 2;
    (widen(static_cast<uint16_t>(middle)) <= magnitude ? low : high) = middle;
  }
  // Beyond the largest finite value, infinity stands for the next one.
  double below = widen(static_cast<uint16_t>(low));
  double above = high == infinity
                     ? 2 * below - widen(static_cast<uint16_t>(low - 1))
                     : widen(static_cast<uint16_t>(high));
  double toLow = magnitude - below, toHigh = above - magnitude;
  uint32_t result = toLow < toHigh   ? low
                    : toHigh < toLow ? high
                    : low % 2        ? high
                                     : low;
  return static_cast<uint16_t>(result | (std::signbit(value) ? 0x8000u : 0));
}

} // namespace

TEST(Float16, HalfWidensLikeTheHardware) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    uint16_t half = static_cast<uint16_t>(bits);
    ASSERT_EQ(bitsOf(f16ToF32Portable(half)), bitsOf(f16ToF32Native(half)))
        << std::hex << bits;
    double exact = std::ldexp(bits & 0x3ff, -24);
    if ((bits >> 10) & 31)
      exact = std::ldexp(1024 + (bits & 0x3ff),
                         static_cast<int>((bits >> 10) & 31) - 25);
    if (((bits >> 10) & 31) != 31) {
      ASSERT_EQ(f16ToF32Portable(half), bits & 0x8000 ? -exact : exact)
          << std::hex << bits;
    }
  }
}

TEST(Float16, HalfRoundsToNearestEven) {
  uint32_t wrong = 0;
  forEachPattern(13, [&](uint32_t bits) {
    float value = floatOf(bits);
    uint16_t portable = f32ToF16Portable(value);
    wrong += portable != f32ToF16Native(value);
    if (value == value && bits % 1021 == 0 && std::fabs(value) < 65536)
      wrong += portable != nearestByComparison(value, 0x7c00, f16ToF32Portable);
  });
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(f32ToF16(65519.0f), 0x7bff);
  EXPECT_EQ(f32ToF16(65520.0f), 0x7c00);
  EXPECT_EQ(f32ToF16(std::ldexp(1.0f, -25)), 0);
  EXPECT_EQ(f32ToF16(std::ldexp(1.5f, -25)), 1);
}

TEST(Float16, BrainRoundsToNearestEven) {
  uint32_t wrong = 0;
  forEachPattern(16, [&](uint32_t bits) {
    float value = floatOf(bits);
    uint16_t result = f32ToBf16(value);
    if (value != value)
      wrong += bf16ToF32(result) == bf16ToF32(result) ||
               (result >> 15) != (bits >> 31);
    else if (std::isinf(value))
      wrong += bf16ToF32(result) != value;
    else
      wrong += result != nearestByComparison(value, 0x7f80, bf16ToF32);
  });
  EXPECT_EQ(wrong, 0u);
}

TEST(Float16, WholeArraysGiveTheBitsOfSingleElements) {
  std::vector<float> values;
  for (uint64_t bits = 0; bits < (uint64_t(1) << 32); bits += 1'000'003)
    values.push_back(floatOf(static_cast<uint32_t>(bits)));
  for (size_t begin : {size_t(0), size_t(1), size_t(7)})
    for (size_t count :
         {size_t(0), size_t(1), size_t(15), size_t(33), values.size() - 7}) {
      std::vector<Float16> halves(count + 1, Float16{0x1234});
      std::vector<BFloat16> brains(count + 1, BFloat16{0x1234});
      convertFromFloat(values.data() + begin, halves.data(), count);
      convertFromFloat(values.data() + begin, brains.data(), count);
      std::vector<float> fromHalves(count), fromBrains(count);
      convertToFloat(halves.data(), fromHalves.data(), count);
      convertToFloat(brains.data(), fromBrains.data(), count);
      for (size_t i = 0; i < count; ++i) {
        ASSERT_EQ(halves[i].bits, f32ToF16(values[begin + i]));
        ASSERT_EQ(brains[i].bits, f32ToBf16(values[begin + i]));
        ASSERT_EQ(bitsOf(fromHalves[i]), bitsOf(f16ToF32(halves[i].bits)));
        ASSERT_EQ(bitsOf(fromBrains[i]), bitsOf(bf16ToF32(brains[i].bits)));
      }
      EXPECT_EQ(halves[count].bits, 0x1234);
      EXPECT_EQ(brains[count].bits, 0x1234);
    }
}

/// Also when the result overwrites any of the sources.
TEST(Reduce, GivesWhatAPlainLoopGives) {
  for (DataType type : kAllTypes)
    for (Reduction reduction : kAllReductions) {
      if (!isReducible(reduction, type))
        continue;
      for (int ranks : {1, 2, 3, 4, 5})
        for (uint64_t count : {0, 1, 31, 2047, 2048, 2049, 10'000}) {
          std::vector<std::vector<char>> sources;
          for (int rank = 0; rank < ranks; ++rank)
            sources.push_back(makeElements(type, count, rank, count));
          const std::vector<char> expected =
              reduceByLoop(reduction, type, sources);
          for (int owner = -1; owner < ranks; ++owner) {
            std::vector<std::vector<char>> copies = sources;
            std::vector<char> separate(expected.size());
            std::vector<const void *> pointers;
            for (auto &copy : copies)
              pointers.push_back(copy.data());
            std::vector<char> &result = owner < 0 ? separate : copies[owner];
            reduceInOrder(reduction, type, pointers.data(), ranks,
                          result.data(), count);
            ASSERT_EQ(result, expected)
                << nameOf(reduction) << " of " << nameOf(type) << ", " << ranks
                << " ranks, in " << owner;
          }
        }
    }
}

/// An element's bits do not depend on where its slice begins or ends.
TEST(Reduce, SlicesGiveTheBitsOfTheWhole) {
  const uint64_t count = 5000;
  for (DataType type : {DataType::F32, DataType::F16, DataType::BF16}) {
    std::vector<std::vector<char>> sources;
    std::vector<const void *> pointers;
    for (int rank = 0; rank < 3; ++rank)
      sources.push_back(makeElements(type, 9, rank, count));
    const std::vector<char> whole =
        reduceByLoop(Reduction::PrescaledSum, type, sources);
    std::vector<char> pieces(whole.size());
    for (uint64_t begin = 0, length = 1; begin < count;
         begin += length, length += 7) {
      length = std::min(length, count - begin);
      pointers.clear();
      for (auto &source : sources)
        pointers.push_back(source.data() + begin * sizeOf(type));
      reduceInOrder(Reduction::PrescaledSum, type, pointers.data(), 3,
                    pieces.data() + begin * sizeOf(type), length);
    }
    EXPECT_EQ(pieces, whole);
  }
}

/// The sum over any number of ranks of the largest fp16 is finite, and of as
/// many as there are it is at least half of it.
TEST(Reduce, APrescaledSumFitsIntoHalf) {
  for (int64_t ranks : {1, 2, 3, 4, 5, 1023, 1024, 1025, 16384, 16385, 70000}) {
    const double sum = 65504.0 * double(ranks) * prescaleOf(ranks);
    EXPECT_LE(sum, 65504) << ranks;
    EXPECT_GT(sum, 32752) << ranks;
    int exponent;
    EXPECT_EQ(std::frexp(prescaleOf(ranks), &exponent), 0.5) << ranks;
  }
}

TEST(Reduce, RefusesWhatHasNoMeaning) {
  EXPECT_FALSE(isReducible(Reduction::Sum, DataType::I1));
  EXPECT_FALSE(isReducible(Reduction::PrescaledSum, DataType::I32));
  EXPECT_TRUE(isReducible(Reduction::Max, DataType::I1));
  EXPECT_TRUE(isReducible(Reduction::PrescaledSum, DataType::F64));
}

TEST(Traffic, IsInUnitsOfOneOverRanks) {
  EXPECT_EQ(sentElements(Collective::AllReduce, 100, 4), 2 * 3 * 100u);
  EXPECT_EQ(sentElements(Collective::ReduceScatter, 25, 4), 3 * 100u);
  EXPECT_EQ(sentElements(Collective::AllGather, 25, 4), 3 * 100u);
  EXPECT_EQ(sentElements(Collective::Broadcast, 100, 4, 2, 2), 4 * 3 * 100u);
  EXPECT_EQ(sentElements(Collective::Broadcast, 100, 4, 1, 2), 0u);
  EXPECT_EQ(sentElements(Collective::Reduce, 100, 4, 1, 2), 4 * 100u);
  EXPECT_EQ(sentElements(Collective::AllReduce, 100, 1), 0u);
}
