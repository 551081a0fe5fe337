//===- FactMutantTest.cpp - types, marks and regions of schedules ---------===//
//
// What a schedule says twice, and what must be there, cannot be changed in one
// place: each such change is refused, by an operation's verifier or by that of
// schedules.
//
//===----------------------------------------------------------------------===//

#include "CompilerTesting.h"

#include "zero/Dialect/Zero/Zero.h"

#include "mlir/IR/Verifier.h"

#include <functional>

using namespace mlir;
using namespace mlir::zero;

namespace {

/// A trained parameter, a shared one, a frozen and an unused one, and labels.
constexpr const char *kModel = R"(
  zero.parameter @a : tensor<8x8xf32> = #zero.normal<std = 0.02>
  zero.parameter @b : tensor<8xf32> = #zero.zeros group "no_decay"
  zero.parameter @frozen : tensor<8xf32> = #zero.ones frozen
  zero.parameter @unused : tensor<8xf32> = #zero.ones
  zero.step @train(%x: tensor<4x8xf32>, %y: tensor<4xi32>) {
    %a = zero.load @a : tensor<8x8xf32>
    %b = zero.load @b : tensor<8xf32>
    %f = zero.load @frozen : tensor<8xf32>
    %h = nn.linear %x, %a bias %b : (tensor<4x8xf32>, tensor<8x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    %g = nn.gelu tanh %h : tensor<4x8xf32>
    %l = nn.linear %g, %a bias %f : (tensor<4x8xf32>, tensor<8x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    %loss, %lse = nn.cross_entropy %l, %y : (tensor<4x8xf32>, tensor<4xi32>) -> (tensor<f32>, tensor<4xf32>)
    zero.yield %loss, %l outputs ["logits"] : tensor<f32>, tensor<4x8xf32>
  }
)";

constexpr const char *kOptions[] = {
    "stage=0 ranks=2",
    "stage=1 ranks=2 accumulation=2 overlap=true",
    "stage=2 ranks=2 precision=bf16 accumulation=2 overlap=true",
    "stage=2 ranks=3 precision=f16 loss-mean=tokens",
    ("stage=3 ranks=2 precision=bf16 accumulation=2 loss-mean=tokens "
     "param-persistence-threshold=8"),
    "stage=3 ranks=2 offload-optimizer=cpu offload-param=cpu",
};

class FactMutantTest : public ::testing::TestWithParam<const char *>,
                       protected Compiler {
protected:
  void SetUp() override {
    planned = parseSourceString<ModuleOp>(kModel, &context);
    ASSERT_TRUE(runPipeline(*planned, std::string(GetParam()) + " alignment=2"))
        << message;
    ASSERT_TRUE(verifies(*planned)) << message;
  }

  /// Changes a copy at operation `index`, in the order of a walk.
  void expectRefused(unsigned index, const Twine &what,
                     llvm::function_ref<void(Operation *)> change) {
    OwningOpRef<ModuleOp> module = planned->clone();
    std::vector<Operation *> operations = listOperations(*module);
    std::string text;
    llvm::raw_string_ostream os(text);
    os << what << " of " << operations[index]->getName() << " "
       << operations[index]->getLoc();
    change(operations[index]);
    ++mutants;
    EXPECT_FALSE(succeeded(verify(*module)) && verifies(*module))
        << "accepted: " << text;
  }

  static std::vector<Operation *> listOperations(ModuleOp module) {
    std::vector<Operation *> operations;
    module->walk<WalkOrder::PreOrder>(
        [&](Operation *op) { operations.push_back(op); });
    return operations;
  }

  OwningOpRef<ModuleOp> planned;
  size_t mutants = 0;
};

TEST_P(FactMutantTest, NoMarkCanBeChanged) {
  const StringRef known[] = {"frozen",   "unused",    "last",     "skip",
                             "weighted", "prescaled", "loss_only"};
  for (auto [index, op] : llvm::enumerate(listOperations(*planned))) {
    if (!isa<ZeroDialect>(op->getDialect()) || !op->getRegisteredInfo())
      continue;
    for (StringAttr name : op->getRegisteredInfo()->getAttributeNames()) {
      const bool isSet = isa_and_nonnull<UnitAttr>(op->getAttr(name));
      if (!isSet && !llvm::is_contained(known, name.getValue()))
        continue;
      expectRefused(index,
                    isSet ? "without " + name.getValue()
                          : "with " + name.getValue(),
                    [&](Operation *op) {
                      if (isSet)
                        op->removeAttr(name);
                      else
                        op->setAttr(name, UnitAttr::get(op->getContext()));
                    });
    }
  }
  EXPECT_GE(mutants, 8u);
}

TEST_P(FactMutantTest, NoTypeCanBeChanged) {
  Builder builder(&context);
  const Type types[] = {builder.getF32Type(), builder.getBF16Type(),
                        builder.getF16Type()};
  for (auto [index, op] : llvm::enumerate(listOperations(*planned)))
    for (Type type : types) {
      if (auto partition = dyn_cast<PartitionOp>(op)) {
        if (type != partition.getComputeType())
          expectRefused(index, "compute type", [&](Operation *op) {
            cast<PartitionOp>(op).setComputeType(type);
          });
        if (type != partition.getGradientType() && partition.isTrainable())
          expectRefused(index, "gradient type", [&](Operation *op) {
            cast<PartitionOp>(op).setGradientType(type);
          });
      }
      if (!isa<LoadOp, GradientOp, WaitOp, LossSeedOp>(op))
        continue;
      for (unsigned i = 0; i < op->getNumResults(); ++i) {
        auto tensor = cast<RankedTensorType>(op->getResult(i).getType());
        if (tensor.getElementType() != type &&
            isa<FloatType>(tensor.getElementType()))
          expectRefused(index, "result type", [&](Operation *op) {
            op->getResult(i).setType(tensor.clone(type));
          });
      }
    }
  EXPECT_GE(mutants, 20u);
}

TEST_P(FactMutantTest, NoRegionCanBeLeftOut) {
  for (auto [index, op] : llvm::enumerate(listOperations(*planned))) {
    if (isa<MicroOp, ApplyOp, EvaluateOp, InitializeOp>(op)) {
      expectRefused(index, "none", [](Operation *op) { op->erase(); });
      expectRefused(index, "an empty one", [](Operation *op) {
        Block &body = op->getRegion(0).front();
        while (!body.empty())
          body.back().erase();
      });
    }
    if (isa<YieldOp>(op))
      expectRefused(index, "none", [](Operation *op) { op->erase(); });
  }
  EXPECT_GE(mutants, 8u);
}

INSTANTIATE_TEST_SUITE_P(Schedules, FactMutantTest,
                         ::testing::ValuesIn(kOptions));

} // namespace
