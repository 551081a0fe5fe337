// What kernels of quantized elements are made for.
#ifndef ZERO_RUNTIME_PROGRAM_QUANTIZEDKERNELS_H
#define ZERO_RUNTIME_PROGRAM_QUANTIZEDKERNELS_H

#include "program/Program.h"
#include "program/Quantization.h"

namespace zrt {

inline Quantization quantizationOf(const KernelSpec &spec) {
  return {spec.integer("bits"), spec.integer("block")};
}
/// Without pieces, all of the first operand is one.
inline QuantizedPieces piecesOf(const KernelSpec &spec) {
  return {spec.integer("ranks", 1), spec.integer("pieces", 1),
          spec.integer("piece", spec.operands[0].elements())};
}

} // namespace zrt

#endif // ZERO_RUNTIME_PROGRAM_QUANTIZEDKERNELS_H
