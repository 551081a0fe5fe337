// What values of a run are usual, from those that it has had.
#ifndef ZERO_RUNTIME_SELFCHECK_USUAL_H
#define ZERO_RUNTIME_SELFCHECK_USUAL_H

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace zrt {

/// Follows a value from update to update.
class Usual {
public:
  /// How many mean deviations are far off.
  static constexpr double kFar = 20;
  /// Values from which on it judges.
  static constexpr int64_t kFirst = 20;

  /// Whether a value is not finite, or far from the mean of the last ones.
  bool isFarOff(double value) const {
    if (!std::isfinite(value))
      return true;
    const double room = std::max(kFar * deviation, 0.1 * std::fabs(center));
    return seen >= kFirst && std::fabs(value - center) > room;
  }

  double mean() const { return center; }

  void add(double value) {
    if (!std::isfinite(value))
      return;
    // The first values count alike, the last 32 of many most.
    const double weight = 1 / double(std::min<int64_t>(seen + 1, 32));
    if (seen > 0)
      deviation += weight * (std::fabs(value - center) - deviation);
    center += weight * (value - center);
    ++seen;
  }

private:
  int64_t seen = 0;
  double center = 0, deviation = 0;
};

} // namespace zrt

#endif // ZERO_RUNTIME_SELFCHECK_USUAL_H
