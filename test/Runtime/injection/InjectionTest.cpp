// Faults as they are asked for, when they are due, and what they change.
#include "../TemporaryFile.h"

#include "checkpoint/FaultyDisk.h"
#include "communicator/FaultyCommunicator.h"
#include "communicator/InProcess.h"
#include "injection/Faults.h"

#include <gtest/gtest.h>

#include <cstring>
#include <new>
#include <set>
#include <thread>

using namespace zrt;
using namespace zrt::test;

namespace {

TEST(FaultSpec, HasKindRankStepAndOperation) {
  const FaultSpec fault = parseFault("skip@3:12:nn.linear.2");
  EXPECT_EQ(fault.kind, FaultKind::Skip);
  EXPECT_EQ(fault.rank, 3);
  EXPECT_EQ(fault.step, 12u);
  EXPECT_EQ(fault.operation, "nn.linear");
  EXPECT_EQ(fault.index, 2u);
  EXPECT_EQ(fault.text, "skip@3:12:nn.linear.2");
  EXPECT_EQ(parseFault("kill@0:0:nn.linear").index, 1u);
  EXPECT_EQ(parseFault("delay=0.25@0:1:wait").value, 0.25);
}

std::string refusalOf(const std::string &text) {
  try {
    parseFault(text);
  } catch (const std::invalid_argument &error) {
    return error.what();
  }
  return "";
}

TEST(FaultSpec, WhatMeansNothingIsRefused) {
  EXPECT_EQ(refusalOf("frob@0:1:wait"),
            "found 'frob@0:1:wait', wanted one of the kinds kill, stop, delay, "
            "alloc, skip, double, reorder, payload, flip, wire, eio, enospc, "
            "short, torn");
  EXPECT_EQ(refusalOf("kill@x:1:wait"),
            "found 'kill@x:1:wait', wanted a rank in KIND@RANK:STEP:OP, such "
            "as kill@1:2:all-gather");
  EXPECT_EQ(refusalOf("eio@0:1:wait"),
            "found 'eio@0:1:wait', wanted a fault of a wait: kill, stop, "
            "delay, alloc");
  for (const char *text :
       {"", "kill", "kill@", "kill@0", "kill@0:1", "kill@0:1:", "kill@0::wait",
        "kill@-1:1:wait", "kill@0:1:wait.0", "kill=2@0:1:wait",
        "flip=1.5@0:1:state", "skip=1@0:1:wait", "kill@0:1:state",
        "delay=@0:1:wait", "delay=x@0:1:wait", "delay=-1@0:1:wait",
        "kill@99999999999:1:wait"})
    EXPECT_NE(refusalOf(text), "") << text;
}

TEST(Faults, AreDueAtOneOperationOfOneRankAndStep) {
  std::vector<std::string> said;
  Faults faults({parseFault("skip@1:2:all-gather.2"),
                 parseFault("flip@1:2:kernel"), parseFault("skip@0:2:kernel")},
                1, false,
                [&](const std::string &what) { said.push_back(what); });
  EXPECT_FALSE(faults.next(kMeetingOperation, "all-gather"));
  faults.setStep(2);
  EXPECT_FALSE(faults.next(kMeetingOperation, "all-reduce"));
  EXPECT_FALSE(faults.next(kMeetingOperation, "all-gather"));
  EXPECT_EQ(faults.next(kMeetingOperation, "all-gather"), FaultKind::Skip);
  EXPECT_FALSE(faults.next(kMeetingOperation, "all-gather"));
  EXPECT_EQ(faults.missing(), std::vector<std::string>{"flip@1:2:kernel"});
  EXPECT_EQ(faults.next(kKernelOperation, "nn.linear"), FaultKind::Flip);
  EXPECT_TRUE(faults.missing().empty());
  ASSERT_EQ(said.size(), 2u);
  EXPECT_EQ(said[0], "rank 1: skip@1:2:all-gather.2 happens, at all-gather");
}

TEST(Faults, EachCountsWhereAnotherHappens) {
  Faults faults(
      {parseFault("flip@0:0:kernel.2"), parseFault("flip=9@0:0:kernel.4")}, 0,
      false, [](const auto &) {});
  std::string happened;
  for (int i = 0; i < 5; ++i) {
    const std::optional<InjectedFault> fault =
        faults.next(kKernelOperation, "k");
    happened += fault ? std::to_string(fault->bit) : "-";
  }
  EXPECT_EQ(happened, "-0-9-");
}

TEST(Faults, MemoryThatIsNotThereIsAnException) {
  Faults faults({parseFault("alloc@0:0:wait")}, 0, false, [](const auto &) {});
  EXPECT_THROW(faults.next(kWaitOperation, "wait"), std::bad_alloc);
}

TEST(Faults, EachBitCanBeFlipped) {
  std::set<std::string> all;
  for (uint64_t bit = 1; bit <= 24; ++bit) {
    std::string data(3, '\0');
    flipBit(data.data(), data.size(), bit);
    all.insert(data);
    flipBit(data.data(), data.size(), bit + 24);
    EXPECT_EQ(data, std::string(3, '\0'));
  }
  EXPECT_EQ(all.size(), 24u);
}

TEST(Faults, AFlippedBitChangesOneByte) {
  for (size_t bytes : {0, 1, 3, 4, 100}) {
    std::vector<unsigned char> data(bytes + 1, 0);
    flipBit(data.data(), bytes);
    size_t changed = 0;
    for (size_t i = 0; i < bytes; ++i)
      changed += data[i] != 0;
    EXPECT_EQ(changed, bytes == 0 ? 0u : 1u);
    EXPECT_EQ(data[bytes], 0);
  }
}

/// Sums of two ranks, one after the other, with a fault on the second.
std::vector<float> sumsWith(const std::string &fault) {
  auto communicators = makeInProcess(2);
  std::vector<float> sums(3);
  const auto run = [&](int rank) {
    Faults faults({parseFault(fault)}, rank, false, [](const auto &) {});
    FaultyCommunicator communicator(*communicators[size_t(rank)], faults,
                                    nullptr);
    for (int i = 0; i < 3; ++i) {
      float value = float(rank + 1), sum = 0;
      communicator.run(Collective::AllReduce, Reduction::Sum,
                       {{&value, &sum, 1, DataType::F32}});
      if (rank == 1)
        sums[size_t(i)] = sum;
    }
  };
  std::thread other(run, 0);
  run(1);
  other.join();
  return sums;
}

TEST(FaultyCommunicator, ChangesABitOfWhatIsSentOrReceived) {
  const std::vector<float> right(3, 3.0f);
  EXPECT_EQ(sumsWith("flip@1:1:all-reduce"), right);
  for (const char *fault : {"flip@1:0:all-reduce.2", "wire@1:0:all-reduce.2"}) {
    const std::vector<float> sums = sumsWith(fault);
    EXPECT_EQ(sums[0], 3.0f);
    EXPECT_NE(sums[1], 3.0f) << fault;
    EXPECT_EQ(sums[2], 3.0f);
  }
}

TEST(FaultyCommunicator, ExchangesTwoStarts) {
  auto communicators = makeInProcess(1);
  Faults faults({parseFault("reorder@0:0:all-reduce")}, 0, false,
                [](const auto &) {});
  FaultyCommunicator communicator(*communicators[0], faults, nullptr);
  float first = 1, second = 2, firstSum = 0, secondSum = 0;
  const auto a = communicator.start(Collective::AllReduce, Reduction::Sum,
                                    {{&first, &firstSum, 1, DataType::F32}});
  const auto b = communicator.start(Collective::AllReduce, Reduction::Sum,
                                    {{&second, &secondSum, 1, DataType::F32}});
  communicator.wait(a);
  communicator.wait(b);
  EXPECT_EQ(firstSum, 1.0f);
  EXPECT_EQ(secondSum, 2.0f);
}

/// What a file has after two writes of which the second goes wrong.
std::string writtenWith(const std::string &kind, std::string &error) {
  TemporaryFile file(".shard");
  ::unlink(file.path().c_str());
  Faults faults({parseFault(kind + "@0:0:checkpoint-write.2")}, 0, false,
                [](const auto &) {});
  FaultyDisk disk(FileSystem::disk(), faults);
  try {
    const auto output = disk.create(file.path());
    output->append("abcd", 4);
    output->append("efgh", 4);
  } catch (const std::runtime_error &failure) {
    error = failure.what();
  }
  return file.content();
}

TEST(FaultyDisk, FailsOrWritesSomethingElse) {
  std::string error;
  EXPECT_EQ(writtenWith("torn", error), std::string("abcdef\0\0", 8));
  const std::string flipped = writtenWith("flip", error);
  EXPECT_EQ(flipped.size(), 8u);
  EXPECT_NE(flipped, "abcdefgh");
  EXPECT_EQ(error, "");
  EXPECT_EQ(writtenWith("eio", error), "abcd");
  EXPECT_NE(error.find("cannot be written: Input/output error"),
            std::string::npos);
  EXPECT_EQ(writtenWith("enospc", error), "abcd");
  EXPECT_NE(error.find("No space left on device"), std::string::npos);
}

} // namespace
