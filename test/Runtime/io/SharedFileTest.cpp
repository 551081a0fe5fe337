// Files that all ranks must find alike: what is refused, and what it reads.
#include "../state/StateTesting.h"

#include "io/Digest.h"
#include "io/SharedFile.h"

#include <fstream>

using namespace zrt;
using namespace zrt::testing;

namespace {

constexpr size_t kBlock = size_t(4) << 20;

std::string someBytes(size_t count) {
  std::string bytes(count, 0);
  for (size_t i = 0; i < count; ++i)
    bytes[i] = char(i * 2654435761u >> 15);
  return bytes;
}

/// Ranks whose files are `names` in one folder.
class SharedFileTest : public ::testing::Test {
protected:
  void write(const std::string &name, const std::string &bytes) {
    std::ofstream(folder.file(name), std::ios::binary) << bytes;
  }

  /// What each rank says; `read` is what each has read, in bytes.
  std::vector<std::string> agree(const std::vector<std::string> &names) {
    read.assign(names.size(), 0);
    return onRanks(int(names.size()), [&](Communicator &communicator) {
      const size_t rank = size_t(communicator.rank());
      read[rank] =
          agreeOnFile(communicator, "--data",
                      names[rank].empty() ? "" : folder.file(names[rank]));
    });
  }

  void expectAgreement(const std::vector<std::string> &names) {
    for (const std::string &error : agree(names))
      EXPECT_EQ(error, "");
  }

  void expectRefusal(const std::vector<std::string> &names,
                     const std::string &what) {
    for (const std::string &error : agree(names))
      EXPECT_EQ(error, what + " differs from that of rank 0: start all ranks "
                              "with the same file");
  }

  TemporaryFolder folder;
  std::vector<uint64_t> read;
};

TEST_F(SharedFileTest, OneFileIsNotRead) {
  write("a", someBytes(3 * kBlock));
  expectAgreement({"a", "a", "a"});
  EXPECT_EQ(read, std::vector<uint64_t>({0, 0, 0}));
  expectAgreement({"", ""});
}

TEST_F(SharedFileTest, CopiesAreReadOnceByThoseWhoSeeThem) {
  const std::string bytes = someBytes(3 * kBlock + 17);
  write("a", bytes);
  write("b", bytes);
  expectAgreement({"a", "b", "b", "b", "a"});
  EXPECT_EQ(read, std::vector<uint64_t>(
                      {2 * kBlock, kBlock + 17, kBlock, kBlock, kBlock + 17}));
}

TEST_F(SharedFileTest, EveryDifferenceIsRefused) {
  const std::string bytes = someBytes(2 * kBlock + 45);
  write("a", bytes);
  for (const size_t place : {size_t(0), size_t(8), kBlock - 1, kBlock,
                             bytes.size() - 14, bytes.size() - 1}) {
    std::string other = bytes;
    other[place] ^= 1;
    write("b", other);
    expectRefusal({"a", "a", "b"}, "the content of --data of rank 2");
  }
  // The same blocks in another order.
  write("b", bytes.substr(kBlock, kBlock) + bytes.substr(0, kBlock) +
                 bytes.substr(2 * kBlock));
  expectRefusal({"a", "b"}, "the content of --data of rank 1");
}

TEST_F(SharedFileTest, SizesAndFilesNotGivenAreRefused) {
  write("a", "12345678");
  write("b", std::string("12345678\0", 9));
  expectRefusal({"a", "b"}, "the size of --data of rank 1");
  for (const std::string &error : agree({"a", "a", ""}))
    EXPECT_EQ(error, "--data is given on rank 0 and not on rank 2: start all "
                     "ranks with the same file");
  for (const std::string &error : agree({"", "a"}))
    EXPECT_EQ(error, "--data is given on rank 1 and not on rank 0: start all "
                     "ranks with the same file");
  for (const std::string &error : agree({"a", "none"}))
    EXPECT_NE(error.find("none: cannot be opened: No such file"),
              std::string::npos)
        << error;
}

TEST_F(SharedFileTest, TheDigestIsTheSumOfItsParts) {
  write("a", someBytes(5 * kBlock + 3));
  const PartialDigest whole = digestPart(folder.file("a"), 0, 1);
  EXPECT_EQ(whole.bytesRead, 5 * kBlock + 3);
  for (const uint64_t parts : {2, 3, 9}) {
    PartialDigest sum;
    for (uint64_t part = 0; part < parts; ++part) {
      const PartialDigest one = digestPart(folder.file("a"), part, parts);
      sum.value += one.value;
      sum.bytesRead += one.bytesRead;
    }
    EXPECT_EQ(sum.value, whole.value);
    EXPECT_EQ(sum.bytesRead, whole.bytesRead);
  }
}

/// What files hold: tools/python/tests/test_state.py has the same number.
TEST(Digest, IsTheSameInPython) {
  std::vector<char> data(kDigestBlock + 7);
  for (uint64_t i = 0; i < data.size(); ++i)
    data[i] = char(i * i % 251);
  EXPECT_EQ(hexadecimal(digestBytes(data.data(), data.size())),
            "813f9910eb2e4b45");
  EXPECT_EQ(digestBytes(data.data(), 0), 0u);
}

} // namespace
