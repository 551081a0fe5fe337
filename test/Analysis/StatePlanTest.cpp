// What an update reads and writes.
#include "zero/Cost/KernelSpecs.h"
#include "zero/Dialect/Zero/Zero.h"
#include "zero/Registration/Registration.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

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

} // namespace
