#include "report/Stopwatch.h"

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
      countsComputing(threads == 1 && !backend.timesOperations()),
      load(std::max(1.0, double(localRanks) * threads / cores)) {
  size_t commands = program.apply.commands.size();
  for (size_t pass = 0; pass < program.countPasses(); ++pass)
    commands += program.regionOfPass(pass).commands.size();
  current.reserve(commands);
}

Executor::CommandHook Stopwatch::hook() {
  return [this](const Command &command, int64_t begin, int64_t end) {
    double seconds = double(end - begin) * 1e-9;
    const bool isWait = command.opcode == Opcode::Wait;
    if (countsComputing) {
      const double now = threadSeconds();
      if (load > 1 || !isWait)
        seconds = (now - computed) * load;
      computed = now;
    }
    current.push_back({&command, seconds});
  };
}

double Stopwatch::runOnce(const FillMicro &fill) {
  current.clear();
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
  return std::chrono::duration<double>(Clock::now() - begin).count();
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

std::vector<TimedCommand> Stopwatch::medians() const {
  std::vector<TimedCommand> result = samples.front();
  std::vector<double> seconds(samples.size());
  for (size_t i = 0; i < result.size(); ++i) {
    for (size_t sample = 0; sample < samples.size(); ++sample)
      seconds[sample] = samples[sample][i].seconds;
    const auto middle = seconds.begin() + ptrdiff_t(seconds.size() / 2);
    std::nth_element(seconds.begin(), middle, seconds.end());
    result[i].seconds = *middle;
  }
  return result;
}

std::vector<TimedCommand> Stopwatch::run(const FillMicro &fill,
                                         double seconds) {
  backend.setCommandHook(hook());
  runOnce(fill); // touches all memory
  const double once = runOnce(fill);
  const int64_t updates = agree(std::clamp(
      int64_t(seconds / std::max(once, 1e-6)), kLeastUpdates, kMostUpdates));
  samples.clear();
  for (int64_t i = 0; i < updates; ++i) {
    runOnce(fill);
    samples.push_back(current);
  }
  backend.setCommandHook({});
  backend.drain();
  return medians();
}
