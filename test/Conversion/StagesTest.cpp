// The programs of a pipeline: their orders of passes, and that what does not
// fit together is found.
#include "CompilerTesting.h"

#include "zero/Conversion/Translate.h"
#include "zero/Conversion/VerifyStages.h"

#include "program/Collective.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

using namespace mlir;
using namespace mlir::zero;

namespace {

/// Three layers, each a stage. The last one reads what the first has made, too.
constexpr const char *kModel = R"mlir(
zero.parameter @c : tensor<8x8xf32> = #zero.normal<std = 0.2>
zero.parameter @a : tensor<8x8xf32> = #zero.normal<std = 0.2>
zero.parameter @b : tensor<8x8xf32> = #zero.normal<std = 0.2>
zero.step @train(%x: tensor<4x8xf32> {zero.input = "x"}) {
  %a = zero.load @a : tensor<8x8xf32>
  %h = nn.linear %x, %a : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  zero.stage_boundary
  %b = zero.load @b : tensor<8x8xf32>
  %g = nn.linear %h, %b : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  zero.stage_boundary
  %c = zero.load @c : tensor<8x8xf32>
  %k = nn.linear %g, %c : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %s = arith.addf %h, %k : tensor<4x8xf32>
  %q = arith.mulf %s, %s : tensor<4x8xf32>
  %loss = nn.reduce mean %q dims [0, 1] : (tensor<4x8xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}
)mlir";

class Stages : public ::testing::Test, protected Compiler {
protected:
  std::vector<zrt::Program> compile(const std::string &options,
                                    const std::string &model = kModel) {
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(model, &context);
    if (!module ||
        !runPipeline(*module, "mesh=pipe=3,data=1 stage=0 " + options)) {
      ADD_FAILURE() << options << ": " << message;
      return {};
    }
    auto programs = translateStages(*module);
    EXPECT_TRUE(succeeded(programs)) << message;
    return succeeded(programs) ? *programs : std::vector<zrt::Program>();
  }
};

/// "F0 F1 B0 ...".
std::string orderOf(const zrt::Program &program) {
  std::string text;
  for (const zrt::Turn &turn : program.pipeline.order)
    text += (text.empty() ? "" : " ") +
            std::string(turn.isBackward ? "B" : "F") +
            std::to_string(turn.micro);
  return text;
}

bool isTransfer(const zrt::Command &command) {
  return command.opcode == zrt::Opcode::Start &&
         zrt::isBetweenTwo(command.collective);
}

} // namespace

TEST_F(Stages, PassBackAsSoonAsTheyCan) {
  const auto programs = compile("accumulation=4");
  ASSERT_EQ(programs.size(), 3u);
  EXPECT_EQ(orderOf(programs[0]), "F0 F1 F2 B0 F3 B1 B2 B3");
  EXPECT_EQ(orderOf(programs[1]), "F0 F1 B0 F2 B1 F3 B2 B3");
  EXPECT_EQ(orderOf(programs[2]), "F0 B0 F1 B1 F2 B2 F3 B3");
  for (uint32_t stage = 0; stage < 3; ++stage)
    EXPECT_EQ(programs[stage].pipeline.slots, 3 - stage);
}

TEST_F(Stages, PassForwardFirst) {
  const auto programs = compile("accumulation=2 pipeline-schedule=gpipe");
  ASSERT_EQ(programs.size(), 3u);
  for (const zrt::Program &program : programs) {
    EXPECT_EQ(orderOf(program), "F0 F1 B0 B1");
    EXPECT_EQ(program.pipeline.slots, 2u);
  }
}

TEST_F(Stages, OfFewMicroBatchesHaveFewSlots) {
  const auto programs = compile("accumulation=1");
  ASSERT_EQ(programs.size(), 3u);
  for (const zrt::Program &program : programs) {
    EXPECT_EQ(orderOf(program), "F0 B0");
    EXPECT_EQ(program.pipeline.slots, 1u);
  }
}

TEST_F(Stages, KnowWhatOthersWrite) {
  const auto programs = compile("accumulation=2");
  ASSERT_EQ(programs.size(), 3u);
  for (const zrt::Program &program : programs) {
    const auto &stored = program.pipeline.stored;
    ASSERT_EQ(stored.size(), 3u);
    // In the order of the model, which is not that of the stages.
    EXPECT_EQ(stored[0].name, "c");
    EXPECT_EQ(stored[0].stage, 2u);
    EXPECT_EQ(stored[1].name, "a");
    EXPECT_EQ(stored[1].stage, 0u);
    EXPECT_EQ(stored[1].states.size(), 2u);
  }
  for (const zrt::Program &program : programs)
    EXPECT_EQ(program.pipeline.scalars, std::vector<std::string>{"loss"});
}

/// The table of each stage, slots and micro-batches: each change of it is
/// found.
TEST_F(Stages, EveryChangeOfAnOrderIsFound) {
  const auto programs = compile("accumulation=4");
  ASSERT_EQ(programs.size(), 3u);
  EXPECT_EQ(zrt::findStageFault(programs), "");
  size_t found = 0, harmless = 0;
  const auto judge = [&](const std::vector<zrt::Program> &mutant,
                         const std::string &what, bool mayPass) {
    const bool isFault = !zrt::findStageFault(mutant).empty();
    EXPECT_TRUE(isFault || mayPass) << what;
    found += isFault;
    harmless += !isFault;
  };
  for (size_t stage = 0; stage < programs.size(); ++stage) {
    const auto &order = programs[stage].pipeline.order;
    for (size_t i = 0; i < order.size(); ++i) {
      const std::string what =
          "stage " + std::to_string(stage) + ", pass " + std::to_string(i);
      auto dropped = programs;
      auto &left = dropped[stage].pipeline.order;
      left.erase(left.begin() + long(i));
      judge(dropped, "dropped, " + what, false);
      auto doubled = programs;
      auto &more = doubled[stage].pipeline.order;
      more.insert(more.begin() + long(i), order[i]);
      judge(doubled, "doubled, " + what, false);
      auto turned = programs;
      turned[stage].pipeline.order[i].isBackward ^= true;
      judge(turned, "turned, " + what, false);
      auto renamed = programs;
      renamed[stage].pipeline.order[i].micro ^= 1;
      judge(renamed, "of another micro-batch, " + what, false);
      if (programs[stage].pipeline.slots > 1) {
        auto moved = programs;
        uint32_t &slot = moved[stage].pipeline.order[i].slot;
        slot = (slot + 1) % programs[stage].pipeline.slots;
        judge(moved, "in another slot, " + what, false);
      }
      // Passes that do not depend on each other may change places.
      if (i + 1 < order.size()) {
        auto swapped = programs;
        auto &others = swapped[stage].pipeline.order;
        std::swap(others[i], others[i + 1]);
        judge(swapped, "swapped, " + what, true);
      }
    }
  }
  EXPECT_GT(found, 100u);
  EXPECT_LT(harmless, 12u);
}

/// Each send and receive of each pass: dropped, doubled, of another size, name,
/// type or stage, and each wait dropped.
TEST_F(Stages, EveryChangeOfATransferIsFound) {
  const auto programs = compile("accumulation=4");
  ASSERT_EQ(programs.size(), 3u);
  using Change = std::function<void(std::vector<zrt::Command> &, size_t)>;
  const std::vector<std::pair<const char *, Change>> changes = {
      {"dropped", [](auto &commands,
                     size_t i) { commands.erase(commands.begin() + long(i)); }},
      {"doubled",
       [](auto &commands, size_t i) {
         const zrt::Command copy = commands[i];
         commands.insert(commands.begin() + long(i), copy);
       }},
      {"of another size",
       [](auto &commands, size_t i) { ++commands[i].parts[0].count; }},
      {"of another type",
       [](auto &commands, size_t i) {
         commands[i].parts[0].type = zrt::DataType::BF16;
       }},
      {"of another value",
       [](auto &commands, size_t i) { commands[i].label += "x"; }},
      {"with a stage that there is not",
       [](auto &commands, size_t i) { commands[i].parts[0].root = 7; }},
      {"with another stage", [](auto &commands, size_t i) {
         int32_t &root = commands[i].parts[0].root;
         root = root == 0 ? 2 : 0;
       }}};
  size_t tried = 0;
  for (size_t stage = 0; stage < programs.size(); ++stage)
    for (zrt::Region zrt::Program::*region :
         {&zrt::Program::forward, &zrt::Program::micro,
          &zrt::Program::evaluate}) {
      const auto &commands = (programs[stage].*region).commands;
      for (size_t i = 0; i < commands.size(); ++i) {
        if (!isTransfer(commands[i]))
          continue;
        for (const auto &[name, change] : changes) {
          auto mutant = programs;
          change((mutant[stage].*region).commands, i);
          ++tried;
          EXPECT_NE(zrt::findStageFault(mutant), "")
              << name << ": '" << commands[i].label << "' of stage " << stage;
        }
      }
    }
  EXPECT_GT(tried, 100u);
}

/// The first and the last layer have one parameter.
std::string tiedModel() {
  std::string text = kModel;
  const std::string load = "zero.load @c";
  text.replace(text.find(load), load.size(), "zero.load @a");
  return text;
}

TEST_F(Stages, ThatHaveAnotherParameterOfOneNameAreFound) {
  const auto programs = compile("accumulation=2", tiedModel());
  ASSERT_EQ(programs.size(), 3u);
  ASSERT_EQ(zrt::findStageFault(programs), "");
  const auto find = [](zrt::Program &program) -> zrt::Parameter & {
    return *std::find_if(program.parameters.begin(), program.parameters.end(),
                         [](const auto &each) { return each.name == "a"; });
  };
  auto reshaped = programs;
  find(reshaped[2]).shape = {64};
  EXPECT_NE(zrt::findStageFault(reshaped).find("in different shapes or types"),
            std::string::npos);
  auto frozen = programs;
  frozen[2].partitions[size_t(find(frozen[2]).partition)].trainable = false;
  EXPECT_NE(zrt::findStageFault(frozen).find("one of them trains it"),
            std::string::npos);
  // Both keep silent, so that nothing waits and nothing is left over.
  auto apart = programs;
  for (zrt::Program &program : apart) {
    std::vector<uint32_t> tickets;
    auto &commands = program.apply.commands;
    for (const zrt::Command &command : commands)
      if (isTransfer(command))
        tickets.push_back(command.ticket);
    const auto isOfTie = [&](const zrt::Command &command) {
      return isTransfer(command) ||
             (command.opcode == zrt::Opcode::Wait &&
              llvm::is_contained(tickets, command.ticket));
    };
    commands.erase(std::remove_if(commands.begin(), commands.end(), isOfTie),
                   commands.end());
  }
  EXPECT_NE(zrt::findStageFault(apart).find("do not add up its gradients"),
            std::string::npos);
}

/// What ranks of all stages run together: dropped, doubled, of another size.
TEST_F(Stages, EveryChangeOfACollectiveIsFound) {
  const auto programs = compile("accumulation=2", tiedModel());
  ASSERT_EQ(programs.size(), 3u);
  size_t tried = 0;
  for (size_t stage = 0; stage < programs.size(); ++stage) {
    const auto &commands = programs[stage].apply.commands;
    for (size_t i = 0; i < commands.size(); ++i) {
      if (commands[i].opcode != zrt::Opcode::Start || isTransfer(commands[i]))
        continue;
      ++tried;
      auto dropped = programs;
      auto &left = dropped[stage].apply.commands;
      left.erase(left.begin() + long(i));
      EXPECT_NE(zrt::findStageFault(dropped), "") << commands[i].label;
      auto doubled = programs;
      auto &more = doubled[stage].apply.commands;
      more.insert(more.begin() + long(i), commands[i]);
      EXPECT_NE(zrt::findStageFault(doubled), "") << commands[i].label;
      auto resized = programs;
      ++resized[stage].apply.commands[i].parts[0].count;
      EXPECT_NE(zrt::findStageFault(resized), "") << commands[i].label;
    }
  }
  EXPECT_GT(tried, 2u);
}

TEST_F(Stages, ThatWaitForEachOtherAreNamed) {
  auto programs = compile("accumulation=2");
  ASSERT_EQ(programs.size(), 3u);
  // The first stage wants a gradient before it has sent the value.
  auto &order = programs[0].pipeline.order;
  std::swap(order[0], order[order.size() - 2]);
  const std::string fault = zrt::findStageFault(programs);
  EXPECT_NE(fault.find("stage 0"), std::string::npos) << fault;
  EXPECT_NE(fault.find("micro-batch"), std::string::npos) << fault;
}
