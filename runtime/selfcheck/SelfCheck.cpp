#include "selfcheck/SelfCheck.h"

#include "io/Together.h"
#include "program/ByteCount.h"

#include <sstream>
#include <stdexcept>
#include <utility>

using namespace zrt;

static constexpr const char *kAdvice =
    "; do not trust its machine, and go on from a checkpoint without it";

SelfCheck::SelfCheck(const Program &program, Backend &backend, Trainer &trainer,
                     Communicator &communicator, int64_t every, Say say)
    : program(program), backend(backend), trainer(trainer),
      communicator(communicator), every(every), say(std::move(say)),
      refused(backend.refuseReview()), states(keptStates(program)),
      trace(program, backend) {
  if (refused.empty())
    backend.setReview([this](const Again &again) { review(again); });
  else
    tell("checks compare the states of ranks, and compute nothing again: " +
         refused);
}

UpdateReport SelfCheck::update(const UpdateSamples &own) {
  const int64_t number = trainer.updates() + 1;
  const bool isChecked = isDue(number);
  if (!refused.empty())
    checkKept(); // as late as it can be
  isTracing = isChecked && refused.empty();
  if (isTracing)
    trace.begin(/*looks=*/false);
  samples = &own;
  UpdateReport report =
      trainer.update([this](int64_t micro, void *const *inputs) {
        samples->fill(micro, inputs, moved);
      });
  isFirst = isCompared = false;
  kept.clear();
  if (isChecked)
    checkState();
  else if (isDue(number + 1))
    keepHashes();
  return report;
}

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

void SelfCheck::keepHashes() {
  backend.drain();
  kept.clear();
  together(communicator, [&] {
    for (const KeptState &state : states)
      kept.push_back(hashBlocks(state, backend.arenas(), communicator.rank()));
  });
}

void SelfCheck::checkState() {
  if (isCompared)
    return;
  if (kept.empty())
    keepHashes();
  compareReplicas(program, states, kept, backend.arenas(), communicator,
                  kAdvice);
  isCompared = true;
}

void SelfCheck::forget() {
  kept.clear();
  isCompared = false;
}

void SelfCheck::checkKept() {
  if (kept.empty())
    return;
  const StateHashes before = std::exchange(kept, {});
  keepHashes();
  const std::string changed =
      findChanged(program, states, before, kept, communicator.rank());
  if (changed.empty())
    return failTogether(communicator, "");
  failTogether(communicator, changed + " has changed since update " +
                                 std::to_string(trainer.updates()) +
                                 ", and nothing in the program does that" +
                                 kAdvice);
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

/// With a loss scale that follows overflows, these are usual, and skip updates.
bool SelfCheck::isSuspicious(const Attempt &attempt) const {
  if (!areFinite(attempt.measures))
    return program.training.lossScale.kind == LossScaleKind::None;
  return loss.isFarOff(lossOf(program, attempt.measures)) ||
         norm.isFarOff(normOf(attempt.measures));
}

void SelfCheck::addUsual(const Attempt &attempt) {
  if (!areFinite(attempt.measures))
    return;
  loss.add(lossOf(program, attempt.measures));
  norm.add(normOf(attempt.measures));
}

Attempt SelfCheck::repeat(const Again &again, bool looks,
                          uint64_t otherSamples) {
  Attempt attempt;
  moved = otherSamples;
  trace.begin(looks);
  again();
  attempt.operations = trace.end();
  moved = 0;
  attempt.measures = measureGradients(program, backend, communicator);
  return attempt;
}

void SelfCheck::review(const Again &again) {
  Attempt last;
  if (isTracing)
    last.operations = trace.end();
  last.measures = measureGradients(program, backend, communicator);
  checkKept();
  if (isTracing || isSuspicious(last)) {
    Attempt second = repeat(again, /*looks=*/isFirst);
    settle(last, second, again);
    last = std::move(second);
    if (isSuspicious(last))
      look(last, again);
    else if (isFirst)
      trace.setUsual(last.operations);
  }
  addUsual(last);
}

/// Computes an odd update once more, and looks at each value; a value that
/// differs then was a fault that came twice.
void SelfCheck::look(Attempt &last, const Again &again) {
  Attempt looked = repeat(again, /*looks=*/true);
  settle(last, looked, again);
  last = std::move(looked);
  if (isSuspicious(last))
    judge(last, again);
}

/// Computes a third time if the first two attempts differ, and takes the result
/// that two of the three agree on; fails if no two agree.
void SelfCheck::settle(const Attempt &first, Attempt &second,
                       const Again &again) {
  if (areEqual(first, second))
    return;
  const Attempt third = repeat(again, /*looks=*/false);
  if (!areEqual(third, first) && !areEqual(third, second)) {
    const Blamed blamed = findDifference(trace, second, third, communicator);
    fail(blamed.ranks.front(), number() +
                                   " was computed three times, and came out "
                                   "differently each time: " +
                                   listRanks(blamed.ranks) + " " + blamed.what +
                                   kAdvice);
  }
  const Blamed blamed = findDifference(trace, first, second, communicator);
  tell(number() + " was computed again, and came out differently: " +
       listRanks(blamed.ranks) + " " + blamed.what +
       "; the run goes on with what came out twice");
  second = third;
}

/// Finds the cause of an odd result that came out twice: a wrong state, or a
/// rank that computes other values than the others.
void SelfCheck::judge(const Attempt &attempt, const Again &again) {
  keepHashes();
  compareReplicas(program, states, kept, backend.arenas(), communicator,
                  kAdvice);
  std::optional<Blamed> source;
  const bool isFinite = areFinite(attempt.measures);
  if (!isFinite)
    source = findNonFinite(trace, attempt, *samples, communicator);
  if (program.sampleRanks() > 1)
    checkOnOthers(attempt, again);
  const std::string same =
      program.sampleRanks() > 1
          ? ", also when it is computed again, and by other ranks"
          : ", also when it is computed again";
  if (!isFinite)
    fail(source ? source->ranks.front() : 0,
         "the loss or a gradient of " + number() + " is not finite" + same +
             (source ? ": " + source->what : "") +
             "; nothing was updated: look at the data, or lower the learning "
             "rate" +
             (every > 1 ? "; a check of every update compares all states with "
                          "those of the update before"
                        : ""));
  std::ostringstream text;
  text << number() << " has ";
  if (!program.replacesGradients) // else there is no loss
    text << "a loss of " << lossOf(program, attempt.measures) << " after "
         << loss.mean() << " on average, and ";
  text << "gradients of " << normOf(attempt.measures) << " after "
       << norm.mean() << same << ": no fault was found";
  tell(text.str());
}

void SelfCheck::checkOnOthers(const Attempt &attempt, const Again &again) {
  const Attempt other = repeat(again, /*looks=*/true, /*otherSamples=*/1);
  const Attempt last = repeat(again, /*looks=*/false);
  if (!areEqual(attempt, last)) {
    const Blamed blamed = findDifference(trace, attempt, last, communicator);
    fail(blamed.ranks.front(),
         number() + " came out differently when it was computed again: " +
             listRanks(blamed.ranks) + " " + blamed.what + kAdvice);
  }
  if (const auto odd =
          findOddRank(program, trace, attempt, other, communicator))
    fail(odd->ranks.front(),
         number() + ": in " + odd->what +
             " this rank computes something else than another one with the "
             "same samples, each time: a persistent fault" +
             kAdvice);
}

/// "update 12": the one that runs.
std::string SelfCheck::number() const {
  return "update " + std::to_string(trainer.updates() + 1);
}

void SelfCheck::tell(const std::string &what) const {
  if (communicator.rank() == 0)
    say(what);
}

void SelfCheck::fail(int rank, const std::string &what) {
  failTogether(communicator, communicator.rank() == rank ? what : "");
  throw std::logic_error("a failure without a rank");
}
