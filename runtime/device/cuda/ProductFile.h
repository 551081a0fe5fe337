// The file in which runs find what others have measured of their products.
#ifndef ZERO_RUNTIME_DEVICE_CUDA_PRODUCTFILE_H
#define ZERO_RUNTIME_DEVICE_CUDA_PRODUCTFILE_H

#include "kernels/cuda/ProductChoices.h"

#include <string>
#include <vector>

namespace zrt {

/// JSON, a line for each record.
std::string formatProducts(const std::vector<cuda::ProductRecord> &records);

/// Parses text that `formatProducts` wrote. Throws std::runtime_error, naming
/// `path`, what was found and what to do, if `text` is anything else, or has
/// two records of one product on one processor.
std::vector<cuda::ProductRecord> parseProducts(const std::string &text,
                                               const std::string &path);

/// None where there is no such file. Throws as `parseProducts`, and where it
/// cannot be read.
std::vector<cuda::ProductRecord> readProducts(const std::string &path);

/// Puts a file in the place of what is at `path`, at once. Throws
/// std::runtime_error, naming the file and the reason.
void writeProducts(const std::vector<cuda::ProductRecord> &records,
                   const std::string &path);

} // namespace zrt

#endif // ZERO_RUNTIME_DEVICE_CUDA_PRODUCTFILE_H
