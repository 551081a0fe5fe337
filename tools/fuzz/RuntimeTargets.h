// The readers of the runtime.
#ifndef ZERO_TOOLS_FUZZ_RUNTIMETARGETS_H
#define ZERO_TOOLS_FUZZ_RUNTIMETARGETS_H

#include "Target.h"

namespace fuzz {

/// The program in an executable: bytes that `serialize` writes.
Target programTarget();
/// The command line of an executable, one word a line; the first line is
/// `device` for a program of a device.
Target optionsTarget();
/// Weights, as loadWeights reads them.
Target weightsTarget();
/// Arrays as training data. After the types of the inputs, a digit each, and
/// the end of a line, there is the file.
Target arraysTarget();
/// A .npy file as training data, after the type of the input, a digit, and the
/// end of a line.
Target npyTarget();
/// Token files. The first byte is the kind of file, the second the length of
/// a sequence.
Target tokensTarget();
/// What another process sends over a connection.
Target messagesTarget();

} // namespace fuzz

#endif // ZERO_TOOLS_FUZZ_RUNTIMETARGETS_H
