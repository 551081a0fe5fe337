#include "report/Calibrate.h"

#include "data/Batches.h"
#include "engine/Backend.h"
#include "program/Cores.h"
#include "program/KernelKey.h"
#include "program/Trace.h"
#include "report/Ladder.h"
#include "report/Stopwatch.h"
#include "report/Texts.h"
#include "state/Initialize.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <random>
#include <stdexcept>

using namespace zrt;
using Json = nlohmann::ordered_json;

namespace {

/// About how long each of the two programs runs.
constexpr double kSeconds = 5;
/// The ladder's memory, of all ranks of a machine together.
constexpr uint64_t kLadderBytes = uint64_t(256) << 20;

/// Runs of one kernel and their seconds together.
struct KernelTime {
  KernelSpec spec;
  double runs = 0, seconds = 0;
};

struct CollectiveTime {
  Collective kind;
  DataType type;
  uint64_t bytes;
  double seconds;
};

class Calibration {
public:
  Calibration(const CalibrationRun &run, Communicator &communicator,
              int localRanks)
      : run(run), communicator(communicator), localRanks(localRanks),
        cores(coresOfProcess()),
        threads(threadsPerRank(run.setup.options.threads, localRanks)) {}

  void execute();

private:
  std::vector<TimedCommand> time(const Program &program);
  std::vector<TimedCommand> average(std::vector<TimedCommand> times);
  void addKernels(const Program &program,
                  const std::vector<TimedCommand> &times);
  void addCollectives(const std::vector<TimedCommand> &times);
  double coresOfRank() const;
  double bestRate(DataType type) const;
  double memoryRate() const;
  Json describe() const;
  Json describeProtocol() const;

  const CalibrationRun &run;
  Communicator &communicator;
  int localRanks, cores, threads;
  bool onDevice = false; ///< each rank has one, with times of its own
  std::map<std::string, KernelTime> kernels; ///< by key
  std::vector<CollectiveTime> collectives;
};

/// Fills inputs with ids of the vocabulary, or numbers from 0 to 1.
class RandomInputs {
public:
  explicit RandomInputs(const Program &program) : program(program) {
    for (const Input &input : program.inputs)
      sizes.push_back(vocabularyOf(program, input).size);
  }

  void fill(void *const *inputs) {
    for (size_t i = 0; i < sizes.size(); ++i) {
      const TensorType &type = program.inputs[i].type;
      for (int64_t element = 0; element < type.elements(); ++element)
        fill(inputs[i], element, type.type, sizes[i]);
    }
  }

private:
  void fill(void *input, int64_t element, DataType type, int64_t size) {
    const uint32_t id =
        uint32_t(random()) % uint32_t(std::max<int64_t>(size, 2));
    if (type == DataType::I32)
      static_cast<int32_t *>(input)[element] = int32_t(id);
    else if (type == DataType::I64)
      static_cast<int64_t *>(input)[element] = id;
    else if (type == DataType::F32)
      static_cast<float *>(input)[element] = float(random() % 1024) / 1024;
    else if (type == DataType::F64)
      static_cast<double *>(input)[element] = double(random() % 1024) / 1024;
    else // 0 or the least numbers of any other type
      std::fill_n(static_cast<char *>(input) + element * sizeOf(type),
                  sizeOf(type), char(0));
  }

  const Program &program;
  std::vector<int64_t> sizes;
  std::minstd_rand random;
};

} // namespace

//===----------------------------------------------------------------------===//
// Measuring
//===----------------------------------------------------------------------===//

/// Writes small numbers to all of the activations: pages that nobody has
/// written are one page of zeros, which is always in the cache.
static void touchActivations(const Arenas &arenas) {
  const uint64_t bytes = arenas.bytes(Arena::Activations);
  const std::string numbers(size_t(1) << 20, '\x3c');
  BufferRef part;
  part.arena = Arena::Activations;
  for (; part.offset < bytes; part.offset += part.bytes) {
    part.bytes = std::min<uint64_t>(numbers.size(), bytes - part.offset);
    arenas.write(arenas.resolve(part, 0), numbers.data(), part.bytes);
  }
}

std::vector<TimedCommand> Calibration::time(const Program &program) {
  const std::unique_ptr<Backend> backend =
      run.makeBackend({program, run.setup.options, run.setup.generated,
                       run.setup.generatedCount},
                      communicator, localRanks);
  onDevice = backend->timesOperations();
  backend->plan();
  const Arenas &arenas = backend->arenas();
  initializeControl(program, arenas, run.seed);
  initializeConstants(program, arenas, communicator.rank());
  initializeParameters(program, arenas, communicator.rank(), run.seed, nullptr);
  touchActivations(arenas);
  backend->initialize();
  RandomInputs random(program);
  int64_t update = 0;
  const FillMicro fill = [&](int micro, Control &control, void *const *inputs) {
    std::fill_n(control.learningRate, kMaxGroups, 0.0f);
    control.evaluating = 0;
    control.microIndex = micro;
    control.batch = uint64_t(update++);
    random.fill(inputs);
  };
  return average(
      Stopwatch(program, *backend, communicator, threads, localRanks, cores)
          .run(fill, kSeconds));
}

/// The mean over ranks.
std::vector<TimedCommand>
Calibration::average(std::vector<TimedCommand> times) {
  std::vector<double> seconds;
  for (const TimedCommand &command : times)
    seconds.push_back(command.seconds);
  Transfer transfer;
  transfer.send = transfer.receive = seconds.data();
  transfer.count = seconds.size();
  transfer.type = DataType::F64;
  if (communicator.ranks() > 1 && !seconds.empty())
    communicator.run(Collective::AllReduce, Reduction::Sum, {transfer});
  for (size_t i = 0; i < times.size(); ++i)
    times[i].seconds = seconds[i] / communicator.ranks();
  return times;
}

void Calibration::addKernels(const Program &program,
                             const std::vector<TimedCommand> &times) {
  std::map<std::string, KernelTime> found;
  for (const TimedCommand &timed : times) {
    // What crosses the bus says nothing of the device's memory.
    if (timed.command->opcode != Opcode::Kernel ||
        (onDevice && runsBeside(*timed.command)))
      continue;
    const KernelSpec &spec = program.kernels[timed.command->kernel];
    KernelTime &kernel = found[kernelKeyOf(spec)];
    kernel.spec = spec;
    ++kernel.runs;
    // Where only the owner works, others' runs are part of the mean.
    kernel.seconds +=
        timed.seconds * (spec.has("owner") ? communicator.ranks() : 1);
  }
  // What a step does counts more than the same kernel by itself.
  kernels.insert(found.begin(), found.end());
}

void Calibration::addCollectives(const std::vector<TimedCommand> &times) {
  if (communicator.ranks() == 1)
    return; // those that were kept move nothing
  for (size_t i = 0; i + 1 < times.size(); ++i) {
    const Command &start = *times[i].command;
    if (start.opcode != Opcode::Start)
      continue;
    // On the host, the wait is where the work is done.
    const double wait = onDevice ? 0 : times[i + 1].seconds;
    collectives.push_back({start.collective, start.parts.front().type,
                           spannedBytes(start, communicator.ranks()),
                           times[i].seconds + wait});
  }
}

//===----------------------------------------------------------------------===//
// The file
//===----------------------------------------------------------------------===//

/// Cores that compute for a rank: its threads, or their share where the ranks
/// have more threads than there are cores.
double Calibration::coresOfRank() const {
  return std::min<double>(threads, double(cores) / localRanks);
}

/// The most operations a second of a core, or of a device, on elements of
/// `type`; 0 where nothing computes on them.
double Calibration::bestRate(DataType type) const {
  double best = 0;
  for (const auto &[key, kernel] : kernels)
    if (computeTypeOf(kernel.spec) == type && kernel.seconds > 0)
      best = std::max(best,
                      double(kernel.spec.flops) * kernel.runs / kernel.seconds);
  if (onDevice)
    return best;
  return best / coresOfRank();
}

/// Bytes a second of one rank in the largest copy.
double Calibration::memoryRate() const {
  uint64_t most = 0;
  double rate = 1e9;
  for (const auto &[key, kernel] : kernels)
    if (kernel.spec.name == "zero.copy" && kernel.spec.bytes > most &&
        kernel.seconds > 0) {
      most = kernel.spec.bytes;
      rate = double(kernel.spec.bytes) * kernel.runs / kernel.seconds;
    }
  return rate;
}

Json Calibration::describeProtocol() const {
  const double n = communicator.ranks();
  double latency = 0, bandwidth = memoryRate() * localRanks;
  uint64_t most = 0;
  for (const CollectiveTime &collective : collectives) {
    if (collective.kind != Collective::AllGather)
      continue;
    if (latency == 0)
      latency = collective.seconds;
    if (collective.bytes > most) {
      most = collective.bytes;
      // What the ranks move in memory, or what one sends.
      const double times = onDevice ? (n - 1) / n : 2 * (n - 1);
      if (times > 0)
        bandwidth = times * double(collective.bytes) / collective.seconds;
    }
  }
  return {{"latency", latency}, {"step", 0}, {"bandwidth", bandwidth}};
}

Json Calibration::describe() const {
  Json machine;
  machine["name"] = onDevice ? "calibrated device" : "calibrated host";
  machine["source"] = "measured with '" + run.setup.program.name + "'";
  if (!onDevice)
    machine["cores"] = cores;
  double least = 1;
  for (const DataType type :
       {DataType::F32, DataType::F16, DataType::BF16, DataType::F64}) {
    const double rate = bestRate(type);
    if (rate > 0 || type == DataType::F32)
      machine["flops"][nameOf(type)] = std::max(rate, 1e9);
  }
  Json measured = Json::array();
  for (const auto &[key, kernel] : kernels) {
    const double seconds = kernel.seconds / kernel.runs;
    least = std::min(least, seconds);
    measured.push_back({{"kernel", key},
                        {"family", familyOf(kernel.spec)},
                        {"type", nameOf(computeTypeOf(kernel.spec))},
                        {"ranks", localRanks},
                        {"flops", kernel.spec.flops},
                        {"bytes", kernel.spec.bytes},
                        {"seconds", seconds}});
  }
  machine["bandwidth"] = memoryRate() * (onDevice ? 1 : localRanks);
  if (!onDevice)
    machine["core_bandwidth"] = memoryRate() / coresOfRank();
  machine["kernel_overhead"] = std::max(least, 0.0);
  machine["works_at_wait"] = !onDevice;
  machine["protocols"] = {describeProtocol()};
  machine["kernels"] = std::move(measured);
  machine["collectives"] = Json::array();
  for (const CollectiveTime &collective : collectives)
    machine["collectives"].push_back({{"kind", nameOf(collective.kind)},
                                      {"type", nameOf(collective.type)},
                                      {"ranks", communicator.ranks()},
                                      {"bytes", collective.bytes},
                                      {"seconds", collective.seconds}});
  return machine;
}

void Calibration::execute() {
  addKernels(run.setup.program, time(run.setup.program));
  const Program ladder =
      makeLadder(run.setup.program, kLadderBytes / uint64_t(localRanks));
  const std::vector<TimedCommand> times = time(ladder);
  addKernels(ladder, times);
  addCollectives(times);
  if (communicator.rank() != 0)
    return;
  writeText(run.file, describe().dump(1) + "\n");
  run.out << "measured " << kernels.size() << " kernels and "
          << collectives.size()
          << " collectives; ranks: " << communicator.ranks()
          << ", threads of each: " << threads << ", cores: " << cores
          << std::endl;
}

void zrt::calibrate(const CalibrationRun &run, Communicator &communicator,
                    int localRanks) {
  Calibration(run, communicator, localRanks).execute();
}
