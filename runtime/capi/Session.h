// A run that a caller drives: the ranks of one process, update by update.
#ifndef ZERO_RUNTIME_CAPI_SESSION_H
#define ZERO_RUNTIME_CAPI_SESSION_H

#include "capi/Batch.h"
#include "capi/RankTeam.h"
#include "communicator/Communicator.h"
#include "state/Weights.h"
#include "trainer/Run.h"
#include "trainer/Trainer.h"

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

namespace zrt {

/// Not in this state of the run; nothing was done.
class StateError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// What a session runs: a program and the kernels that were compiled for it,
/// borrowed.
struct Compiled {
  const Program *program = nullptr;
  const GeneratedKernel *kernels = nullptr;
  int64_t kernelCount = 0;
  BackendMaker makeBackend;
};

/// Calls must not overlap. All throw ArgumentError and StateError before
/// anything has changed. Where a rank fails all fail, with std::runtime_error;
/// later calls then are StateErrors that say why.
class Session {
public:
  /// Makes all ranks and sets their state as at the start of a run. Of
  /// `options`: seed, threads, lossScale, weights, overcommit, timeout.
  Session(const Compiled &compiled, const Options &options);
  ~Session();
  Session(const Session &) = delete;
  Session &operator=(const Session &) = delete;

  const Program &program() const { return own; }

  /// Opens data for `stepOnData`, as the executable does.
  void openData(const std::string &path);
  /// Which of `samples` samples is at `position` of the sequence of epochs.
  int64_t sampleAt(int64_t samples, int64_t position) const;

  UpdateReport stepOnData();
  UpdateReport step(const std::vector<NamedArray> &arrays);
  double evaluate(const std::vector<NamedArray> &arrays);

  /// All `count` elements of a parameter, as f32: of the master, where there is
  /// one.
  void getParameter(const std::string &name, float *values, int64_t count);
  void setParameter(const std::string &name, const float *values,
                    int64_t count);
  void saveWeights(const std::string &path);

private:
  struct Rank;

  /// What fills the inputs of one rank.
  using RankFill = std::function<void(int rank, int64_t micro, void *const *)>;

  UpdateReport update(const RankFill &fill);
  void runRanks(const RankTeam::Job &job);
  void record(int rank, const std::exception &error);
  void fail(const std::string &why);
  void checkAlive() const;
  void prepare(int rank);
  void settle(Rank &rank);
  const Parameter &parameterOf(const std::string &name, int64_t count) const;
  bool storesRounded(const Parameter &parameter) const;
  StartingValues startingValues(const Rank &rank) const;

  Program own;
  Options options;
  std::ostringstream output; ///< what nobody reads
  Run run;
  Data data;
  std::vector<std::unique_ptr<Batches>> batches; ///< of `data`, by rank
  std::vector<std::unique_ptr<Communicator>> communicators;
  std::vector<std::unique_ptr<Rank>> ranks;
  /// Frozen parameters that the caller has set, and whose stored type does not
  /// tell them exactly.
  std::map<std::string, std::vector<float>> exact;
  std::mutex failureMutex;
  std::string failure; ///< of the ranks; empty while all is well
  RankTeam team;       ///< the last: its threads use the rest
};

} // namespace zrt

#endif // ZERO_RUNTIME_CAPI_SESSION_H
