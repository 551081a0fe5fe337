// Arrays by name, in one file or the files of a folder.
#ifndef ZERO_RUNTIME_DATA_STOREDARRAYS_H
#define ZERO_RUNTIME_DATA_STOREDARRAYS_H

#include "io/SafeTensors.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace zrt {

/// The part of an array that one file holds.
struct ArrayPiece {
  std::string path;
  uint64_t rows = 0; ///< of the first dimension; 1 for a scalar
  /// Reads elements [first, first + count) of the piece, as they are stored.
  std::function<void(uint64_t first, uint64_t count, void *out)> read;
};

/// An array whose pieces follow each other along its first dimension.
struct StoredArray {
  std::string name;
  TensorDataType type = TensorDataType::F32;
  std::vector<int64_t> shape;
  std::vector<ArrayPiece> pieces;

  /// Elements [first, first + count), which lie within one row.
  void read(uint64_t first, uint64_t count, void *out) const;
  /// The file that holds row `row`.
  const std::string &pathOf(uint64_t row) const;

private:
  /// The piece of row `row`, which becomes its row there.
  const ArrayPiece &pieceOf(uint64_t &row) const;
};

/// The arrays of a file or a folder. Nothing of them is held in memory; files
/// are read, not mapped, so that one that is cut short while it is in use gives
/// an error and no signal.
class StoredArrays {
public:
  /// `path` is a .safetensors file, a .npy file, whose array then has the name
  /// `nameOfOne`, or a folder: of `NAME.npy`, and of .safetensors files, in the
  /// order of their names, whose arrays of one name follow each other. Throws
  /// std::runtime_error with one sentence where a file is not what its name
  /// says or the files do not fit together.
  StoredArrays(const std::string &path, const std::string &nameOfOne);

  const std::string &path() const { return name; }
  const std::vector<StoredArray> &arrays() const { return all; }
  /// Null where there is none.
  const StoredArray *find(const std::string &name) const;
  /// Files of the folder that are not read: neither arrays nor hidden.
  const std::vector<std::string> &otherFiles() const { return others; }

private:
  void add(const std::string &array, TensorDataType type,
           const std::vector<int64_t> &shape, ArrayPiece piece);
  void addNumpy(const std::string &path, const std::string &array);
  void addSafeTensors(const std::string &path);

  std::string name;
  std::vector<StoredArray> all;
  std::vector<std::string> others;
};

/// True where `path` names arrays: a folder, or by how it ends.
bool isOfArrays(const std::string &path);

/// The files that data at `path` is read from: `path`, or what is read of the
/// folder that it is, in the order of reading. Does not look into them.
std::vector<std::string> dataFiles(const std::string &path);

} // namespace zrt

#endif // ZERO_RUNTIME_DATA_STOREDARRAYS_H
