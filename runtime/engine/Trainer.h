// The update loop of one rank.
#ifndef ZERO_RUNTIME_ENGINE_TRAINER_H
#define ZERO_RUNTIME_ENGINE_TRAINER_H

#include "data/Batches.h"
#include "engine/Backend.h"
#include "program/Control.h"

#include <functional>
#include <optional>
#include <set>

namespace zrt {

/// The results of an update. Equal on all ranks but for the times.
struct UpdateReport {
  int64_t update = 0; ///< from 1, skipped ones included
  double loss = 0;    ///< mean over ranks and micro-batches
  double gradientNorm = 0;
  double learningRate = 0; ///< of the first partition that has one
  double lossScale = 1;    ///< that multiplied this update's loss
  double nextLossScale = 1;
  bool skipped = false;
  double seconds = 0;
  double deviceSeconds = 0; ///< 0: there is no device
  Traffic traffic;
  /// Names a parameter with a gradient that is inf or NaN, and the rank that
  /// saw it; empty where there is none.
  std::string blame;
};

/// The results of an evaluation: means over micro-batches and ranks, equal on
/// all ranks.
struct EvaluationReport {
  double loss = 0;
  /// The mean of each further output that is one floating-point number, by its
  /// name.
  std::vector<std::pair<std::string, double>> outputs;
  /// Whether the evaluation went to the end.
  bool isWhole = true;
};

/// Writes this rank's inputs, in the order of `Program::inputs`, of
/// micro-batch `micro` of an update, or of an evaluation.
using FillInputs = std::function<void(int64_t micro, void *const *inputs)>;

class Trainer {
public:
  /// All references are borrowed; `batches` may be null where inputs are given
  /// with each call. The control block is initialised already.
  Trainer(const Program &program, Backend &backend, Communicator &communicator,
          const Batches *batches);

  /// One update. Throws std::runtime_error when a command fails, or when the
  /// loss overflows at the smallest loss scale.
  UpdateReport update();
  /// The same on inputs that `fill` writes.
  UpdateReport update(const FillInputs &fill);

  /// Evaluates `count` validation micro-batches of each rank. `goesOn` is asked
  /// between two, and says the same on all ranks; none: to the end.
  EvaluationReport evaluate(int64_t count,
                            const std::function<bool()> &goesOn = {});
  /// Evaluates `count` micro-batches on inputs that `fill` writes. `visit` is
  /// called after each micro-batch, when the evaluation's outputs can be read.
  EvaluationReport evaluate(int64_t count, const FillInputs &fill,
                            const std::function<void(int64_t micro)> &visit,
                            const std::function<bool()> &goesOn = {});

  /// Runs the evaluation region on inputs that `fill` writes: those of
  /// micro-batch number `batch`, which decides on what is drawn.
  void evaluateInputs(uint64_t batch,
                      const std::function<void(void *const *inputs)> &fill);

  /// Goes on after `updates` updates of an earlier run.
  void startAfter(int64_t updates) { done = updates; }

  /// The learning rate of a parameter group, or of all without one, from the
  /// next update on, in the place of the schedule; nothing: the schedule again.
  void fixLearningRate(std::optional<double> rate,
                       const std::string *group = nullptr);

  /// The parameter groups of what is trained.
  std::set<std::string> groups() const;

  /// Updates begun, skipped ones included.
  int64_t updates() const { return done; }

private:
  void setLearningRates();
  UpdateReport report(const Traffic &before, double scale);
  void checkIds() const;
  std::string blame();
  void addScalars(const std::vector<const Output *> &scalars,
                  const Output &weight, std::vector<double> &sums);

  const Program &program;
  Backend &backend;
  Communicator &communicator;
  const Batches *batches;
  std::vector<float> learningRates;              ///< of this update
  std::vector<std::optional<double>> fixedRates; ///< by partition
  int64_t done = 0;
};

} // namespace zrt

#endif // ZERO_RUNTIME_ENGINE_TRAINER_H
