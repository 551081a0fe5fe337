#include "zero/Timeline/Timeline.h"
#include "zero/Timeline/TimeShares.h"

#include "llvm/ADT/STLExtras.h"

#include <gtest/gtest.h>

using namespace mlir::zero;
using zrt::DataType;
using zrt::Opcode;
using zrt::Stream;

namespace {

/// A kernel of n bytes takes n seconds; a gather of two ranks over n bytes too.
Machine makeMachine() {
  Machine machine;
  machine.flops.fill(1);
  machine.bandwidth = 1;
  machine.protocols = {{0, 0, 0, 0.5, 0.5}};
  return machine;
}

/// Programs whose kernels and gathers take whole seconds.
class Timelines : public ::testing::Test {
protected:
  Timelines() { program.training.ranks = 2; }

  zrt::Command kernel(uint64_t seconds) {
    zrt::KernelSpec spec;
    spec.name = "work";
    spec.bytes = seconds;
    program.kernels.push_back(spec);
    zrt::Command command;
    command.kernel = program.kernels.size() - 1;
    command.label = "work";
    return command;
  }
  zrt::Command start(uint32_t ticket, uint64_t seconds,
                     Stream stream = Stream::Gather) {
    zrt::Command command;
    command.opcode = Opcode::Start;
    command.collective = zrt::Collective::AllGather;
    command.stream = stream;
    command.ticket = ticket;
    command.label = "gather";
    zrt::CollectivePart part;
    part.count = seconds / 2; // of each rank
    part.type = DataType::I8;
    command.parts = {part};
    return command;
  }
  zrt::Command wait(uint32_t ticket) {
    zrt::Command command;
    command.opcode = Opcode::Wait;
    command.ticket = ticket;
    return command;
  }
  Timeline simulateProgram() {
    CostModel model(machine, 2);
    return simulate(std::make_shared<zrt::Program>(program), model);
  }

  Machine machine = makeMachine();
  zrt::Program program;
};

TEST_F(Timelines, HidesAGatherBehindKernels) {
  program.micro.commands = {start(0, 4), kernel(3), wait(0), kernel(1)};
  Timeline timeline = simulateProgram();
  EXPECT_DOUBLE_EQ(timeline.stepSeconds(), 5);
  EXPECT_DOUBLE_EQ(timeline.exposed, 1);
  EXPECT_DOUBLE_EQ(timeline.busy[int(Stream::Compute)], 4);
  EXPECT_DOUBLE_EQ(timeline.busy[int(Stream::Gather)], 4);
}

TEST_F(Timelines, AStartFollowsWhatWasIssuedBefore) {
  program.micro.commands = {kernel(3), start(0, 2), wait(0)};
  Timeline timeline = simulateProgram();
  EXPECT_DOUBLE_EQ(timeline.stepSeconds(), 5);
  EXPECT_DOUBLE_EQ(timeline.exposed, 2);
}

TEST_F(Timelines, AStreamIsAQueue) {
  program.micro.commands = {start(0, 2), start(1, 2), kernel(1), wait(1),
                            wait(0)};
  Timeline timeline = simulateProgram();
  EXPECT_DOUBLE_EQ(timeline.stepSeconds(), 4);
  EXPECT_DOUBLE_EQ(timeline.exposed, 3);
}

TEST_F(Timelines, StreamsShareTheLinks) {
  program.micro.commands = {start(0, 2), start(1, 4, Stream::Reduce), wait(0),
                            kernel(1), wait(1)};
  Timeline timeline = simulateProgram();
  // Both at half speed for 4 s, then what is left of the second: 2 s.
  EXPECT_DOUBLE_EQ(timeline.stepSeconds(), 6);
  EXPECT_DOUBLE_EQ(timeline.exposed, 5);
}

TEST_F(Timelines, OnTheComputeStreamNothingIsHidden) {
  program.micro.commands = {start(0, 2, Stream::Compute), kernel(3), wait(0)};
  for (bool atWait : {false, true}) {
    machine.worksAtWait = atWait;
    machine.protocols[0].bandwidth = atWait ? 2 : 0.5;
    Timeline timeline = simulateProgram();
    EXPECT_DOUBLE_EQ(timeline.stepSeconds(), 5);
    EXPECT_DOUBLE_EQ(timeline.exposed, 2);
    EXPECT_DOUBLE_EQ(timeline.busy[int(Stream::Compute)], 3);
  }
}

TEST_F(Timelines, KernelsBesideACollectiveAreSlower) {
  machine.overlapSlowdown = 2;
  program.micro.commands = {start(0, 4), kernel(3), wait(0)};
  // 4 s for 2 s of work, then 1 s alone.
  EXPECT_DOUBLE_EQ(simulateProgram().stepSeconds(), 5);
}

TEST_F(Timelines, EveryMicroBatchRunsItsRegion) {
  program.training.accumulation = 3;
  program.micro.commands = {kernel(2)};
  program.apply.commands = {kernel(5)};
  Timeline timeline = simulateProgram();
  EXPECT_DOUBLE_EQ(timeline.stepSeconds(), 11);
  EXPECT_EQ(timeline.events.size(), 8u);
  EXPECT_EQ(timeline.events[2].micro, 2);
  EXPECT_EQ(timeline.events[3].region, TimedRegion::Apply);
  EXPECT_EQ(timeline.events[4].update, 1);
}

TEST_F(Timelines, WhatRunsIntoTheNextUpdateCountsThere) {
  // The first update has nothing to wait for; from the second on, the gather
  // that apply left runs beside the first kernel.
  program.micro.commands = {kernel(1), wait(0), kernel(1)};
  program.apply.commands = {kernel(1), start(0, 4)};
  Timeline timeline = simulateProgram();
  EXPECT_DOUBLE_EQ(timeline.begin, 3);
  EXPECT_DOUBLE_EQ(timeline.stepSeconds(), 6);
  EXPECT_DOUBLE_EQ(timeline.exposed, 3);
  // The gather that the second update starts ends after it.
  EXPECT_DOUBLE_EQ(timeline.end, 9);
  EXPECT_DOUBLE_EQ(timeline.events.back().end, 13);
}

TEST_F(Timelines, SomeMachinesWorkAtTheWait) {
  machine.worksAtWait = true;
  machine.protocols[0].bandwidth = 2; // of memory: 2 bytes for each, 2 ranks
  program.micro.commands = {start(0, 4), kernel(3), wait(0), wait(0)};
  Timeline timeline = simulateProgram();
  EXPECT_DOUBLE_EQ(timeline.stepSeconds(), 7);
  EXPECT_DOUBLE_EQ(timeline.exposed, 4);
  EXPECT_DOUBLE_EQ(timeline.busy[int(Stream::Gather)], 4);
}

TEST_F(Timelines, EventsAreInTheOrderOfTheirBegins) {
  program.micro.commands = {start(0, 8), start(1, 2), kernel(2), kernel(2),
                            wait(1)};
  Timeline timeline = simulateProgram();
  EXPECT_TRUE(llvm::is_sorted(timeline.events, [](auto &left, auto &right) {
    return left.begin < right.begin;
  }));
}

/// What is computed, moved, launched, updated and waited for is all of an
/// update.
TEST_F(Timelines, SharesTheTimeOfAnUpdate) {
  machine.kernelOverhead = 1;
  zrt::Command computes = kernel(2);
  program.kernels.back().flops = 6;
  program.micro.commands = {computes, start(0, 4), kernel(2), wait(0)};
  program.apply.commands = {kernel(3)};
  Timeline timeline = simulateProgram();
  TimeShares shares = shareTime(timeline, machine);
  EXPECT_DOUBLE_EQ(shares.of(Limit::Arithmetic), 6);
  EXPECT_DOUBLE_EQ(shares.of(Limit::Memory), 2);
  EXPECT_DOUBLE_EQ(shares.of(Limit::Launches), 2);
  EXPECT_DOUBLE_EQ(shares.of(Limit::NodeLinks), 1);
  EXPECT_DOUBLE_EQ(shares.of(Limit::Updates), 4);
  EXPECT_DOUBLE_EQ(shares.all(), timeline.stepSeconds());
  EXPECT_EQ(shares.inOrder().front(), Limit::Arithmetic);
  EXPECT_EQ(shares.inOrder().back(), Limit::NodeLinks);
}

TEST_F(Timelines, AWaitIsForWhatItsGroupSpans) {
  machine.ranksPerNode = 1;
  program.micro.commands = {start(0, 4), wait(0)};
  TimeShares shares = shareTime(simulateProgram(), machine);
  EXPECT_DOUBLE_EQ(shares.of(Limit::Network), 4);
  EXPECT_EQ(shares.inOrder().size(), 1u);
}

} // namespace
