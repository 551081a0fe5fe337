// What kernels of quantized elements are made for.
#ifndef ZERO_RUNTIME_PROGRAM_QUANTIZEDKERNELS_H
#define ZERO_RUNTIME_PROGRAM_QUANTIZEDKERNELS_H

#include "program/Program.h"
#include "program/Quantization.h"

#include <algorithm>

namespace zrt {

/// How what is lost by quantizing is fed back: see `#zero.feedback`.
struct Feedback {
  float beta, rest; ///< rest is 1 - beta
  /// Updates until all errors are zero again, and micro-batches of an update.
  int64_t reset, accumulation;
};
inline Feedback feedbackOf(const KernelSpec &spec) {
  const double beta = spec.real("beta");
  return {float(beta), float(1 - beta), spec.integer("reset"),
          spec.integer("accumulation")};
}

/// Whether the program keeps errors of quantized gradients.
inline bool feedsErrorsBack(const Program &program) {
  return std::any_of(program.kernels.begin(), program.kernels.end(),
                     [](const KernelSpec &spec) {
                       return spec.name == "zero.quantize_feedback";
                     });
}

inline Quantization quantizationOf(const KernelSpec &spec) {
  return {spec.integer("bits"), spec.integer("block")};
}
/// The pieces of a spec; without any, all of the first operand is one.
inline QuantizedPieces piecesOf(const KernelSpec &spec) {
  return {spec.integer("ranks", 1), spec.integer("pieces", 1),
          spec.integer("piece", spec.operands[0].elements())};
}

} // namespace zrt

#endif // ZERO_RUNTIME_PROGRAM_QUANTIZEDKERNELS_H
