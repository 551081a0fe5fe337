// What is said of a run while it goes on, and what a sample begins with.
#include "../MessageOf.h"
#include "../TemporaryFile.h"
#include "../engine/FakeProgram.h"

#include "report/Ladder.h"
#include "report/Progress.h"
#include "report/TensorBoard.h"
#include "report/Texts.h"
#include "trainer/Generate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <sstream>
#include <thread>

using namespace zrt;
using namespace zrt::test;

namespace {

UpdateReport reportOf(int64_t update, double seconds) {
  UpdateReport report;
  report.update = update;
  report.loss = 2.5;
  report.gradientNorm = 0.25;
  report.learningRate = 1e-3;
  report.seconds = seconds;
  return report;
}

/// What is printed of the first of two updates, which takes so long.
std::string firstLine(double seconds) {
  std::ostringstream out;
  Progress(out, /*terminal=*/false, 2, 1000).update(reportOf(1, seconds));
  return out.str();
}

} // namespace

TEST(Progress, PrintsLinesWhereNobodyLooks) {
  EXPECT_EQ(firstLine(2), "step 1/2 loss 2.5000 norm 0.250 lr 0.001 500 "
                          "tokens/s 0:02 left\n");
  EXPECT_NE(firstLine(59.7).find(" 1:00 left"), std::string::npos);
  EXPECT_NE(firstLine(3723).find(" 1:02:03 left"), std::string::npos);
}

TEST(Progress, DrawsABarOverItself) {
  std::ostringstream out;
  Progress progress(out, /*terminal=*/true, 2, 1000);
  progress.message("remark");
  progress.update(reportOf(1, 2));
  progress.message("saved");
  progress.update(reportOf(2, 4));
  progress.finish();
  progress.finish();
  const std::string clear = "\r\x1b[K", half(12, '='), rest(12, ' ');
  EXPECT_EQ(out.str(),
            "remark\n" + clear + "[" + half + rest +
                "] step 1/2 loss 2.5000 norm 0.250 lr 0.001 500 tokens/s 0:02 "
                "left" +
                clear + "saved\n" + clear + "[" + half + half +
                "] step 2/2 loss 2.5000 norm 0.250 lr 0.001 250 tokens/s 0:00 "
                "left\n");
  // The first update is no measure of the others.
  EXPECT_EQ(progress.tokensPerSecond(), 250);
}

/// The sum that TensorBoard's records have: CRC-32C, rotated.
TEST(TensorBoard, HasTheChecksumsOfItsFormat) {
  const auto masked = [](uint32_t crc) {
    return (crc >> 15 | crc << 17) + 0xa282ead8;
  };
  EXPECT_EQ(maskedCrc32c("123456789", 9), masked(0xe3069283));
  const char zeros[32] = {};
  EXPECT_EQ(maskedCrc32c(zeros, sizeof(zeros)), masked(0x8a9136aa));
  EXPECT_EQ(maskedCrc32c(zeros, 0), masked(0));
}

TEST(Texts, AreThoseOfAllRanksOnTheFirst) {
  constexpr int kRanks = 3;
  auto communicators = makeInProcess(kRanks);
  std::vector<std::vector<std::string>> found(kRanks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kRanks; ++rank)
    threads.emplace_back([&, rank] {
      found[size_t(rank)] = gatherTexts(*communicators[size_t(rank)],
                                        std::string(size_t(rank) * 5000, 'a'));
    });
  for (std::thread &thread : threads)
    thread.join();
  ASSERT_EQ(found[0].size(), size_t(kRanks));
  for (size_t rank = 0; rank < kRanks; ++rank)
    EXPECT_EQ(found[0][rank], std::string(rank * 5000, 'a'));
  EXPECT_TRUE(found[1].empty() && found[2].empty());
}

TEST(Texts, TakeTheirPlaceWhenTheyAreComplete) {
  const TemporaryFile file(".txt", "before");
  writeText(file.path(), "after");
  EXPECT_EQ(file.content(), "after");
  EXPECT_NE(messageOf([] {
              writeText("/nonexistent/trace.json", "x");
            }).find("/nonexistent/trace.json"),
            std::string::npos);
}

TEST(Sampling, FollowsTheSharesOfASoftmax) {
  const std::vector<float> logits = {float(std::log(1.0)), float(std::log(3.0)),
                                     float(std::log(4.0))};
  for (const auto &[uniform, wanted] : {std::pair(0.0, 0),
                                        {0.12, 0},
                                        {0.13, 1},
                                        {0.49, 1},
                                        {0.51, 2},
                                        {0.999999, 2}})
    EXPECT_EQ(sampleIndex(logits, 1, uniform), wanted) << uniform;
  // 1, 9 and 16 of 26.
  EXPECT_EQ(sampleIndex(logits, 0.5, 0.03), 0);
  EXPECT_EQ(sampleIndex(logits, 0.5, 0.05), 1);
  EXPECT_EQ(sampleIndex(logits, 0.5, 0.4), 2);
  EXPECT_EQ(sampleIndex({1, 7, 7, 2}, 0, 0.9), 1);
}

TEST(Sampling, BeginsWithBytesOrWithIds) {
  const Program program;
  using Ids = std::vector<int32_t>;
  EXPECT_EQ(promptTokens("a\xff", true, program), (Ids{97, 255}));
  EXPECT_EQ(promptTokens("", true, program), Ids{'\n'});
  EXPECT_EQ(promptTokens(" 5  70000", false, program), (Ids{5, 70000}));
  EXPECT_EQ(promptTokens(" ", false, program), Ids{0});
  for (const std::string wrong : {"5x", "-1", "2147483648", "word"})
    EXPECT_EQ(messageOf([&] { promptTokens(wrong, false, program); }),
              "--prompt has '" + wrong +
                  "', which is no token id: tokens are not bytes here, list "
                  "ids, as zero-tokenize --encode prints them");
}

/// What is timed of a machine: all within the memory that was asked for.
TEST(Ladder, StaysInItsMemory) {
  constexpr uint64_t kBytes = uint64_t(1) << 20;
  Program program = makeFakeProgram(4, 1);
  program.partitions[0].computeType = DataType::BF16;
  program.partitions[0].gradientType = DataType::BF16;
  const Program ladder = makeLadder(program, kBytes);
  EXPECT_EQ(ladder.arenaBytes[int(Arena::Activations)], kBytes);
  std::set<std::string> kernels;
  std::set<Collective> collectives;
  for (const Command &command : ladder.micro.commands) {
    for (const BufferRef &buffer : command.buffers)
      EXPECT_LE(buffer.offset + buffer.bytes, kBytes) << command.label;
    for (const CollectivePart &part : command.parts)
      for (const BufferRef &buffer : {part.send, part.receive}) {
        const uint64_t last = buffer.stride * 3;
        EXPECT_LE(buffer.offset + last + buffer.bytes, kBytes) << command.label;
      }
    if (command.opcode == Opcode::Kernel)
      kernels.insert(ladder.kernels[command.kernel].name);
    if (command.opcode == Opcode::Start)
      collectives.insert(command.collective);
  }
  EXPECT_EQ(kernels, (std::set<std::string>{"zero.accumulate", "zero.clear",
                                            "zero.copy", "zero.grad_stats"}));
  EXPECT_EQ(collectives.size(), 4u);
  // Alone there is nobody to exchange anything with.
  for (const Command &command :
       makeLadder(makeFakeProgram(1, 1), kBytes).micro.commands)
    EXPECT_EQ(command.opcode, Opcode::Kernel);
}
