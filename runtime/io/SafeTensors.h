// The safetensors file format: a JSON header and flat tensors.
//
// https://github.com/huggingface/safetensors: eight bytes, little-endian, of
// the header's length; the header; then the tensors without holes.
#ifndef ZERO_RUNTIME_IO_SAFETENSORS_H
#define ZERO_RUNTIME_IO_SAFETENSORS_H

#include "io/FileHandle.h"
#include "program/DataType.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace zrt {

/// An element type of the format.
enum class TensorDataType : uint8_t {
  Bool,
  U8,
  I8,
  F8E5M2,
  F8E4M3,
  I16,
  U16,
  F16,
  BF16,
  I32,
  U32,
  F32,
  F64,
  I64,
  U64
};
/// The format's spelling: "F32", "BF16".
const char *nameOf(TensorDataType type);
uint64_t sizeOf(TensorDataType type);
/// The type of that spelling; false where there is none.
bool findType(const std::string &name, TensorDataType &type);
/// F32, F16 or BF16; of these, the runtime's.
bool isFloatType(TensorDataType type);
DataType floatTypeOf(TensorDataType type);
/// The format's type for elements of the runtime's.
TensorDataType typeInFile(DataType type);
/// The type in files of a parameter or state. Throws std::runtime_error, naming
/// `what`, where it is not F32, F16 or BF16.
TensorDataType storedTypeOf(DataType type, const std::string &what);

/// "[3, 224]".
std::string shapeText(const std::vector<int64_t> &shape);

/// One tensor; `begin` and `end` are bytes after the header.
struct TensorEntry {
  std::string name;
  TensorDataType type = TensorDataType::F32;
  std::vector<int64_t> shape;
  uint64_t begin = 0;
  uint64_t end = 0;

  uint64_t elements() const { return (end - begin) / sizeOf(type); }
};

/// A file open for reading. The constructor checks it all but the data, and
/// throws std::runtime_error, naming the file, what was found and what was
/// wanted: header length, JSON, duplicate keys, unknown types, and offsets
/// that do not cover the file without holes and overlaps.
class SafeTensorsFile {
public:
  explicit SafeTensorsFile(const std::string &path);

  /// In the order of their data.
  const std::vector<TensorEntry> &tensors() const { return entries; }
  /// Null where the file has no tensor of that name.
  const TensorEntry *find(const std::string &name) const;
  const std::map<std::string, std::string> &metadata() const { return strings; }
  /// The byte of the file at which the data of `entry` begins.
  uint64_t placeOf(const TensorEntry &entry) const {
    return dataBegin + entry.begin;
  }

  /// Elements [first, first + count) of `entry`, as they are in the file.
  void read(const TensorEntry &entry, uint64_t first, uint64_t count,
            void *out) const;
  /// Elements [first, first + count) of an F32, F16 or BF16 tensor, as f32.
  void readFloats(const TensorEntry &entry, uint64_t first, uint64_t count,
                  float *out) const;

private:
  FileHandle file;
  std::string path;
  std::vector<TensorEntry> entries;
  std::map<std::string, size_t> byName;
  std::map<std::string, std::string> strings;
  uint64_t dataBegin = 0;
};

/// A key that some object of the JSON text has twice, or "": parsers keep the
/// last one.
std::string duplicateKeyOf(const std::string &text);

/// The first bytes of a file of `entries`, length and header; sets `begin` and
/// `end` of each, one after the other. Tensors begin at a multiple of 8.
std::string
makeSafeTensorsHeader(std::vector<TensorEntry> &entries,
                      const std::map<std::string, std::string> &metadata = {});

} // namespace zrt

#endif // ZERO_RUNTIME_IO_SAFETENSORS_H
