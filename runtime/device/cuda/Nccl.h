// NCCL, as a library of collectives of a device.
//
// Sums only; prescaled ones multiply by a power of two before, which is exact
// but for subnormals. The parts of an operation are one group, in place
// wherever the program says so. Each stream that the program uses has an NCCL
// communicator of its own: operations of one communicator run one after the
// other. Communicators do not block the host, and are aborted where a rank
// fails.
#ifndef ZERO_RUNTIME_DEVICE_CUDA_NCCL_H
#define ZERO_RUNTIME_DEVICE_CUDA_NCCL_H

#include "device/StreamCommunicator.h"

namespace zrt {

struct NcclOptions {
  /// The memory of collectives is NCCL's and known to every communicator: a
  /// collective then needs no buffers of its own between ranks. Where NCCL has
  /// symmetric windows (2.27 and later) and `windows` is set, it is one.
  bool registers = true, windows = true;
  /// For anything that waits for other ranks; 0: for ever.
  double timeoutSeconds = 600;
};

/// Joins the ranks of `host`, over which the ids travel. `program` says which
/// streams have collectives; those get a communicator, or share one where NCCL
/// is older than 2.26. `device` is this thread's. Throws CommunicationError
/// where NCCL cannot start.
std::unique_ptr<CollectiveQueue> makeNccl(const Program &program,
                                          Device &device, Communicator &host,
                                          const NcclOptions &options = {});

/// "2.28.9", of the library that was loaded.
std::string ncclVersion();

/// Whether that library lets ranks share a device: 2.30 and later do where
/// NCCL_MULTI_RANK_GPU_ENABLE is 1.
bool ncclSharesDevices();

} // namespace zrt

#endif // ZERO_RUNTIME_DEVICE_CUDA_NCCL_H
