// Walks a program's commands on one rank.
#ifndef ZERO_RUNTIME_ENGINE_EXECUTOR_H
#define ZERO_RUNTIME_ENGINE_EXECUTOR_H

#include "communicator/Communicator.h"
#include "flight/FlightRecorder.h"
#include "injection/Faults.h"
#include "kernels/Kernel.h"
#include "program/Program.h"
#include "state/Arenas.h"

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace zrt {

/// The traffic that one rank sent, by `TrafficClass`.
struct SentCounts {
  /// In units of 1/ranks of an element, as `Program::expectedTraffic`.
  std::array<uint64_t, kCountOf<TrafficClass>> elements{};
  /// In units of 1/ranks of a byte.
  std::array<uint64_t, kCountOf<TrafficClass>> bytes{};
};

struct Traffic : SentCounts {
  /// The part of each group of the mesh; empty where the mesh has no axes.
  std::vector<SentCounts> groups;

  Traffic &operator+=(const Traffic &more);
  Traffic operator-(const Traffic &earlier) const;
};

/// Address of each arena on this rank, by `spaceOf`. An arena of zero bytes may
/// be null.
using ArenaAddresses = std::array<void *, kSpaceCount>;

/// Makes a kernel for a spec: `makeHostKernel`, or another device's.
using KernelMaker = std::function<std::unique_ptr<Kernel>(
    const KernelSpec &spec, const KernelContext &context)>;

/// Copies beside kernels, of a processor that has queues for them.
class SideCopies {
public:
  virtual ~SideCopies();
  /// Starts a copy for `ticket`, after all that ran before. A ticket may have
  /// several, on one stream.
  virtual void start(uint32_t ticket, Stream stream, void *to, const void *from,
                     size_t bytes) = 0;
  /// Makes work from now on wait for the copies of `ticket`, if there are any.
  virtual void wait(uint32_t ticket) = 0;
  /// Forgets all copies that were started and will not be done. If copies run
  /// when they are started, there is nothing to forget.
  virtual void forget() {}
};

/// The program on one rank. `plan` resolves every kernel, address and
/// transfer; the `run` functions then allocate nothing.
class Executor {
public:
  /// Called after each command with its begin and end on the steady clock, in
  /// nanoseconds.
  using CommandHook =
      std::function<void(const Command &command, int64_t begin, int64_t end)>;

  /// All references are borrowed and must outlive the executor.
  Executor(const Program &program, const ArenaAddresses &arenas,
           Communicator &communicator, const KernelContext &context);
  ~Executor();

  /// Makes the communicators of the mesh's groups, which all ranks do at once,
  /// makes every kernel once, and resolves all addresses. Throws
  /// std::runtime_error, naming the command and its place in the source,
  /// where a kernel cannot be made or a buffer leaves its arena.
  /// The kernels' workspace is in `memory`, which must outlive the executor;
  /// null: the host's.
  void plan(const KernelMaker &make = makeHostKernel, Memory *memory = nullptr);

  /// Each runs one region. Throws CommunicationError where a peer failed and
  /// std::runtime_error where this rank did, with the command's label and its
  /// place in the source.
  void runInitialize();
  /// Micro-batch `index` of an update.
  void runMicro(int64_t index);
  /// One pass of a micro-batch through a chunk of a stage of a pipeline.
  void run(const Turn &pass);
  void runApply();
  void runEvaluate();
  /// Whether collectives that `apply` leaves running for the next update start
  /// at its end, or when `startPostponed` is called. Their buffers may not be
  /// used until they are waited for.
  void setPostpones(bool postpones) { postponesStarts = postpones; }
  void startPostponed();
  /// Whether collectives were postponed that have not started since `apply`
  /// ran.
  bool hasPostponed() const { return isPostponed; }
  /// Sets `hasPostponed`, for callers that run regions by other means, such as
  /// graphs.
  void setPostponed(bool postponed) { isPostponed = postponed; }
  /// Whether `runApply` postpones any collective.
  bool willPostpone() const;
  /// Runs the commands that measure and judge the gradients of an update again,
  /// after they were changed. Called by all ranks in the command hook, with the
  /// command that judges them.
  void judgeAgain();

  /// Waits for every operation that a region left running for the next one, or
  /// postponed, so that parameters may be read from outside.
  void drain();
  /// Waits as `drain` does, but only for operations that have started.
  void waitForStarted();
  /// Whether no region has left an operation running for the next one.
  bool isIdle() const;
  /// Forgets every operation that was started and will not be done, since its
  /// graph was not made; on devices that queue operations.
  void forget();

  const Traffic &traffic() const;
  void setTraffic(const Traffic &traffic) { sent = traffic; }
  size_t workspaceBytes() const;
  /// "nn.attention of tensor<..>: cuDNN ..", for kernels that have a choice.
  std::vector<std::string> choices() const;
  /// Null: copies run where they are started. Borrowed.
  void setSideCopies(SideCopies *copies) { sideCopies = copies; }
  /// The copies that read and write files, in host memory. Null: there are
  /// none. Borrowed; set before `plan`.
  void setFileCopies(SideCopies *copies) { fileCopies = copies; }
  void setCommandHook(CommandHook hook);
  /// Writes down each command. Null: does not. Borrowed; set before `plan`.
  void setFlight(FlightRecorder *recorder) { flight = recorder; }
  /// The faults to inject into kernels. Null: none. Borrowed.
  void setFaults(Faults *injected) { faults = injected; }
  /// `mark` is called with each command before it, and with null after it.
  void setMark(std::function<void(const Command *command)> mark);
  /// The command that this thread runs, with its label and its place in the
  /// source: for messages from below. "" where it runs none.
  static std::string describeRunning();

  /// The control block of this rank.
  Control &control() const { return *context.control; }

  /// The address of `buffer` on this rank. Throws std::runtime_error where it
  /// leaves its arena.
  void *address(const BufferRef &buffer) const;
  /// The address of a buffer for a micro-batch, in whose slots of the stash it
  /// may be.
  void *addressFor(uint32_t micro, const BufferRef &buffer);
  /// Micro-batches after which addresses in the stash are the same again.
  uint32_t countPlaces() const;

private:
  struct Action;

  void makeGroups();
  Communicator &communicatorOf(uint32_t group) const;
  void makeWorkspace();
  void releaseWorkspace();
  /// The gradients that were copied before they were judged.
  void copyGradientsAgain();
  void planRegion(const Region &region, std::vector<Action> &actions,
                  const std::string &name);
  bool isPass(const Region &region) const;
  std::unique_ptr<Kernel> makeOne(size_t kernel, const KernelMaker &make) const;
  Action planKernel(const Command &command);
  SideCopies *chooseCopies(const Command &command) const;
  void waitForCopies(uint32_t ticket);
  Action planCollective(const Command &command);
  void run(const Region &region);
  void run(const Action &action, uint32_t number);
  void count(const Action &action);
  void execute(const Action &action);
  void runKernel(const Action &action);
  void runFaulty(const Action &action);
  std::string nameFor(const Command &command) const;
  /// "forward pass of micro-batch 3 in pipeline stage 1: ", or "".
  std::string placeOfPass() const;
  std::string describe(const Command &command, const std::string &what) const;

  const Program &program;
  ArenaAddresses arenas;
  Communicator &communicator; ///< of all ranks
  /// By group of the mesh; null where it is that of all ranks, or no command
  /// names it.
  std::vector<std::unique_ptr<Communicator>> groups;
  KernelContext context;
  std::vector<std::unique_ptr<Kernel>> kernels;
  /// The actions of each region; of a pass, those for each micro-batch whose
  /// places differ.
  std::map<const Region *, std::vector<std::vector<Action>>> plans;
  uint32_t place = 0; ///< micro-batch whose places the pass has that runs or
                      ///< is planned
  uint32_t slot = 0;  ///< in the ring of its chunk, of the pass that runs
  const Turn *turn = nullptr; ///< the pass that runs; null: none does
  /// By slot and program ticket.
  std::vector<Communicator::Ticket> tickets;
  /// By slot and program ticket: the communicator whose operation runs; null if
  /// none does.
  std::vector<Communicator *> started;
  /// By program ticket: a command that starts what its waits are for.
  std::vector<const Command *> starts;
  /// By slot and program ticket: whether kernels ran that its wait is for.
  std::vector<char> done;
  std::unique_ptr<std::byte[]> workspaceStorage; ///< on the host
  Memory *memory = nullptr;                      ///< else, whose it is
  void *workspace = nullptr;
  size_t workspaceSize = 0;
  bool postponesStarts = false, isPostponed = false;
  SideCopies *sideCopies = nullptr, *fileCopies = nullptr;
  Traffic sent;
  CommandHook hook;
  FlightRecorder *flight = nullptr;
  Faults *faults = nullptr;
  std::function<void(const Command *command)> mark;
};

/// "tensor<4x256xi32>".
std::string readable(const TensorType &type);

} // namespace zrt

#endif // ZERO_RUNTIME_ENGINE_EXECUTOR_H
