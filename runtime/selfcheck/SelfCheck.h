// Updates of a run that checks itself: that nothing but updates changes what is
// kept between them, that ranks with the same state have the same, and that
// what is computed again comes out the same.
#ifndef ZERO_RUNTIME_SELFCHECK_SELFCHECK_H
#define ZERO_RUNTIME_SELFCHECK_SELFCHECK_H

#include "engine/Trainer.h"
#include "selfcheck/Attempt.h"
#include "selfcheck/Blame.h"
#include "selfcheck/Replicas.h"
#include "selfcheck/UpdateSamples.h"
#include "selfcheck/Usual.h"

namespace zrt {

/// The checks between a rank's loop and its trainer.
///
/// Every `every`-th update, and the run's first one, is checked: its states
/// against hashes of them after the update before, before they are used; its
/// gradients by computing them twice; and after it, states of ranks that ought
/// to be equal. An update whose loss or gradients are not finite, or far from
/// those of the updates before, is computed again as well, then with the
/// samples of another rank, before anything is updated.
class SelfCheck {
public:
  using Say = std::function<void(const std::string &what)>;

  /// All references are borrowed. `say` is told, on one rank, what was found
  /// and does not end the run.
  SelfCheck(const Program &program, Backend &backend, Trainer &trainer,
            Communicator &communicator, int64_t every, Say say);

  /// As `Trainer::update`. Throws as `failTogether` where something is wrong:
  /// before anything is updated, but for states that differ after it.
  UpdateReport update(const UpdateSamples &samples);

  /// Compares states of ranks, between updates, where the last update has not.
  void checkState();

  /// Something else than an update has changed states.
  void forget();

private:
  using Again = std::function<void()>;

  bool isDue(int64_t update) const { return isFirst || update % every == 0; }
  void keepHashes();
  void checkKept();
  void review(const Again &again);
  Attempt repeat(const Again &again, bool looks, uint64_t otherSamples = 0);
  void settle(const Attempt &first, Attempt &second, const Again &again);
  void look(Attempt &last, const Again &again);
  void judge(const Attempt &attempt, const Again &again);
  void checkOnOthers(const Attempt &attempt, const Again &again);
  bool isSuspicious(const Attempt &attempt) const;
  void addUsual(const Attempt &attempt);
  std::string number() const;
  void tell(const std::string &what) const;
  [[noreturn]] void fail(int rank, const std::string &what);

  const Program &program;
  Backend &backend;
  Trainer &trainer;
  Communicator &communicator;
  const int64_t every;
  const Say say;
  const std::string refused; ///< why nothing is computed again; empty: it is
  const std::vector<KeptState> states;
  OperationTrace trace;
  StateHashes kept;        ///< after the last update; empty: not taken
  bool isCompared = false; ///< whether the last update's states were
  bool isFirst = true;     ///< of this run
  bool isTracing = false;  ///< the update that runs
  const UpdateSamples *samples = nullptr; ///< of the update that runs
  uint64_t moved = 0; ///< places by which ranks have others' samples
  Usual loss, norm;
};

} // namespace zrt

#endif // ZERO_RUNTIME_SELFCHECK_SELFCHECK_H
