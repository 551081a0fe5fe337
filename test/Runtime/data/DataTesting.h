// Arrays and files of arrays, for tests of data.
#ifndef ZERO_TEST_RUNTIME_DATA_DATATESTING_H
#define ZERO_TEST_RUNTIME_DATA_DATATESTING_H

#include "../MessageOf.h"

#include "io/SafeTensors.h"
#include "program/Program.h"

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace zrt::test {

/// One array and its bytes.
struct Array {
  TensorEntry entry;
  std::string bytes;
};

template <typename T> std::string bytesOf(const std::vector<T> &values) {
  return {reinterpret_cast<const char *>(values.data()),
          values.size() * sizeof(T)};
}

template <typename T>
Array array(const std::string &name, TensorDataType type,
            std::vector<int64_t> shape, const std::vector<T> &values) {
  Array result;
  result.entry.name = name;
  result.entry.type = type;
  result.entry.shape = std::move(shape);
  result.bytes = bytesOf(values);
  return result;
}

/// The bytes of a safetensors file.
inline std::string fileOf(const std::vector<Array> &arrays) {
  std::vector<TensorEntry> entries;
  std::string bytes;
  for (const Array &array : arrays) {
    entries.push_back(array.entry);
    bytes += array.bytes;
  }
  return makeSafeTensorsHeader(entries) + bytes;
}

/// The bytes of a .npy file with this header; `length` is what it announces,
/// by default the truth.
inline std::string npyOf(const std::string &header, const std::string &data,
                         int version = 1, int64_t length = -1) {
  const auto announced = uint64_t(length < 0 ? int64_t(header.size()) : length);
  std::string bytes = "\x93NUMPY";
  bytes += char(version);
  bytes += '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i)
    bytes += char(announced >> (8 * i));
  return bytes + header + data;
}

/// The header that NumPy writes.
inline std::string npyHeader(const std::string &descr, const std::string &shape,
                             const std::string &fortran = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + fortran +
         ", 'shape': " + shape + ", }   \n";
}

inline Input input(const std::string &name, DataType type,
                   std::vector<int64_t> shape) {
  Input result;
  result.name = name;
  result.type = {type, std::move(shape)};
  return result;
}

/// A folder that lives as long as a test.
class TemporaryFolder {
public:
  TemporaryFolder() {
    const char *parent = std::getenv("TMPDIR");
    name = std::string(parent ? parent : "/tmp") + "/zero-test-XXXXXX";
    if (!::mkdtemp(name.data()))
      throw std::runtime_error("cannot make a temporary folder");
  }
  ~TemporaryFolder() { std::filesystem::remove_all(name); }
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &operator=(const TemporaryFolder &) = delete;

  const std::string &path() const { return name; }
  std::string operator/(const std::string &file) const {
    return name + "/" + file;
  }
  void write(const std::string &file, const std::string &content) const {
    std::ofstream(*this / file, std::ios::binary) << content;
  }

private:
  std::string name;
};

} // namespace zrt::test

#endif // ZERO_TEST_RUNTIME_DATA_DATATESTING_H
