//===- Modes.h - what zero-checkpoint does ----------------------*- C++ -*-===//

#ifndef ZERO_TOOLS_CHECKPOINT_MODES_H
#define ZERO_TOOLS_CHECKPOINT_MODES_H

#include "checkpoint/Folder.h"

#include <iosfwd>

namespace zrt {

/// All functions throw std::runtime_error with one sentence.

/// The checkpoint at `path`, or the newest complete one of a run's folder, with
/// remarks on standard error of what is passed over.
FoundCheckpoint openCheckpoint(const std::string &path);

/// Prints a line for each checkpoint of a run's folder.
void listCheckpoints(const std::string &folder, std::ostream &out);

/// Reads the checkpoint at `path`, or all of a run's folder, and prints what is
/// not as it was written; true where all is.
bool verifyCheckpoints(const std::string &path, std::ostream &out);

/// Prints where two checkpoints differ, state by state and element by element,
/// whatever ranks have written them; true where they are equal bit by bit.
bool compareCheckpoints(const std::string &first, const std::string &second,
                        std::ostream &out);

struct ExportOptions {
  std::string checkpoint, output;
  TensorDataType type = TensorDataType::F32;
  uint64_t mostBytes = 0; ///< of tensors in a file; 0: one file
};

/// Writes the parameters as safetensors: to `output`, or, where that would have
/// more than `mostBytes` of tensors, to several files beside it and an index.
/// Holds a bounded part of the model at a time.
void exportWeights(const ExportOptions &options, std::ostream &out);

} // namespace zrt

#endif // ZERO_TOOLS_CHECKPOINT_MODES_H
