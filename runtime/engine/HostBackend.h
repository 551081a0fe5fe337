// The host's cores and memory.
#ifndef ZERO_RUNTIME_ENGINE_HOSTBACKEND_H
#define ZERO_RUNTIME_ENGINE_HOSTBACKEND_H

#include "engine/Backend.h"
#include "files/FileMemory.h"

#include <utility>

namespace zrt {

/// Copies between states in files and the host's memory.
class FileCopies final : public SideCopies {
public:
  explicit FileCopies(FileMemory &files) : files(files) {}

  void start(uint32_t ticket, Stream stream, void *to, const void *from,
             size_t bytes) override;
  void wait(uint32_t ticket) override { files.wait(ticket); }

private:
  FileMemory &files;
};

/// Regions run as they are called: `update` returns when all is done but what
/// the program leaves running for the next region.
class HostBackend final : public Backend {
public:
  HostBackend(const BackendSetup &setup, Communicator &communicator,
              int localRanks, KernelMaker makeKernel);
  ~HostBackend() override;

  void plan() override;
  const Arenas &arenas() const override { return memory; }
  void initialize() override;
  void update(const FillMicro &fill) override;
  void evaluate(const FillMicro &fill) override;
  void drain() override;
  void read(const BufferRef &buffer, uint64_t offset, void *to,
            size_t bytes) override;
  const Control &control() const override { return memory.control(); }
  const Traffic &traffic() const override { return executor.traffic(); }
  size_t workspaceBytes() const override { return executor.workspaceBytes(); }
  std::vector<std::string> choices() const override;
  void setCommandHook(Executor::CommandHook hook) override;
  void judgeAgain() override { executor.judgeAgain(); }
  void setReview(Review looks) override { review = std::move(looks); }
  std::string refuseReview() const override;

private:
  void compute(const FillMicro &fill);
  void computeStage(const FillMicro &fill);
  void reviewUpdate(const FillMicro &fill);

  const Program &program;
  KernelMaker makeKernel;
  ThreadPool pool;
  std::unique_ptr<FileMemory> files; ///< null where nothing is in files
  std::unique_ptr<FileCopies> fileCopies;
  Arenas memory;
  Executor executor;
  /// By micro-batch, in the order of `Program::inputs`.
  std::vector<std::vector<void *>> inputs;
  Review review; ///< of updates; null: none
};

/// Measures what kernels from `makeKernel` compute in. It depends on the
/// processor: one without 16-bit products copies factors to f32.
WorkspaceMeter hostWorkspaces(KernelMaker makeKernel);

/// Makes host backends whose kernels come from `makeKernel`.
BackendMaker hostBackends(KernelMaker makeKernel);

} // namespace zrt

#endif // ZERO_RUNTIME_ENGINE_HOSTBACKEND_H
