#include "capi/RankTeam.h"

#include "io/BlockedSignals.h"

#include <stdexcept>
#include <system_error>
#include <utility>

using namespace zrt;

RankTeam::RankTeam(int ranks) {
  const BlockedSignals blocked;
  threads.reserve(size_t(ranks));
  try {
    for (int rank = 0; rank < ranks; ++rank)
      threads.emplace_back([this, rank] { serve(rank); });
  } catch (const std::system_error &error) {
    const size_t started = threads.size();
    end();
    throw std::runtime_error(
        "cannot start the thread of rank " + std::to_string(started) + " of " +
        std::to_string(ranks) + ": " + error.code().message());
  }
}

RankTeam::~RankTeam() { end(); }

void RankTeam::end() {
  {
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait(lock, [this] { return running == 0; });
    ending = true;
    changed.notify_all();
  }
  for (std::thread &thread : threads)
    thread.join();
  threads.clear();
}

void RankTeam::start(Job next) {
  std::lock_guard<std::mutex> lock(mutex);
  job = std::move(next);
  running = int(threads.size());
  ++jobs;
  changed.notify_all();
}

void RankTeam::wait() {
  std::unique_lock<std::mutex> lock(mutex);
  changed.wait(lock, [this] { return running == 0; });
}

void RankTeam::serve(int rank) {
  uint64_t done = 0;
  std::unique_lock<std::mutex> lock(mutex);
  for (;;) {
    changed.wait(lock, [&] { return ending || jobs != done; });
    if (ending)
      return;
    done = jobs;
    lock.unlock();
    job(rank);
    lock.lock();
    --running;
    changed.notify_all();
  }
}
