// Arrays as samples, one array for each input of the step.
#ifndef ZERO_RUNTIME_DATA_ARRAYDATASET_H
#define ZERO_RUNTIME_DATA_ARRAYDATASET_H

#include "data/Dataset.h"
#include "data/StoredArrays.h"

#include <memory>
#include <string>
#include <vector>

namespace zrt {

/// The meaning of the first dimension of an input's array.
enum class ArrayRole : uint8_t {
  Samples, ///< rows of the input
  Batches, ///< whole inputs, each of which is a micro-batch
  Shared,  ///< nothing: the array is the input, for all samples
};

/// The array of one input.
struct BoundArray {
  const StoredArray *array = nullptr;
  ArrayRole role = ArrayRole::Samples;
};

/// Arrays bound to the inputs of a step, and checked.
struct BoundArrays {
  std::shared_ptr<const StoredArrays> file; ///< keeps the arrays
  std::vector<BoundArray> byInput;
  uint64_t count = 0; ///< samples, or micro-batches
  bool wholeBatches = false;
};

/// Opens `path` for `inputs`. Throws std::runtime_error, naming the file and
/// the array, where an input has no array, where one has another shape or
/// cannot become the input's type, and where arrays have unlike counts.
BoundArrays bindArrays(const std::string &path,
                       const std::vector<Input> &inputs);

/// Samples [begin, end) of `arrays`. Throws std::runtime_error where there is
/// none.
std::unique_ptr<Dataset> makeArrayDataset(const BoundArrays &arrays,
                                          uint64_t begin, uint64_t end,
                                          const std::vector<Input> &inputs);

/// Names what is not read: arrays that no input has the name of, and files of
/// the folder that hold no arrays; or "".
std::string remarkOnOthers(const StoredArrays &file,
                           const std::vector<Input> &inputs);

} // namespace zrt

#endif // ZERO_RUNTIME_DATA_ARRAYDATASET_H
