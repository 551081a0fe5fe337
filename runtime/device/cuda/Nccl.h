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

#include <functional>

namespace zrt {

/// The way in which NCCL knows the memory of collectives: not at all; as
/// registered memory, so that a collective needs no buffers between ranks; or
/// as a symmetric window of all ranks (2.27 and later).
enum class NcclMemoryKind { Plain, Registered, Windows };

struct NcclOptions {
  NcclMemoryKind memory = NcclMemoryKind::Windows;
  /// Where NCCL cannot have `memory` here, all ranks go on with less, and one
  /// says why; otherwise that is an error.
  bool insists = false;
  /// Seconds that a wait for other ranks may last; 0: for ever.
  double timeoutSeconds = 600;
  /// Seconds that the first window may take; 0: as long as any other wait.
  double memorySeconds = 60;
  std::function<void(const std::string &)> tell = nullptr;
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
