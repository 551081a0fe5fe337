//===- MutantTest.cpp - the verifier, judged by what schedules do ---------===//
//
// What the verifier accepts runs clean and trains as stage 0 on one rank does;
// what it rejects fails when it runs, or is of a class that is listed with its
// reason.
//
//===----------------------------------------------------------------------===//

#include "Mutants.h"
#include "Sanitized.h"
#include "TrainingTesting.h"

#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace mlir::zero;

/// Rejected, and yet a run shows nothing: how it was made (empty: in any way),
/// what was said, why it is rejected all the same.
struct Harmless {
  const char *kind, *message, *reason;
};
static constexpr const char *kNoFact =
    "facts change nothing that runs; without one, nothing is proved";
static constexpr const char *kOtherFact =
    "two facts that differ prove nothing, whichever of them is right";
static constexpr Harmless kHarmless[] = {
    {"double", "stored as a gradient more than once",
     "the first micro-batch overwrites, so a second store of one value shows "
     "with the second micro-batch only"},
    {"double", "'zero.grad_stats' op runs a second time",
     "reads all gradients once more"},
    {"double", "'zero.judge' op runs a second time", "computes what is known"},
    {"double", "'zero.grad_stats' op does not add",
     "reads a range once more, and what it found is not used"},
    {"operand", "judges what this rank alone has found",
     "at stage 0 every rank has found the same"},
    {"double", "'zero.carried' op is waited for 0 times",
     "takes what is not in flight any more"},
    {"range", "'zero.refresh' op gathers", "sends what every rank has"},
    {"parameters", "'zero.refresh_resident' op gathers",
     "sends what every rank has"},
    {"range", "what was reduced for another place",
     "'owned' stores what the named members have in the range; beyond them it "
     "may end anywhere"},
    {"move", "before their own gradients are reduced",
     "one stream runs both, in their order, which the proof does not use"},
    {"swap", "before their own gradients are reduced", "as above"},
    {"move", "while this rank's own update of it is on its way",
     "whether it reads too early is up to chance"},
    {"move", "before they are reduced and complete", "as above"},
    {"move", "while an update of it is in flight", "as above"},
    {"swap", "before they are reduced and complete", "as above"},
    {"flag", "adds up weights that micro-batches do not have",
     "the sum of no weights is 0, on each rank"},
    {"flag", "micro-batches, and 0 of an update have weights",
     "without weights the mean weight is 1"},
    {"axes", "is reduced over",
     "what travels in one group must be cut alike, so all partitions have the "
     "mesh's axes"},
    {"", "no 'zero.gradient' says whose gradient it is", kNoFact},
    {"", "is neither reduced nor stored", kNoFact},
    {"", "no 'zero.load' says which parameter it wants", kNoFact},
    {"", "; it is that of @", kOtherFact},
    {"parameter", ", which @p", kOtherFact},
    {"", "that have a gradient already", kOtherFact},
    {"", "'zero.load' op wants @", kOtherFact},
    {"parameters", "is given what is not a copy of its slice", kOtherFact},
    {"parameters", "takes sums of other gradients", kOtherFact},
    {"parameters", "is given what was not read of it", kOtherFact},
    {"parameters", "wanted no 'from'", kOtherFact},
    {"parameters", "copies the slice of", kOtherFact},
    {"quantization", "is planned",
     "what is sent is near what was asked for, and rounding is left out"},
    {"feedback", "is planned", "what is lost is left out, as rounding is"},
    {"feedback", "are planned", "as above"},
    {"feedback", "errors", "as above"},
};

namespace {

class MutantTest : public TrainingTest {
protected:
  /// Judges every mutant of the schedule, under a sanitizer a share of them;
  /// returns how many.
  size_t judgeMutants(const Settings &settings);
  void judgeMutant(ModuleOp original, const Mutant &mutant,
                   const Settings &settings);
  /// Judges every mutant of the partitions; returns how many.
  size_t judgePartitions(const Settings &settings);

  std::map<std::string, size_t> classes;
  size_t accepted = 0, malformed = 0, rejected = 0;
};

} // namespace

void MutantTest::judgeMutant(ModuleOp original, const Mutant &mutant,
                             const Settings &settings) {
  OwningOpRef<ModuleOp> module = original.clone();
  mutant.apply(listOperations(*module)[mutant.operation]);
  message.clear();
  if (failed(verify(*module))) {
    ++malformed;
    return;
  }
  bool isAccepted = verifies(*module);
  std::string why = message;
  std::string failure = judge(*module, settings.accumulation * settings.ranks);
  if (isAccepted) {
    ++accepted;
    EXPECT_EQ(failure, "") << "accepted: " << mutant.text;
    return;
  }
  ++rejected;
  if (!failure.empty())
    return;
  bool isListed = llvm::any_of(kHarmless, [&](const Harmless &known) {
    return (!*known.kind || mutant.kind == known.kind) &&
           why.find(known.message) != std::string::npos;
  });
  ++classes[mutant.kind + ": " + why];
  EXPECT_TRUE(isListed) << "runs clean, and is rejected: " << mutant.text
                        << ": " << why;
}

size_t MutantTest::judgeMutants(const Settings &settings) {
  OwningOpRef<ModuleOp> module = expectTrains(settings);
  std::vector<Mutant> mutants = generateMutants(*module);
  const size_t step = shareOfCases();
  size_t judged = 0;
  for (size_t i = 0; i < mutants.size(); i += step, ++judged)
    judgeMutant(*module, mutants[i], settings);
  return judged;
}

/// A run is laid out by its partitions: one that contradicts them cannot be
/// run, so what is rejected is not.
size_t MutantTest::judgePartitions(const Settings &settings) {
  OwningOpRef<ModuleOp> original = schedule(settings);
  std::vector<Mutant> mutants = generatePartitionMutants(*original);
  for (const Mutant &mutant : mutants) {
    OwningOpRef<ModuleOp> module = original->clone();
    mutant.apply(listPartitions(*module)[mutant.operation]);
    message.clear();
    if (failed(verify(*module))) {
      ++malformed;
    } else if (!verifies(*module)) {
      ++rejected;
    } else {
      ++accepted;
      EXPECT_EQ(judge(*module, settings.accumulation * settings.ranks), "")
          << "accepted: " << mutant.text;
    }
  }
  return mutants.size();
}

class StageMutants : public MutantTest,
                     public ::testing::WithParamInterface<int64_t> {};

TEST_P(StageMutants, AreJudgedAsTheyRun) {
  int64_t stage = GetParam();
  size_t mutants = judgeMutants({stage, 2});
  mutants += judgeMutants({stage, 2, 2});
  mutants +=
      judgeMutants({stage, 3, 2, /*deterministic=*/true, /*contiguous=*/true,
                    /*persistence=*/3, /*reuse=*/12});
  mutants += judgeMutants({stage, 2, 2, false, false, 0, 0, /*overlap=*/true});
  mutants += judgeMutants({stage, 2, 2, false, false, 0, 0, false,
                           /*recompute=*/3});
  Settings activations{stage, /*ranks=*/2, /*accumulation=*/2};
  activations.recompute = 1;
  activations.offloadActivations = true;
  mutants += judgeMutants(activations);
  Settings weighted{stage, /*ranks=*/2, /*accumulation=*/2};
  weighted.weighted = true;
  mutants += judgeMutants(weighted);
  weighted.overlap = true;
  mutants += judgeMutants(weighted);
  Settings mesh{stage, /*ranks=*/4, /*accumulation=*/2};
  mesh.shards = 2;
  mutants += judgeMutants(mesh);
  mesh.overlap = true;
  mutants += judgeMutants(mesh);
  Settings nodes{stage, /*ranks=*/4, /*accumulation=*/2};
  nodes.local = 2;
  if (stage == 3)
    mutants += judgeMutants(nodes);
  nodes.overlap = true;
  if (stage == 3)
    mutants += judgeMutants(nodes);
  Settings packed{stage, /*ranks=*/2, /*accumulation=*/2};
  packed.overlap = packed.quantized = true;
  if (stage == 3)
    mutants += judgeMutants(packed);
  packed.quantizedFrozen = true;
  if (stage == 3)
    mutants += judgeMutants(packed);
  packed.exchanged = true;
  if (stage == 3)
    mutants += judgeMutants(packed);
  Settings inNodes{stage, /*ranks=*/4, /*accumulation=*/2};
  inNodes.local = 2;
  inNodes.overlap = inNodes.exchanged = true;
  if (stage == 3)
    mutants += judgeMutants(inNodes);
  inNodes.feedback = true;
  if (stage == 3)
    mutants += judgeMutants(inNodes);
  Settings offload{stage, /*ranks=*/2, /*accumulation=*/2};
  offload.offload = 0.4;
  offload.overlap = true;
  if (stage >= 1)
    mutants += judgeMutants(offload);
  offload.files = true;
  offload.offload = 1;
  if (stage >= 1)
    mutants += judgeMutants(offload);
  offload.files = false;
  offload.persistence = 3;
  offload.offloadParameters = true;
  if (stage == 3)
    mutants += judgeMutants(offload);
  offload.files = offload.parameterFiles = true;
  if (stage == 3)
    mutants += judgeMutants(offload);
  offload.persistence = 0;
  if (stage == 3)
    mutants += judgeMutants(offload);
  offload.quantizedFrozen = true;
  if (stage == 3)
    mutants += judgeMutants(offload);
  if (stage >= 1)
    mutants += judgeMutants({stage, 2, 2, /*deterministic=*/stage == 1, false,
                             0, 0, /*overlap=*/true, 0, /*blocks=*/true});
  if (stage >= 2) {
    mutants += judgeMutants({stage, 3, 1, false, true, 0, 0, false, 0, true});
  }
  EXPECT_GE(mutants, 1000 / shareOfCases());
  RecordProperty("mutants", static_cast<int>(mutants));
  llvm::outs() << "stage " << stage << ": " << mutants << " mutants, "
               << malformed << " malformed, " << rejected << " rejected, "
               << accepted << " accepted\n";
  for (auto &[name, count] : classes)
    llvm::outs() << "  harmless but rejected: " << count << " x " << name
                 << "\n";
}

TEST_P(StageMutants, OfPartitionsAreJudgedAsTheyRun) {
  int64_t stage = GetParam();
  size_t mutants = judgePartitions({stage, 2});
  mutants += judgePartitions({stage, 3, 2});
  mutants += judgePartitions({stage, 2, 2, /*deterministic=*/true,
                              /*contiguous=*/true, /*persistence=*/3,
                              /*reuse=*/12, /*overlap=*/true});
  Settings packed{stage, 2};
  packed.quantizedFrozen = true;
  if (stage == 3)
    mutants += judgePartitions(packed);
  EXPECT_GE(mutants, 100u);
  llvm::outs() << "stage " << stage << ": " << mutants << " mutants, "
               << malformed << " malformed, " << rejected << " rejected, "
               << accepted << " accepted\n";
}

INSTANTIATE_TEST_SUITE_P(Stages, StageMutants, ::testing::Values(0, 1, 2, 3));
