// What goes wrong between threads is an error on every rank, and never a hang.
#include "../MessageOf.h"

#include "communicator/InProcess.h"
#include "communicator/Job.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <thread>

using namespace zrt;
using zrt::test::messageOf;

namespace {

using Body = std::function<void(Communicator &)>;

/// Runs `body` on every rank and returns what each threw; "" for nothing.
std::vector<std::string> errorsOf(int ranks, double timeoutSeconds,
                                  const Body &body) {
  auto communicators = makeInProcess(ranks, {timeoutSeconds});
  std::vector<std::string> errors(ranks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      try {
        body(*communicators[rank]);
      } catch (const CommunicationError &error) {
        errors[rank] = error.what();
      }
      communicators[rank].reset();
    });
  for (std::thread &thread : threads)
    thread.join();
  return errors;
}

void expectAll(const std::vector<std::string> &errors,
               const std::vector<std::string> &pieces) {
  for (size_t rank = 0; rank < errors.size(); ++rank)
    for (const std::string &piece : pieces)
      EXPECT_NE(errors[rank].find(piece), std::string::npos)
          << "rank " << rank << ": \"" << errors[rank] << "\" lacks \"" << piece
          << "\"";
}

/// Rank 2 of 3 starts `other` where the others start `usual`.
std::vector<std::string>
mismatch(Collective usualKind, Reduction usualReduction,
         std::vector<Transfer> usual, Collective otherKind,
         Reduction otherReduction, std::vector<Transfer> other) {
  return errorsOf(3, 600, [&](Communicator &communicator) {
    std::vector<double> buffer(300);
    bool odd = communicator.rank() == 2;
    std::vector<Transfer> parts = odd ? other : usual;
    for (Transfer &part : parts) {
      part.send = buffer.data();
      part.receive = buffer.data();
    }
    communicator.barrier();
    communicator.run(odd ? otherKind : usualKind,
                     odd ? otherReduction : usualReduction, parts);
  });
}

Transfer part(uint64_t count, DataType type = DataType::F32, int root = 0) {
  return {nullptr, nullptr, count, type, root};
}

} // namespace

//===----------------------------------------------------------------------===//
// From one rank to another
//===----------------------------------------------------------------------===//

namespace {

/// A part that sends or receives `count` elements of `buffer`.
Transfer partWith(std::vector<float> &buffer, uint64_t count, int peer) {
  Transfer part;
  part.send = part.receive = buffer.data();
  part.count = count;
  part.root = peer;
  return part;
}

} // namespace

TEST(Failure, AMessageOfAnotherSizeIsAnError) {
  const auto errors = errorsOf(2, 600, [&](Communicator &communicator) {
    std::vector<float> buffer(8);
    const bool sends = communicator.rank() == 0;
    communicator.run(sends ? Collective::Send : Collective::Receive,
                     Reduction::Sum,
                     {partWith(buffer, sends ? 8 : 5, sends ? 1 : 0)});
  });
  expectAll(errors, {"a receive of 5 x f32 from rank 0", "on rank 1",
                     "the other rank sends 8 x f32"});
}

TEST(Failure, AMessageThatNobodySendsOrReceivesIsAnError) {
  for (const Collective kind : {Collective::Send, Collective::Receive}) {
    const bool sends = kind == Collective::Send;
    const auto errors = errorsOf(2, 600, [&](Communicator &communicator) {
      std::vector<float> buffer(8);
      if (communicator.rank() == 0)
        communicator.run(kind, Reduction::Sum, {partWith(buffer, 8, 1)});
    });
    EXPECT_NE(errors[0].find(sends ? "rank 1 left without receiving it"
                                   : "rank 1 left without sending it"),
              std::string::npos)
        << errors[0];
  }
}

/// Rank 1 goes on when the other has given up.
TEST(Failure, AMessageThatIsLateIsAnError) {
  for (const Collective kind : {Collective::Send, Collective::Receive}) {
    std::promise<void> failed;
    const auto errors = errorsOf(2, 0.1, [&](Communicator &communicator) {
      std::vector<float> buffer(8);
      if (communicator.rank() == 1)
        failed.get_future().wait();
      try {
        communicator.run(kind, Reduction::Sum,
                         {partWith(buffer, 8, 1 - communicator.rank())});
      } catch (const CommunicationError &) {
        if (communicator.rank() == 0)
          failed.set_value();
        throw;
      }
    });
    expectAll(errors, {kind == Collective::Send
                           ? "a send of 8 x f32 to rank 1 of a group of 2 "
                             "ranks, on rank 0: rank 1 did not receive it "
                             "within 0.1 s"
                           : "rank 1 did not send it within 0.1 s"});
  }
}

TEST(Failure, AMessageToOneselfIsAnError) {
  const auto errors = errorsOf(2, 600, [&](Communicator &communicator) {
    std::vector<float> buffer(8);
    communicator.run(Collective::Send, Reduction::Sum,
                     {partWith(buffer, 8, communicator.rank())});
  });
  expectAll(errors, {"wanted one part, and another rank of the group"});
}

TEST(Failure, AMessageThatIsNeverWaitedForIsAnError) {
  const auto errors = errorsOf(2, 600, [&](Communicator &communicator) {
    std::vector<float> buffer(8);
    if (communicator.rank() == 0)
      communicator.start(Collective::Send, Reduction::Sum,
                         {partWith(buffer, 8, 1)});
    else
      communicator.run(Collective::AllReduce, Reduction::Sum,
                       {partWith(buffer, 8, 0)});
  });
  EXPECT_NE(errors[1].find("rank 0 of 2 left without waiting for 1 started"),
            std::string::npos)
      << errors[1];
}

TEST(InProcessFailure, OtherKind) {
  expectAll(mismatch(Collective::AllReduce, Reduction::Sum, {part(4)},
                     Collective::Broadcast, Reduction::Sum, {part(4)}),
            {"operation 1", "rank 2 started",
             "all-reduce sum of 1 part, 4 elements", "broadcast of 1 part"});
}

TEST(InProcessFailure, OtherReduction) {
  expectAll(mismatch(Collective::AllReduce, Reduction::Sum, {part(4)},
                     Collective::AllReduce, Reduction::Max, {part(4)}),
            {"all-reduce sum", "all-reduce max"});
}

TEST(InProcessFailure, OtherCount) {
  expectAll(mismatch(Collective::AllGather, Reduction::Sum, {part(4)},
                     Collective::AllGather, Reduction::Sum, {part(5)}),
            {"4 x f32", "5 x f32"});
}

TEST(InProcessFailure, OtherType) {
  expectAll(mismatch(Collective::AllReduce, Reduction::Sum, {part(4)},
                     Collective::AllReduce, Reduction::Sum,
                     {part(4, DataType::F64)}),
            {"4 x f32", "4 x f64"});
}

TEST(InProcessFailure, OtherRoot) {
  expectAll(mismatch(Collective::Reduce, Reduction::Sum, {part(4)},
                     Collective::Reduce, Reduction::Sum,
                     {part(4, DataType::F32, 1)}),
            {"root 0", "root 1"});
}

TEST(InProcessFailure, OtherNumberOfParts) {
  expectAll(mismatch(Collective::AllReduce, Reduction::Sum, {part(4), part(4)},
                     Collective::AllReduce, Reduction::Sum, {part(8)}),
            {"2 parts", "1 part"});
}

TEST(InProcessFailure, OtherLaterPart) {
  expectAll(mismatch(Collective::AllReduce, Reduction::Sum,
                     {part(4), part(2), part(3)}, Collective::AllReduce,
                     Reduction::Sum, {part(4), part(3), part(2)}),
            {"3 parts, 9 elements", "differs in a later part"});
}

TEST(InProcessFailure, RootsOfUnrootedKindsAreNoMismatch) {
  EXPECT_EQ(mismatch(Collective::AllReduce, Reduction::Sum, {part(4)},
                     Collective::AllReduce, Reduction::Sum,
                     {part(4, DataType::F32, 1)}),
            std::vector<std::string>(3));
}

TEST(InProcessFailure, BarrierAgainstSplit) {
  auto errors = errorsOf(2, 600, [](Communicator &communicator) {
    if (communicator.rank())
      communicator.barrier();
    else
      communicator.split(0, 0);
  });
  expectAll(errors, {"started barrier", "started split"});
}

TEST(InProcessFailure, MissingRankTimesOut) {
  std::atomic<int> started{0}, failed{0};
  auto errors = errorsOf(3, 0.2, [&](Communicator &communicator) {
    float value = 0;
    // Only an error of the others lets rank 1 go on.
    while (communicator.rank() == 1 && failed < 2)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    try {
      const auto ticket =
          communicator.start(Collective::AllReduce, Reduction::Sum,
                             {{&value, &value, 1, DataType::F32, 0}});
      // Neither is late for the other, however busy the machine is.
      for (++started; started < 2;)
        std::this_thread::yield();
      communicator.wait(ticket);
    } catch (const CommunicationError &) {
      ++failed;
      throw;
    }
  });
  expectAll(errors, {"operation 0 of a group of 3 ranks (all-reduce sum",
                     "rank 1 did not start it within 0.2 s, ranks 0, 2 did"});
}

TEST(InProcessFailure, RankThatLeavesIsNamedAtOnce) {
  auto errors = errorsOf(3, 600, [](Communicator &communicator) {
    communicator.barrier();
    if (communicator.rank() != 1)
      communicator.barrier();
  });
  EXPECT_EQ(errors[1], "");
  errors[1] = errors[0];
  expectAll(errors, {"operation 1", "rank 1 left without starting it"});
}

TEST(InProcessFailure, LeavingWithoutWaiting) {
  auto errors = errorsOf(2, 600, [](Communicator &communicator) {
    float value = 0;
    auto ticket = communicator.start(Collective::AllReduce, Reduction::Sum,
                                     {{&value, &value, 0, DataType::F32, 0}});
    if (communicator.rank() == 0)
      return;
    communicator.wait(ticket);
    communicator.barrier();
  });
  EXPECT_EQ(errors[0], "");
  EXPECT_NE(errors[1].find("rank 0 of 2 left"), std::string::npos) << errors[1];
}

TEST(InProcessFailure, AbortWakesEveryone) {
  auto errors = errorsOf(4, 600, [](Communicator &communicator) {
    auto half = communicator.split(communicator.rank() % 2, 0);
    if (communicator.rank() == 3) {
      // The others wait for this rank, in two groups.
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      half->abort("the loss is not finite");
      communicator.barrier();
    }
    (communicator.rank() == 1 ? *half : communicator).barrier();
  });
  expectAll(errors, {"aborted: the loss is not finite"});
}

TEST(InProcessFailure, EveryLaterCallThrows) {
  auto communicators = makeInProcess(1);
  auto group = communicators[0]->split(0, 0);
  communicators[0]->abort("stop");
  communicators[0]->abort("again");
  for (Communicator *each : {communicators[0].get(), group.get()}) {
    EXPECT_THROW(each->barrier(), CommunicationError);
    EXPECT_THROW(each->split(0, 0), CommunicationError);
    EXPECT_THROW(each->start(Collective::AllReduce, Reduction::Sum, {}),
                 CommunicationError);
    EXPECT_THROW(each->wait(0), CommunicationError);
  }
}

/// A watchdog's thread aborts in the middle of an operation. After the throw
/// this rank's buffer is its own again: nobody still writes results into it.
TEST(InProcessFailure, AbortWhileDataMoves) {
  for (int round = 0; round < 200; ++round) {
    std::thread watchdog;
    auto errors = errorsOf(3, 600, [&](Communicator &communicator) {
      std::vector<float> buffer(1 << 16, 1);
      communicator.barrier();
      auto group = communicator.split(0, communicator.rank());
      if (communicator.rank() == 0)
        watchdog = std::thread([&communicator, round] {
          std::this_thread::sleep_for(
              std::chrono::microseconds(100 + 17 * round));
          communicator.abort("enough");
        });
      try {
        for (;;)
          group->run(Collective::AllReduce, Reduction::Sum,
                     {{buffer.data(), buffer.data(), buffer.size(),
                       DataType::F32, 0}});
      } catch (const CommunicationError &) {
        std::fill(buffer.begin(), buffer.end(), -1.0f);
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        EXPECT_EQ(std::count(buffer.begin(), buffer.end(), -1.0f),
                  static_cast<int64_t>(buffer.size()));
        if (communicator.rank() == 0)
          watchdog.join();
        throw;
      }
    });
    expectAll(errors, {"enough"});
  }
}

TEST(InProcessFailure, WaitingTwice) {
  auto communicators = makeInProcess(1);
  auto ticket =
      communicators[0]->start(Collective::AllReduce, Reduction::Sum, {});
  communicators[0]->wait(ticket);
  EXPECT_THROW(communicators[0]->wait(ticket), CommunicationError);
}

/// It is told once, however many wait, and they go on.
TEST(CommunicatorNotice, ALateRankIsNamedAndWaitedFor) {
  std::promise<void> told;
  std::vector<std::string> notices;
  CommunicatorOptions options;
  options.noticeSeconds = 1e-3;
  options.notice = [&](const std::string &what) {
    notices.push_back(what);
    told.set_value();
  };
  auto communicators = makeInProcess(4, options);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 4; ++rank)
    threads.emplace_back([&, rank] {
      if (rank == 2)
        told.get_future().wait();
      communicators[rank]->barrier();
    });
  for (std::thread &thread : threads)
    thread.join();
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_EQ(notices[0].find("operation 0 of a group of 4 ranks (barrier): "),
            0u)
      << notices[0];
  // Others may be slow to start on a busy machine.
  const size_t names = notices[0].find("): rank"),
               end = notices[0].find(" did not start it within 0.001 s, ");
  ASSERT_LT(names, end) << notices[0];
  ASSERT_NE(end, std::string::npos) << notices[0];
  EXPECT_NE(notices[0].substr(names, end - names).find("2"), std::string::npos)
      << notices[0];
}

TEST(InProcessFailure, ArgumentsWithoutMeaning) {
  float value = 0;
  std::vector<std::pair<Transfer, std::string>> cases = {
      {{nullptr, &value, 1, DataType::F32, 0},
       "the send buffer is null on rank 0"},
      {{&value, nullptr, 1, DataType::F32, 0},
       "the receive buffer is null on rank 0"},
      {{&value, &value, 1, DataType::F32, 1},
       "found root 1, wanted one of the 1 ranks"},
      {{&value, &value, 1, DataType::I1, 0}, "there is no sum of i1"},
      {{&value, &value, UINT64_MAX / 2, DataType::F32, 0},
       "has no size in bytes"},
  };
  for (auto &[transfer, text] : cases) {
    auto errors =
        errorsOf(1, 600, [&, wrong = transfer](Communicator &communicator) {
          communicator.run(Collective::AllReduce, Reduction::Sum, {wrong});
        });
    expectAll(errors, {text});
  }
  EXPECT_EQ(messageOf([] { makeInProcess(0); }),
            "in-process communicator: found 0 ranks, wanted at least 1");
}

namespace {

/// A job of one process that nothing connects.
class JobAlone : public processes::Job {
public:
  std::unique_ptr<processes::Wire> makeWire() override { return nullptr; }

protected:
  void tell(const Message &) override {}
  bool hear(Message &) override { return false; }
  [[noreturn]] void kill() override { std::abort(); }
  void close() override {}
};

} // namespace

TEST(ProcessesFailure, NothingIsSentAfterTheJob) {
  JobAlone job;
  job.lock();
  job.finalize();
  EXPECT_EQ(messageOf([&] { job.lock(); }),
            "the communicator of processes was used after the job has ended");
}
