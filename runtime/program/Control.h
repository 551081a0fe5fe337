// The control block: what an update decides, in device memory.
//
// Kernels read and write it, so the host never waits for the device to decide.
// It lives at offset 0 of the control arena.
#ifndef ZERO_RUNTIME_PROGRAM_CONTROL_H
#define ZERO_RUNTIME_PROGRAM_CONTROL_H

#include <cstddef>
#include <cstdint>

namespace zrt {

/// Most parameter groups (partitions) that a program may have.
inline constexpr int kMaxGroups = 256;

/// Words of the exact sum of squares: a fixed-point number of 64-bit limbs
/// that covers every product of two finite f32 values (2^-298 .. 2^256) and
/// 2^64 summands; each limb holds 32 bits and 32 bits of carry room.
inline constexpr int kNormLimbs = 24;

struct Control {
  // Written by the host before each micro-batch or update.
  float learningRate[kMaxGroups]; ///< of each partition, this update
  uint64_t seed;
  uint64_t batch; ///< global micro-batches consumed, skipped updates included
  int32_t microIndex; ///< 0 .. accumulation-1 in this update
  int32_t evaluating; ///< 1 in the evaluate region: dropout is off
  // Written by kernels.
  float lossSeed;   ///< scale / accumulation: the gradient of the loss
  float scale;      ///< loss scale of this update
  float factor;     ///< what updates multiply a gradient by: unscale, 1/n, clip
  float unscale;    ///< the same without clip and weights, for no gradients
  float meanWeight; ///< of the micro-batches of this update; 1 without weights
  float norm;       ///< global gradient norm, unscaled
  int32_t finite;   ///< 1 when the update runs
  int32_t fatal;    ///< 1 after an overflow at the minimum scale
  int64_t steps;    ///< updates done (skipped ones do not count)
  int64_t skipped;  ///< updates skipped
  // The dynamic scaler (DeepSpeed's rule).
  int64_t iteration;
  int64_t lastOverflow;
  int32_t hysteresis;
  int32_t outOfRange; ///< on a device: 1 after an id that no table has
  // Reduced over ranks with sums: limbs and count as i64 in deterministic
  // runs, else the count as i64 and `normSum` as f64.
  int64_t normLimbs[kNormLimbs]; ///< exact sum of squares, see kNormLimbs
  int64_t nonFinite;             ///< gradient elements that are inf or NaN
  double normSum;                ///< sum of squares, where it is not exact
  double lossSum;   ///< over the micro-batches of this update, this rank
  double weightSum; ///< of their weights; 0 where they have none
  // Of this rank alone, for the report.
  /// Of each partition, the first stored gradient element of this rank that is
  /// inf or NaN, as an index into its stored slices; -1 where there is none.
  int64_t firstNonFinite[kMaxGroups];
};

/// Bytes at the block's begin that the host writes and kernels only read.
inline constexpr size_t kControlHostBytes = offsetof(Control, lossSeed);

} // namespace zrt

#endif // ZERO_RUNTIME_PROGRAM_CONTROL_H
