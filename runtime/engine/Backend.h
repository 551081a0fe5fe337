// The backend of one rank: memory, commands, and the ways of the host's data in
// and out.
#ifndef ZERO_RUNTIME_ENGINE_BACKEND_H
#define ZERO_RUNTIME_ENGINE_BACKEND_H

#include "engine/Executor.h"
#include "program/Control.h"
#include "state/Arenas.h"

#include <functional>
#include <memory>
#include <string>

namespace zrt {

/// The options of a rank's backend.
struct BackendOptions {
  int threads = 0;      ///< a rank; 0: cores / local ranks
  std::string nvmePath; ///< folder of states in files; empty: as compiled
  /// Seconds without any progress until the run ends; 0: never.
  double timeout = 600;
  bool overcommit = false; ///< start without enough memory

  // Options of a device.
  bool eager = false;    ///< no graph
  bool graph = false;    ///< a step that cannot be a graph is an error
  bool near = true;      ///< threads and memory stay near the rank's GPU
  bool shareGpu = false; ///< ranks of a machine may share one
  std::string collectives = "auto"; ///< or "nccl", "host"
  std::string tuneProducts;         ///< the file of their times; empty: none
  /// The memory of collectives: "windows", "registered" or "plain"; "auto": the
  /// first of these that NCCL has here.
  std::string collectivesMemory = "auto";
};

/// The program and the services that a backend is made for; all borrowed.
struct BackendSetup {
  const Program &program;
  const BackendOptions &options;
  const GeneratedKernel *generated = nullptr;
  int64_t generatedCount = 0;
  FlightRecorder *flight = nullptr; ///< where commands are written down
  Faults *faults = nullptr;         ///< that are injected
  /// Says a remark to the user. Null: nobody hears.
  std::function<void(const std::string &)> tell = nullptr;
};

/// Fills what the host says before micro-batch `micro`: the inputs, at
/// addresses in the order of `Program::inputs`, and of `control` the fields
/// before `lossSeed`. `inputs` is null where they are there already: before the
/// backward pass of a stage of a pipeline.
using FillMicro =
    std::function<void(int micro, Control &control, void *const *inputs)>;

/// A function that looks at an update between its micro-batches and its apply
/// region, when nothing is in flight. `again` computes the micro-batches once
/// more, on inputs that are filled anew, and may be called any number of times
/// by all ranks together.
using Review = std::function<void(const std::function<void()> &again)>;

/// One rank's program on a processor.
class Backend {
public:
  virtual ~Backend();

  /// Makes every kernel. Throws as `Executor::plan`.
  virtual void plan() = 0;
  /// The arenas of the state, to read and write between updates only.
  virtual const Arenas &arenas() const = 0;

  /// Runs the initialize region.
  virtual void initialize() = 0;
  /// Runs one update: every micro-batch, then the apply region. Returns when
  /// `control` and `traffic` have its results.
  virtual void update(const FillMicro &fill) = 0;
  /// The evaluate region, on inputs that `fill` makes as micro-batch 0; then
  /// `read` reads its outputs.
  virtual void evaluate(const FillMicro &fill) = 0;
  /// Waits for everything that was started.
  virtual void drain() = 0;
  /// Ends, after a failure, what waits for peers: they may never come. What is
  /// left to do is to destroy the backend.
  virtual void giveUp() {}

  /// Copies `bytes` from `offset` of `buffer` to the host.
  virtual void read(const BufferRef &buffer, uint64_t offset, void *to,
                    size_t bytes) = 0;
  /// The control block after the last update, or as it was initialised.
  virtual const Control &control() const = 0;
  virtual const Traffic &traffic() const = 0;
  virtual size_t workspaceBytes() const = 0;
  /// As `Executor::choices`.
  virtual std::vector<std::string> choices() const = 0;

  /// From the next update on, calls `trace` after each command, as
  /// `Executor::setCommandHook`; an empty one ends it. Throws
  /// std::runtime_error where the processor has no such times.
  virtual void setCommandHook(Executor::CommandHook hook);
  /// Whether the times of a collective's start are those of the operation
  /// itself; otherwise it lasts from its start to the end of its wait.
  virtual bool timesOperations() const { return false; }
  /// As `Executor::judgeAgain`. Throws std::runtime_error where a step runs
  /// without its commands being told one by one.
  virtual void judgeAgain();
  /// Called in each update from the next one on; an empty one ends it.
  /// \pre `refuseReview` has nothing to say.
  virtual void setReview(Review review);
  /// Why micro-batches of this program are not computed again here, or "".
  virtual std::string refuseReview() const;
  /// Seconds that a device was given to the last update, from its first command
  /// to its last one; 0 where there is no device.
  virtual double deviceSeconds() const { return 0; }
  /// Launches the graph of a step `times` times and once more, back to back,
  /// with the inputs of the last update; returns the device's seconds of one.
  /// It trains on: for measuring only. Throws std::runtime_error where there is
  /// no graph.
  virtual double repeatGraph(int64_t times);
  /// The device that the backend runs on, for people; "" for the host.
  virtual std::string describe() const { return ""; }
};

/// Makes the backend of a rank; called by all ranks at once. `communicator`
/// joins them in host memory, `localRanks` of them on this machine.
using BackendMaker = std::function<std::unique_ptr<Backend>(
    const BackendSetup &setup, Communicator &communicator, int localRanks)>;

/// Measures the bytes of host memory that the kernels of a rank compute in,
/// beside its arenas, where `localRanks` share this machine.
using WorkspaceMeter =
    std::function<uint64_t(const BackendSetup &setup, int localRanks)>;

/// Threads of each of `localRanks` ranks on this machine: `asked`, or an equal
/// share of the cores that this process may use, at least 1.
int threadsPerRank(int asked, int localRanks);

} // namespace zrt

#endif // ZERO_RUNTIME_ENGINE_BACKEND_H
