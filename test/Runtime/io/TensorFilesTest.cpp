// Weights in shards: what an index, a folder and the shards must say.
#include "io/TensorFiles.h"

#include "../state/StateTesting.h"

#include <fstream>

using namespace zrt;
using namespace zrt::testing;

namespace {

using Tensors = std::vector<std::pair<std::string, float>>;

void writeText(const std::string &path, const std::string &text) {
  std::ofstream(path, std::ios::binary) << text;
}

/// A file of F32 tensors of one element each.
void writeShard(const std::string &path, const Tensors &tensors) {
  std::vector<TensorEntry> entries;
  for (const auto &[name, value] : tensors) {
    TensorEntry entry;
    entry.name = name;
    entry.shape = {1};
    entries.push_back(entry);
  }
  std::string bytes = makeSafeTensorsHeader(entries);
  for (const auto &[name, value] : tensors)
    bytes.append(reinterpret_cast<const char *>(&value), sizeof(value));
  writeText(path, bytes);
}

/// A folder of two shards and an index, which tests change.
class StateTensorFiles : public ::testing::Test {
protected:
  StateTensorFiles() {
    writeShard(folder.file("one.safetensors"), {{"a", 1}, {"b", 2}});
    writeShard(folder.file("two.safetensors"), {{"c", 3}});
    writeIndex(R"({"metadata": {"total_size": 1}, "weight_map": {
      "c": "two.safetensors", "a": "one.safetensors", "b": "one.safetensors"}})");
  }

  void writeIndex(const std::string &text) { writeText(index, text); }

  /// The error that opening `path` gives.
  std::string refusal(const std::string &path) {
    try {
      TensorFiles files(path);
    } catch (const std::runtime_error &error) {
      return error.what();
    }
    return "";
  }
  void expectRefusal(const std::string &why) {
    EXPECT_EQ(refusal(index), index + ": not a valid index of shards: " + why);
  }

  TemporaryFolder folder;
  const std::string index = folder.file("model.safetensors.index.json");
};

std::string root(const std::string &path) {
  return path.substr(0, path.find_last_of('/'));
}

TEST_F(StateTensorFiles, AreReadThroughAnIndexOrItsFolder) {
  for (const std::string &path : {index, root(index), root(index) + "/"}) {
    const TensorFiles files(path);
    EXPECT_EQ(files.tensors().size(), 3u);
    for (const auto &[name, wanted] : Tensors{{"a", 1}, {"b", 2}, {"c", 3}}) {
      float value = 0;
      ASSERT_NE(files.find(name), nullptr) << path << " " << name;
      files.find(name)->readFloats(0, 1, &value);
      EXPECT_EQ(value, wanted) << name;
    }
    EXPECT_EQ(files.find("d"), nullptr);
  }
  const std::vector<std::string> wanted{index, folder.file("one.safetensors"),
                                        folder.file("two.safetensors")};
  EXPECT_EQ(tensorFilesOf(index), wanted);
}

TEST_F(StateTensorFiles, AFileAloneIsReadAsItIs) {
  const std::string path = folder.file("one.safetensors");
  EXPECT_EQ(TensorFiles(path).tensors().size(), 2u);
  EXPECT_EQ(tensorFilesOf(path), std::vector<std::string>{path});
}

TEST_F(StateTensorFiles, AFolderHasOneModel) {
  const std::string single = folder.file("model.safetensors");
  writeShard(single, {{"a", 1}});
  EXPECT_EQ(refusal(root(index)),
            root(index) + ": has weights more than once: model.safetensors, "
                          "model.safetensors.index.json: name the file that "
                          "is wanted");
  std::filesystem::remove(index);
  EXPECT_EQ(TensorFiles(root(index)).tensors().size(), 1u);
  EXPECT_EQ(tensorFilesOf(root(index)), std::vector<std::string>{single});
  std::filesystem::remove(single);
  EXPECT_EQ(refusal(root(index)),
            root(index) + ": has no weights: wanted model.safetensors, or "
                          "shards with a *.safetensors.index.json");
  EXPECT_EQ(tensorFilesOf(root(index)), std::vector<std::string>{root(index)});
}

TEST_F(StateTensorFiles, AnIndexThatIsNoneIsRefused) {
  writeIndex("{");
  EXPECT_NE(refusal(index).find("it is no JSON"), std::string::npos);
  for (const char *text : {"[]", "{}", R"({"weight_map": []})"}) {
    writeIndex(text);
    expectRefusal("it has no 'weight_map' from names of tensors to files");
  }
  writeIndex(R"({"weight_map": {}})");
  expectRefusal("its 'weight_map' has no tensors");
  writeIndex(R"({"weight_map": {"a": 1}})");
  expectRefusal("the file of 'a' is no name");
  // Parsers would take the last one.
  writeIndex(R"({"weight_map": {"a": "one.safetensors", "a": "two"}})");
  expectRefusal("it has the key 'a' twice");
  EXPECT_EQ(tensorFilesOf(index), std::vector<std::string>{index});
}

TEST_F(StateTensorFiles, FilesElsewhereAreNotRead) {
  for (const char *name :
       {"../one.safetensors", "/etc/passwd", "x/y", "..", ".", ""}) {
    writeIndex(std::string(R"({"weight_map": {"a": ")") + name + R"("}})");
    expectRefusal("the file of 'a' is '" + std::string(name) +
                  "', wanted the name of a file beside the index");
  }
}

TEST_F(StateTensorFiles, AShardIsMissingOrCutOff) {
  const std::string two = folder.file("two.safetensors");
  std::filesystem::resize_file(two, 20);
  EXPECT_NE(refusal(index).find(two + ": not a valid safetensors file"),
            std::string::npos);
  std::filesystem::remove(two);
  expectRefusal("it names 'two.safetensors', which is missing");
}

TEST_F(StateTensorFiles, ShardsHaveWhatTheIndexSays) {
  const std::string two = folder.file("two.safetensors");
  writeShard(two, {{"d", 3}, {"c", 3}});
  expectRefusal("'two.safetensors' has the tensor 'd', which it does not name");
  writeShard(two, {{"c", 3}, {"a", 9}});
  expectRefusal("'two.safetensors' has the tensor 'a', which it says is in "
                "'one.safetensors'");
  writeShard(two, {{"c", 3}});
  writeShard(folder.file("one.safetensors"), {{"a", 1}});
  expectRefusal("'one.safetensors' does not have the tensor 'b', which it says "
                "is there");
}

} // namespace
