#include "files/ThreadEngine.h"

#include "io/BlockedSignals.h"

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <system_error>
#include <unistd.h>
#include <utility>

using namespace zrt;

ThreadEngine::ThreadEngine(uint32_t depth, std::string reason)
    : count(std::clamp<uint32_t>(depth, 1, 16)), reason(std::move(reason)) {}

ThreadEngine::~ThreadEngine() { end(); }

void ThreadEngine::begin(Finished callback) {
  finished = std::move(callback);
  const BlockedSignals blocked;
  threads.reserve(count);
  try {
    for (uint32_t i = 0; i < count; ++i)
      threads.emplace_back([this] { serve(); });
  } catch (const std::system_error &error) {
    const size_t started = threads.size();
    end();
    throw std::runtime_error(
        "cannot start thread " + std::to_string(started) + " of " +
        std::to_string(count) +
        " for reads and writes of files: " + error.code().message() +
        ": allow more threads, or a smaller queue_depth");
  }
}

void ThreadEngine::end() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    ending = true;
    changed.notify_all();
  }
  for (std::thread &thread : threads)
    thread.join();
  threads.clear();
}

void ThreadEngine::start(const FileTransfer &transfer) {
  std::lock_guard<std::mutex> lock(mutex);
  queue.push_back(transfer);
  changed.notify_one();
}

static int64_t move(const FileTransfer &transfer) {
  const auto offset = static_cast<off_t>(transfer.offset);
  const ssize_t done = transfer.isWrite
                           ? ::pwrite(transfer.descriptor, transfer.memory,
                                      transfer.bytes, offset)
                           : ::pread(transfer.descriptor, transfer.memory,
                                     transfer.bytes, offset);
  return done < 0 ? -errno : done;
}

void ThreadEngine::serve() {
  std::unique_lock<std::mutex> lock(mutex);
  for (;;) {
    changed.wait(lock, [this] { return ending || !queue.empty(); });
    if (queue.empty())
      return;
    const FileTransfer transfer = queue.front();
    queue.pop_front();
    lock.unlock();
    finished(transfer.slot, move(transfer));
    lock.lock();
  }
}

std::string ThreadEngine::describe() const {
  const std::string threads =
      count == 1 ? "a thread" : std::to_string(count) + " threads";
  return threads + " with pread" + (reason.empty() ? "" : " (" + reason + ")");
}
