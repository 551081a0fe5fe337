// Arrays of a caller as the micro-batches of all ranks.
#ifndef ZERO_RUNTIME_CAPI_BATCH_H
#define ZERO_RUNTIME_CAPI_BATCH_H

#include "data/Batches.h"
#include "data/StoredArrays.h"

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace zrt {

/// The error of a call with wrong arguments, which has done nothing.
class ArgumentError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// Dense and row-major; dimension 0 counts samples. Borrowed.
struct NamedArray {
  std::string name;
  const void *data = nullptr;
  DataType type = DataType::F32;
  std::vector<int64_t> shape;
};

/// Checked micro-batches. Arrays of one name follow each other; each holds
/// whole micro-batches. An input whose first dimension is not the micro-batch
/// is shared by all samples and given once.
class Batch {
public:
  /// Throws ArgumentError where a name is no input's, an input is missing, a
  /// type or a shape is another, inputs disagree in their number of samples,
  /// or an id is outside its table.
  Batch(const Program &program, const std::vector<NamedArray> &arrays);

  /// Micro-batches, of all ranks together.
  int64_t count() const { return micros; }
  int64_t samples() const { return micros * microBatch; }

  /// Copies micro-batch `micro` to `inputs`, in the order of
  /// `Program::inputs`.
  void fill(int64_t micro, void *const *inputs) const;

private:
  struct Part {
    const char *data;
    DataType type;
    int64_t first, count; ///< micro-batches
  };

  bool isShared(const Input &input) const;
  void add(size_t input, const NamedArray &array);
  void check(size_t input, const NamedArray &array) const;

  const Program &program;
  int64_t microBatch, micros = -1;
  std::vector<std::vector<Part>> parts; ///< by input
};

} // namespace zrt

#endif // ZERO_RUNTIME_CAPI_BATCH_H
