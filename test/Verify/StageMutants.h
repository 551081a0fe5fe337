//===- StageMutants.h - programs of stages with one change each -----------===//
#ifndef ZERO_TEST_VERIFY_STAGEMUTANTS_H
#define ZERO_TEST_VERIFY_STAGEMUTANTS_H

#include "program/Program.h"

#include <functional>
#include <string>
#include <vector>

namespace zrt::test {

struct StageMutant {
  std::string what;
  std::vector<Program> stages;
  /// Whether it may do the same in another way.
  bool mayPass = false;
};

using VisitMutant = std::function<void(const StageMutant &)>;

/// Whether the command starts to send or to receive.
bool isTransfer(const Command &command);

/// The table of each stage, and its slots: each pass dropped, doubled, turned,
/// of another micro-batch or chunk, or behind the next one; fewer and more,
/// smaller and larger slots.
void forEachOrderMutant(const std::vector<Program> &stages,
                        const VisitMutant &visit);

/// Each send and receive of each region: dropped, doubled, of another size,
/// type, name, stage or lane.
void forEachTransferMutant(const std::vector<Program> &stages,
                           const VisitMutant &visit);

/// Each collective of an update in which stages meet, and not only ranks of
/// one: dropped, doubled, of another size.
void forEachCollectiveMutant(const std::vector<Program> &stages,
                             const VisitMutant &visit);

/// Each wait for a transfer: dropped, behind the next command, or with the next
/// wait's ticket and the other way round.
void forEachWaitMutant(const std::vector<Program> &stages,
                       const VisitMutant &visit);

/// Each kernel dropped that writes to the stash, and not over an operand.
void forEachStashMutant(const std::vector<Program> &stages,
                        const VisitMutant &visit);

/// Passes that may be far apart, changed for each other at random: of one
/// stage, and of all stages at the same places.
void forEachShuffledMutant(const std::vector<Program> &stages, size_t count,
                           const VisitMutant &visit);

/// All tables changed alike: micro-batches in each other order of two of them,
/// and in all of the stages the same pass behind the next one.
void forEachJointMutant(const std::vector<Program> &stages,
                        const VisitMutant &visit);

} // namespace zrt::test

#endif // ZERO_TEST_VERIFY_STAGEMUTANTS_H
