#include "files/UringEngine.h"

#include "io/BlockedSignals.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <sys/eventfd.h>
#include <system_error>
#include <unistd.h>
#include <utility>

using namespace zrt;

/// Stands for a request that nobody waits for any more.
static constexpr uint64_t kNobody = ~uint64_t(0);
/// How long a kernel that is short of memory is asked again, in pauses that
/// grow: ten seconds.
static constexpr std::chrono::milliseconds kPatience{10000}, kLongestPause{100};

//===----------------------------------------------------------------------===//
// Begin and end
//===----------------------------------------------------------------------===//

/// Whether this kernel (5.6 and later) reads and writes without vectors.
static bool knowsReadAndWrite(io_uring &ring) {
  io_uring_probe *probe = io_uring_get_probe_ring(&ring);
  const bool knows = probe &&
                     io_uring_opcode_supported(probe, IORING_OP_READ) &&
                     io_uring_opcode_supported(probe, IORING_OP_WRITE);
  io_uring_free_probe(probe);
  return knows;
}

/// Returns 0 or a negative errno.
int UringEngine::open(uint32_t depth) {
  if (const int error = io_uring_queue_init(depth, &ring, 0))
    return error;
  hasRing = true;
  if (!knowsReadAndWrite(ring))
    return -EOPNOTSUPP;
  events = ::eventfd(0, EFD_CLOEXEC);
  if (events < 0)
    return -errno;
  return io_uring_register_eventfd(&ring, events);
}

std::unique_ptr<FileEngine> UringEngine::make(uint32_t depth,
                                              std::string &reason) {
  std::unique_ptr<UringEngine> engine(new UringEngine);
  const int error = engine->open(depth);
  if (error == 0)
    return engine;
  reason = std::strerror(-error);
  return nullptr;
}

UringEngine::~UringEngine() {
  if (thread.joinable()) {
    {
      std::lock_guard<std::mutex> lock(mutex);
      ending = true;
    }
    wake();
    thread.join();
  }
  if (hasRing)
    io_uring_queue_exit(&ring);
  if (events >= 0)
    ::close(events);
}

void UringEngine::begin(Finished callback) {
  finished = std::move(callback);
  const BlockedSignals blocked;
  try {
    thread = std::thread([this] { run(); });
  } catch (const std::system_error &error) {
    throw std::runtime_error(
        "cannot start the thread for reads and writes of files: " +
        error.code().message() + ": allow more threads");
  }
}

std::string UringEngine::describe() const { return "io_uring"; }

//===----------------------------------------------------------------------===//
// Transfers
//===----------------------------------------------------------------------===//

void UringEngine::wake() {
  const uint64_t one = 1;
  while (::write(events, &one, sizeof(one)) < 0 && errno == EINTR) {
  }
}

void UringEngine::start(const FileTransfer &transfer) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    queue.push_back(transfer);
  }
  // The thread itself looks at the queue before it sleeps.
  if (std::this_thread::get_id() != thread.get_id())
    wake();
}

void UringEngine::run() {
  for (;;) {
    uint64_t count = 0;
    while (::read(events, &count, sizeof(count)) < 0 && errno == EINTR) {
    }
    takeCompleted();
    while (prepareQueued())
      submit();
    std::lock_guard<std::mutex> lock(mutex);
    if (ending)
      return;
  }
}

void UringEngine::takeCompleted() {
  io_uring_cqe *entry = nullptr;
  while (io_uring_peek_cqe(&ring, &entry) == 0) {
    const uint64_t slot = io_uring_cqe_get_data64(entry);
    const int64_t result = entry->res;
    io_uring_cqe_seen(&ring, entry);
    if (slot != kNobody)
      finished(static_cast<uint32_t>(slot), result);
  }
}

/// Puts what is queued into the ring. False where nothing is.
bool UringEngine::prepareQueued() {
  std::deque<FileTransfer> taken;
  {
    std::lock_guard<std::mutex> lock(mutex);
    taken.swap(queue);
  }
  for (const FileTransfer &transfer : taken) {
    io_uring_sqe *entry = io_uring_get_sqe(&ring);
    if (!entry) { // Filled by requests that the kernel does not take.
      finished(transfer.slot, -EAGAIN);
      continue;
    }
    if (transfer.isWrite)
      io_uring_prep_write(entry, transfer.descriptor, transfer.memory,
                          transfer.bytes, transfer.offset);
    else
      io_uring_prep_read(entry, transfer.descriptor, transfer.memory,
                         transfer.bytes, transfer.offset);
    io_uring_sqe_set_data64(entry, transfer.slot);
    prepared.push_back(entry);
  }
  return !taken.empty();
}

void UringEngine::submit() {
  std::chrono::milliseconds pause{0}, waited{0};
  while (!prepared.empty()) {
    const int taken = io_uring_submit(&ring);
    for (int i = 0; i < taken && !prepared.empty(); ++i)
      prepared.pop_front();
    if (taken > 0)
      continue;
    const bool mayPass = taken == 0 || taken == -EINTR || taken == -EAGAIN ||
                         taken == -EBUSY || taken == -ENOMEM;
    // Whoever is told must not repeat what was tried long enough.
    if (!mayPass || waited >= kPatience)
      return refusePrepared(mayPass ? -ENOMEM : taken);
    takeCompleted(); // Makes room where that is what lacks.
    std::this_thread::sleep_for(pause);
    waited += pause;
    pause = std::clamp(2 * pause, std::chrono::milliseconds{1}, kLongestPause);
  }
}

/// What the kernel would not take stays in the ring, where it must not move
/// anything later on.
void UringEngine::refusePrepared(int error) {
  std::vector<uint32_t> slots;
  for (io_uring_sqe *entry : prepared) {
    if (entry->user_data != kNobody)
      slots.push_back(static_cast<uint32_t>(entry->user_data));
    io_uring_prep_nop(entry);
    io_uring_sqe_set_data64(entry, kNobody);
  }
  for (const uint32_t slot : slots)
    finished(slot, error);
}
