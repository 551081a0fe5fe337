// A run that a caller drives: the ranks of one process, update by update.
#ifndef ZERO_RUNTIME_CAPI_SESSION_H
#define ZERO_RUNTIME_CAPI_SESSION_H

#include "capi/Batch.h"
#include "capi/Gate.h"
#include "capi/Given.h"
#include "capi/RankTeam.h"
#include "checkpoint/Manifest.h"
#include "communicator/Communicator.h"
#include "engine/Failure.h"
#include "engine/Trainer.h"
#include "selfcheck/SelfCheck.h"
#include "state/Pieces.h"
#include "state/Weights.h"
#include "trainer/Run.h"

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace zrt {

/// Not in this state of the run; nothing was done.
class StateError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// The program that a session runs and the kernels that were compiled for it,
/// borrowed.
struct Compiled {
  const Program *program = nullptr;
  const GeneratedKernel *kernels = nullptr;
  int64_t kernelCount = 0;
  BackendMaker makeBackend;
  WorkspaceMeter measureWorkspace = nullptr; ///< null: nothing is measured
};

/// The optimizer's states of a parameter, without those that are another form
/// of its value.
std::vector<const State *> optimizerStatesOf(const Program &program,
                                             const Parameter &parameter);

/// Room for an output of all micro-batches of an evaluation, borrowed.
struct NamedResult {
  std::string name;
  void *data = nullptr;
  uint64_t bytes = 0;
};

/// Calls must not overlap. All throw ArgumentError and StateError before
/// anything has changed. Where a rank fails all fail, with std::runtime_error;
/// later calls then are StateErrors that say why.
class Session {
public:
  /// Makes all ranks and sets their state as at the start of a run. Of
  /// `options`: seed, threads, lossScale, weights, overcommit, timeout,
  /// selfCheck.
  Session(const Compiled &compiled, const Options &options);
  ~Session();
  Session(const Session &) = delete;
  Session &operator=(const Session &) = delete;

  /// Opens data for steps without arrays, as the executable does.
  void openData(const std::string &path);
  /// Says which data of `samples` samples the caller takes batches from:
  /// `arrays` are micro-batches that begin with the samples of `telling`. None
  /// of no samples: it is not known any more.
  void describeData(const std::vector<NamedArray> &arrays, int64_t samples);
  /// Which of `samples` samples is at `position` of the sequence of epochs.
  int64_t sampleAt(int64_t samples, int64_t position) const;

  /// One update, on the data that is open where there are no arrays, with
  /// `gradients` added to those of the loss, or instead of them, as the program
  /// says. Where they are instead there are no arrays, and the loss is NaN.
  UpdateReport step(const std::vector<NamedArray> &arrays,
                    const std::vector<NamedGradient> &gradients = {});
  /// An update in two parts: `backward` ends when all gradients are reduced and
  /// judged, and before anything is updated. Not in a run that checks itself.
  void backward(const std::vector<NamedArray> &arrays,
                const std::vector<NamedGradient> &gradients = {});
  UpdateReport update();
  /// The mean loss; fills `results` with outputs, in the order of the samples.
  double evaluate(const std::vector<NamedArray> &arrays,
                  const std::vector<NamedResult> &results = {});

  /// The notices since the last call, of things that did not end the run: a
  /// line each.
  std::string takeNotices() { return std::exchange(notices, ""); }

  /// The learning rate of all parameter groups from the next update on;
  /// nothing: that of the schedule again.
  void setLearningRate(std::optional<double> rate);
  /// The learning rates of some parameter groups, by name, from the next update
  /// on; nothing: that of the schedule again. Throws ArgumentError, and sets
  /// none, if there is no such group.
  void
  setLearningRates(const std::map<std::string, std::optional<double>> &rates);

  /// Updates begun, and the position of the next one's first sample.
  int64_t updates() const;
  int64_t samplesBefore() const;

  /// All `count` elements of a parameter, as f32: of the master, where there is
  /// one.
  void getParameter(const std::string &name, float *values, int64_t count);
  void setParameter(const std::string &name, const float *values,
                    int64_t count);
  /// All `count` elements of a parameter's optimizer state, as f32.
  void getState(const std::string &name, const std::string &state,
                float *values, int64_t count);
  void setState(const std::string &name, const std::string &state,
                const float *values, int64_t count);
  /// Between `backward` and `update`: the mean over the update's samples,
  /// unscaled and not clipped. The update clips what was set.
  void getGradient(const std::string &name, float *values, int64_t count);
  void setGradient(const std::string &name, const float *values, int64_t count);

  /// The elements of a parameter that one rank answers for, piece after piece.
  /// `what` is "parameter", "gradient", or the name of an optimizer state. Each
  /// element belongs to one rank: if several ranks store the elements, each
  /// answers for an equal part, and setting them sets all copies. Values are as
  /// those of the functions above.
  std::vector<Piece> localPieces(int rank, const std::string &name,
                                 const std::string &what) const;
  void getLocal(int rank, const std::string &name, const std::string &what,
                float *values, int64_t count);
  void setLocal(int rank, const std::string &name, const std::string &what,
                const float *values, int64_t count);

  void saveWeights(const std::string &path);
  /// Returns the checkpoint's path.
  std::string saveCheckpoint(const std::string &folder, int64_t keep);
  /// Goes on from the newest complete checkpoint of `folder`.
  void loadCheckpoint(const std::string &folder);

private:
  struct Rank;
  /// An update between `backward` and `update`.
  struct Held {
    explicit Held(int ranks) : gate(ranks) {}
    Gate gate;
    UpdateReport report;
    bool isChanged = false; ///< gradients were set
  };
  /// A function that fills the inputs of one rank with the samples of the rank
  /// `moved` places further.
  using RankFill = std::function<void(int rank, int64_t micro,
                                      void *const *inputs, uint64_t moved)>;

  void prepare(int rank);
  RankFill inputsOf(const std::vector<NamedArray> &arrays);
  RankFill fillOf(const std::vector<NamedArray> &arrays,
                  const std::vector<NamedGradient> &gradients);
  const Output &outputOf(const NamedResult &result, int64_t micros) const;
  UpdateReport updateRank(int rank, const RankFill &fill);
  UpdateReport checkedUpdate(int rank, const RankFill &fill);
  int64_t placeOf(int rank, int64_t micro, uint64_t moved = 0) const;
  void forgetChecked();

  void runRanks(const RankTeam::Job &job);
  void tryRank(int rank, const RankTeam::Job &job);
  void throwFailure();
  void runTogether(const std::function<void(int number, Rank &rank)> &body);
  void checkAlive() const;
  void checkIdle() const;
  /// Throws StateError where values are missing that a run starts from.
  void checkStarted() const;
  void compareSources();
  void writeParameter(const std::string &name, const float *values,
                      int64_t count);
  void noteGiven(const std::string &name);

  const Parameter &parameterOf(const std::string &name) const;
  const Parameter &parameterOf(const std::string &name, int64_t count) const;
  const Parameter &gradientOf(const std::string &name) const;
  const State &stateOf(const Parameter &parameter,
                       const std::string &name) const;
  void readRanks(const std::function<void(int number, const Arenas &)> &read);
  StartingValues startingValues(const Rank &rank) const;

  Program own;
  Options options;
  std::ostringstream output; ///< what nobody reads
  std::string notices;       ///< what the first rank's checks and data tell
  Run run;
  Data data;
  std::vector<std::unique_ptr<Batches>> batches; ///< of `data`, by rank
  /// Update `firstUpdate` begins with sample `firstSample` of the sequence.
  int64_t firstUpdate = 0, firstSample = 0;
  /// The data that batches come from, if it is known, and the data of the run
  /// whose checkpoint was loaded, until both are compared.
  DataPosition source, sourceBefore;
  std::string loadedPath;
  std::vector<std::unique_ptr<Communicator>> communicators;
  std::vector<std::unique_ptr<Rank>> ranks;
  /// Frozen parameters that the caller has set, and whose stored type does not
  /// tell them exactly.
  std::map<std::string, std::vector<float>> exact;
  std::unique_ptr<Held> held;
  /// Whether the values are those that the run is to start from: a model with
  /// weights has none of them before it was given some.
  bool isStarted = true;
  std::set<std::string> given; ///< the parameters that the caller has set
  std::map<std::string, std::set<int>> givenBy; ///< and of which ranks' pieces
  Failure failure;                              ///< of the ranks
  RankTeam team; ///< the last: its threads use the rest
};

struct Session::Rank {
  std::unique_ptr<Backend> backend;
  std::unique_ptr<Trainer> trainer;
  std::unique_ptr<SelfCheck> selfCheck; ///< where the run checks itself
  StartingValues start;
  /// Parameters have been set, and copies of them have not followed yet.
  bool stale = false;

  /// Lets them follow.
  void refresh();
};

} // namespace zrt

#endif // ZERO_RUNTIME_CAPI_SESSION_H
