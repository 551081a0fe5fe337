// What records say together: four ranks that no longer do the same.
#include "flight/FlightReport.h"

#include <gtest/gtest.h>

using namespace zrt;

namespace {

/// The records of ranks that start the commands of one region, by number.
class Ranks {
public:
  explicit Ranks(int ranks) {
    for (int rank = 0; rank < ranks; ++rank) {
      FlightRecord record;
      record.path = "rank-" + std::to_string(rank);
      record.rank = rank;
      record.ranks = ranks;
      record.isHeld = true;
      record.update = 2;
      record.groups = {{1, uint32_t(ranks), uint32_t(rank)}};
      records.push_back(record);
    }
  }

  /// All operations that `rank` starts, as commands; all have one signature.
  void start(int rank, const std::vector<uint32_t> &commands) {
    for (const uint32_t command : commands)
      add(rank, FlightKind::Meeting, command, "gather " + name(command));
  }
  /// `rank` waits for what it has started last.
  void wait(int rank) {
    const FlightStep last = records[size_t(rank)].steps.back();
    FlightStep &step =
        add(rank, FlightKind::Wait, last.command, "wait for " + last.text);
    step.meeting = last.meeting;
    step.hasEnded = false;
  }
  void compute(int rank, const std::string &kernel) {
    add(rank, FlightKind::Kernel, 99, kernel).hasEnded = false;
  }

  std::vector<FlightRecord> records;

private:
  static std::string name(uint32_t command) {
    return "'@w" + std::to_string(command) +
           "' at model.mlir:" + std::to_string(command) + ":1";
  }
  FlightStep &add(int rank, FlightKind kind, uint32_t command,
                  const std::string &text) {
    FlightRecord &record = records[size_t(rank)];
    FlightStep step;
    step.number = ++record.count;
    step.began = int64_t(step.number) * 500000000;
    step.hasEnded = true;
    step.update = record.update;
    step.kind = kind;
    step.region = 1;
    step.command = command;
    step.text = text;
    if (kind == FlightKind::Meeting) {
      step.group = 0;
      step.meeting = ++meetings[rank];
    } else if (kind == FlightKind::Wait) {
      step.group = 0;
    }
    record.steps.push_back(step);
    return record.steps.back();
  }

  std::map<int, uint64_t> meetings;
};

void expectHas(const std::string &text, const std::string &part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST(FlightReport, ASkippedOperationIsNamed) {
  for (const int ranks : {2, 3}) {
    Ranks all(ranks);
    for (int rank = 0; rank < ranks; ++rank)
      all.start(rank, rank == 1 ? std::vector<uint32_t>{1, 3}
                                : std::vector<uint32_t>{1, 2});
    all.wait(0);
    expectHas(describeFlights(all.records), "ranks part in update 2: rank");
    expectHas(describeFlights(all.records),
              "started gather '@w2' at model.mlir:2:1; rank 1 skipped it");
    expectHas(describeFlights(all.records),
              "rank 1 skipped it, and went on with gather '@w3' at "
              "model.mlir:3:1");
  }
}

TEST(FlightReport, AnExtraOperationIsNamed) {
  for (const int ranks : {2, 3}) {
    Ranks all(ranks);
    for (int rank = 0; rank < ranks; ++rank)
      all.start(rank, rank == 1 ? std::vector<uint32_t>{1, 1}
                                : std::vector<uint32_t>{1, 2});
    expectHas(describeFlights(all.records),
              "started gather '@w2' at model.mlir:2:1; rank 1 started "
              "gather '@w1' at model.mlir:1:1 once more");
  }
}

TEST(FlightReport, AChangedOrderIsNamed) {
  for (const int ranks : {2, 3}) {
    Ranks all(ranks);
    for (int rank = 0; rank < ranks; ++rank)
      all.start(rank, rank == 1 ? std::vector<uint32_t>{1, 3, 2}
                                : std::vector<uint32_t>{1, 2});
    expectHas(describeFlights(all.records),
              "rank 1 changed the order, and started gather '@w3' at "
              "model.mlir:3:1 before it");
  }
}

TEST(FlightReport, AStoppedRankIsNamed) {
  Ranks all(3);
  for (const int rank : {0, 2}) {
    all.start(rank, {1, 2});
    all.wait(rank);
  }
  all.start(1, {1});
  all.compute(1, "nn.linear 'layer' at model.mlir:7:1");
  EXPECT_EQ(describeFlights(all.records),
            "rank 0: in update 2, in wait for gather '@w2' at model.mlir:2:1\n"
            "rank 1: in update 2, in nn.linear 'layer' at model.mlir:7:1\n"
            "rank 2: in update 2, in wait for gather '@w2' at model.mlir:2:1\n"
            "waited for: gather '@w2' at model.mlir:2:1: ranks 0, 2 arrived, "
            "rank 1 did not; rank 1: in update 2, in "
            "nn.linear 'layer' at model.mlir:7:1\n");
}

/// One that waits for what all have started, because data does not move.
TEST(FlightReport, AStoppedRankIsNamedWhereOthersWaitForMoreThanItsStart) {
  Ranks all(2);
  all.start(0, {1});
  all.wait(0);
  const FlightStep wait = all.records[0].steps.back();
  all.records[0].steps.pop_back();
  all.start(0, {2});
  all.records[0].steps.push_back(wait);
  all.start(1, {1});
  expectHas(describeFlights(all.records),
            "waited for: gather '@w2' at model.mlir:2:1: rank 0 arrived, rank "
            "1 did not; rank 1: in update 2, after gather '@w1'");
}

TEST(FlightReport, ALostRankIsNamed) {
  Ranks all(2);
  all.start(0, {1});
  all.wait(0);
  all.compute(1, "nn.linear");
  all.records[1].isHeld = false;
  all.records[1].process = 123;
  all.records[1].machine = "node7";
  expectHas(describeFlights(all.records),
            "rank 0 arrived, rank 1 did not; rank 1: its process (123 on "
            "node7) has ended without a word, in update 2, in nn.linear");
}

/// Only what one rank's ring still has is compared with the others'.
TEST(FlightReport, OldOperationsMayBeForgotten) {
  Ranks all(2);
  all.start(0, {1, 2, 3});
  all.start(1, {1, 2, 3});
  all.records[0].steps.erase(all.records[0].steps.begin());
  EXPECT_EQ(describeFlights(all.records),
            "rank 0: in update 2, after gather '@w3' at model.mlir:3:1\n"
            "rank 1: in update 2, after gather '@w3' at model.mlir:3:1\n");
}

/// Nothing says which of two ranks is wrong where neither runs a command.
TEST(FlightReport, DifferentOperationsOutsideOfCommandsAreBothNamed) {
  Ranks all(2);
  for (const int rank : {0, 1}) {
    all.start(rank, {kNoCommand});
    FlightStep &step = all.records[size_t(rank)].steps.back();
    step.signature = uint64_t(rank);
    step.text = rank == 0 ? "barrier" : "all-reduce";
  }
  const std::string text = describeFlights(all.records);
  expectHas(text, "rank 0 started barrier");
  expectHas(text, "rank 1 started all-reduce");
}

TEST(FlightReport, ARankWithoutARecordIsNamed) {
  Ranks all(3);
  all.records.erase(all.records.begin() + 1);
  expectHas(describeFlights(all.records),
            "rank 1: no record here, see on its machine\n");
}

std::string refusalOf(const std::vector<FlightRecord> &records) {
  try {
    return describeFlights(records);
  } catch (const std::invalid_argument &error) {
    return error.what();
  }
}

TEST(FlightReport, RecordsOfTwoRunsAreRefused) {
  Ranks three(3), two(2);
  EXPECT_EQ(refusalOf({two.records[0], three.records[1]}),
            "rank-1: is of 3 ranks of '', and rank-0 of 2 of '': give the "
            "records of one run");
  EXPECT_EQ(refusalOf({two.records[0], two.records[0]}),
            "rank-0: is a second record of rank 0: give the records of one "
            "run");
}

TEST(FlightReport, ListsTheLastOperations) {
  Ranks all(1);
  all.start(0, {1, 2});
  all.wait(0);
  EXPECT_EQ(
      listFlight(all.records[0], 2),
      "         2     0.000000 s  update 2  gather '@w2' at model.mlir:2:1\n"
      "         3     0.500000 s  update 2  wait for gather '@w2' at "
      "model.mlir:2:1  "
      "(not finished)\n");
}

} // namespace
