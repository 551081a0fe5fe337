// When a probability may be taken from the logarithm of a row's sum of
// exponentials.
#ifndef ZERO_RUNTIME_PROGRAM_LOGSUMEXP_H
#define ZERO_RUNTIME_PROGRAM_LOGSUMEXP_H

namespace zrt {

/// Whether e^(x - lse) differs from the probability of x by more than a few
/// roundings. An f32 `lse` is rounded by up to |lse| / 2^24, and the
/// probability has that relative error: 4e-6 at 64, and all of the logarithm is
/// lost where a mask has hidden every element of a row by -1e9. Kernels then
/// take the largest element and the sum from the row. An infinite `lse` has no
/// digits to lose. A copy for each file: host kernels are compiled for several
/// instruction sets.
static constexpr bool losesDigits(float lse) {
  return (lse > 64.0f || lse < -64.0f) && lse - lse == 0.0f;
}

} // namespace zrt

#endif // ZERO_RUNTIME_PROGRAM_LOGSUMEXP_H
