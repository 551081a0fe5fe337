//===- Export.cpp - a checkpoint's parameters as whole tensors ------------===//

#include "Modes.h"

#include "checkpoint/Checkpoint.h"
#include "checkpoint/Shard.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ostream>
#include <stdexcept>

using namespace zrt;

namespace {

constexpr const char *kEnding = ".safetensors";

/// Tensors that go to one file.
struct Part {
  std::string name; ///< of the file
  std::vector<TensorEntry> entries;
  uint64_t bytes = 0;
};

/// The folder of a path with its slash, and what comes after.
std::pair<std::string, std::string> splitPath(const std::string &path) {
  const size_t name = path.rfind('/') + 1; // 0 without a slash
  return {path.substr(0, name), path.substr(name)};
}

std::vector<Part> partsOf(const Manifest &manifest,
                          const ExportOptions &options) {
  std::vector<Part> parts(1);
  for (const StoredTensor &tensor : manifest.tensors) {
    TensorEntry entry;
    entry.name = tensor.name;
    entry.type = options.type;
    entry.shape = tensor.shape;
    const uint64_t bytes = uint64_t(tensor.elements()) * sizeOf(options.type);
    const Part &last = parts.back();
    if (options.mostBytes > 0 && !last.entries.empty() &&
        last.bytes + bytes > options.mostBytes)
      parts.emplace_back();
    parts.back().entries.push_back(std::move(entry));
    parts.back().bytes += bytes;
  }
  const std::string name = splitPath(options.output).second;
  const std::string stem =
      name.substr(0, name.size() - std::string(kEnding).size());
  for (size_t i = 0; i < parts.size(); ++i) {
    char number[40];
    std::snprintf(number, sizeof(number), "-%05zu-of-%05zu", i + 1,
                  parts.size());
    parts[i].name = parts.size() == 1 ? name : stem + number + kEnding;
  }
  return parts;
}

/// A file that takes its place when it is complete.
class Replacement {
public:
  explicit Replacement(const std::string &path)
      : path(path), partial(path + ".partial"), file(create(partial)) {}
  ~Replacement() {
    if (!done)
      std::remove(partial.c_str());
  }
  void append(const void *data, uint64_t bytes) { file->append(data, bytes); }
  void finish() {
    file->sync();
    FileSystem::disk().rename(partial, path);
    done = true;
    const std::string folder = splitPath(path).first;
    FileSystem::disk().syncFolder(folder.empty() ? "." : folder);
  }

private:
  static std::unique_ptr<OutputFile> create(const std::string &path) {
    std::remove(path.c_str()); // what a crash has left
    return FileSystem::disk().create(path);
  }

  std::string path, partial;
  std::unique_ptr<OutputFile> file;
  bool done = false;
};

/// Throws where a value is finite, and not so in `type`.
void checkRange(const std::string &tensor, TensorDataType type, uint64_t at,
                const std::vector<float> &values,
                const std::vector<char> &stored) {
  std::vector<float> rounded(values.size());
  loadElements(floatTypeOf(type), stored.data(), rounded.data(),
               rounded.size());
  for (size_t i = 0; i < values.size(); ++i)
    if (std::isfinite(values[i]) && !std::isfinite(rounded[i]))
      throw std::runtime_error("element " + std::to_string(at + i) + " of '" +
                               tensor + "' is " + std::to_string(values[i]) +
                               ", which is too large for " + nameOf(type) +
                               ": export as f32");
}

void writePart(Part &part, const std::string &folder,
               const ShardReader &reader) {
  Replacement file(folder + part.name);
  const std::string header =
      makeSafeTensorsHeader(part.entries, {{"format", "pt"}});
  file.append(header.data(), header.size());
  std::vector<float> values;
  std::vector<char> bytes;
  for (const TensorEntry &entry : part.entries)
    for (uint64_t at = 0; at < entry.elements(); at += kPortion) {
      const uint64_t count = std::min(kPortion, entry.elements() - at);
      values.resize(count);
      bytes.resize(count * sizeOf(entry.type));
      reader.read(entry.name, kValueName, at, count, values.data());
      storeElements(floatTypeOf(entry.type), false, values.data(), bytes.data(),
                    count);
      checkRange(entry.name, entry.type, at, values, bytes);
      file.append(bytes.data(), bytes.size());
    }
  file.finish();
}

/// As Hugging Face's libraries read it.
void writeIndex(const std::string &path, const std::vector<Part> &parts) {
  nlohmann::ordered_json index;
  uint64_t bytes = 0;
  nlohmann::ordered_json places = nlohmann::ordered_json::object();
  for (const Part &part : parts) {
    bytes += part.bytes;
    for (const TensorEntry &entry : part.entries)
      places[entry.name] = part.name;
  }
  index["metadata"]["total_size"] = bytes;
  index["weight_map"] = std::move(places);
  const std::string text = index.dump(2) + "\n";
  Replacement file(path);
  file.append(text.data(), text.size());
  file.finish();
}

std::string indexOf(const std::string &output) {
  return output + ".index.json";
}

/// Throws where a file would replace one of a checkpoint, or be removed with
/// one: of what is exported, and of all beside it.
void checkOutputs(const ExportOptions &options, const FoundCheckpoint &found,
                  const std::string &folder, const std::vector<Part> &parts) {
  std::vector<std::string> checkpoints = {found.path};
  for (const std::string &run : {options.checkpoint, found.path + "/.."})
    for (const std::string &path : checkpointFolders(run))
      checkpoints.push_back(path);
  std::vector<std::string> outputs;
  for (const Part &part : parts)
    outputs.push_back(folder + part.name);
  if (parts.size() > 1)
    outputs.push_back(indexOf(options.output));
  for (const std::string &output : outputs)
    if (const std::string place = replacedCheckpoint(output, checkpoints);
        !place.empty())
      throw std::runtime_error("-o: '" + output +
                               "' would replace a part of the checkpoint " +
                               place + ": name another file");
}

} // namespace

void zrt::exportWeights(const ExportOptions &options, std::ostream &out) {
  const std::string ending = kEnding, &output = options.output;
  if (splitPath(output).second.size() <= ending.size() ||
      output.compare(output.size() - ending.size(), ending.size(), ending) != 0)
    throw std::runtime_error(
        "-o: found '" + output +
        "', wanted a file whose name ends in .safetensors");
  const FoundCheckpoint found = openCheckpoint(options.checkpoint);
  std::vector<Part> parts = partsOf(found.manifest, options);
  const std::string folder = splitPath(output).first;
  checkOutputs(options, found, folder, parts);
  for (const StoredFile &file : found.manifest.files)
    verifyFile(found.path, file);
  const ShardReader reader(found.path, found.manifest);
  uint64_t bytes = 0;
  for (Part &part : parts) {
    writePart(part, folder, reader);
    bytes += part.bytes;
  }
  if (parts.size() > 1)
    writeIndex(indexOf(output), parts);
  out << found.path << ": " << found.manifest.tensors.size() << " parameters, "
      << bytes << " bytes as " << nameOf(options.type) << " in " << parts.size()
      << (parts.size() == 1 ? " file\n" : " files\n");
}
