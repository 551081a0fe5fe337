// What a rank that fails does, and in which order.
#include "../MessageOf.h"
#include "TrainerTesting.h"

#include "capi/Session.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>

using namespace zrt;
using namespace zrt::test;

namespace {

/// Far longer than anything here takes: a test that waits so long has failed.
constexpr std::chrono::minutes kForever{10};

/// Another backend, and what a test does first.
class Wrapped : public Backend {
public:
  explicit Wrapped(std::unique_ptr<Backend> backend)
      : backend(std::move(backend)) {}

  void plan() override { backend->plan(); }
  const Arenas &arenas() const override { return backend->arenas(); }
  void initialize() override { backend->initialize(); }
  void update(const FillMicro &fill) override { backend->update(fill); }
  void evaluate(const FillMicro &fill) override { backend->evaluate(fill); }
  void drain() override { backend->drain(); }
  void giveUp() override { backend->giveUp(); }
  void read(const BufferRef &buffer, uint64_t offset, void *to,
            size_t bytes) override {
    backend->read(buffer, offset, to, bytes);
  }
  const Control &control() const override { return backend->control(); }
  const Traffic &traffic() const override { return backend->traffic(); }
  size_t workspaceBytes() const override { return backend->workspaceBytes(); }
  std::vector<std::string> choices() const override {
    return backend->choices();
  }

private:
  std::unique_ptr<Backend> backend;
};

/// Makes backends of `Rank`, which a test's `state` has to do with.
template <typename Rank, typename State>
BackendMaker makerOf(const FakeKernels &kernels, State &state) {
  return [make = backendsUnderTest(kernels.maker()),
          &state](const BackendSetup &setup, Communicator &communicator,
                  int localRanks) {
    return std::make_unique<Rank>(make(setup, communicator, localRanks),
                                  communicator.rank(), state);
  };
}

/// Rank 1 fails, and on the device of rank 0 that ends what waits for it: an
/// error there as soon as rank 1 has given up, with no cause of its own.
struct Ends {
  std::promise<void> gaveUp, ended; ///< rank 1; rank 0

  class Rank : public Wrapped {
  public:
    Rank(std::unique_ptr<Backend> backend, int rank, Ends &ends)
        : Wrapped(std::move(backend)), rank(rank), ends(ends) {}
    ~Rank() override {
      if (rank == 0)
        ends.ended.set_value();
    }
    void update(const FillMicro &) override {
      if (rank == 1)
        throw std::runtime_error("out of luck");
      ends.gaveUp.get_future().wait_for(kForever);
      throw std::runtime_error("a peer has gone");
    }
    /// Whatever order the other rank does things in, it has done them all.
    void giveUp() override {
      if (rank != 1)
        return;
      ends.gaveUp.set_value();
      ends.ended.get_future().wait_for(kForever);
    }

  private:
    const int rank;
    Ends &ends;
  };
};

TEST(TrainerFailure, TheCauseIsKnownBeforeARankGivesUp) {
  const TemporaryFile text{".txt", someText()};
  const FakeKernels kernels = makeFakeKernels();
  Ends ends;
  std::string words[] = {"train", "--data", text.path(), "--steps", "1"};
  std::vector<char *> arguments;
  for (std::string &word : words)
    arguments.push_back(word.data());
  std::ostringstream out, errors;
  EXPECT_EQ(runTrainer(int(arguments.size()), arguments.data(),
                       makeFakeProgram(2, 1), {},
                       makerOf<Ends::Rank>(kernels, ends), out, errors),
            1);
  EXPECT_EQ(errors.str(), "error: rank 1: out of luck\n");
}

/// Rank 1 fails; backends that gave up are counted.
struct Counted {
  std::atomic<int> gaveUp{0};

  class Rank : public Wrapped {
  public:
    Rank(std::unique_ptr<Backend> backend, int rank, Counted &counts)
        : Wrapped(std::move(backend)), rank(rank), counts(counts) {}
    void initialize() override {
      Wrapped::initialize();
      if (rank == 1)
        throw std::runtime_error("out of luck");
    }
    void giveUp() override { ++counts.gaveUp; }

  private:
    const int rank;
    Counted &counts;
  };
};

/// What a processor does not say that it can, it refuses.
TEST(TrainerFailure, ABackendDoesWhatItSays) {
  Wrapped backend(nullptr);
  EXPECT_EQ(messageOf([&] { backend.setCommandHook({}); }),
            "this processor does not time its commands: run without --trace");
  EXPECT_EQ(messageOf([&] { backend.judgeAgain(); }),
            "this processor does not judge gradients again");
  EXPECT_EQ(backend.refuseReview(),
            "a step of this processor is computed as a whole");
  EXPECT_EQ(messageOf([&] { backend.repeatGraph(1); }),
            "this processor has no graphs: run without --repeat-graph");
}

TEST(TrainerFailure, ARankOfALibraryGivesUp) {
  const FakeKernels kernels = makeFakeKernels();
  const Program program = makeFakeProgram(2, 1);
  Counted counts;
  Compiled compiled;
  compiled.program = &program;
  compiled.makeBackend = makerOf<Counted::Rank>(kernels, counts);
  try {
    Session session(compiled, Options());
    FAIL() << "no rank fails";
  } catch (const std::runtime_error &error) {
    EXPECT_STREQ(error.what(), "rank 1: out of luck");
  }
  EXPECT_EQ(counts.gaveUp, 1);
}

} // namespace
