#include "device/cuda/NcclMemory.h"

#include "kernels/cuda/Context.h"

#include <algorithm>

using namespace zrt;
using namespace zrt::nccl;

/// What NCCL aligns windows to is less.
static constexpr uint64_t kAttemptBytes = 2 << 20;

NcclMemory::~NcclMemory() {
  for (const Block &block : blocks)
    ncclMemFree(block.address);
}

void *NcclMemory::make(uint64_t bytes, const char *what) {
  void *address = nullptr;
  const ncclResult_t status = ncclMemAlloc(&address, bytes);
  if (status != ncclSuccess)
    throw std::runtime_error(std::string(what) + ": NCCL cannot have " +
                             std::to_string(bytes) +
                             " bytes of the device's memory (" +
                             std::to_string(device.bytesInUse()) +
                             " are in use): " + ncclGetErrorString(status) +
                             "; --collectives-memory plain uses the device's "
                             "own memory");
  blocks.emplace_back();
  blocks.back().address = address;
  cuda::check(cudaMemset(address, 0, bytes), "cudaMemset");
  cuda::check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  for (Channel *channel : channels)
    enroll(*channel, blocks.back(), bytes);
  return address;
}

void *NcclMemory::allocate(uint64_t bytes, const char *what) {
  const size_t before = blocks.size();
  try {
    return make(bytes, what);
  } catch (const std::exception &error) {
    if (blocks.size() == before)
      throw;
    release(blocks.back().address);
    throw CommunicationError(
        std::string(what) + ": " + error.what() + "; --collectives-memory " +
        (windows ? "registered" : "plain") + " does without");
  }
}

void NcclMemory::attempt(double seconds) {
  patience = seconds;
  try {
    release(make(kAttemptBytes, "memory of collectives"));
  } catch (const std::exception &error) {
    // What NCCL may be at work on stays until its communicators are aborted.
    throw std::runtime_error(error.what());
  }
  patience = 0;
}

void NcclMemory::enroll(Channel &channel, Block &block, uint64_t bytes) {
  block.entries.emplace_back();
  Entry &entry = block.entries.back();
  entry.channel = &channel;
  check(ncclCommRegister(channel.comm(), block.address, bytes, &entry.handle),
        "ncclCommRegister");
  channel.settle(patience);
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 27, 0)
  if (!windows || versionCode() < NCCL_VERSION(2, 27, 0))
    return;
  check(ncclCommWindowRegister(channel.comm(), block.address, bytes,
                               reinterpret_cast<ncclWindow_t *>(&entry.window),
                               NCCL_WIN_COLL_SYMMETRIC),
        "ncclCommWindowRegister");
  channel.settle(patience);
#endif
}

void NcclMemory::withdraw(Entry &entry) {
  if (!entry.channel->isOpen() || (!entry.window && !entry.handle))
    return;
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 27, 0)
  if (entry.window) {
    check(ncclCommWindowDeregister(entry.channel->comm(),
                                   static_cast<ncclWindow_t>(entry.window)),
          "ncclCommWindowDeregister");
    entry.channel->settle();
  }
#endif
  if (entry.handle) {
    check(ncclCommDeregister(entry.channel->comm(), entry.handle),
          "ncclCommDeregister");
    entry.channel->settle();
  }
}

/// An error here changes nothing: the memory goes in any case. An aborted
/// communicator has forgotten it.
void NcclMemory::release(void *address) {
  const auto block =
      std::find_if(blocks.begin(), blocks.end(),
                   [&](const Block &each) { return each.address == address; });
  if (block == blocks.end())
    return;
  try {
    // What is queued may still use it.
    cuda::check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    for (Entry &entry : block->entries)
      withdraw(entry);
  } catch (const std::exception &) {
    // A communicator that does not settle is not waited for a second time.
  }
  ncclMemFree(address);
  blocks.erase(block);
}

std::string NcclMemory::describe() const {
  const auto known =
      std::count_if(blocks.begin(), blocks.end(), [](const Block &block) {
        return std::any_of(block.entries.begin(), block.entries.end(),
                           [](const Entry &entry) { return entry.window; });
      });
  return std::to_string(blocks.size()) + " arenas registered" +
         (known ? ", " + std::to_string(known) + " of them as windows" : "");
}
