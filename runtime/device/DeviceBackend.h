// One rank's program on a device.
//
// The host says what a micro-batch needs in a packet of pinned memory: its part
// of the control block and the inputs. An update then is one copy of all
// packets, the micro-batches, which each move their packet into place, the
// apply region, and one copy of the control block back. Nothing between these
// copies looks at the host, so all of it is a graph. A stage of a pipeline has
// passes in place of micro-batches: the first of a micro-batch moves its inputs
// into place, and each the control block.
//
// A graph waits for nothing from outside, and ends with all that it began. So
// what apply would leave running for the next update, gathers of what it has
// updated, begins that update's graph instead. And where no micro-batch leaves
// anything running for the next, there is a graph of one, which is launched
// again and again, and another one of the last and apply.
#ifndef ZERO_RUNTIME_DEVICE_DEVICEBACKEND_H
#define ZERO_RUNTIME_DEVICE_DEVICEBACKEND_H

#include "device/QueuedFiles.h"
#include "device/StreamCommunicator.h"
#include "engine/Backend.h"

#include <functional>
#include <map>
#include <utility>
#include <vector>

namespace zrt {

/// The parts of a backend. `collectives` and the kernels of `makeKernel` use
/// `device`; kernels queue their work on `queues[Stream::Compute]`.
struct DeviceParts {
  std::unique_ptr<Device> device;
  std::unique_ptr<Queues> queues;
  std::unique_ptr<CollectiveQueue> collectives;
  KernelMaker makeKernel;
  std::shared_ptr<void> owned; ///< what the kernels need besides
  /// The context of the kernels, without the parts of the memory and the
  /// program, which the backend fills in.
  KernelContext context;
  /// Called by all ranks when their kernels are planned, with nothing in the
  /// memory yet; says what it did. Null: there is nothing to do.
  std::function<std::string()> afterPlan;
  bool eager = false; ///< no graph
  bool graph = false; ///< a step that cannot be one is an error
  /// The ranks in host memory, for what they decide together. Borrowed.
  Communicator *host = nullptr;
  /// Says a remark to the user, of this rank. Null: nobody hears.
  std::function<void(const std::string &)> tell;
  /// Seconds that work on the device may take until it is an error; 0: for
  /// ever.
  double timeoutSeconds = 600;
  std::string nvmePath; ///< folder of states in files; empty: as compiled
  HostRoom hostRoom = nullptr; ///< for what that folder does not take
};

class DeviceBackend final : public Backend {
public:
  /// Throws std::runtime_error where the device has not the memory.
  DeviceBackend(const Program &program, DeviceParts parts);
  ~DeviceBackend() override;

  void plan() override;
  const Arenas &arenas() const override { return memory; }
  void initialize() override;
  void update(const FillMicro &fill) override;
  void evaluate(const FillMicro &fill) override;
  void drain() override;
  void giveUp() override;
  void read(const BufferRef &buffer, uint64_t offset, void *to,
            size_t bytes) override;
  const Control &control() const override;
  const Traffic &traffic() const override { return sent; }
  size_t workspaceBytes() const override { return executor.workspaceBytes(); }
  /// While it is on, updates are queued command by command: a graph has no
  /// events whose times can be read.
  void setCommandHook(Executor::CommandHook hook) override;
  bool timesOperations() const override { return true; }
  double deviceSeconds() const override { return secondsOfUpdate; }
  double repeatGraph(int64_t times) override;
  std::string describe() const override;
  std::vector<std::string> choices() const override;

private:
  Device::Queue compute() const { return (*parts.queues)[Stream::Compute]; }
  char *packet(int micro) const { return packets.data() + micro * packetBytes; }
  void fillPacket(int micro, const FillMicro &fill);
  void unpackControl(int micro);
  void unpackInputs(int micro);
  void runStep();
  void runStage();
  /// The part of a program that a graph holds: an update, a micro-batch, or the
  /// last one and apply.
  enum class Piece { Update, Micro, Last };
  /// A piece, and whether it begins with operations that the update before has
  /// postponed.
  using Begun = std::pair<Piece, bool>;
  struct Captured {
    Device::Graph graph = nullptr;
    Traffic sent; ///< by a launch
  };
  std::vector<Begun> pieces() const;
  void runPiece(Piece piece);
  bool tryCapture();
  void captureAll();
  Captured capture(Piece piece);
  void launchGraphs();
  bool canBeGraph() const;
  bool isGraph() const;
  void launchStep();
  void runUpdate();
  void bringBack();
  void finish();
  void destroyGraphs();

  const Program &program;
  DeviceParts parts;
  std::vector<size_t> inputsAt; ///< of each input in a packet
  PinnedMemory pinned;          ///< of the tier `host`
  std::unique_ptr<FileMemory>
      files; ///< of the tier `file`; null: there is none
  Arenas memory;
  size_t packetBytes;
  size_t allPackets; ///< their bytes, and zeros for the sums behind them
  Pinned packets;    ///< one a micro-batch
  Pinned returned;   ///< the control block as an update left it
  void *staged;      ///< the packets, on the device
  CommandTimes times;
  StreamCommunicator communicator;
  QueuedCopies copies;
  std::unique_ptr<QueuedFiles> fileCopies;
  Executor executor;
  Device::Event begun, finished; ///< timers
  std::string planned;           ///< what was done after it
  double secondsOfUpdate = 0;
  int exceptions; ///< in flight when it was made
  std::map<Begun, Captured> graphs;
  bool endsMicros = false; ///< nothing runs on from one into the next
  int64_t updates = 0;
  Traffic sent;
};

} // namespace zrt

#endif // ZERO_RUNTIME_DEVICE_DEVICEBACKEND_H
