// What is written down, and what is read of it.
#include "../TemporaryFile.h"

#include "flight/FlightReader.h"
#include "flight/FlightRecorder.h"

#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <sys/wait.h>
#include <unistd.h>

using namespace zrt;
using namespace zrt::test;

namespace {

/// A path at which nothing is, until the test has ended.
class Flight : public ::testing::Test {
protected:
  Flight() { std::filesystem::remove(file.path()); }
  const std::string &path() const { return file.path(); }

  TemporaryFile file{".flight"};
};

TEST_F(Flight, HasWhatWasWritten) {
  FlightRecorder recorder(path(), {2, 4, 1, "a model"});
  EXPECT_EQ(recorder.addGroup(7, 2, 1), 0u);
  recorder.setUpdate(3);
  recorder.beginRegion("");
  {
    FlightOperation start(&recorder, FlightKind::Meeting, "all-gather '@w'", 5);
    EXPECT_EQ(FlightOperation::current(), &start);
    start.meet({0, 9, 1234});
    start.finish();
    FlightOperation wait(&recorder, FlightKind::Wait, "wait", 6);
  }
  EXPECT_EQ(FlightOperation::current(), nullptr);
  const FlightRecord record = readFlight(path());
  EXPECT_EQ(record.rank, 2);
  EXPECT_EQ(record.ranks, 4);
  EXPECT_EQ(record.stage, 1);
  EXPECT_EQ(record.program, "a model");
  EXPECT_EQ(record.process, ::getpid());
  EXPECT_EQ(record.update, 3u);
  EXPECT_TRUE(record.isHeld);
  EXPECT_FALSE(record.isLost());
  ASSERT_EQ(record.groups.size(), 1u);
  EXPECT_EQ(record.groups[0].id, 7u);
  ASSERT_EQ(record.steps.size(), 2u);
  const FlightStep &start = record.steps[0];
  EXPECT_EQ(start.text, "all-gather '@w'");
  EXPECT_EQ(start.meeting, 9u);
  EXPECT_EQ(start.signature, 1234u);
  EXPECT_EQ(start.command, 5u);
  EXPECT_EQ(start.region, 1u);
  EXPECT_TRUE(start.hasEnded);
  EXPECT_FALSE(record.steps[1].hasEnded);
  EXPECT_LE(start.began, record.steps[1].began);
}

TEST_F(Flight, KeepsTheLastOperations) {
  FlightRecorder recorder(path(), {});
  for (uint32_t i = 1; i <= kFlightOperations + 10; ++i)
    FlightOperation(&recorder, FlightKind::Kernel, std::to_string(i)).finish();
  const FlightRecord record = readFlight(path());
  EXPECT_EQ(record.count, kFlightOperations + 10);
  ASSERT_EQ(record.steps.size(), kFlightOperations);
  EXPECT_EQ(record.steps.front().text, "11");
  EXPECT_EQ(record.steps.back().text, std::to_string(kFlightOperations + 10));
}

/// A label may be as long as a list of parameters; the line is at its end.
TEST_F(Flight, LongTextsKeepBothEnds) {
  FlightRecorder recorder(path(), {});
  const std::string text =
      "all-gather '" + std::string(1000, 'x') + "' at model.mlir:123:4";
  FlightOperation(&recorder, FlightKind::Kernel, text).finish();
  recorder.beginRegion("forward pass of micro-batch 3: ");
  FlightOperation(&recorder, FlightKind::Kernel, text, 1).finish();
  const FlightRecord record = readFlight(path());
  for (const FlightStep &step : record.steps) {
    EXPECT_EQ(step.text.size(), kFlightTextBytes - 1);
    EXPECT_NE(step.text.find("all-gather 'xxx"), std::string::npos);
    EXPECT_NE(step.text.find("xxx' at model.mlir:123:4"), std::string::npos);
  }
  EXPECT_EQ(record.steps[1].text.find("forward pass of micro-batch 3: "), 0u);
}

TEST_F(Flight, OutlivesAKilledProcess) {
  const pid_t child = ::fork();
  if (child == 0) {
    FlightRecorder recorder(path(), {});
    FlightOperation operation(&recorder, FlightKind::Kernel, "nn.linear");
    ::kill(::getpid(), SIGKILL);
  }
  ::waitpid(child, nullptr, 0);
  const FlightRecord record = readFlight(path());
  EXPECT_TRUE(record.isLost());
  EXPECT_TRUE(isLostFlight(path()));
  EXPECT_EQ(record.process, child);
  ASSERT_EQ(record.steps.size(), 1u);
  EXPECT_EQ(record.steps[0].text, "nn.linear");
  EXPECT_FALSE(record.steps[0].hasEnded);
}

TEST_F(Flight, WhoEndsWellIsNotLost) {
  {
    FlightRecorder recorder(path(), {});
    EXPECT_FALSE(isLostFlight(path()));
    recorder.setState(FlightState::Ended);
  }
  EXPECT_FALSE(isLostFlight(path()));
  EXPECT_FALSE(readFlight(path()).isLost());
  std::filesystem::remove(path());
  EXPECT_FALSE(isLostFlight(path()));
}

TEST_F(Flight, IsGoneOnceItIsRemoved) {
  FlightRecorder recorder(path(), {});
  recorder.remove();
  EXPECT_FALSE(std::filesystem::exists(path()));
  FlightOperation(&recorder, FlightKind::Kernel, "what is lost").finish();
}

TEST_F(Flight, NothingIsWrittenWithoutARecorder) {
  FlightOperation operation(nullptr, FlightKind::Kernel, "nn.linear");
  operation.meet({0, 1, 2});
  operation.finish();
  EXPECT_EQ(FlightOperation::current(), nullptr);
}

std::string refusalOf(const std::string &path) {
  try {
    readFlight(path);
  } catch (const std::runtime_error &error) {
    return error.what();
  }
  return "";
}

TEST_F(Flight, WhatIsNoRecordIsRefused) {
  EXPECT_EQ(refusalOf(path()), path() + ": No such file or directory");
  const TemporaryFile text(".txt", "to be or not to be");
  EXPECT_EQ(refusalOf(text.path()),
            text.path() + ": is no file of " +
                std::to_string(sizeof(FlightFile)) +
                " bytes, wanted the record of a rank, as this version's runs "
                "leave it");
  const TemporaryFile zeros(".flight", std::string(sizeof(FlightFile), '\0'));
  EXPECT_EQ(refusalOf(zeros.path()),
            zeros.path() + ": begins otherwise, wanted the record of a rank, "
                           "as this version's runs leave it");
}

TEST_F(Flight, TheFileMustBeNew) {
  const FlightRecorder first(path(), {});
  EXPECT_THROW(FlightRecorder(path(), {}), std::runtime_error);
}

} // namespace
