// The samples of one update of a rank, for whoever computes it again.
#ifndef ZERO_RUNTIME_SELFCHECK_UPDATESAMPLES_H
#define ZERO_RUNTIME_SELFCHECK_UPDATESAMPLES_H

#include <cstdint>
#include <functional>
#include <string>

namespace zrt {

struct UpdateSamples {
  /// Fills the inputs of a micro-batch with the samples of the rank that is
  /// `moved` places further among those that have some.
  std::function<void(int64_t micro, void *const *inputs, uint64_t moved)> fill;
  /// The place in the data of a row of this rank's micro-batch, for messages.
  std::function<std::string(int64_t micro, uint64_t row)> placeOf;
  uint64_t rows = 0; ///< of a micro-batch
};

} // namespace zrt

#endif // ZERO_RUNTIME_SELFCHECK_UPDATESAMPLES_H
