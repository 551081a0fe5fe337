#include "trainer/Stopwatch.h"

#include <algorithm>
#include <chrono>
#include <ctime>

using namespace zrt;

namespace {

using Clock = std::chrono::steady_clock;

/// Seconds that this thread has computed.
double threadSeconds() {
  timespec time = {};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return double(time.tv_sec) + double(time.tv_nsec) * 1e-9;
}

constexpr int64_t kLeastUpdates = 4, kMostUpdates = 60;

} // namespace

Stopwatch::Stopwatch(const Program &program, Backend &backend,
                     Communicator &communicator, int threads, int localRanks,
                     int cores)
    : program(program), backend(backend), communicator(communicator),
      countsComputing(threads == 1),
      load(std::max(1.0, double(localRanks) * threads / cores)) {
  current.commands.reserve(program.micro.commands.size() *
                               size_t(program.training.accumulation) +
                           program.apply.commands.size());
}

Executor::Trace Stopwatch::hook() {
  return [this](const Command &command, int64_t begin, int64_t end) {
    double seconds = double(end - begin) * 1e-9;
    if (countsComputing) {
      const double now = threadSeconds();
      seconds = (now - computed) * load;
      computed = now;
    }
    current.commands.push_back({&command, seconds});
  };
}

Stopwatch::Sample Stopwatch::runOnce(const FillMicro &fill) {
  current.commands.clear();
  const FillMicro filled = [&](int micro, Control &control,
                               void *const *inputs) {
    fill(micro, control, inputs);
    computed = threadSeconds();
  };
  if (communicator.ranks() > 1)
    communicator.barrier();
  computed = threadSeconds();
  const Clock::time_point begin = Clock::now();
  backend.update(filled);
  current.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  return current;
}

/// The largest `value` of all ranks.
int64_t Stopwatch::agree(int64_t value) {
  if (communicator.ranks() == 1)
    return value;
  Transfer transfer;
  transfer.send = transfer.receive = &value;
  transfer.count = 1;
  transfer.type = DataType::I64;
  communicator.run(Collective::AllReduce, Reduction::Max, {transfer});
  return value;
}

std::vector<TimedCommand> Stopwatch::meanOfQuickest() {
  std::sort(samples.begin(), samples.end(),
            [](const Sample &left, const Sample &right) {
              return left.seconds < right.seconds;
            });
  const size_t kept = std::max<size_t>(1, samples.size() / 4);
  std::vector<TimedCommand> mean = samples.front().commands;
  for (size_t i = 0; i < mean.size(); ++i) {
    for (size_t sample = 1; sample < kept; ++sample)
      mean[i].seconds += samples[sample].commands[i].seconds;
    mean[i].seconds /= double(kept);
  }
  return mean;
}

std::vector<TimedCommand> Stopwatch::run(const FillMicro &fill,
                                         double seconds) {
  backend.setTrace(hook());
  runOnce(fill); // touches all memory
  const double once = runOnce(fill).seconds;
  const int64_t updates = agree(std::clamp(
      int64_t(seconds / std::max(once, 1e-6)), kLeastUpdates, kMostUpdates));
  samples.clear();
  for (int64_t i = 0; i < updates; ++i)
    samples.push_back(runOnce(fill));
  backend.setTrace({});
  backend.drain();
  return meanOfQuickest();
}
