// Which data a run reads, in a few bytes.
#ifndef ZERO_RUNTIME_DATA_DATADIGEST_H
#define ZERO_RUNTIME_DATA_DATADIGEST_H

#include "data/Dataset.h"

#include <cstdint>
#include <functional>
#include <vector>

namespace zrt {

/// The samples that tell data apart: the first, the middle and the last one of
/// `samples`. To read all would take long.
std::vector<uint64_t> telling(uint64_t samples);

/// The digest of the samples in `telling`, whatever the size of micro-batches.
/// `read` writes the sample at place `place` of `telling` to the first of the
/// `rows` rows of `inputs`.
uint64_t digestOfSamples(
    const std::vector<Input> &inputs, uint64_t rows,
    const std::function<void(size_t place, void *const *inputs)> &read);

/// The digest of a dataset for `inputs`.
uint64_t digestOfData(const std::vector<Input> &inputs, const Dataset &data);

} // namespace zrt

#endif // ZERO_RUNTIME_DATA_DATADIGEST_H
