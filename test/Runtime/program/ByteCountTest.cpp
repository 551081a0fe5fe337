#include "program/ByteCount.h"

#include <gtest/gtest.h>

using namespace zrt;

namespace {

TEST(ByteCount, Reads) {
  struct {
    const char *text;
    uint64_t bytes; // 0: refused
  } cases[] = {{"512", 512},
               {"80GiB", uint64_t(80) << 30},
               {"80 gb", uint64_t(80) << 30},
               {"1.5KiB", 1536},
               {"0.001KiB", 1},
               {"2k", 2048},
               {"18446744073709551615", UINT64_MAX},
               {"18446744073709551616", 0},
               {"16777216TiB", 0},
               {"99999999.5TiB", 0},
               {"0", 0},
               {"0.0001KiB", 0},
               {"-1", 0},
               {"1e3", 0},
               {"1..5GiB", 0},
               {".", 0},
               {"GiB", 0},
               {"1bib", 0},
               {"", 0}};
  for (const auto &each : cases) {
    uint64_t bytes = 0;
    const std::string error = readByteCount(each.text, bytes);
    EXPECT_EQ(bytes, each.bytes) << each.text;
    EXPECT_EQ(error.empty(), each.bytes > 0) << each.text << ": " << error;
  }
}

TEST(ByteCount, Formats) {
  EXPECT_EQ(formatBytes(0), "0 B");
  EXPECT_EQ(formatBytes(-1023), "-1023 B");
  EXPECT_EQ(formatBytes(1536), "1.50 KiB");
  EXPECT_EQ(formatBytes(-(int64_t(3) << 30)), "-3.00 GiB");
  EXPECT_EQ(formatBytes(int64_t(1) << 62), "4096.00 PiB");
  EXPECT_EQ(formatCount(0), "0");
  EXPECT_EQ(formatCount(-123456), "-123,456");
  EXPECT_EQ(formatCount(1234567), "1,234,567");
}

TEST(ByteCount, ListsRanks) {
  EXPECT_EQ(listRanks({3}), "rank 3");
  EXPECT_EQ(listRanks({0, 2, 5}), "ranks 0, 2, 5");
  EXPECT_EQ(listRanks({0, 2, 5, 6}, 2), "ranks 0, 2 and 2 others");
}

} // namespace
