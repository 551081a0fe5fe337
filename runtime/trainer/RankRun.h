// One rank of a run, from its memory to its summary.
#ifndef ZERO_RUNTIME_TRAINER_RANKRUN_H
#define ZERO_RUNTIME_TRAINER_RANKRUN_H

#include "data/Batches.h"
#include "engine/Trainer.h"
#include "report/Metrics.h"
#include "report/Progress.h"
#include "report/TensorBoard.h"
#include "report/TraceLog.h"
#include "selfcheck/SelfCheck.h"
#include "state/Weights.h"
#include "trainer/Dump.h"
#include "trainer/Generate.h"
#include "trainer/Run.h"
#include "trainer/RunCheckpoints.h"

#include <array>
#include <memory>

namespace zrt {

class RankRun {
public:
  /// `data` is shared by the ranks of this process.
  RankRun(const Run &run, const Data &data, Communicator &communicator,
          int localRanks);

  /// Does everything. Throws std::runtime_error where this rank fails and
  /// CommunicationError where another did.
  void execute();

  /// After a failure that peers have been told of: ends what waits for them.
  void giveUp();

private:
  void checkAgreement();
  void prepare();
  void train();
  void setState();
  void saveCheckpoint();
  void tellSaved();
  void chooseTraced();
  void evaluate(int64_t update);
  void report(const UpdateReport &update);
  bool agreeToStop();
  UpdateReport update(int64_t number);
  void writeTrace();
  void writeOutputs();
  void sample();
  /// The program that has the table of tokens: that of the first stage.
  const Program &ofTokens() const {
    return run.stages ? run.stages->front() : program;
  }
  void summarize();
  bool speaks() const { return communicator.rank() == 0; }

  const Run &run;
  const Program &program;
  const Options &options;
  const Data &data;
  Communicator &communicator;
  int localRanks;
  ThreadPool pool; ///< for initial values
  StartingValues start;
  std::unique_ptr<Backend> backend;
  std::unique_ptr<Batches> batches;
  std::unique_ptr<RunCheckpoints> checkpoints; ///< with --checkpoint
  std::unique_ptr<Trainer> trainer;
  std::unique_ptr<SelfCheck> selfCheck; ///< with --self-check
  std::unique_ptr<Generator> generator; ///< with --sample
  std::vector<int32_t> prompt;
  std::unique_ptr<Progress> progress;       ///< of the first rank
  std::unique_ptr<Metrics> metrics;         ///< of the first rank
  std::unique_ptr<TensorBoard> tensorBoard; ///< of the first rank
  std::unique_ptr<TraceLog> trace;
  std::unique_ptr<Dump> dump;
  int64_t traceFirst = 0, traceLast = 0; ///< updates; 0: none
  bool isTracing = false;                ///< the first traced update has begun
  /// The values that ranks agree on between updates: the signal that stops
  /// them, and the progress of a checkpoint.
  std::array<int32_t, 2> agreed = {};
  std::vector<Transfer> agreedTransfer;
  int stopSignal = 0;
  UpdateReport first, last;
  int64_t skipped = 0;
  double graphSeconds = 0;     ///< of one launch, where it was asked for
  EvaluationReport validation; ///< the last one's
  bool evaluated = false;
};

} // namespace zrt

#endif // ZERO_RUNTIME_TRAINER_RANKRUN_H
