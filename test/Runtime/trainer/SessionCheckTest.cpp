// Runs of a library that check themselves: what goes away is told, what stays
// ends the run, and what the caller changes is no fault.
#include "../MessageOf.h"
#include "TrainerTesting.h"

#include "capi/Session.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <limits>
#include <memory>

using namespace zrt;
using namespace zrt::test;

namespace {

/// Two ranks of the fake program, whose kernels a test may spoil.
class SessionCheck : public ::testing::Test {
protected:
  /// On rank 1, from call `first` on, `times` gradients are wrong.
  void spoilGradients(int first, int times) {
    const auto right = kernels.functions.at("test.backward");
    kernels.functions["test.backward"] = [this, right, first,
                                          times](const KernelContext &context,
                                                 void *const *buffers) {
      right(context, buffers);
      if (context.rank != 1)
        return;
      const int call = calls++;
      if (call >= first && call < first + times)
        *static_cast<float *>(buffers[1]) += float(1 + call);
    };
  }

  /// A kernel that adds a value of each sample to the loss: that of its first
  /// token, and NaN for `poison`. It is 10,000 times as much where rank 1 is
  /// broken.
  void addRows(int32_t poison = -1) {
    const BufferRef rows = ref(Arena::Activations, 64, 8);
    program.arenaBytes[int(Arena::Activations)] = 128;
    addKernel(program, program.micro, "test.rows",
              {program.inputs[0].buffer, rows});
    KernelSpec &spec = program.kernels.back();
    spec.operands.pop_back();
    spec.results = {{DataType::F32, {2}}};
    kernels.functions["test.rows"] =
        [this, poison](const KernelContext &context, void *const *buffers) {
          const auto *ids = static_cast<const int32_t *>(buffers[0]);
          for (int row = 0; row < 2; ++row) {
            float &value = static_cast<float *>(buffers[1])[row];
            value = ids[4 * row] == poison
                        ? std::numeric_limits<float>::quiet_NaN()
                        : float(ids[4 * row]);
            if (isBroken && context.rank == 1)
              value *= 1e4f;
            context.control->lossSum += double(value);
          }
        };
  }

  Session &start(int64_t every) {
    compiled.program = &program;
    compiled.makeBackend = [this, make = backendsUnderTest(kernels.maker())](
                               const BackendSetup &setup,
                               Communicator &communicator, int localRanks) {
      auto backend = make(setup, communicator, localRanks);
      backends[communicator.rank()] = backend.get();
      return backend;
    };
    Options options;
    options.selfCheck = every;
    options.threads = 1;
    session = std::make_unique<Session>(compiled, options);
    return *session;
  }

  UpdateReport step() {
    NamedArray array{"tokens", tokens, DataType::I32, {4, 4}};
    NamedArray targets = array;
    targets.name = "targets";
    return session->step({array, targets});
  }

  Program program = makeFakeProgram(2, 1);
  FakeKernels kernels = makeFakeKernels();
  Compiled compiled;
  Backend *backends[2] = {};
  std::atomic<int> calls{0};
  std::atomic<bool> isBroken{false};
  int32_t tokens[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
  std::unique_ptr<Session> session;
};

} // namespace

TEST_F(SessionCheck, IsAsARunWithoutChecks) {
  start(0);
  float unchecked = 0, checked = 0;
  const double losses[] = {step().loss, step().loss};
  session->getParameter("w", &unchecked, 1);
  start(1);
  for (const double loss : losses)
    EXPECT_EQ(step().loss, loss);
  session->getParameter("w", &checked, 1);
  EXPECT_EQ(checked, unchecked);
  EXPECT_EQ(session->takeNotices(), "");
}

/// What comes out twice is right, and is used.
TEST_F(SessionCheck, TellsAFaultThatWentAway) {
  start(0);
  step();
  float right = 0, found = 0;
  session->getParameter("w", &right, 1);
  spoilGradients(0, 1);
  start(1);
  step();
  session->getParameter("w", &found, 1);
  EXPECT_EQ(found, right);
  const std::string notices = session->takeNotices();
  EXPECT_EQ(notices.rfind("update 1 was computed again, and came out "
                          "differently: ",
                          0),
            0u)
      << notices;
  EXPECT_EQ(std::count(notices.begin(), notices.end(), '\n'), 1);
  EXPECT_EQ(session->takeNotices(), "");
}

TEST_F(SessionCheck, EndsWhereAnUpdateNeverComesOutTwice) {
  spoilGradients(0, 100);
  start(1);
  const std::string wanted =
      "update 1 was computed three times, and came out differently each time: ";
  const std::string error = messageOf([&] { step(); });
  EXPECT_NE(error.find(wanted), std::string::npos) << error;
  EXPECT_NE(messageOf([&] { step(); }).find("has failed and cannot go on"),
            std::string::npos);
}

/// Every second update is checked, and the first one.
TEST_F(SessionCheck, ChecksWhatIsDue) {
  spoilGradients(2, 1); // twice in update 1, and once in update 2
  start(3);
  for (int i = 0; i < 3; ++i)
    step();
  EXPECT_EQ(session->takeNotices(), "");
  EXPECT_EQ(calls, 2 + 1 + 2);
}

/// The first token of the second sample of rank 1.
TEST_F(SessionCheck, NamesTheSampleThatIsNotFinite) {
  addRows(/*poison=*/13);
  start(1);
  const std::string error = messageOf([&] { step(); });
  for (const char *part :
       {"rank 1: the loss or a gradient of update 1 is not finite, also when "
        "it "
        "is computed again, and by other ranks: the first is nan, element [1] "
        "of what it computed in test.rows",
        " in micro-batch 0, of sample 3 of the update; nothing was updated"})
    EXPECT_NE(error.find(part), std::string::npos) << error;
}

/// It computes the same each time, and of other samples, too.
TEST_F(SessionCheck, NamesARankThatIsBroken) {
  addRows();
  start(1000);
  for (int i = 0; i < 20; ++i)
    step();
  EXPECT_EQ(session->takeNotices(), "");
  isBroken = true;
  const std::string error = messageOf([&] { step(); });
  EXPECT_EQ(error.rfind("rank 1: update 21: in test.rows", 0), 0u) << error;
  EXPECT_NE(error.find(" this rank computes something else than another one "
                       "with the same samples, each time: a persistent fault"),
            std::string::npos)
      << error;
}

TEST_F(SessionCheck, StatesThatChangeByThemselvesEndTheRun) {
  start(1);
  step();
  float *w = static_cast<float *>(
      backends[1]->arenas().resolve(program.partitions[0].parameters, 1));
  *w += 1;
  const std::string error = messageOf([&] { step(); });
  EXPECT_EQ(error.rfind("rank 1: parameter 'w[0]'", 0), 0u) << error;
  EXPECT_NE(
      error.find(" has changed since update 1, and nothing in the program "
                 "does that"),
      std::string::npos)
      << error;
}

TEST_F(SessionCheck, StatesThatTheCallerSetsAreNoFault) {
  start(1);
  step();
  const float value = 5;
  session->setParameter("w", &value, 1);
  step();
  TemporaryFile folder("");
  ::unlink(folder.path().c_str());
  session->saveCheckpoint(folder.path(), 0);
  step();
  session->loadCheckpoint(folder.path());
  step();
  std::filesystem::remove_all(folder.path());
  EXPECT_EQ(session->takeNotices(), "");
}

/// Damaged states do not become a checkpoint.
TEST_F(SessionCheck, CheckpointsAreOfEqualRanks) {
  start(5);
  step();
  step();
  float *w = static_cast<float *>(
      backends[1]->arenas().resolve(program.partitions[0].parameters, 1));
  *w += 1;
  TemporaryFile folder("");
  ::unlink(folder.path().c_str());
  const std::string error =
      messageOf([&] { session->saveCheckpoint(folder.path(), 0); });
  EXPECT_NE(error.find(", which ought to have the same"), std::string::npos)
      << error;
  EXPECT_FALSE(std::filesystem::exists(folder.path()));
}

TEST_F(SessionCheck, AnUpdateHasOnePart) {
  start(1);
  NamedArray array{"tokens", tokens, DataType::I32, {4, 4}};
  EXPECT_EQ(messageOf([&] { session->backward({array}); }),
            "this run checks itself, and an update in two parts is not "
            "computed again: make the update in one part, or the run without "
            "self_check");
}
