// What a run starts from: weights, a checkpoint, or new values.
#include "TrainerTesting.h"

#include <gtest/gtest.h>

#include <filesystem>

using namespace zrt;
using namespace zrt::test;

namespace {

TEST(TrainerStart, AModelWithWeightsDoesNotStartWithoutThem) {
  const TemporaryFile text{".txt", someText()}, weights{".safetensors"};
  Program program = makeFakeProgram(2, 1);
  program.pretrained = true;
  const std::vector<std::string> flags = {"--data", text.path(), "--steps",
                                          "1"};
  const auto run = [&](std::vector<std::string> more) {
    more.insert(more.begin(), flags.begin(), flags.end());
    return runWith(program, more);
  };
  const char *why = "was imported with weights, and none are given: start from "
                    "them with --weights FILE";
  EXPECT_EQ(run({}).code, 2);
  EXPECT_NE(run({}).errors.find(why), std::string::npos) << run({}).errors;
  EXPECT_EQ(run({"--from-scratch", "--save-weights", weights.path()}).code, 0);
  EXPECT_EQ(run({"--weights", weights.path()}).code, 0);
  EXPECT_EQ(run({"--weights", weights.path(), "--from-scratch"}).code, 2);
  // A run that goes on has its weights; one that would have to start has none.
  const TemporaryFile place{""};
  std::filesystem::remove(place.path());
  const std::vector<std::string> resume = {"--checkpoint", place.path(),
                                           "--resume"};
  const Outcome first = run(resume);
  EXPECT_EQ(first.code, 1);
  EXPECT_NE(first.errors.find("there is no checkpoint yet, and the model"),
            std::string::npos)
      << first.errors;
  EXPECT_EQ(run({"--checkpoint", place.path(), "--resume", "--weights",
                 weights.path()})
                .code,
            0);
  EXPECT_EQ(run(resume).code, 0);
  std::filesystem::remove_all(place.path());
}

} // namespace
