// The inner loops of the optimizer kernels.
//
// All of them take half-open ranges of elements and are free of state, so a
// range can be cut anywhere. Types are F32, F16 or BF16.
#ifndef ZERO_RUNTIME_KERNELS_OPTIMIZER_LOOPS_H
#define ZERO_RUNTIME_KERNELS_OPTIMIZER_LOOPS_H

#include "program/DataType.h"
#include "program/UpdateRules.h"

#include <cstdint>

namespace zrt {

/// The scalars of an update.
template <typename Rule> struct UpdateScalars {
  float factor; ///< gradients are multiplied by this first
  float l2;     ///< then this times the parameter is added
  typename Rule::Scalars rule;
};

/// The buffers of a parameter update. `parameter` is the f32 master, or the f32
/// parameter itself; `compute` is the 16-bit copy, or null. With `remainder`,
/// `parameter` is null: the master is `compute`, which is bf16, and these lower
/// 16 bits.
struct UpdateBuffers {
  const void *gradient;
  float *parameter;
  uint16_t *remainder;
  float *states[kMostStates]; ///< null where there are none
  void *compute;
};

template <typename Rule> struct UpdateArguments : UpdateBuffers {
  UpdateScalars<Rule> scalars;
  DataType gradientType, computeType;
};

/// Tables of `exactSquares`: sums of squared mantissas by biased exponent.
/// Several, so that neighbours with one exponent do not wait for each other.
inline constexpr int kSquareTables = 8;
inline constexpr int kSquareExponents = 256;

/// Elements after which `exactSquares` may have filled a 64-bit sum: squares
/// have 48 bits, and each table takes one element of kSquareTables.
inline constexpr int64_t kSquaresPerFlush = int64_t(kSquareTables) << 16;

namespace loops {

/// to[i] = from[i], rounded to nearest even.
void convert(DataType fromType, const void *from, DataType toType, void *to,
             int64_t begin, int64_t end);

/// to[i] += from[i].
void add(DataType fromType, const void *from, float *to, int64_t begin,
         int64_t end);

/// How many elements are inf or NaN.
int64_t countNonFinite(DataType type, const void *from, int64_t begin,
                       int64_t end);

/// The sum of squares in f64. Its order, and hence its last bits, depends on
/// `begin` and `end` alone. Adds the number of inf and NaN to `nonFinite`.
double sumSquares(DataType type, const void *from, int64_t begin, int64_t end,
                  int64_t &nonFinite);

/// tables[t * kSquareExponents + e] += the squared 24-bit mantissa of each
/// element with biased exponent e. At most kSquaresPerFlush elements may be
/// added between two clearings; inf and NaN go to exponent 255.
void exactSquares(DataType type, const void *from, int64_t begin, int64_t end,
                  uint64_t *tables);

/// For each rule of ZRT_FOR_EACH_UPDATE_RULE.
template <typename Rule>
void update(const UpdateArguments<Rule> &arguments, int64_t begin, int64_t end);

} // namespace loops
} // namespace zrt

#endif // ZERO_RUNTIME_KERNELS_OPTIMIZER_LOOPS_H
