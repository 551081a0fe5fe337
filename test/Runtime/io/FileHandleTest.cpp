// What cannot be read of a file, or brought to a disk.
#include "../MessageOf.h"
#include "../TemporaryFile.h"

#include "io/FileHandle.h"

#include <gtest/gtest.h>

#include <fcntl.h>

using namespace zrt;
using namespace zrt::test;

namespace {

TEST(FileHandle, SaysWhereAFileEnds) {
  const TemporaryFile file(".bin", "12345");
  const FileHandle handle(file.path(), O_RDONLY);
  EXPECT_EQ(handle.size(), 5u);
  char bytes[8];
  EXPECT_EQ(messageOf([&] { handle.read(2, bytes, 7); }),
            file.path() + ": ends at byte 5, wanted 4 more");
}

/// A descriptor that only names its file reads and writes nothing.
TEST(FileHandle, SaysWhatTheSystemRefuses) {
  const TemporaryFile file(".bin", "12345");
  const FileHandle handle(file.path(), O_PATH);
  char byte = 0;
  EXPECT_EQ(messageOf([&] { handle.read(0, &byte, 1); }),
            file.path() + ": cannot be read: Bad file descriptor");
  EXPECT_EQ(messageOf([&] { handle.write(0, &byte, 1); }),
            file.path() + ": cannot be written: Bad file descriptor");
  EXPECT_EQ(messageOf([&] { handle.sync(); }),
            file.path() + ": cannot be brought to the disk: Bad file "
                          "descriptor");
}

} // namespace
