// What an update reads and writes, and where.
#include "CompilerTesting.h"

#include "zero/Conversion/Translate.h"
#include "zero/Dialect/Zero/Zero.h"
#include "zero/Kernels/KernelSpecs.h"
#include "zero/Registration/Registration.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <regex>

using namespace mlir;
using namespace mlir::zero;

namespace {

/// Calls `use` with the partition of a parameter of `types`, such as "compute
/// bf16 gradient bf16 split".
void ofPartition(const std::string &types, const std::string &optimizer,
                 function_ref<void(PartitionOp)> use) {
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry);
  auto module = parseSourceString<ModuleOp>(
      "zero.parameter @w : tensor<4xf32> = #zero.ones\n"
      "zero.partition @p whole over 1 ranks stage 0 segments [0, 4] members "
      "[#zero.member<@w at 0 size 4>] " +
          types + " optimizer " + optimizer,
      &context);
  if (module)
    use(*module->getOps<PartitionOp>().begin());
}

/// "gradients bf16 r, remainder ui16 rw": the buffers of an update.
std::string updateOf(const std::string &types, const std::string &optimizer) {
  std::string text;
  ofPartition(types, optimizer, [&](PartitionOp partition) {
    llvm::raw_string_ostream os(text);
    llvm::interleaveComma(
        partition.getUpdateOperands(), os, [&](const UpdateOperand &operand) {
          os << operand.name << ' ' << operand.type << ' '
             << (operand.isRead ? "r" : "") << (operand.isWritten ? "w" : "");
        });
  });
  return text;
}

/// Bytes that an update moves of an element.
uint64_t bytesOf(const std::string &types, const std::string &optimizer) {
  uint64_t bytes = 0;
  ofPartition(types, optimizer, [&](PartitionOp partition) {
    SmallVector<FlatRange> ranges;
    for (const UpdateOperand &operand : partition.getUpdateOperands())
      ranges.push_back({/*elements=*/10, operand.type});
    auto [kernel, attributes] = describeUpdate(partition);
    bytes = describeFlatKernel(kernel, ranges, attributes).bytes / 10;
  });
  return bytes;
}

TEST(StatePlan, AnUpdateHasAllThatTheOptimizerKeeps) {
  EXPECT_EQ(updateOf("compute f32 gradient f32", "#zero.sgd<>"),
            "gradients f32 r, parameters f32 rw");
  EXPECT_EQ(updateOf("compute f16 gradient f32", "#zero.sgd<momentum = 0.9>"),
            "gradients f32 r, master f32 rw, momentum_buffer f32 rw, "
            "parameters f16 w");
  EXPECT_EQ(updateOf("compute bf16 gradient bf16", "#zero.adam<>"),
            "gradients bf16 r, master f32 rw, exp_avg f32 rw, exp_avg_sq f32 "
            "rw, parameters bf16 w");
}

/// The lower halves of masters are read and written, too.
TEST(StatePlan, AnUpdateHasTheRemainderOfASplitMaster) {
  EXPECT_EQ(updateOf("compute bf16 gradient bf16 split", "#zero.adam<>"),
            "gradients bf16 r, remainder ui16 rw, exp_avg f32 rw, exp_avg_sq "
            "f32 rw, parameters bf16 rw");
}

/// The gradient is read, the 16-bit parameter written, all else both, the
/// halves of a split master included.
TEST(StatePlan, AnUpdateMovesWhatItReadsAndWrites) {
  EXPECT_EQ(bytesOf("compute f32 gradient f32", "#zero.adam<>"), 28u);
  EXPECT_EQ(bytesOf("compute bf16 gradient bf16", "#zero.adam<>"), 28u);
  EXPECT_EQ(bytesOf("compute bf16 gradient f32", "#zero.adam<>"), 30u);
  EXPECT_EQ(bytesOf("compute bf16 gradient bf16 split", "#zero.adam<>"), 26u);
  EXPECT_EQ(bytesOf("compute bf16 gradient f32 split", "#zero.adam<>"), 28u);
  EXPECT_EQ(bytesOf("compute f32 gradient f32", "#zero.sgd<>"), 12u);
  EXPECT_EQ(bytesOf("compute f32 gradient f32", "#zero.lion<>"), 20u);
}

class SplitState : public ::testing::TestWithParam<int>, public Compiler {
protected:
  /// Plans a model with the first `cut` elements of @p0's `exp_avg` on the
  /// device and the rest on the host.
  FailureOr<zrt::Program> plan(int64_t &cut, int64_t &elements) {
    auto module =
        parseSourceFile<ModuleOp>(ZERO_MODELS "/tiny-gpt.mlir", &context);
    if (!module ||
        !runPipeline(*module, "ranks=2 reduce-bucket-size=100 stage=" +
                                  std::to_string(GetParam())))
      return failure();
    auto partition = *module->getOps<PartitionOp>().begin();
    cut = partition.getSegments()[1];
    elements = partition.getFlatElements();
    std::string text;
    llvm::raw_string_ostream(text) << *module;
    text =
        std::regex_replace(text, std::regex("exp_avg f32 at #zero\\.at<[^>]*>"),
                           "exp_avg f32 [0 to " + std::to_string(cut) + "] [" +
                               std::to_string(cut) + " to " +
                               std::to_string(elements) + "] on host",
                           std::regex_constants::format_first_only);
    module = parseSourceString<ModuleOp>(text, &context);
    PassManager passes(&context);
    if (!module ||
        failed(parsePassPipeline("zero-plan-memory,zero-verify-schedule",
                                 passes)) ||
        !run(passes, *module))
      return failure();
    return translateToProgram(*module);
  }
};

/// Each part of the update reads and writes the part of the state that it is
/// about, in the tier where that is, and goes on where the one before it ended.
TEST_P(SplitState, IsUpdatedInParts) {
  int64_t cut = 0, elements = 0;
  FailureOr<zrt::Program> program = plan(cut, elements);
  ASSERT_TRUE(succeeded(program)) << message;
  ASSERT_GT(elements, cut);
  const int64_t slices = GetParam() == 0 ? 1 : 2;
  const zrt::State &state = program->partitions[0].states[0];
  ASSERT_EQ(state.name, "exp_avg");
  ASSERT_EQ(state.ranges.size(), 2u);
  int64_t next = 0;
  for (const zrt::Command &command : program->apply.commands) {
    if (command.opcode != zrt::Opcode::Kernel)
      continue;
    const zrt::KernelSpec &spec = program->kernels[command.kernel];
    if (spec.name.rfind("zero.adam", 0) != 0 || spec.integer("partition") != 0)
      continue;
    const bool isSecond = next >= cut / slices;
    const zrt::BufferRef &part = state.ranges[isSecond].buffer;
    // Gradient, parameter, exp_avg, exp_avg_sq.
    EXPECT_EQ(command.buffers[2].tier,
              isSecond ? zrt::Tier::Host : zrt::Tier::Device);
    EXPECT_EQ(command.buffers[2].offset,
              part.offset + 4 * (next - isSecond * cut / slices));
    EXPECT_EQ(command.buffers[3].tier, zrt::Tier::Device);
    EXPECT_EQ(command.buffers[3].offset,
              program->partitions[0].states[1].ranges[0].buffer.offset +
                  4 * next);
    next += spec.operands[2].elements();
    EXPECT_TRUE(isSecond || next <= cut / slices);
  }
  EXPECT_EQ(next, elements / slices);
}

INSTANTIATE_TEST_SUITE_P(Stages, SplitState, ::testing::Values(0, 1, 2, 3));

} // namespace
