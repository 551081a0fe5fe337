// The safetensors reader against files that are not.
#include "../state/StateTesting.h"

#include "io/SafeTensors.h"

#include <cstring>
#include <fstream>
#include <random>
#include <sys/stat.h>

using namespace zrt;
using namespace zrt::testing;

namespace {

class SafeTensors : public ::testing::Test {
protected:
  /// A file of a header of `length` bytes, or of its own, and `data` zeros.
  void write(const std::string &header, uint64_t data, int64_t length = -1) {
    std::ofstream file(path, std::ios::binary);
    uint64_t prefix = length < 0 ? header.size() : uint64_t(length);
    file.write(reinterpret_cast<const char *>(&prefix), 8);
    file << header << std::string(data, '\0');
  }

  /// What the reader says; empty where it is content.
  std::string complaint() {
    try {
      SafeTensorsFile file(path);
      return "";
    } catch (const std::runtime_error &failure) {
      return failure.what();
    }
  }

  void expectRefused(const std::string &header, uint64_t data,
                     const std::string &why) {
    write(header, data);
    EXPECT_NE(complaint().find(why), std::string::npos)
        << header << "\nfound '" << complaint() << "', wanted '" << why << "'";
  }

  TemporaryFolder folder;
  std::string path = folder.file("t.safetensors");
};

std::string tensor(const std::string &name, const std::string &type,
                   const std::string &shape, const std::string &offsets) {
  return "\"" + name + "\":{\"dtype\":\"" + type + "\",\"shape\":" + shape +
         ",\"data_offsets\":" + offsets + "}";
}

TEST_F(SafeTensors, ReadsWhatTheFormatAllows) {
  write("{}", 0);
  EXPECT_EQ(complaint(), "");
  write("{\"__metadata__\":{\"a\":\"b\"}," +
            tensor("z", "F32", "[2,3]", "[1,25]") + "," +
            tensor("a", "BOOL", "[]", "[0,1]") + "," +
            tensor("empty", "I64", "[0,4]", "[25,25]") + "}   ",
        24 + 1);
  ASSERT_EQ(complaint(), "");
  SafeTensorsFile file(path);
  EXPECT_EQ(file.metadata().at("a"), "b");
  ASSERT_EQ(file.tensors().size(), 3u);
  EXPECT_EQ(file.tensors()[0].name, "a");
  EXPECT_EQ(file.find("z")->elements(), 6u);
  EXPECT_EQ(file.find("empty")->elements(), 0u);
  EXPECT_EQ(file.find("none"), nullptr);
  for (const char *type : {"U8", "I8", "F8_E5M2", "F8_E4M3"}) {
    write("{" + tensor("t", type, "[3]", "[0,3]") + "}", 3);
    EXPECT_EQ(complaint(), "") << type;
  }
  for (const char *type : {"I16", "U16", "F16", "BF16"}) {
    write("{" + tensor("t", type, "[3]", "[0,6]") + "}", 6);
    EXPECT_EQ(complaint(), "") << type;
  }
  for (const char *type : {"F64", "I64", "U64"}) {
    write("{" + tensor("t", type, "[3]", "[0,24]") + "}", 24);
    EXPECT_EQ(complaint(), "") << type;
  }
}

TEST_F(SafeTensors, RefusesDamage) {
  std::ofstream(path) << "short";
  EXPECT_NE(complaint().find("found 5 bytes, wanted 8 or more"),
            std::string::npos);
  write("{}", 0, 100'000'001);
  EXPECT_NE(complaint().find("at most 100000000"), std::string::npos);
  write("{}", 0, 3);
  EXPECT_NE(complaint().find("header of 3 bytes in a file of 10"),
            std::string::npos);
  expectRefused("", 0, "does not begin with '{'");
  expectRefused(" {}", 0, "does not begin with '{'");
  expectRefused("[]", 0, "does not begin with '{'");
  expectRefused("{", 0, "the header is no JSON: ");
  expectRefused("{}x", 0, "no JSON");
  expectRefused("{\"a\":\"\xff\"}", 0, "no JSON");
  expectRefused("{\"__metadata__\":[]}", 0, "no object");
  expectRefused("{\"__metadata__\":{\"a\":1}}", 0,
                "__metadata__ has a value that is no string: 'a'");
  expectRefused("{\"a\":3}", 0, "other keys");
}

TEST_F(SafeTensors, RefusesDuplicateKeys) {
  std::string one = tensor("a", "U8", "[1]", "[0,1]");
  expectRefused("{" + one + "," + one + "}", 1,
                "the header has the key 'a' twice");
  expectRefused("{\"a\":{\"dtype\":\"U8\",\"dtype\":\"U8\",\"shape\":[1],"
                "\"data_offsets\":[0,1]}}",
                1, "the key 'dtype' twice");
  expectRefused("{\"__metadata__\":{\"k\":\"1\",\"k\":\"2\"}}", 0,
                "the key 'k' twice");
  write("{" + tensor("shape", "U8", "[1]", "[0,1]") + "," +
            tensor("dtype", "U8", "[1]", "[1,2]") + "}",
        2);
  EXPECT_EQ(complaint(), "");
}

TEST_F(SafeTensors, RefusesWrongEntries) {
  auto refused = [&](const std::string &type, const std::string &shape,
                     const std::string &offsets, const char *why) {
    expectRefused("{" + tensor("t", type, shape, offsets) + "}", 4, why);
  };
  refused("F31", "[1]", "[0,4]", "unknown dtype \"F31\"");
  refused("f32", "[1]", "[0,4]", "unknown dtype");
  refused("F32", "[-1]", "[0,4]", "no size");
  refused("F32", "[1.0]", "[0,4]", "no size");
  refused("F32", "1", "[0,4]", "no list");
  refused("F32", "[4611686018427387904,4]", "[0,4]", "64 bits");
  refused("F32", "[1]", "[0,4,8]", "data_offsets");
  refused("F32", "[1]", "[4,0]", "data_offsets");
  refused("F32", "[1]", "[-4,0]", "data_offsets");
  refused("F32", "[1]", "{}", "data_offsets");
  refused("F32", "[1]", "[0,3]", "has 3 bytes of data, but its shape");
  refused("F32", "[2]", "[0,4]", "need 8");
}

/// However deep: what calls itself for each level would overflow the stack.
TEST_F(SafeTensors, RefusesDeepNesting) {
  const std::string open(300'000, '['), close(300'000, ']');
  const std::string deep = open + close;
  const char *const wanted =
      "the header, line 1: objects and lists are nested more than 100 deep";
  expectRefused("{\"t\":{\"dtype\":" + deep +
                    ",\"shape\":[1],\"data_offsets\":[0,4]}}",
                4, wanted);
  expectRefused("{" + tensor("t", "F32", deep, "[0,4]") + "}", 4, wanted);
  expectRefused("{" + tensor("t", "F32", "[1]", deep) + "}", 4, wanted);
  expectRefused("{\"__metadata__\":{\"a\":" + deep + "}}", 0, wanted);
  expectRefused("{\"t\":{\"dtype\":[[]],\"shape\":[1],"
                "\"data_offsets\":[0,4]}}",
                4, "tensor 't' has a dtype that is no string");
}

/// A pipe that nobody writes to would be waited for in open(2).
TEST_F(SafeTensors, RefusesWhatIsNoFile) {
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(complaint(), path + ": found a pipe, wanted a regular file");
  for (const auto &[name, kind] :
       {std::pair("/dev/zero", "a device"), std::pair("/", "a folder")}) {
    path = name;
    EXPECT_EQ(complaint(),
              path + ": found " + kind + ", wanted a regular file");
  }
}

TEST_F(SafeTensors, RefusesHolesOverlapsAndRests) {
  std::string a = tensor("a", "U8", "[4]", "[0,4]");
  expectRefused("{" + a + "," + tensor("b", "U8", "[4]", "[5,9]") + "}", 9,
                "there is a hole");
  expectRefused("{" + a + "," + tensor("b", "U8", "[4]", "[3,7]") + "}", 7,
                "tensors overlap");
  expectRefused("{" + a + "," + tensor("b", "U8", "[4]", "[0,4]") + "}", 4,
                "tensors overlap");
  expectRefused("{" + tensor("b", "U8", "[4]", "[1,5]") + "}", 5, "hole");
  expectRefused("{" + a + "}", 5, "but the file has 5");
  expectRefused("{" + a + "}", 3, "but the file has 3");
}

TEST_F(SafeTensors, SurvivesAnyChangedByte) {
  std::string header = "{\"__metadata__\":{\"k\":\"v\"}," +
                       tensor("a", "F32", "[2,2]", "[0,16]") + "," +
                       tensor("b", "U8", "[4]", "[16,20]") + "}";
  std::mt19937 generator(1);
  int refused = 0;
  for (int trial = 0; trial < 300; ++trial) {
    std::string damaged = header;
    for (int change = trial % 3; change >= 0; --change)
      damaged[generator() % damaged.size()] = static_cast<char>(generator());
    write(damaged, 20);
    refused += !complaint().empty();
  }
  EXPECT_GT(refused, 150);
}

TEST_F(SafeTensors, WritesWhatItReads) {
  std::vector<TensorEntry> entries(3);
  entries[0].name = "quote \" and \\ and ü";
  entries[0].shape = {3, 2};
  entries[1].name = "half";
  entries[1].type = TensorDataType::BF16;
  entries[1].shape = {5};
  entries[2].name = "scalar";
  std::string header = makeSafeTensorsHeader(entries, {{"format", "pt"}});
  EXPECT_EQ(header.size() % 8, 0u);
  std::vector<uint16_t> half = {0x3f80, 0x4000, 0xbf80, 0, 0x7f80};
  std::ofstream(path, std::ios::binary)
      << header << std::string(24, '\0')
      << std::string(reinterpret_cast<char *>(half.data()), 10)
      << std::string(4, '\0');
  SafeTensorsFile file(path);
  ASSERT_EQ(file.tensors().size(), 3u);
  EXPECT_EQ(file.find(entries[0].name)->shape, entries[0].shape);
  std::vector<float> values(3);
  file.readFloats(*file.find("half"), 1, 3, values.data());
  EXPECT_EQ(values, (std::vector<float>{2, -1, 0}));
  EXPECT_THROW(file.readFloats(*file.find("half"), 3, 3, values.data()),
               std::out_of_range);
}

} // namespace
