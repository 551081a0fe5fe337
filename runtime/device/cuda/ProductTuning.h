// Products are timed once for all ranks, and for later runs.
#ifndef ZERO_RUNTIME_DEVICE_CUDA_PRODUCTTUNING_H
#define ZERO_RUNTIME_DEVICE_CUDA_PRODUCTTUNING_H

#include "communicator/Communicator.h"
#include "kernels/cuda/ProductChoices.h"

#include <string>
#include <vector>

namespace zrt {

/// Called by all ranks, of which the first reads and writes the file. Where one
/// fails all do: std::runtime_error there, PeerError on the others.
class ProductTuning {
public:
  /// Reads the file at `path`, where there is one.
  ProductTuning(std::string path, cuda::ProductProcessor processor,
                cuda::ProductChoices::Timer timer, Communicator &communicator);

  /// The choices that the kernels of this rank ask for.
  cuda::ProductChoices &choices() { return own; }

  /// Measures what the kernels of any rank want: the lowest rank that wants
  /// something does so for all with its processor, so that replicas add in the
  /// same order. Returns what was done, for people.
  std::string finish();

private:
  int firstOpen();

  const std::string path;
  Communicator &communicator;
  cuda::ProductChoices own;
  std::vector<cuda::ProductRecord> records; ///< of all processors
};

} // namespace zrt

#endif // ZERO_RUNTIME_DEVICE_CUDA_PRODUCTTUNING_H
