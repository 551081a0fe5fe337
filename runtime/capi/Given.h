// Gradients of micro-batches that a caller gives.
#ifndef ZERO_RUNTIME_CAPI_GIVEN_H
#define ZERO_RUNTIME_CAPI_GIVEN_H

#include "capi/Batch.h"
#include "state/Arenas.h"

#include <map>
#include <utility>

namespace zrt {

/// The gradient of the parameter `name` for a micro-batch, numbered as those of
/// a batch. Dense and row-major. Borrowed.
struct NamedGradient {
  std::string name;
  int64_t micro = 0;
  const void *data = nullptr;
  DataType type = DataType::F32;
  std::vector<int64_t> shape;
};

/// Checked gradients of the micro-batches of an update. What is not given is 0.
class Given {
public:
  /// Throws ArgumentError where the program takes none, a name is of no
  /// parameter that is trained, a gradient comes twice, or a type, a shape or a
  /// number is another.
  Given(const Program &program, const std::vector<NamedGradient> &gradients);

  /// Writes those of micro-batch `micro` to where the program of `rank` reads
  /// them.
  void fill(int64_t micro, const Arenas &arenas, int rank) const;

private:
  size_t indexOf(const std::string &name) const;
  void check(const Parameter &parameter, const NamedGradient &gradient) const;

  const Program &program;
  /// By index into `Program::given` and micro-batch.
  std::map<std::pair<size_t, int64_t>, const void *> values;
};

} // namespace zrt

#endif // ZERO_RUNTIME_CAPI_GIVEN_H
