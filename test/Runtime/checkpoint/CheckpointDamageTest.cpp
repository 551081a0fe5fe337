// Any byte of any file of a checkpoint: it is refused by the file's name, or
// what is loaded is what was saved.
#include "../../Sanitized.h"
#include "CheckpointTesting.h"

#include <cctype>
#include <fcntl.h>
#include <fstream>
#include <unistd.h>

using namespace zrt;
using namespace zrt::testing;

namespace {

/// Who has saved a checkpoint, and who is to load it.
struct Pair {
  const char *name;
  Program writer, reader;
};

std::ostream &operator<<(std::ostream &out, const Pair &pair) {
  return out << pair.name;
}

const std::vector<Pair> &pairs() {
  const auto plain = [](int stage, int ranks) {
    return checkpointProgram(stage, ranks, DataType::F32);
  };
  const auto inFiles = [](int stage, int ranks) {
    return checkpointProgram(stage, ranks, DataType::F32, false, Tier::File);
  };
  static const std::vector<Pair> all = {{"Plain", plain(3, 2), plain(3, 2)},
                                        {"Files", inFiles(3, 2), inFiles(3, 2)},
                                        {"Ranks", plain(2, 3), inFiles(1, 2)},
                                        {"Mesh",
                                         replicated(plain(3, 2), 2, true),
                                         replicated(plain(1, 3), 2, false)}};
  return all;
}

class CheckpointDamage : public ::testing::TestWithParam<Pair> {
protected:
  void SetUp() override {
    ASSERT_EQ(saveRound(GetParam().writer, root, 1),
              noErrors(GetParam().writer));
  }

  /// What the reader's ranks say, the same of each; "" where they load it.
  std::string load() const {
    const Program &program = GetParam().reader;
    const auto errors =
        onRanks(program.training.ranks, [&](Communicator &communicator) {
          std::vector<std::string> remarks;
          const auto found = findNewest(root, communicator, remarks);
          if (!found)
            throw std::logic_error("there is none");
          checkCheckpoint(*found, program, communicator);
        });
    for (const std::string &error : errors)
      EXPECT_EQ(error.empty(), errors.front().empty()) << error;
    return errors.front();
  }
  void expectRefused(const std::string &file, const std::string &what) const {
    const std::string error = load();
    EXPECT_NE(error.find(file), std::string::npos)
        << file << ", " << what << ": found '" << error << "'";
  }
  void expectSame(const std::string &what) const {
    EXPECT_EQ(expectNewest(GetParam().reader, root), 1) << what;
  }

  std::vector<std::string> rankFiles() const {
    std::vector<std::string> files;
    const int ranks = GetParam().writer.training.ranks;
    for (int rank = 0; rank < ranks; ++rank)
      files.push_back(inFolder(update, shardName(rank, ranks)));
    return files;
  }

  /// Every how many bytes of a rank's file are tried: all of them once.
  size_t step() const {
    const bool isFirst = GetParam().name == pairs().front().name;
    return isFirst && !kIsSanitized ? 1 : shareOfCases();
  }

  TemporaryFolder folder;
  const std::string root = folder.file("run");
  const std::string update = root + "/update-0000000011";
  const std::string manifest = update + "/manifest.json";
};

INSTANTIATE_TEST_SUITE_P(Of, CheckpointDamage, ::testing::ValuesIn(pairs()),
                         [](const auto &info) { return info.param.name; });

void writeFile(const std::string &path, const std::string &content) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
}

/// A file of which a byte is changed at a time.
class ChangedFile {
public:
  explicit ChangedFile(const std::string &path)
      : content(readText(path)), file(::open(path.c_str(), O_RDWR)) {}
  ~ChangedFile() { ::close(file); }

  /// Calls `body` while byte `at` is `byte`.
  template <typename Body> void with(size_t at, int byte, Body body) const {
    set(at, byte);
    body();
    set(at, content[at]);
  }
  const std::string content;

private:
  void set(size_t at, int byte) const {
    const char value = static_cast<char>(byte);
    EXPECT_EQ(::pwrite(file, &value, 1, off_t(at)), 1);
  }
  int file;
};

bool isSpace(char byte) {
  return byte == ' ' || byte == '\n' || byte == '\t' || byte == '\r';
}

} // namespace

TEST_P(CheckpointDamage, EveryByteOfARanksFile) {
  for (const std::string &path : rankFiles()) {
    const ChangedFile file(path);
    ASSERT_GT(file.content.size(), 500u);
    for (size_t at = 0; at < file.content.size(); at += step())
      file.with(at, file.content[at] ^ (1 << at % 8),
                [&] { expectRefused(path, "byte " + std::to_string(at)); });
  }
  expectSame("as it was");
}

/// What is cut off, what is too long, what is not there, what is another's.
TEST_P(CheckpointDamage, EveryLengthOfARanksFile) {
  ASSERT_EQ(saveRound(GetParam().writer, folder.file("other"), 2),
            noErrors(GetParam().writer));
  const auto files = rankFiles();
  for (size_t i = 0; i < files.size(); ++i) {
    const std::string content = readText(files[i]);
    for (size_t bytes = 0; bytes < content.size(); bytes += step()) {
      writeFile(files[i], content.substr(0, bytes));
      expectRefused(files[i], std::to_string(bytes) + " bytes");
    }
    writeFile(files[i], content + '\0');
    expectRefused(files[i], "a byte more");
    std::filesystem::remove(files[i]);
    expectRefused(files[i], "missing");
    const std::string name = files[i].substr(files[i].rfind('/') + 1);
    for (const std::string &other :
         {folder.file("other/update-0000000022/" + name),
          files[(i + 1) % files.size()]}) {
      writeFile(files[i], readText(other));
      if (other != files[i])
        expectRefused(files[i], "that of " + other);
    }
    writeFile(files[i], content);
  }
  expectSame("as it was");
}

/// The checksum is of what the manifest says: who writes the same in another
/// way changes nothing. Of one bit that can only be whether a digit of the
/// checksum itself is a capital letter.
TEST_P(CheckpointDamage, EveryBitOfTheManifest) {
  const ChangedFile file(manifest);
  const size_t checksum = file.content.find("\"checksum\"");
  const std::string wanted =
      writeManifest(findCheckpoints(root).complete.at(0).manifest);
  size_t alike = 0;
  for (size_t at = 0; at < file.content.size(); ++at)
    for (int bit = 0; bit < 8; ++bit)
      file.with(at, file.content[at] ^ (1 << bit), [&] {
        const Checkpoints found = findCheckpoints(root);
        if (found.complete.empty()) {
          ASSERT_EQ(found.broken.size(), 1u);
          EXPECT_NE(found.broken[0].reason.find(manifest), std::string::npos)
              << found.broken[0].reason;
          if (bit == int(at % 8))
            expectRefused(manifest, "byte " + std::to_string(at));
          return;
        }
        ++alike;
        EXPECT_EQ(writeManifest(found.complete[0].manifest), wanted);
        EXPECT_TRUE(
            std::isxdigit(static_cast<unsigned char>(file.content[at])) &&
            bit == 5 && at > checksum && at < checksum + 40)
            << "byte " << at << ", bit " << bit;
        expectSame("byte " + std::to_string(at));
      });
  EXPECT_LE(alike, 16u);
}

/// As `writeManifest` has it, and with other white space, which is harmless.
TEST_P(CheckpointDamage, WhiteSpaceOfTheManifest) {
  const ChangedFile file(manifest);
  bool isText = false;
  for (size_t at = 0; at < file.content.size(); ++at) {
    isText = isText != (file.content[at] == '"');
    if (!isSpace(file.content[at]) || isText)
      continue;
    file.with(at, file.content[at] == ' ' ? '\t' : ' ', [&] {
      if (at % 16 == 0)
        expectSame("byte " + std::to_string(at));
      else
        EXPECT_EQ(findCheckpoints(root).complete.size(), 1u) << at;
    });
  }
}

TEST_P(CheckpointDamage, EveryLengthOfTheManifest) {
  const std::string content = readText(manifest);
  // Behind the last brace is white space.
  const size_t end = content.rfind('}') + 1;
  for (size_t bytes = 0; bytes < content.size();
       bytes += bytes + 40 < end ? step() : 1) {
    writeFile(manifest, content.substr(0, bytes));
    if (bytes >= end)
      expectSame(std::to_string(bytes) + " bytes");
    else
      expectRefused(manifest, std::to_string(bytes) + " bytes");
  }
  std::filesystem::remove(manifest);
  expectRefused(manifest, "missing");
}

/// Names of folders say which is the newest. The pointer is for people, and to
/// be compared with them.
TEST_P(CheckpointDamage, ThePointer) {
  const std::string path = root + "/latest";
  {
    const ChangedFile file(path);
    for (size_t at = 0; at < file.content.size(); ++at)
      for (int bit = 0; bit < 8; ++bit)
        file.with(at, file.content[at] ^ (1 << bit),
                  [&] { expectSame("byte " + std::to_string(at)); });
  }
  const std::string content = readText(path);
  for (size_t bytes = 0; bytes < content.size(); ++bytes) {
    writeFile(path, content.substr(0, bytes));
    expectSame(std::to_string(bytes) + " bytes");
  }
  std::filesystem::remove(path);
  expectSame("missing");
}
