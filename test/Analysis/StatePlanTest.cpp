// What an update reads and writes.
#include "zero/Dialect/Zero/Zero.h"
#include "zero/Registration/Registration.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace mlir::zero;

namespace {

/// "gradients bf16 r, remainder ui16 rw": the buffers of an update of
/// parameters of `types`, such as "compute bf16 gradient bf16 split".
std::string updateOf(const std::string &types, const std::string &optimizer) {
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry);
  auto module = parseSourceString<ModuleOp>(
      "zero.parameter @w : tensor<4xf32> = #zero.ones\n"
      "zero.partition @p whole over 1 ranks stage 0 segments [0, 4] members "
      "[#zero.member<@w at 0 size 4>] " +
          types + " optimizer " + optimizer,
      &context);
  if (!module)
    return "";
  PartitionOp partition = *module->getOps<PartitionOp>().begin();
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleaveComma(
      partition.getUpdateOperands(), os, [&](const UpdateOperand &operand) {
        os << operand.name << ' ' << operand.type << ' '
           << (operand.isRead ? "r" : "") << (operand.isWritten ? "w" : "");
      });
  return text;
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

} // namespace
