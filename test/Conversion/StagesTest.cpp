// The programs of a pipeline: their orders of passes, and that what does not
// fit together is found.
#include "CompilerTesting.h"

#include "Verify/StageMutants.h"
#include "Verify/StagesTesting.h"

#include "zero/Conversion/Translate.h"
#include "zero/Conversion/VerifyStages.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace mlir;
using namespace mlir::zero;
using namespace zrt::test;

namespace {

class Stages : public ::testing::Test, protected Compiler {
protected:
  std::vector<zrt::Program> compile(const std::string &options,
                                    const std::string &model = kThreeStages,
                                    int ranks = 1) {
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(model, &context);
    if (!module ||
        !runPipeline(*module, "mesh=pipe=3,data=" + std::to_string(ranks) +
                                  " stage=0 " + options)) {
      ADD_FAILURE() << options << ": " << message;
      return {};
    }
    auto programs = translateStages(*module);
    EXPECT_TRUE(succeeded(programs)) << message;
    return succeeded(programs) ? *programs : std::vector<zrt::Program>();
  }
};

constexpr const char *kInterleaved = "pipeline-schedule=interleaved "
                                     "accumulation=";

/// "F0 F1 B0 ...", with a prime for each chunk: "F0 F0' ...".
std::string orderOf(const zrt::Program &program) {
  std::string text;
  for (const zrt::Turn &turn : program.pipeline.order)
    text += (text.empty() ? "" : " ") +
            std::string(turn.isBackward ? "B" : "F") +
            std::to_string(turn.micro) + std::string(turn.chunk, '\'');
  return text;
}

/// "3", "6 + 3".
std::string slotsOf(const zrt::Program &program) {
  std::string text;
  for (const zrt::StashRing &ring : program.pipeline.rings)
    text += (text.empty() ? "" : " + ") + std::to_string(ring.slots);
  return text;
}

} // namespace

TEST_F(Stages, PassBackAsSoonAsTheyCan) {
  const auto programs = compile("accumulation=4");
  ASSERT_EQ(programs.size(), 3u);
  EXPECT_EQ(orderOf(programs[0]), "F0 F1 F2 B0 F3 B1 B2 B3");
  EXPECT_EQ(orderOf(programs[1]), "F0 F1 B0 F2 B1 F3 B2 B3");
  EXPECT_EQ(orderOf(programs[2]), "F0 B0 F1 B1 F2 B2 F3 B3");
  for (uint32_t stage = 0; stage < 3; ++stage)
    EXPECT_EQ(slotsOf(programs[stage]), std::to_string(3 - stage));
}

TEST_F(Stages, PassForwardFirst) {
  const auto programs = compile("accumulation=2 pipeline-schedule=gpipe");
  ASSERT_EQ(programs.size(), 3u);
  for (const zrt::Program &program : programs) {
    EXPECT_EQ(orderOf(program), "F0 F1 B0 B1");
    EXPECT_EQ(slotsOf(program), "2");
  }
}

TEST_F(Stages, OfFewMicroBatchesHaveFewSlots) {
  const auto programs = compile("accumulation=1");
  ASSERT_EQ(programs.size(), 3u);
  for (const zrt::Program &program : programs) {
    EXPECT_EQ(orderOf(program), "F0 B0");
    EXPECT_EQ(slotsOf(program), "1");
  }
}

/// Rounds of as many micro-batches as stages pass one chunk after the other.
TEST_F(Stages, OfSeveralChunksTakeTurns) {
  const auto programs = compile(std::string(kInterleaved) + "6", makeChain(6));
  ASSERT_EQ(programs.size(), 3u);
  EXPECT_EQ(orderOf(programs[0]),
            "F0 F1 F2 F0' F1' F2' F3 F4 B0' F5 B1' F3' B2' F4' B0 F5' B1 B2 "
            "B3' B4' B5' B3 B4 B5");
  EXPECT_EQ(orderOf(programs[2]),
            "F0 F1 F2 F0' B0' F1' B1' F2' B2' F3 B0 F4 B1 F5 B2 F3' B3' F4' "
            "B4' F5' B5' B3 B4 B5");
  EXPECT_EQ(slotsOf(programs[0]), "6 + 3");
  EXPECT_EQ(slotsOf(programs[1]), "6 + 3");
  EXPECT_EQ(slotsOf(programs[2]), "4 + 1");
  EXPECT_EQ(zrt::findStageFault(programs), "");
}

/// Of any number of micro-batches, also where it is no multiple of the stages.
TEST_F(Stages, OfSeveralChunksNeverWaitForEachOther) {
  for (int micros = 1; micros <= 13; ++micros)
    for (int chunks : {2, 3}) {
      const auto programs =
          compile(kInterleaved + std::to_string(micros) +
                      " pipeline-chunks=" + std::to_string(chunks),
                  makeChain(3 * chunks));
      ASSERT_EQ(programs.size(), 3u);
      for (const zrt::Program &program : programs)
        EXPECT_EQ(program.pipeline.order.size(), size_t(2 * micros * chunks));
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
  for (const zrt::Program &program : programs) {
    ASSERT_EQ(program.outputs().size(), 1u);
    EXPECT_EQ(program.outputs()[0].name, "loss");
    EXPECT_EQ(program.firstLossRank(), 2);
  }
}

/// The table of each stage, and its slots: each change of them is found.
class Orders : public Stages, public ::testing::WithParamInterface<bool> {
protected:
  std::vector<zrt::Program> compileOrder() {
    return GetParam() ? compile(std::string(kInterleaved) + "4", makeChain(6))
                      : compile("accumulation=4");
  }
};

INSTANTIATE_TEST_SUITE_P(All, Orders, ::testing::Bool());

TEST_P(Orders, EveryChangeIsFound) {
  const auto programs = compileOrder();
  ASSERT_EQ(programs.size(), 3u);
  EXPECT_EQ(zrt::findStageFault(programs), "");
  size_t found = 0, harmless = 0;
  forEachOrderMutant(programs, [&](const StageMutant &mutant) {
    const bool isFault = !zrt::findStageFault(mutant.stages).empty();
    EXPECT_TRUE(isFault || mutant.mayPass) << mutant.what;
    ++(isFault ? found : harmless);
  });
  EXPECT_GT(found, 80u);
  EXPECT_LT(harmless, found / 4);
}

TEST_P(Orders, EveryChangeOfATransferIsFound) {
  const auto programs = compileOrder();
  ASSERT_EQ(programs.size(), 3u);
  size_t tried = 0;
  forEachTransferMutant(programs, [&](const StageMutant &mutant) {
    ++tried;
    EXPECT_NE(zrt::findStageFault(mutant.stages), "") << mutant.what;
  });
  EXPECT_GT(tried, 100u);
}

TEST_F(Stages, ThatHaveAnotherParameterOfOneNameAreFound) {
  const auto programs = compile("accumulation=2", makeTied(kThreeStages));
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
  const auto programs = compile("accumulation=2", makeTied(kThreeStages));
  ASSERT_EQ(programs.size(), 3u);
  size_t tried = 0;
  forEachCollectiveMutant(programs, [&](const StageMutant &mutant) {
    ++tried;
    EXPECT_NE(zrt::findStageFault(mutant.stages), "") << mutant.what;
  });
  EXPECT_GT(tried, 2u);
}

/// What is sent until a later pass does not lie where this pass computes.
TEST_F(Stages, ThatSendFromActivationsAreFound) {
  const auto programs = compile("accumulation=2");
  ASSERT_EQ(programs.size(), 3u);
  auto moved = programs;
  for (zrt::Command &command : moved[0].forward[0].commands)
    if (isTransfer(command))
      command.parts[0].send.arena = zrt::Arena::Activations;
  EXPECT_NE(zrt::findStageFault(moved).find("sends after its pass"),
            std::string::npos);
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

/// What ranks of all stages run together is started before a collective of the
/// first stage, which sends what the others wait for once that is over. In host
/// memory one collective does not wait for another.
TEST_F(Stages, ThatWaitForEachOtherOnDevicesAreNamed) {
  auto programs =
      compile("accumulation=2", makeTied(kThreeStages), /*ranks=*/2);
  ASSERT_EQ(programs.size(), 3u);
  zrt::Program &first = programs[0];
  auto &commands = first.apply.commands;
  const auto isOfAll = [&](const zrt::Command &command) {
    return command.opcode == zrt::Opcode::Start && !isTransfer(command) &&
           first.mesh.meet(command.group, first.pipeline.group);
  };
  const auto start = std::find_if(commands.begin(), commands.end(), isOfAll);
  ASSERT_NE(start, commands.end());
  std::rotate(commands.begin(), start, start + 1);
  const std::string fault = zrt::findStageFault(programs);
  EXPECT_EQ(fault.find("on devices no stage can go on: stage 0 in the update "
                       "waits for 'all_reduce @p1 stored'"),
            0u)
      << fault;
}

/// A kernel does not read what may not have come yet.
TEST_F(Stages, ThatReadBeforeTheyWaitAreFound) {
  const auto programs = compile("accumulation=2");
  ASSERT_EQ(programs.size(), 3u);
  auto early = programs;
  auto &commands = early[1].forward[0].commands;
  const auto receive = std::find_if(
      commands.begin(), commands.end(), [](const zrt::Command &command) {
        return command.collective == zrt::Collective::Receive &&
               isTransfer(command);
      });
  const auto wait =
      std::find_if(receive, commands.end(), [&](const zrt::Command &command) {
        return command.opcode == zrt::Opcode::Wait &&
               command.ticket == receive->ticket;
      });
  ASSERT_NE(wait, commands.end());
  std::rotate(wait, wait + 1, commands.end());
  const std::string fault = zrt::findStageFault(early);
  EXPECT_NE(fault.find("which was not waited for"), std::string::npos) << fault;
}

/// Gradients are not added up before those of an earlier update are
/// overwritten.
TEST_F(Stages, ThatBeginWithAnotherMicroBatchAreFound) {
  auto programs = compile("accumulation=2 pipeline-schedule=gpipe");
  ASSERT_EQ(programs.size(), 3u);
  for (zrt::Program &program : programs)
    for (zrt::Turn &turn : program.pipeline.order)
      turn.micro ^= 1;
  const std::string fault = zrt::findStageFault(programs);
  EXPECT_NE(fault.find("micro-batch 0 overwrites its gradients later"),
            std::string::npos)
      << fault;
}
