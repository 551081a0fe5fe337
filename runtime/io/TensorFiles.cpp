#include "io/TensorFiles.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <fcntl.h>
#include <filesystem>
#include <stdexcept>

using namespace zrt;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

constexpr const char *kSingle = "model.safetensors";
constexpr const char *kIndexEnd = ".safetensors.index.json";
/// That of a model of a million tensors is a tenth of it.
constexpr uint64_t kMostIndexBytes = uint64_t(1) << 30;

bool endsWith(const std::string &text, const std::string &end) {
  return text.size() >= end.size() &&
         text.compare(text.size() - end.size(), end.size(), end) == 0;
}

bool isIndex(const std::string &path) { return endsWith(path, ".json"); }

/// The weights of a folder: its only model.safetensors or index.
std::string weightsIn(const std::string &folder) {
  std::vector<std::string> found;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (name == kSingle || endsWith(name, kIndexEnd))
      found.push_back(name);
  }
  if (error)
    throw std::runtime_error(folder + ": cannot be read: " + error.message());
  std::sort(found.begin(), found.end());
  if (found.size() == 1)
    return (fs::path(folder) / found.front()).string();
  std::string names;
  for (const std::string &name : found)
    names += (names.empty() ? "" : ", ") + name;
  throw std::runtime_error(
      folder + (found.empty()
                    ? ": has no weights: wanted " + std::string(kSingle) +
                          ", or shards with a *" + kIndexEnd
                    : ": has weights more than once: " + names +
                          ": name the file that is wanted"));
}

std::string resolve(const std::string &path) {
  std::error_code error; // opening it says what is wrong
  return fs::is_directory(path, error) ? weightsIn(path) : path;
}

/// What an index says: the shard of each tensor.
class Index {
public:
  explicit Index(const std::string &path) : path(path) {
    const std::string text = read();
    const std::string twice = duplicateKeyOf(text);
    if (!twice.empty())
      fail("it has the key '" + twice + "' twice");
    json index;
    try {
      index = json::parse(text);
    } catch (const json::exception &failure) {
      fail(std::string("it is no JSON: ") + failure.what());
    }
    if (!index.is_object() || !index.contains("weight_map") ||
        !index["weight_map"].is_object())
      fail("it has no 'weight_map' from names of tensors to files");
    for (const auto &[tensor, shard] : index["weight_map"].items())
      add(tensor, shard);
    if (shards.empty())
      fail("its 'weight_map' has no tensors");
  }

  std::string placeOf(const std::string &shard) const {
    return (fs::path(path).parent_path() / shard).string();
  }
  [[noreturn]] void fail(const std::string &why) const {
    throw std::runtime_error(path + ": not a valid index of shards: " + why);
  }

  std::map<std::string, std::string> shardOf; ///< by tensor
  std::vector<std::string> shards;            ///< by name

private:
  std::string read() const {
    const FileHandle file(path, O_RDONLY);
    const uint64_t bytes = file.size();
    if (bytes > kMostIndexBytes)
      fail("found " + std::to_string(bytes) + " bytes, wanted at most " +
           std::to_string(kMostIndexBytes));
    std::string text(bytes, '\0');
    file.read(0, text.data(), bytes);
    return text;
  }

  void add(const std::string &tensor, const json &shard) {
    if (!shard.is_string())
      fail("the file of '" + tensor + "' is no name");
    const std::string name = shard.get<std::string>();
    if (name.empty() || name == "." || name == ".." ||
        name.find('/') != std::string::npos ||
        name.find('\0') != std::string::npos)
      fail("the file of '" + tensor + "' is '" + name +
           "', wanted the name of a file beside the index");
    shardOf[tensor] = name;
    const auto place = std::lower_bound(shards.begin(), shards.end(), name);
    if (place == shards.end() || *place != name)
      shards.insert(place, name);
  }

  std::string path;
};

} // namespace

TensorFiles::TensorFiles(const std::string &path) {
  const std::string file = resolve(path);
  if (isIndex(file))
    openShards(file);
  else
    open(file);
}

void TensorFiles::open(const std::string &path) {
  files.push_back(std::make_unique<SafeTensorsFile>(path));
  const SafeTensorsFile &file = *files.back();
  for (const TensorEntry &entry : file.tensors()) {
    byName[entry.name] = places.size();
    places.push_back({&file, &entry});
  }
}

void TensorFiles::openShards(const std::string &path) {
  const Index index(path);
  for (const std::string &shard : index.shards) {
    std::error_code error;
    if (!fs::exists(index.placeOf(shard), error))
      index.fail("it names '" + shard + "', which is missing");
    const size_t before = places.size();
    open(index.placeOf(shard));
    for (size_t i = before; i < places.size(); ++i) {
      const std::string &name = places[i].entry->name;
      const auto wanted = index.shardOf.find(name);
      if (wanted == index.shardOf.end())
        index.fail("'" + shard + "' has the tensor '" + name +
                   "', which it does not name");
      if (wanted->second != shard)
        index.fail("'" + shard + "' has the tensor '" + name +
                   "', which it says is in '" + wanted->second + "'");
    }
  }
  for (const auto &[name, shard] : index.shardOf)
    if (!byName.count(name))
      index.fail("'" + shard + "' does not have the tensor '" + name +
                 "', which it says is there");
}

const TensorPlace *TensorFiles::find(const std::string &name) const {
  const auto found = byName.find(name);
  return found == byName.end() ? nullptr : &places[found->second];
}

std::vector<std::string> zrt::tensorFilesOf(const std::string &path) {
  try {
    const std::string file = resolve(path);
    std::vector<std::string> files{file};
    if (isIndex(file)) {
      const Index index(file);
      for (const std::string &shard : index.shards)
        if (fs::exists(index.placeOf(shard)))
          files.push_back(index.placeOf(shard));
    }
    return files;
  } catch (const std::exception &) {
    return {path}; // opening it says why
  }
}
