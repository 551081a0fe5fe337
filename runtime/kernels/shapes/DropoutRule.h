// Which elements dropout keeps, from the spec of a kernel that drops some.
#ifndef ZERO_RUNTIME_KERNELS_SHAPES_DROPOUTRULE_H
#define ZERO_RUNTIME_KERNELS_SHAPES_DROPOUTRULE_H

#include "program/Program.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

namespace zrt {

/// Element i of global sample n is kept where word i mod 4 of
/// philox({i / 4, id, n low, n high}, seed) is at least `threshold`, and is
/// multiplied by `scale` then.
struct DropoutRule {
  uint32_t id, threshold;
  float scale;

  /// `probability` is the attribute's name.
  DropoutRule(const KernelSpec &spec, const std::string &probability)
      : id(static_cast<uint32_t>(spec.integer("id"))) {
    const double p = spec.real(probability);
    // A word is an integer: at least p * 2^32 is at least its ceiling. The
    // largest p below 1 has none: there the last word is kept all the same.
    threshold = static_cast<uint32_t>(
        std::min(std::ceil(std::ldexp(p, 32)), 4294967295.0));
    scale = static_cast<float>(1 / (1 - p));
  }
};

} // namespace zrt

#endif // ZERO_RUNTIME_KERNELS_SHAPES_DROPOUTRULE_H
