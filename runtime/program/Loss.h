// What kernels and data agree on about losses.
#ifndef ZERO_RUNTIME_PROGRAM_LOSS_H
#define ZERO_RUNTIME_PROGRAM_LOSS_H

#include <cstdint>

namespace zrt {

/// Rows with this target do not count in a loss whose spec names no
/// "ignore_index".
inline constexpr int64_t kIgnoreIndex = -100;

} // namespace zrt

#endif // ZERO_RUNTIME_PROGRAM_LOSS_H
