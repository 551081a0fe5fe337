// Which communicators NCCL needs for the collectives of a program.
#ifndef ZERO_RUNTIME_DEVICE_CUDA_NCCLCHANNELS_H
#define ZERO_RUNTIME_DEVICE_CUDA_NCCLCHANNELS_H

#include "device/cuda/NcclChannel.h"

namespace zrt::nccl {

/// Whether collectives of several communicators may run at once: in an order
/// that NCCL keeps, from 2.26 on, that of the host's calls, which is one for
/// all ranks. Stages of a pipeline have no such order, since a message that is
/// not received would keep all that is started behind it; their collectives run
/// one after the other. Called before NCCL starts, which reads a variable then.
bool ordersCommunicators(const Program &program);

/// Which streams have collectives of which groups, on any rank: stages of a
/// pipeline run different commands, and all make the same communicators.
class Uses {
public:
  /// All ranks of `host` call it at once.
  Uses(const Program &program, Communicator &host);

  /// Calls `body` with each group and stream, in one order on all ranks.
  template <typename Body> void forEach(Body body) const {
    for (uint32_t group = 0; group < groups; ++group)
      for (Stream stream : kCasesOf<Stream>)
        if (counts[placeOf(group, stream)])
          body(group, stream);
  }

private:
  static size_t placeOf(uint32_t group, Stream stream) {
    return size_t(group) * kCountOf<Stream> + static_cast<size_t>(stream);
  }

  size_t groups;
  std::vector<int32_t> counts;
};

/// A communicator for each stream that the program uses, or one for all.
struct Channels {
  std::array<Channel, kCountOf<Stream>> all;
  bool areOrdered = true;

  /// Streams whose communicators would have no order share a queue as well.
  Stream queueOf(Stream stream) const {
    return areOrdered || stream == Stream::Compute ? stream : Stream::Exchange;
  }
  Channel &of(Stream stream) {
    return all[areOrdered ? static_cast<size_t>(stream) : 0];
  }
  const Channel &operator[](Stream stream) const {
    return const_cast<Channels &>(*this).of(stream);
  }
  /// Adds those that are open to `to`.
  void listOpen(std::vector<Channel *> &to);
};

} // namespace zrt::nccl

#endif // ZERO_RUNTIME_DEVICE_CUDA_NCCLCHANNELS_H
