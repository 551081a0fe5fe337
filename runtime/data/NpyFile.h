// The .npy file format: a header of text and one flat array.
//
// numpy.lib.format: "\x93NUMPY", two bytes of version, the header's length (16
// bits in version 1, 32 bits in versions 2 and 3), the header, which is a
// Python dictionary of `descr`, `fortran_order` and `shape`, and the elements.
#ifndef ZERO_RUNTIME_DATA_NPYFILE_H
#define ZERO_RUNTIME_DATA_NPYFILE_H

#include "io/SafeTensors.h"

#include <cstdint>
#include <string>
#include <vector>

namespace zrt {

/// A file open for reading. The constructor checks it all but the elements,
/// and throws std::runtime_error, naming the file, what was found, what was
/// wanted and what to do: version, header, element type, byte order, order of
/// dimensions, and a size that is the shape's.
class NpyFile {
public:
  explicit NpyFile(const std::string &path);

  TensorDataType type() const { return elementType; }
  const std::vector<int64_t> &shape() const { return sizes; }

  /// Elements [first, first + count), as they are in the file.
  void read(uint64_t first, uint64_t count, void *out) const;

private:
  FileHandle file;
  std::string path;
  TensorDataType elementType = TensorDataType::F32;
  std::vector<int64_t> sizes;
  uint64_t dataBegin = 0;
};

} // namespace zrt

#endif // ZERO_RUNTIME_DATA_NPYFILE_H
