// A hand-made program of real kernels: the next byte from the last one.
#ifndef ZERO_TEST_RUNTIME_TRAINER_BIGRAMPROGRAM_H
#define ZERO_TEST_RUNTIME_TRAINER_BIGRAMPROGRAM_H

#include "program/Program.h"

namespace zrt::test {

/// One table of [256, 256] logits, trained by AdamW at stage 0 on sequences of
/// [2, 16] bytes. Deterministic runs sum squares exactly.
Program makeBigramProgram(int ranks, int accumulation);

} // namespace zrt::test

#endif // ZERO_TEST_RUNTIME_TRAINER_BIGRAMPROGRAM_H
