// Files of arrays, one for each input of the step.
#ifndef ZERO_RUNTIME_DATA_ARRAYFILE_H
#define ZERO_RUNTIME_DATA_ARRAYFILE_H

#include "data/Dataset.h"
#include "state/SafeTensors.h"

#include <memory>

namespace zrt {

/// Samples [begin, end) of a file of arrays. An array has the shape
/// [samples, rest of the input's shape]. Floats become the input's float type,
/// integers its integer type. Throws std::runtime_error, naming the file and
/// the array, where one is missing, has another shape, or cannot become the
/// input's type, and where there is no sample.
std::unique_ptr<Dataset> makeArrayDataset(std::shared_ptr<SafeTensorsFile> file,
                                          const std::string &path,
                                          uint64_t begin, uint64_t end,
                                          const std::vector<Input> &inputs);

/// Samples in the file: the first dimension of the arrays named as `inputs`.
/// Throws as `makeArrayDataset`, and where arrays disagree.
uint64_t samplesOf(const SafeTensorsFile &file, const std::string &path,
                   const std::vector<Input> &inputs);

/// Names the arrays that no input has the name of, or "".
std::string remarkOnOthers(const SafeTensorsFile &file, const std::string &path,
                           const std::vector<Input> &inputs);

} // namespace zrt

#endif // ZERO_RUNTIME_DATA_ARRAYFILE_H
