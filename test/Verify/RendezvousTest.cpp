//===- RendezvousTest.cpp - one rank's program changed, and the ranks meet ===//
//
// A schedule is specialised into one program a rank, and one of them changed.
// The judge lets the programs run as processes do: a start is queued, a wait
// blocks until every rank has started the same, and what meets must agree. It
// knows nothing of operations but this.
//
//===----------------------------------------------------------------------===//

#include "CompilerTesting.h"
#include "Mutants.h"

#include "mlir/IR/Verifier.h"

#include "gtest/gtest.h"

using namespace mlir;
using namespace mlir::zero;

static constexpr const char *kModel = R"(
  zero.parameter @a : tensor<3x3xf32> = #zero.ones
  zero.parameter @bias : tensor<3xf32> = #zero.ones group "no_decay"
  zero.parameter @c : tensor<3x5xf32> = #zero.ones
  zero.step @train(%x: tensor<2x3xf32> {zero.input = "x"}, %y: tensor<2xi32> {zero.input = "y"}) {
    %a = zero.load @a : tensor<3x3xf32>
    %b = zero.load @bias : tensor<3xf32>
    %c = zero.load @c : tensor<3x5xf32>
    %h = nn.linear %x, %a bias %b : (tensor<2x3xf32>, tensor<3x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    %i = nn.linear %h, %c : (tensor<2x3xf32>, tensor<3x5xf32>) -> tensor<2x5xf32>
    %loss, %lse = nn.cross_entropy %i, %y : (tensor<2x5xf32>, tensor<2xi32>) -> (tensor<f32>, tensor<2xf32>)
    zero.yield %loss : tensor<f32>
  }
)";

namespace {

/// Operations that ranks meet in, by what they do when they run.
bool isMeeting(Operation *op) { return isa<CollectiveOpInterface>(op); }

/// Whether ranks stay in a meeting until all have come.
bool isBlocking(Operation *op) {
  auto start = dyn_cast<AsyncOpInterface>(op);
  return start && !start.getPending();
}

/// Everything that both sides of a meeting must have in common.
std::string signature(Operation *op) {
  std::string text;
  llvm::raw_string_ostream os(text);
  NamedAttrList attributes(op->getAttrDictionary());
  attributes.erase("zero.at");
  os << op->getName() << attributes.getDictionary(op->getContext());
  llvm::interleaveComma(op->getOperandTypes(), os);
  llvm::interleaveComma(op->getResultTypes(), os);
  return text;
}

/// The ranks' programs as they run beside each other.
class Rendezvous {
public:
  explicit Rendezvous(ModuleOp module) {
    for (StepOp step : module.getOps<ModuleOp>().empty()
                           ? llvm::to_vector(module.getOps<StepOp>())
                           : stepsOf(module))
      programs.push_back(program(step));
  }
  /// What keeps the ranks from their end; empty where all reach it.
  std::string run();

private:
  static SmallVector<StepOp> stepsOf(ModuleOp module) {
    SmallVector<StepOp> steps;
    for (ModuleOp rank : module.getOps<ModuleOp>())
      llvm::append_range(steps, rank.getOps<StepOp>());
    return steps;
  }
  static SmallVector<Operation *> program(StepOp step);
  bool isStarted(size_t meeting) const;

  SmallVector<SmallVector<Operation *>> programs;
  /// By rank: what it has started, in order.
  SmallVector<SmallVector<Operation *>> started;
};

} // namespace

/// Two updates, an evaluation and an update, operation by operation. For the
/// evaluation nothing is in flight.
SmallVector<Operation *> Rendezvous::program(StepOp step) {
  SmallVector<Operation *> operations;
  auto append = [&](Operation *region) {
    if (region)
      for (Operation &op : region->getRegion(0).front())
        operations.push_back(&op);
  };
  append(step.getRegionOp<InitializeOp>());
  int64_t micros = step.getTraining()->getAccumulation();
  for (int update = 0; update < 3; ++update) {
    if (update == 2)
      append(step.getRegionOp<EvaluateOp>());
    for (int64_t micro = 0; micro < micros; ++micro)
      append(micro + 1 == micros ? step.getLastMicro()
                                 : step.getRegionOp<MicroOp>());
    append(step.getRegionOp<ApplyOp>());
  }
  return operations;
}

bool Rendezvous::isStarted(size_t meeting) const {
  return llvm::all_of(started, [&](auto &own) { return own.size() > meeting; });
}

std::string Rendezvous::run() {
  size_t ranks = programs.size();
  started.resize(ranks);
  SmallVector<size_t> position(ranks);
  // The meeting that each pending belongs to, by rank.
  SmallVector<DenseMap<Value, size_t>> meetings(ranks);
  SmallVector<llvm::StringMap<size_t>> carried(ranks);
  for (bool isMoving = true; isMoving;) {
    isMoving = false;
    for (size_t rank = 0; rank < ranks; ++rank)
      for (; position[rank] < programs[rank].size(); ++position[rank]) {
        Operation *op = programs[rank][position[rank]];
        // What a blocked statistic started stays started.
        bool isWaiting = isa<WaitOp>(op) || isBlocking(op);
        if (isMeeting(op) && !(isBlocking(op) && !started[rank].empty() &&
                               started[rank].back() == op)) {
          meetings[rank][op->getResult(0)] = started[rank].size();
          started[rank].push_back(op);
        }
        // A handle keeps its meeting from region to region.
        if (auto carry = dyn_cast<CarryOp>(op))
          carried[rank][carry.getHandle()] =
              meetings[rank].lookup(carry.getPending());
        if (auto taken = dyn_cast<CarriedOp>(op)) {
          auto known = carried[rank].find(taken.getHandle());
          if (known != carried[rank].end())
            meetings[rank][taken.getPending()] = known->second;
          else
            meetings[rank].erase(taken.getPending());
        }
        Value pending = isa<WaitOp>(op) ? op->getOperand(0)
                        : isWaiting     ? op->getResult(0)
                                        : Value();
        auto meeting = meetings[rank].find(pending);
        if (meeting != meetings[rank].end() && !isStarted(meeting->second))
          break;
        isMoving = true;
      }
    for (size_t meeting = 0; isStarted(meeting); ++meeting)
      for (size_t rank = 1; rank < ranks; ++rank)
        if (signature(started[rank][meeting]) != signature(started[0][meeting]))
          return "rank " + std::to_string(rank) +
                 " meets rank 0 in another "
                 "collective";
  }
  for (size_t rank = 0; rank < ranks; ++rank) {
    if (position[rank] < programs[rank].size())
      return "rank " + std::to_string(rank) + " hangs";
    if (started[rank].size() != started[0].size())
      return "rank " + std::to_string(rank) + " is waited for";
  }
  return "";
}

namespace {
class RendezvousTest : public ::testing::TestWithParam<int64_t>,
                       protected Compiler {
protected:
  OwningOpRef<ModuleOp> specialize(const std::string &options);
  void judgeMutants(const std::string &options);

  size_t mutants = 0, malformed = 0, accepted = 0, apart = 0;
};
} // namespace

OwningOpRef<ModuleOp> RendezvousTest::specialize(const std::string &options) {
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(kModel, &context);
  EXPECT_TRUE(runPipeline(*module, options, createSpecializeRank()))
      << options << ": " << message;
  return module;
}

/// Changes the program of the last rank only.
void RendezvousTest::judgeMutants(const std::string &options) {
  OwningOpRef<ModuleOp> original = specialize(options);
  EXPECT_TRUE(verifies(*original)) << message;
  EXPECT_EQ(Rendezvous(*original).run(), "");
  auto last = [](ModuleOp module) {
    ModuleOp rank;
    for (ModuleOp other : module.getOps<ModuleOp>())
      rank = other;
    return rank;
  };
  for (const Mutant &mutant : generateMutants(last(*original))) {
    OwningOpRef<ModuleOp> module = original->clone();
    mutant.apply(listOperations(last(*module))[mutant.operation]);
    ++mutants;
    if (failed(verify(*module))) {
      ++malformed;
      continue;
    }
    bool isAccepted = verifies(*module);
    std::string failure = Rendezvous(*module).run();
    accepted += isAccepted;
    apart += !failure.empty();
    if (isAccepted)
      EXPECT_EQ(failure, "") << "accepted: " << mutant.text;
    // Whether ranks meet is all that this judge knows: it says nothing of
    // mutants that are rejected for what one rank does by itself.
    if (message.find("what rank") != std::string::npos ||
        message.find("a rank that never comes") != std::string::npos)
      EXPECT_NE(failure, "") << "rejected: " << mutant.text << ": " << message;
  }
}

TEST_P(RendezvousTest, RanksMeetInWhatIsAccepted) {
  std::string stage = "stage=" + std::to_string(GetParam()) +
                      " alignment=2 reduce-bucket-size=10 "
                      "allgather-bucket-size=12 param-persistence-threshold=3 ";
  judgeMutants(stage + "ranks=2");
  judgeMutants(stage + "ranks=3 accumulation=2 precision=bf16");
  judgeMutants(stage + "ranks=2 accumulation=2 overlap=true");
  if (GetParam() == 1)
    judgeMutants(stage + "ranks=2 accumulation=2 deterministic overlap=true");
  EXPECT_GT(apart, 20u);
  EXPECT_GT(mutants - malformed, 200u);
  llvm::outs() << "stage " << GetParam() << ": " << mutants << " mutants of "
               << "one rank, " << malformed << " malformed, " << accepted
               << " accepted, in " << apart << " the ranks do not meet\n";
}

INSTANTIATE_TEST_SUITE_P(Stages, RendezvousTest, ::testing::Values(0, 1, 2, 3));
