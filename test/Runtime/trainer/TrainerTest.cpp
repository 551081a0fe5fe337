// Whole runs of hand-made programs, through the flags.
#include "TrainerTesting.h"

#include "trainer/Signals.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <limits>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

using namespace zrt;
using namespace zrt::test;

namespace {

class Trainer : public ::testing::Test {
protected:
  TemporaryFile text{".txt", someText()};
  TemporaryFile metrics{".jsonl"};
};

TEST_F(Trainer, SplitsOfABatchTrainAlike) {
  std::vector<double> losses;
  const std::pair<int, int> splits[] = {{1, 12}, {2, 6}, {3, 4}, {4, 3}};
  for (const auto &[ranks, accumulation] : splits) {
    const Outcome outcome =
        runWith(makeFakeProgram(ranks, accumulation),
                {"--data", text.path(), "--steps", "6", "--metrics",
                 metrics.path(), "--threads", "1"});
    ASSERT_EQ(outcome.code, 0) << outcome.errors;
    const std::vector<Json> lines = linesOf(metrics);
    ASSERT_EQ(lines.size(), 6u);
    for (size_t i = 0; i < lines.size(); ++i) {
      if (losses.size() <= i)
        losses.push_back(lines[i]["loss"]);
      EXPECT_NEAR(lines[i]["loss"].get<double>() / losses[i], 1, 1e-5);
    }
  }
  EXPECT_LT(losses.back(), losses.front());
}

TEST_F(Trainer, MetricsTellEachUpdate) {
  const Outcome outcome =
      runWith(makeFakeProgram(2, 1), {"--data", text.path(), "--steps", "2",
                                      "--metrics", metrics.path()});
  ASSERT_EQ(outcome.code, 0) << outcome.errors;
  const Json line = linesOf(metrics).at(1);
  EXPECT_EQ(line["step"], 2);
  EXPECT_NEAR(line["lr"].get<double>(), 0.01, 1e-8);
  EXPECT_EQ(line["loss_scale"], 1.0);
  EXPECT_EQ(line["skipped"], false);
  EXPECT_GT(line["tokens_per_s"].get<double>(), 0);
  EXPECT_GT(line["step_s"].get<double>(), 0);
  EXPECT_EQ(line["memory"]["parameters"], 64);
  EXPECT_EQ(line["traffic"]["gradient"]["elements"], 1.0);
  EXPECT_EQ(line["traffic"]["gradient"]["bytes"], 4.0);
  EXPECT_EQ(line["traffic"]["control"]["bytes"], 8.0);
  EXPECT_TRUE(contains(outcome.out, "step 1/2 loss "));
  EXPECT_TRUE(contains(outcome.out, "step 2/2 loss "));
  EXPECT_TRUE(contains(outcome.out, "2 updates, 0 skipped; loss "));
  const size_t traffic = outcome.out.find("traffic of an update");
  ASSERT_NE(traffic, std::string::npos);
  // Nothing is expected of control traffic.
  EXPECT_TRUE(contains(outcome.out.substr(traffic),
                       "gradient" + std::string(31, ' ') + "1" +
                           std::string(19, ' ') + "1\n"))
      << outcome.out;
  EXPECT_TRUE(contains(outcome.out.substr(traffic),
                       "control" + std::string(32, ' ') + "1\n"))
      << outcome.out;
}

TEST_F(Trainer, ALossThatIsNoNumberHasNoSign) {
  FakeKernels kernels = makeFakeKernels();
  const FakeKernels::Function update = kernels.functions["test.update"];
  kernels.functions["test.update"] = [update](const KernelContext &context,
                                              void *const *buffers) {
    update(context, buffers);
    context.control->lossSum = -std::numeric_limits<double>::quiet_NaN();
    context.control->norm = -std::numeric_limits<float>::quiet_NaN();
  };
  const Outcome outcome = runWith(makeFakeProgram(1, 1), kernels,
                                  {"--data", text.path(), "--steps", "1"});
  EXPECT_EQ(outcome.code, 0) << outcome.errors;
  EXPECT_TRUE(contains(outcome.out, "loss nan norm nan")) << outcome.out;
  EXPECT_TRUE(contains(outcome.out, "loss nan -> nan")) << outcome.out;
}

TEST_F(Trainer, TheSeedDecidesTheData) {
  std::vector<double> losses;
  for (const char *seed : {"1", "1", "2"}) {
    ASSERT_EQ(runWith(makeFakeProgram(1, 1),
                      {"--data", text.path(), "--steps", "1", "--metrics",
                       metrics.path(), "--seed", seed})
                  .code,
              0);
    losses.push_back(linesOf(metrics).at(0)["loss"]);
  }
  EXPECT_EQ(losses[0], losses[1]);
  EXPECT_NE(losses[0], losses[2]);
}

TEST_F(Trainer, EvaluatesOnTheSameData) {
  Program program = makeFakeProgram(2, 1);
  program.partitions[0].optimizer.learningRate = 0;
  const Outcome outcome = runWith(
      program, {"--data", text.path(), "--steps", "4", "--eval-every", "2",
                "--eval-batches", "3", "--metrics", metrics.path()});
  ASSERT_EQ(outcome.code, 0) << outcome.errors;
  const std::vector<Json> lines = linesOf(metrics);
  ASSERT_EQ(lines.size(), 6u);
  EXPECT_EQ(lines[2]["step"], 2);
  EXPECT_EQ(lines[2]["validation_loss"], lines[5]["validation_loss"]);
  EXPECT_GT(lines[2]["validation_loss"].get<double>(), 0);
}

TEST_F(Trainer, ASkippedUpdateNamesParameterAndRank) {
  FakeKernels kernels = makeFakeKernels();
  kernels.functions["test.update"] = [](const KernelContext &context,
                                        void *const *) {
    Control &control = *context.control;
    control.finite = 0;
    control.nonFinite = 1;
    control.firstNonFinite[0] = context.rank == 1 ? 0 : -1;
    control.scale = 32768;
  };
  Program program = makeFakeProgram(2, 1);
  program.training.lossScale.kind = LossScaleKind::Dynamic;
  program.training.lossScale.initial = 65536;
  const Outcome outcome = runWith(
      program, kernels,
      {"--data", text.path(), "--steps", "1", "--metrics", metrics.path()});
  ASSERT_EQ(outcome.code, 0) << outcome.errors;
  EXPECT_TRUE(contains(outcome.out,
                       "step 1 skipped: the gradient of w[0] "
                       "at model.mlir:3:1 is not finite on rank 1"))
      << outcome.out;
  EXPECT_EQ(linesOf(metrics).at(0)["skipped"], true);
  EXPECT_EQ(linesOf(metrics).at(0)["loss_scale"], 65536.0);
}

TEST_F(Trainer, TheCallersLossScaleReplacesTheCompiledOne) {
  FakeKernels kernels = makeFakeKernels();
  kernels.functions["test.update"] = [](const KernelContext &context,
                                        void *const *) {
    const Training &training = context.program->training;
    EXPECT_EQ(training.lossScale.kind, LossScaleKind::Static);
    EXPECT_EQ(context.control->scale, 96);
    EXPECT_EQ(context.control->lossSeed, 32);
    context.control->finite = 1;
  };
  Program program = makeFakeProgram(2, 3);
  program.training.lossScale.kind = LossScaleKind::Dynamic;
  program.training.lossScale.initial = 65536;
  std::vector<std::string> arguments = {
      "--data",    text.path(),    "--steps",      "2",
      "--metrics", metrics.path(), "--loss-scale", "96"};
  const Outcome outcome = runWith(program, kernels, arguments);
  ASSERT_EQ(outcome.code, 0) << outcome.errors;
  for (const Json &line : linesOf(metrics))
    EXPECT_EQ(line["loss_scale"], 96);
  for (const char *wrong : {"0", "-8", "inf", "1e30", "many"}) {
    arguments.back() = wrong;
    const Outcome refused = runWith(program, kernels, arguments);
    EXPECT_EQ(refused.code, 2);
    EXPECT_TRUE(contains(refused.errors, "--loss-scale: found '" +
                                             std::string(wrong) +
                                             "', wanted a number"))
        << refused.errors;
  }
}

TEST_F(Trainer, OverflowAtTheSmallestScaleEndsTheRun) {
  FakeKernels kernels = makeFakeKernels();
  kernels.functions["test.update"] = [](const KernelContext &context,
                                        void *const *) {
    context.control->finite = 0;
    context.control->fatal = 1;
  };
  const Outcome outcome = runWith(makeFakeProgram(2, 1), kernels,
                                  {"--data", text.path(), "--steps", "5"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(contains(outcome.errors, "overflow at the smallest loss scale"))
      << outcome.errors;
}

TEST_F(Trainer, AFailingRankStopsTheOthers) {
  FakeKernels kernels = makeFakeKernels();
  kernels.functions["test.backward"] = [](const KernelContext &context,
                                          void *const *) {
    if (context.rank == 2 && context.control->batch == 0)
      throw std::runtime_error("out of luck");
  };
  const Outcome outcome = runWith(makeFakeProgram(3, 1), kernels,
                                  {"--data", text.path(), "--steps", "100"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.errors, "error: rank 2: test.backward 'test.backward of "
                            "the test' at model.mlir:7:3: out of luck\n");
}

/// Says when it was told of `@w`.
class Told : public std::stringbuf {
public:
  std::atomic<bool> done{false};

private:
  int sync() override {
    done = done || contains(str(), "'@w'");
    return 0;
  }
};

TEST_F(Trainer, ALateRankIsNamedWithItsCommandAndWaitedFor) {
  Told told;
  FakeKernels kernels = makeFakeKernels();
  const FakeKernels::Function backward = kernels.functions["test.backward"];
  kernels.functions["test.backward"] = [&](const KernelContext &context,
                                           void *const *buffers) {
    while (context.rank == 1 && !told.done)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    backward(context, buffers);
  };
  std::string words[] = {"train", "--data",         text.path(), "--steps",
                         "1",     "--notice-after", "0.001"};
  std::vector<char *> arguments;
  for (std::string &word : words)
    arguments.push_back(word.data());
  std::ostringstream out;
  std::ostream errors(&told);
  EXPECT_EQ(runTrainer(int(arguments.size()), arguments.data(),
                       makeFakeProgram(2, 1), {},
                       backendsUnderTest(kernels.maker()), out, errors),
            0)
      << told.str();
  const std::string all = told.str();
  const size_t command = all.find("'@w'"), end = all.find('\n', command);
  const std::string line = all.substr(command, end - command);
  EXPECT_EQ(all.compare(all.rfind('\n', command) + 1, 8, "remark: "), 0) << all;
  EXPECT_TRUE(contains(line, "rank 1 did not start it within 0.001 s, rank 0 "
                             "did; the run goes on when it is there"))
      << all;
}

TEST_F(Trainer, SigintEndsTheRunCleanly) {
  FakeKernels kernels = makeFakeKernels();
  const FakeKernels::Function update = kernels.functions["test.update"];
  kernels.functions["test.update"] = [update](const KernelContext &context,
                                              void *const *buffers) {
    update(context, buffers);
    if (context.rank != 1 || context.control->steps != 3)
      return;
    // To the process, as from outside; it is taken by another thread.
    ::kill(::getpid(), SIGINT);
    while (StopSignals::received() == 0)
      std::this_thread::yield();
  };
  const TemporaryFile weights(".safetensors");
  const Outcome outcome =
      runWith(makeFakeProgram(3, 1), kernels,
              {"--data", text.path(), "--steps", "100000", "--save-weights",
               weights.path(), "--metrics", metrics.path()});
  EXPECT_EQ(outcome.code, 0) << outcome.errors;
  const size_t updates = linesOf(metrics).size();
  EXPECT_GE(updates, 3u);
  EXPECT_LT(updates, 100u);
  EXPECT_TRUE(contains(outcome.out, "stopped by SIGINT after update " +
                                        std::to_string(updates)));
  EXPECT_FALSE(weights.content().empty());
}

TEST_F(Trainer, WeightsGoOutAndIn) {
  const TemporaryFile first(".safetensors"), second(".safetensors");
  ASSERT_EQ(
      runWith(makeFakeProgram(2, 1), {"--data", text.path(), "--steps", "3",
                                      "--save-weights", first.path()})
          .code,
      0);
  const Outcome outcome =
      runWith(makeFakeProgram(1, 1), {"--steps", "0", "--weights", first.path(),
                                      "--save-weights", second.path()});
  ASSERT_EQ(outcome.code, 0) << outcome.errors;
  EXPECT_EQ(first.content(), second.content());
  ASSERT_FALSE(first.content().empty());
}

TEST_F(Trainer, SamplesBytes) {
  FakeKernels kernels = makeFakeKernels();
  Program program = makeFakeProgram(2, 1);
  addLogits(program, kernels);
  const Outcome outcome = runWith(program, kernels,
                                  {"--steps", "0", "--sample", "6", "--prompt",
                                   "ab", "--temperature", "0"});
  ASSERT_EQ(outcome.code, 0) << outcome.errors;
  EXPECT_EQ(outcome.out, "abcdefgh\n");
}

TEST_F(Trainer, SamplesFromFloatsOnly) {
  FakeKernels kernels = makeFakeKernels();
  Program program = makeFakeProgram(2, 1);
  addLogits(program, kernels);
  program.evaluate.outputs.back().type.type = DataType::I32;
  const Outcome outcome =
      runWith(program, kernels, {"--steps", "0", "--sample", "6"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(contains(outcome.errors, "cannot sample from logits of type i32"))
      << outcome.errors;
}

TEST_F(Trainer, ProgramsHaveALossAndSomePartitions) {
  Program program = makeFakeProgram(2, 1);
  for (Output &output : program.evaluate.outputs)
    output.name = "cost";
  const std::vector<std::string> flags = {"--data", text.path(),    "--steps",
                                          "1",      "--eval-every", "1"};
  std::string errors = runWith(program, flags).errors;
  EXPECT_TRUE(contains(errors, "the program's evaluation leaves no output "
                               "'loss'"))
      << errors;
  program = makeFakeProgram(2, 1);
  program.partitions.resize(257);
  errors = runWith(program, flags).errors;
  EXPECT_TRUE(contains(errors, "the program has 257 partitions, 256 are "
                               "possible"))
      << errors;
}

/// It trains on, so nothing else may be wanted of what was trained.
TEST_F(Trainer, RepeatsAGraphWhereThereIsOne) {
  EmbeddedProgram embedded;
  embedded.isForDevice = true;
  const auto run = [&](std::vector<std::string> flags) {
    flags.insert(flags.begin(), {"--data", text.path(), "--steps", "3",
                                 "--repeat-graph", "4"});
    return runWith(makeFakeProgram(2, 2), makeFakeKernels(), flags, embedded);
  };
  const Outcome outcome = run({});
  if (outcome.code == 0)
    EXPECT_TRUE(contains(outcome.out, "the step's graph alone: "));
  else
    EXPECT_TRUE(contains(outcome.errors, "this processor has no graphs"))
        << outcome.errors;
  for (const std::string flag : {"--save-weights", "--sample"}) {
    const std::string errors = run({flag, "1"}).errors;
    EXPECT_TRUE(contains(errors, flag + " excludes --repeat-graph")) << errors;
  }
}

TEST_F(Trainer, PrintsWhatWasCompiled) {
  const Program program = makeFakeProgram(2, 3);
  const Outcome schedule = runWith(program, {"--schedule"});
  EXPECT_EQ(schedule.code, 0);
  EXPECT_TRUE(contains(schedule.out, "test.forward"));
  EXPECT_TRUE(contains(schedule.out, "model.mlir:7:3"));
  EXPECT_TRUE(contains(schedule.out, "gradient [1 x f32 gradients+0:4"));
  const Outcome memory = runWith(program, {"--memory"});
  EXPECT_FALSE(contains(memory.out, "total on ")) << memory.out;
  Program offloaded = program;
  offloaded.arenaBytes[spaceOf(Arena::Optimizer, Tier::Host)] = 4096;
  const std::string tiers = runWith(offloaded, {"--memory"}).out;
  EXPECT_TRUE(contains(tiers, "total on host")) << tiers;
  EXPECT_TRUE(contains(memory.out, "parameters"));
  const Outcome info = runWith(program, {"--info"});
  EXPECT_TRUE(contains(info.out, "micro-batches  3"));
  EXPECT_TRUE(contains(info.out, "tokens: tensor<2x4xi32>"));
  EXPECT_TRUE(contains(runWith(program, {"--help"}).out, "--eval-every"));
}

TEST_F(Trainer, WrongFlagsAreOneClearError) {
  const Program program = makeFakeProgram(2, 1);
  const std::pair<std::vector<std::string>, std::string> cases[] = {
      {{"--stepz", "3"}, "unknown argument '--stepz'; did you mean '--steps'?"},
      {{"--steps", "3"}, "--data FILE is missing"},
      {{"--steps", "3", "--steps", "4"},
       "--steps is given more than once; give it once"},
      {{"--data", text.path()}, "--steps N is missing"},
      {{"--data", text.path(), "--steps", "-1"},
       "--steps: found '-1', wanted a whole number from 0 to "
       "9223372036854775807"},
      {{"--data", text.path(), "--steps", "99999999999999999999"},
       "--steps: found '99999999999999999999', wanted a whole number"},
      {{"--steps", "1x"}, "--steps: found '1x', wanted a whole number"},
      {{"--steps", "0", "--seed", "-1"},
       "--seed: found '-1', wanted a whole number from 0 to "
       "18446744073709551615"},
      {{"--steps", "0", "--threads", "100000"},
       "--threads: found '100000', wanted a whole number from 1 to "},
      {{"--steps", "0", "--eval-every", "0"},
       "--eval-every: found '0', wanted a whole number from 1 to "},
      {{"--steps", "0", "--eval-every", "2"},
       "--eval-every with --steps 0 never evaluates"},
      {{"--steps", "0", "--trace", "t.json"},
       "--trace with --steps 0 traces nothing"},
      {{"--steps", "0", "--self-check", "0"},
       "--self-check: found '0', wanted a whole number from 1 to "},
      {{"--steps", "0", "--self-check", "2", "--trace", "t.json"},
       "--trace excludes --self-check"},
      {{"--steps", "0", "--inject", "kill@0:1:nn.nothing"},
       "no operation is named 'nn.nothing'"},
      {{"--steps", "0", "--sample", "1", "--temperature", "-1"},
       "--temperature: found '-1', wanted a number of at least 0\n"},
      {{"--steps", "0", "--validation-fraction", "nan"},
       "--validation-fraction: found 'nan', wanted a number of at least 0 and "
       "at most 0.99"},
      {{"--steps", "0", "--prompt", "x"}, "--prompt requires --sample"},
      {{"--schedule", "--memory"}, "--schedule excludes --memory"},
      {{"--ranks", "4", "--steps", "0"},
       "--ranks 4, but this program was compiled for 2 ranks: compile it again "
       "with zero-compile --ranks 4"},
      {{"--nvme-path", "/tmp", "--steps", "0"},
       "--nvme-path, but this program keeps no states in files: compile it "
       "with offload_optimizer's device nvme, and zero.offload_nvme_min_bytes "
       "below the size of its states"},
      {{"--deterministic", "--steps", "0"},
       "--deterministic, but this program was compiled without it"},
  };
  for (const auto &[arguments, wanted] : cases) {
    const Outcome outcome = runWith(program, arguments);
    EXPECT_EQ(outcome.code, 2);
    EXPECT_TRUE(contains(outcome.errors, "error: " + wanted) ||
                contains(outcome.errors, wanted))
        << outcome.errors;
    EXPECT_EQ(outcome.errors.find('\n'), outcome.errors.size() - 1);
  }
}

TEST_F(Trainer, WrongFilesAreOneClearError) {
  const Program program = makeFakeProgram(2, 1);
  const std::pair<std::vector<std::string>, std::string> cases[] = {
      {{"--data", "/no/such.txt", "--steps", "1"},
       "/no/such.txt: cannot be opened: No such file or directory"},
      {{"--data", text.path(), "--steps", "1", "--save-weights",
        "/no/such/w.safetensors"},
       "the folder '/no/such' does not exist"},
      {{"--data", text.path(), "--steps", "1", "--metrics", "/no/such/m.jsonl"},
       "cannot write '/no/such/m.jsonl'"},
      {{"--data", text.path(), "--steps", "1", "--validation-fraction", "0",
        "--eval-every", "1"},
       "there is no validation data: --validation-fraction is 0"},
      {{"--steps", "0", "--sample", "3"}, "leaves no output 'logits'"},
      {{"--data", text.path(), "--steps", "5", "--sample", "3"},
       "leaves no output 'logits'"},
  };
  for (const auto &[arguments, wanted] : cases) {
    const Outcome outcome = runWith(program, arguments);
    EXPECT_EQ(outcome.code, 1);
    EXPECT_EQ(outcome.out, ""); // nothing was trained
    EXPECT_TRUE(contains(outcome.errors, wanted)) << outcome.errors;
    EXPECT_EQ(outcome.errors.find('\n'), outcome.errors.size() - 1);
  }
}

/// --save-weights replaces nothing but a regular file, which is known before
/// the first update.
TEST_F(Trainer, WeightsTakeThePlaceOfFilesOnly) {
  const TemporaryFile name("");
  ::unlink(name.path().c_str());
  const auto save = [&] {
    return runWith(makeFakeProgram(3, 1), {"--data", text.path(), "--steps",
                                           "1", "--save-weights", name.path()});
  };
  const auto expectRefused = [&](const std::string &why) {
    const Outcome outcome = save();
    EXPECT_EQ(outcome.code, 1);
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(outcome.errors, "error: cannot write '" + name.path() + "': " +
                                  why + "; name a file for --save-weights\n");
  };
  ASSERT_EQ(::mkfifo(name.path().c_str(), 0600), 0);
  expectRefused("it is no regular file");
  struct stat status;
  ASSERT_EQ(::stat(name.path().c_str(), &status), 0);
  EXPECT_TRUE(S_ISFIFO(status.st_mode));
  ::unlink(name.path().c_str());
  ASSERT_EQ(::mkdir(name.path().c_str(), 0700), 0);
  expectRefused("it is a folder");
  ::rmdir(name.path().c_str());
  EXPECT_EQ(save().code, 0); // there is nothing
  EXPECT_EQ(save().code, 0); // there is a file
}

/// What a run reads is not what it writes, by whatever name.
TEST_F(Trainer, OutputsThatAreInputsAreRefused) {
  const TemporaryFile weights(".safetensors", "weights"), link(".txt");
  ::unlink(link.path().c_str());
  ASSERT_EQ(::symlink(text.path().c_str(), link.path().c_str()), 0);
  const size_t slash = text.path().rfind('/');
  const std::string other = text.path().substr(0, slash) + "/." +
                            text.path().substr(slash),
                    absent = text.path() + ".absent", same = other + ".absent";
  const std::pair<std::vector<std::string>, std::string> cases[] = {
      {{"--metrics", text.path()},
       "--metrics '" + text.path() + "' would replace --data"},
      {{"--save-weights", link.path()},
       "--save-weights '" + link.path() + "' would replace --data"},
      {{"--trace", other}, "--trace '" + other + "' would replace --data"},
      {{"--save-weights", "/proc/self/exe"},
       "--save-weights '/proc/self/exe' would replace this executable"},
      {{"--weights", weights.path(), "--save-weights", weights.path()},
       "--save-weights '" + weights.path() + "' would replace --weights"},
      {{"--validation-data", weights.path(), "--eval-every", "1", "--metrics",
        weights.path()},
       "--metrics '" + weights.path() + "' would replace --validation-data"},
      {{"--metrics", metrics.path(), "--trace", metrics.path()},
       "--trace and --metrics are one file, '" + metrics.path() + "'"},
      {{"--metrics", absent, "--save-weights", same},
       "--save-weights and --metrics are one file, '" + absent + "'"},
  };
  for (auto [arguments, wanted] : cases) {
    for (const char *more : {"--steps", "1", "--data"})
      arguments.push_back(more);
    arguments.push_back(text.path());
    const Outcome outcome = runWith(makeFakeProgram(2, 1), arguments);
    EXPECT_EQ(outcome.code, 2);
    EXPECT_TRUE(contains(outcome.errors, "error: " + wanted + ": name "))
        << outcome.errors;
    EXPECT_EQ(outcome.errors.find('\n'), outcome.errors.size() - 1);
  }
  EXPECT_EQ(text.content(), someText());
  EXPECT_EQ(weights.content(), "weights");
  ::unlink(link.path().c_str());
  // What any number may write to.
  EXPECT_EQ(runWith(makeFakeProgram(2, 1), {"--data", text.path(), "--steps",
                                            "1", "--metrics", "/dev/null"})
                .code,
            0);
}

TEST_F(Trainer, AnErrorOfAllRanksNamesOne) {
  char folder[] = "/tmp/zero-test-XXXXXX";
  ASSERT_NE(::mkdtemp(folder), nullptr);
  const std::string path = std::string(folder) + "/w.safetensors";
  FakeKernels kernels = makeFakeKernels();
  kernels.functions["test.update"] = [&](const KernelContext &, void *const *) {
    ::rmdir(folder); // it was there at the start
  };
  const Outcome outcome =
      runWith(makeFakeProgram(3, 1), kernels,
              {"--data", text.path(), "--steps", "1", "--save-weights", path});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(contains(outcome.errors, "error: rank 0: " + path + ".partial-"))
      << outcome.errors;
  EXPECT_TRUE(contains(outcome.errors,
                       ": cannot be opened: No such file or directory\n"))
      << outcome.errors;
  EXPECT_EQ(outcome.errors.find('\n'), outcome.errors.size() - 1);
}

TEST_F(Trainer, ManyGroupsHaveTheirOwnRates) {
  Program program = makeFakeProgram(2, 1);
  program.partitions.resize(200, program.partitions[0]);
  for (size_t i = 0; i < program.partitions.size(); ++i)
    program.partitions[i].optimizer.learningRate = double(i);
  program.parameters.push_back(program.parameters[0]);
  program.parameters.back().name = "late";
  program.parameters.back().partition = 199;
  FakeKernels kernels = makeFakeKernels();
  kernels.functions["test.update"] = [](const KernelContext &context,
                                        void *const *) {
    Control &control = *context.control;
    for (int i = 0; i < 200; ++i)
      EXPECT_EQ(control.learningRate[i], float(i));
    control.finite = 0;
    control.nonFinite = 1;
    control.firstNonFinite[199] = context.rank == 1 ? 0 : -1;
  };
  const Outcome outcome =
      runWith(program, kernels, {"--data", text.path(), "--steps", "1"});
  ASSERT_EQ(outcome.code, 0) << outcome.errors;
  EXPECT_TRUE(contains(outcome.out, "the gradient of late[0] at "
                                    "model.mlir:3:1 is not finite on rank 1"))
      << outcome.out;
}

} // namespace
