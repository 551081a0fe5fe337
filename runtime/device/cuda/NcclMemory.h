// Memory of collectives, which NCCL allocates and every communicator knows.
#ifndef ZERO_RUNTIME_DEVICE_CUDA_NCCLMEMORY_H
#define ZERO_RUNTIME_DEVICE_CUDA_NCCLMEMORY_H

#include "device/Device.h"
#include "device/cuda/NcclChannel.h"

#include <functional>
#include <list>

namespace zrt::nccl {

/// Blocks are registered as buffers, which is a rank's own matter, and as
/// symmetric windows, which all ranks make at once; begin and size are the same
/// on each.
class NcclMemory final : public Memory {
public:
  /// The channels are open, and borrowed as `device` is.
  NcclMemory(Device &device, std::vector<Channel *> channels, bool windows)
      : device(device), channels(std::move(channels)), windows(windows) {}

  /// What an attempt left that failed: communicators have forgotten it by now.
  ~NcclMemory() override;

  void *allocate(uint64_t bytes, const char *what) override;
  void release(void *address) override;
  void write(void *to, const void *from, size_t bytes) override {
    device.write(to, from, bytes);
  }
  void read(void *to, const void *from, size_t bytes) override {
    device.read(to, from, bytes);
  }

  /// Throws std::runtime_error where NCCL does not take a block, which is gone
  /// again, within `seconds`; 0: as long as anything else may take. All ranks
  /// call it at once.
  void attempt(double seconds);

  /// "4 arenas registered, 4 of them as windows".
  std::string describe() const;

private:
  /// The handles of a block in one channel.
  struct Entry {
    Channel *channel = nullptr;
    void *handle = nullptr;
    void *window = nullptr; ///< null: the library makes none here
  };
  struct Block {
    void *address = nullptr;
    std::list<Entry> entries; ///< NCCL writes into them until it has settled
  };

  /// A new block that all channels know. Where one does not take it, it is left
  /// as it is.
  void *make(uint64_t bytes, const char *what);
  void enroll(Channel &channel, Block &block, uint64_t bytes);
  /// What `enroll` did, undone and settled.
  static void withdraw(Entry &entry);

  Device &device;
  std::vector<Channel *> channels;
  bool windows;
  double patience = 0; ///< for a block; 0: the channel's
  std::list<Block> blocks;
};

} // namespace zrt::nccl

#endif // ZERO_RUNTIME_DEVICE_CUDA_NCCLMEMORY_H
