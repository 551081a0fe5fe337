// The tensors of a model in a safetensors file, or in the shards of an index.
//
// save_pretrained of transformers writes model.safetensors, or, of a larger
// model, model-00001-of-00003.safetensors and so on with
// model.safetensors.index.json, whose `weight_map` names each tensor's file.
#ifndef ZERO_RUNTIME_IO_TENSORFILES_H
#define ZERO_RUNTIME_IO_TENSORFILES_H

#include "io/SafeTensors.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace zrt {

/// A tensor and the file that it is in.
struct TensorPlace {
  const SafeTensorsFile *file = nullptr;
  const TensorEntry *entry = nullptr;

  /// As `SafeTensorsFile::readFloats`.
  void readFloats(uint64_t first, uint64_t count, float *out) const {
    file->readFloats(*entry, first, count, out);
  }
};

/// The files of one model, open for reading.
class TensorFiles {
public:
  /// `path` is a safetensors file, an index (a name in .json), or a folder with
  /// one model.safetensors or index. Throws std::runtime_error, naming the
  /// file, where a folder has none or several of them, where an index is no
  /// index, names a file that is not there or not beside it, and where a shard
  /// does not have exactly the tensors that the index says.
  explicit TensorFiles(const std::string &path);

  /// In the order of the files and of their data.
  const std::vector<TensorPlace> &tensors() const { return places; }
  /// Null where there is no tensor of that name.
  const TensorPlace *find(const std::string &name) const;

private:
  void open(const std::string &path);
  void openShards(const std::string &index);

  std::vector<std::unique_ptr<SafeTensorsFile>> files;
  std::vector<TensorPlace> places;
  std::map<std::string, size_t> byName;
};

/// The files that `TensorFiles` would read, an index first; `path` itself where
/// that cannot be said. Throws nothing.
std::vector<std::string> tensorFilesOf(const std::string &path);

} // namespace zrt

#endif // ZERO_RUNTIME_IO_TENSORFILES_H
