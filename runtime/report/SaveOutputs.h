// What a model says of samples, as a file.
#ifndef ZERO_RUNTIME_REPORT_SAVEOUTPUTS_H
#define ZERO_RUNTIME_REPORT_SAVEOUTPUTS_H

#include "data/Batches.h"
#include "engine/Trainer.h"

#include <functional>
#include <string>

namespace zrt {

/// The outputs that the model names, without the loss. Throws
/// std::runtime_error where there are none.
std::vector<const Output *> namedOutputs(const Program &program);

/// Whether dimension 0 of an output counts the samples of a micro-batch.
bool hasRowsOfSamples(const Program &program, const Output &output);

/// Runs the evaluation on all validation samples, in their order, and writes
/// the named outputs to a safetensors file. An output whose dimension 0 is the
/// micro-batch has a row for each sample; of any other, the file holds one
/// value a micro-batch, along a new dimension 0, and where samples do not fill
/// the last micro-batches the first ones fill them. Called by all ranks;
/// returns the number of samples. Where `goesOn`, asked between two of them,
/// says no on all ranks, nothing is written. Throws std::runtime_error where
/// the file cannot be written.
uint64_t saveOutputs(const std::string &path, const Program &program,
                     Backend &backend, Trainer &trainer, const Batches &batches,
                     Communicator &communicator,
                     const std::function<bool()> &goesOn);

} // namespace zrt

#endif // ZERO_RUNTIME_REPORT_SAVEOUTPUTS_H
