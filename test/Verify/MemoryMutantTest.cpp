//===- MemoryMutantTest.cpp - the memory check, judged byte by byte -------===//
//
// Every place of a planned schedule is moved, lengthened, shortened and given
// to another arena. What the verifier accepts keeps every byte for as long as
// it is needed; what it rejects loses one, or is of a class that is listed with
// its reason.
//
//===----------------------------------------------------------------------===//

#include "CompilerTesting.h"
#include "MemoryInterpreter.h"

#include "zero/Memory/StatePlan.h"

#include "mlir/IR/Verifier.h"

#include "gtest/gtest.h"

#include <map>

using namespace mlir;
using namespace mlir::zero;

/// Values that die in a launch, views, a constant, two groups, a weight used
/// twice, a frozen one, one whose gradient is larger than a bucket; sizes that
/// need padding.
static constexpr const char *kModel = R"(
  zero.parameter @a : tensor<3x3xf32> = #zero.ones
  zero.parameter @bias : tensor<3xf32> = #zero.ones group "no_decay"
  zero.parameter @frozen : tensor<3xf32> = #zero.ones frozen
  zero.parameter @c : tensor<3x8xf32> = #zero.ones
  zero.step @train(%x: tensor<2x3xf32> {zero.input = "x"}, %y: tensor<2x8xf32> {zero.input = "y"}) {
    %a = zero.load @a : tensor<3x3xf32>
    %b = zero.load @bias : tensor<3xf32>
    %c = zero.load @c : tensor<3x8xf32>
    %f = zero.load @frozen : tensor<3xf32>
    %h = nn.linear %x, %a bias %b : (tensor<2x3xf32>, tensor<3x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    %g = nn.gelu tanh %h : tensor<2x3xf32>
    %i = nn.linear %g, %a bias %f : (tensor<2x3xf32>, tensor<3x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    %j = nn.linear %i, %c : (tensor<2x3xf32>, tensor<3x8xf32>) -> tensor<2x8xf32>
    %k = arith.constant dense<[[1.0, 2.0, 3.0, 4.0, 5.0, 1.0, 2.0, 3.0], [6.0, 7.0, 8.0, 9.0, 1.0, 2.0, 3.0, 4.0]]> : tensor<2x8xf32>
    %d = arith.subf %j, %y : tensor<2x8xf32>
    %w = arith.mulf %d, %k : tensor<2x8xf32>
    %s = arith.mulf %w, %d : tensor<2x8xf32>
    %loss = nn.reduce mean %s dims [0, 1] : (tensor<2x8xf32>) -> tensor<f32>
    zero.yield %loss : tensor<f32>
  }
)";

/// Three layers of one form, with activations that are large enough for the
/// host.
static constexpr const char *kLayers = R"(
  zero.parameter @a : tensor<16x64xf32> = #zero.ones
  zero.parameter @b : tensor<64x16xf32> = #zero.ones
  zero.step @train(%x: tensor<16x16xf32> {zero.input = "x"}) {
    %a = zero.load @a : tensor<16x64xf32>
    %b = zero.load @b : tensor<64x16xf32>
    %h = nn.linear %x, %a : (tensor<16x16xf32>, tensor<16x64xf32>) -> tensor<16x64xf32>
    %i = nn.linear %h, %b : (tensor<16x64xf32>, tensor<64x16xf32>) -> tensor<16x16xf32>
    %p0 = nn.linear %i, %a : (tensor<16x16xf32>, tensor<16x64xf32>) -> tensor<16x64xf32>
    %g0 = nn.gelu tanh %p0 : tensor<16x64xf32>
    %q0 = nn.linear %g0, %b : (tensor<16x64xf32>, tensor<64x16xf32>) -> tensor<16x16xf32>
    %s0 = arith.addf %i, %q0 : tensor<16x16xf32>
    %p1 = nn.linear %s0, %a : (tensor<16x16xf32>, tensor<16x64xf32>) -> tensor<16x64xf32>
    %g1 = nn.gelu tanh %p1 : tensor<16x64xf32>
    %q1 = nn.linear %g1, %b : (tensor<16x64xf32>, tensor<64x16xf32>) -> tensor<16x16xf32>
    %s1 = arith.addf %s0, %q1 : tensor<16x16xf32>
    %p2 = nn.linear %s1, %a : (tensor<16x16xf32>, tensor<16x64xf32>) -> tensor<16x64xf32>
    %g2 = nn.gelu tanh %p2 : tensor<16x64xf32>
    %q2 = nn.linear %g2, %b : (tensor<16x64xf32>, tensor<64x16xf32>) -> tensor<16x16xf32>
    %s2 = arith.addf %s1, %q2 : tensor<16x16xf32>
    %loss = nn.reduce mean %s2 dims [0, 1] : (tensor<16x16xf32>) -> tensor<f32>
    zero.yield %loss : tensor<f32>
  }
)";

/// Rejected, and yet no byte is lost in these runs: what was said, why it is
/// rejected all the same.
struct Harmless {
  const char *message, *reason;
};
static constexpr Harmless kHarmless[] = {
    {"where a buffer begins",
     "kernels choose by alignment, which these runs do "
     "not look at"},
    {"wanted", "a place has one form, whether or not the room beside it is "
               "free at the time"},
    {"is still needed", "bytes behind a value's own are its place's too"},
    {"its wait must come first", "the same, of a gather in flight"},
    {"where state lies", "inputs are the data loader's, from one micro-batch "
                         "to the next"},
    {"is stored", "a gradient's place is the gradient's"},
    {"no parameter's place in the stored gradient",
     "a gradient's place is the gradient's"},
};

namespace {

/// Where a place stands: an operation by position (the module's, in walk
/// order), and the entry of its list or dictionary.
struct Spot {
  unsigned operation = 0, entry = 0;
};

class MemoryMutantTest : public ::testing::TestWithParam<int64_t>,
                         protected Compiler {
protected:
  OwningOpRef<ModuleOp> plan(const std::string &options);
  std::string judge(ModuleOp module);
  /// Every place of the operations that `isChanged` takes, each changed.
  void judgeMutants(
      const std::string &options,
      llvm::function_ref<bool(Operation *)> isChanged = [](Operation *) {
        return true;
      });
  void judgeMutant(ModuleOp original, Spot spot, AtAttr place);
  void dropEachPlace(const std::string &options);
  void changeEachState(const std::string &options);

  std::string model = kModel;
  size_t mutants = 0, accepted = 0, rejected = 0;
  std::map<std::string, size_t> harmless;
};

} // namespace

OwningOpRef<ModuleOp> MemoryMutantTest::plan(const std::string &options) {
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(model, &context);
  EXPECT_TRUE(runPipeline(*module, options)) << options << ": " << message;
  return module;
}

/// What is lost on any rank; empty where nothing is.
std::string MemoryMutantTest::judge(ModuleOp module) {
  StepOp step = *module.getOps<StepOp>().begin();
  for (int64_t rank = 0; rank < step.getTraining()->getRanks(); ++rank)
    for (bool completesEarly : {false, true})
      if (std::string failure =
              MemoryInterpreter(module, rank, completesEarly).run();
          !failure.empty())
        return failure;
  return "";
}

static std::vector<Operation *> listOperations(ModuleOp module) {
  std::vector<Operation *> operations;
  module->walk([&](Operation *op) { operations.push_back(op); });
  return operations;
}

static SmallVector<AtAttr> placesOf(Operation *op) {
  SmallVector<AtAttr> places;
  if (auto partition = dyn_cast<PartitionOp>(op)) {
    for (const auto &[name, place] : partition.getPlaces())
      places.push_back(place);
    return places;
  }
  return listPlaces(op);
}

/// Takes entry `index` out of the places of a partition, or all of them: its
/// states keep their entries, without a place.
static void dropPlaces(PartitionOp partition, std::optional<unsigned> index) {
  SmallVector<NamedAttribute> entries(partition.getAtAttr().getValue());
  SmallVector<AtAttr> places = placesOf(partition);
  for (size_t i = entries.size(); i < places.size(); ++i)
    if (!index || *index == i)
      places[i] = AtAttr();
  partition.setPlaces(places);
  if (!index)
    partition.removeAtAttr();
  else if (*index < entries.size()) {
    entries.erase(entries.begin() + *index);
    partition.setAtAttr(DictionaryAttr::get(partition.getContext(), entries));
  }
}

/// The same of any operation.
static void dropPlaces(Operation *op, std::optional<unsigned> index) {
  if (auto partition = dyn_cast<PartitionOp>(op))
    return dropPlaces(partition, index);
  if (auto named = op->getAttrOfType<DictionaryAttr>("zero.at");
      named && index) {
    SmallVector<NamedAttribute> entries(named.getValue());
    entries.erase(entries.begin() + *index);
    op->setAttr("zero.at", DictionaryAttr::get(op->getContext(), entries));
    return;
  }
  if (!index) {
    op->removeAttr("zero.at");
    return;
  }
  SmallVector<Attribute> places =
      llvm::to_vector(op->getAttrOfType<ArrayAttr>("zero.at"));
  places.erase(places.begin() + *index);
  op->setAttr("zero.at", ArrayAttr::get(op->getContext(), places));
}

static void setPlace(Operation *op, unsigned index, AtAttr place) {
  if (auto partition = dyn_cast<PartitionOp>(op)) {
    SmallVector<AtAttr> all = placesOf(op);
    all[index] = place;
    partition.setPlaces(all);
    return;
  }
  if (auto named = op->getAttrOfType<DictionaryAttr>("zero.at")) {
    NamedAttrList entries(named);
    entries.set(std::next(named.begin(), index)->getName(), place);
    op->setAttr("zero.at", entries.getDictionary(op->getContext()));
    return;
  }
  SmallVector<Attribute> places =
      llvm::to_vector(op->getAttrOfType<ArrayAttr>("zero.at"));
  places[index] = place;
  op->setAttr("zero.at", ArrayAttr::get(op->getContext(), places));
}

void MemoryMutantTest::judgeMutant(ModuleOp original, Spot spot, AtAttr place) {
  OwningOpRef<ModuleOp> module = original.clone();
  Operation *op = listOperations(*module)[spot.operation];
  AtAttr before = placesOf(op)[spot.entry];
  setPlace(op, spot.entry, place);
  ++mutants;
  bool isAccepted = verifies(*module);
  std::string why = message, failure = judge(*module);
  std::string text;
  llvm::raw_string_ostream(text) << op->getName() << " " << spot.entry << ": "
                                 << before << " to " << place;
  ++(isAccepted ? accepted : rejected);
  if (isAccepted) {
    EXPECT_EQ(failure, "") << "accepted: " << text;
    return;
  }
  if (!failure.empty())
    return;
  const Harmless *known = llvm::find_if(kHarmless, [&](const Harmless &known) {
    return why.find(known.message) != std::string::npos;
  });
  EXPECT_NE(known, std::end(kHarmless))
      << "keeps every byte, and is rejected: " << text << ": " << why;
  if (known != std::end(kHarmless))
    ++harmless[known->reason];
}

/// Every place that `place` is changed to.
static SmallVector<AtAttr> changes(AtAttr place, ArrayRef<AtAttr> all) {
  llvm::SetVector<Attribute> others;
  auto add = [&](MemorySpace space, int64_t offset, int64_t bytes,
                 int64_t stride) {
    if (offset >= 0 && bytes >= 0 && stride >= 0)
      others.insert(AtAttr::get(place.getContext(), space.arena, offset, bytes,
                                stride, space.tier,
                                stride ? place.getOver() : AxesAttr()));
  };
  MemorySpace space = place.getSpace();
  int64_t offset = place.getOffset(), bytes = place.getBytes();
  int64_t stride = place.getStride();
  for (int64_t by : {-64, -4, 4, 64})
    add(space, offset + by, bytes, stride);
  for (AtAttr other : all)
    add(other.getSpace(), other.getOffset(), bytes, stride);
  for (int64_t by : {-4, 4, 64})
    add(space, offset, bytes + by, stride);
  for (int64_t by : {-4, 4, 64})
    add(space, offset, bytes, stride + by);
  for (MemoryTier tier : {MemoryTier::Device, MemoryTier::Host})
    add({space.arena, tier}, offset, bytes, stride);
  others.remove(place);
  SmallVector<AtAttr> result;
  for (Attribute other : others)
    result.push_back(cast<AtAttr>(other));
  return result;
}

void MemoryMutantTest::judgeMutants(
    const std::string &options,
    llvm::function_ref<bool(Operation *)> isChanged) {
  OwningOpRef<ModuleOp> module = plan(options);
  EXPECT_TRUE(verifies(*module)) << options << ": " << message;
  EXPECT_EQ(judge(*module), "") << options;
  SmallVector<AtAttr> all;
  for (Operation *op : listOperations(*module))
    llvm::append_range(all, placesOf(op));
  for (auto [number, op] : llvm::enumerate(listOperations(*module))) {
    if (!isChanged(op))
      continue;
    for (auto [entry, place] : llvm::enumerate(placesOf(op)))
      for (AtAttr other : changes(place, all))
        judgeMutant(
            *module,
            {static_cast<unsigned>(number), static_cast<unsigned>(entry)},
            other);
  }
}

/// A planned schedule without one of its places is an error, whatever it would
/// do.
void MemoryMutantTest::dropEachPlace(const std::string &options) {
  OwningOpRef<ModuleOp> original = plan(options);
  for (auto [number, op] : llvm::enumerate(listOperations(*original))) {
    size_t count = placesOf(op).size();
    for (size_t entry = 0; entry < count + (count > 1); ++entry) {
      OwningOpRef<ModuleOp> module = original->clone();
      Operation *changed = listOperations(*module)[number];
      dropPlaces(changed, count > 1 && entry < count
                              ? std::optional<unsigned>(entry)
                              : std::nullopt);
      EXPECT_FALSE(succeeded(verify(*module)) && verifies(*module))
          << options << ": " << op->getName().getStringRef().str()
          << " without place " << entry << " of " << count;
      ++mutants;
    }
  }
}

/// `state` with every other name, type, tier and bound.
static SmallVector<StateAttr> changes(StateAttr state, PartitionOp partition) {
  MLIRContext *context = state.getContext();
  StringRef name = state.getName();
  Type type = state.getType(), f32 = Float32Type::get(context);
  ArrayRef<StateRangeAttr> ranges = state.getRanges();
  SmallVector<StateAttr> others = {
      StateAttr::get(context, "other", type, ranges),
      StateAttr::get(context, name,
                     type == f32 ? Type(BFloat16Type::get(context)) : f32,
                     ranges)};
  for (size_t i = 0; i < ranges.size(); ++i) {
    auto [begin, end] = partition.getBounds(ranges[i]);
    auto add = [&](int64_t begin, int64_t end, MemoryTier tier) {
      SmallVector<StateRangeAttr> list(ranges);
      list[i] =
          StateRangeAttr::get(context, begin, end, tier, ranges[i].getAt());
      others.push_back(StateAttr::get(context, name, type, list));
    };
    for (zrt::Tier tier : zrt::kCasesOf<zrt::Tier>)
      if (fromRuntime(tier) != ranges[i].getTier())
        add(begin, end, fromRuntime(tier));
    add(begin + 1, end, ranges[i].getTier());
    add(begin, end - 1, ranges[i].getTier());
    add(begin, end + 1, ranges[i].getTier());
  }
  return others;
}

/// The list of states with one that is missing, twice, in another order or
/// changed.
static SmallVector<ArrayAttr> changedStates(PartitionOp partition) {
  SmallVector<ArrayAttr> lists;
  auto add = [&](ArrayRef<Attribute> list) {
    lists.push_back(ArrayAttr::get(partition.getContext(), list));
  };
  ArrayRef<Attribute> all = partition.getStateList().getValue();
  for (size_t i = 0; i < all.size(); ++i) {
    SmallVector<Attribute> list(all);
    list.erase(list.begin() + i);
    add(list);
    list.assign(all.begin(), all.end());
    list.insert(list.begin() + i, all[i]);
    add(list);
    list.assign(all.begin(), all.end());
    if (i > 0) {
      std::swap(list[i - 1], list[i]);
      add(list);
      list.assign(all.begin(), all.end());
    }
    for (StateAttr other : changes(cast<StateAttr>(all[i]), partition)) {
      list[i] = other;
      add(list);
    }
  }
  return lists;
}

/// A partition has the states of its optimizer, and their tiers are those of
/// their places: any other list is an error.
void MemoryMutantTest::changeEachState(const std::string &options) {
  OwningOpRef<ModuleOp> original = plan(options);
  for (auto [number, op] : llvm::enumerate(listOperations(*original))) {
    auto partition = dyn_cast<PartitionOp>(op);
    if (!partition || !partition.isTrainable())
      continue;
    for (ArrayAttr states : changedStates(partition)) {
      OwningOpRef<ModuleOp> module = original->clone();
      cast<PartitionOp>(listOperations(*module)[number]).setStatesAttr(states);
      std::string text;
      llvm::raw_string_ostream(text) << states;
      EXPECT_FALSE(succeeded(verify(*module)) && verifies(*module))
          << options << ": accepted " << text;
      ++mutants;
    }
  }
}

TEST_P(MemoryMutantTest, NoStateCanBeChanged) {
  std::string stage = "stage=" + std::to_string(GetParam());
  std::string small = " ranks=2 alignment=2 reduce-bucket-size=10 ";
  changeEachState(stage + small);
  changeEachState(stage + small + "precision=bf16 state-tiers=exp_avg=host");
  changeEachState(stage + small + "precision=bf16 split-master=true");
  EXPECT_GE(mutants, 60u);
}

TEST_P(MemoryMutantTest, NoPlaceCanBeDropped) {
  std::string stage = "stage=" + std::to_string(GetParam());
  std::string small = " ranks=2 alignment=2 reduce-bucket-size=10 "
                      "param-persistence-threshold=3 ";
  dropEachPlace(stage + small);
  dropEachPlace(stage + small + "accumulation=2 precision=bf16 overlap=true");
  EXPECT_GE(mutants, 40u);
}

TEST_P(MemoryMutantTest, PlacesAreJudgedByTheBytesTheyLose) {
  std::string stage = "stage=" + std::to_string(GetParam());
  std::string small = " alignment=2 reduce-bucket-size=10 "
                      "allgather-bucket-size=12 param-persistence-threshold=3 ";
  judgeMutants(stage + small + "ranks=2");
  judgeMutants(stage + small + "ranks=3 accumulation=2 precision=bf16");
  judgeMutants(stage + small + "ranks=2 precision=bf16 deterministic");
  judgeMutants(stage + small + "ranks=2 state-tiers=exp_avg=host");
  if (GetParam() == 1)
    judgeMutants(stage + small + "ranks=2 accumulation=2 deterministic");
  if (GetParam() == 2)
    judgeMutants(stage + small + "ranks=2 layout=contiguous");
  judgeMutants(stage + small + "ranks=2 overlap=true");
  judgeMutants(stage + small + "ranks=2 accumulation=2 overlap=true");
  EXPECT_GE(mutants, 1000u);
  llvm::outs() << "stage " << GetParam() << ": " << mutants << " mutants, "
               << rejected << " rejected, " << accepted << " accepted\n";
  for (auto &[why, count] : harmless)
    llvm::outs() << "  harmless but rejected: " << count << " x " << why
                 << "\n";
}

TEST_P(MemoryMutantTest, OffloadedActivationsAreJudgedByTheBytesTheyLose) {
  model = kLayers;
  judgeMutants("stage=" + std::to_string(GetParam()) +
                   " ranks=2 accumulation=2 checkpoint-activations=1 "
                   "checkpoint-offload=true",
               [](Operation *op) { return isa<OffloadOp, FetchOp>(op); });
  EXPECT_GE(mutants, 100u);
}

TEST_P(MemoryMutantTest, OffloadedStatesAreJudgedByTheBytesTheyLose) {
  if (GetParam() == 0)
    return;
  std::string settings = "stage=" + std::to_string(GetParam()) +
                         " ranks=2 alignment=2 reduce-bucket-size=10 "
                         "param-persistence-threshold=3 accumulation=2 "
                         "sub-group-size=6 pipeline-updates=true ";
  std::string host = settings + "offload-optimizer=cpu ";
  std::string files = settings + "offload-optimizer=nvme nvme-path=/states "
                                 "nvme-min-bytes=0 ";
  auto isOffload = [](Operation *op) {
    return isa<CopyToHostOp, UpdateOnHostOp, CopyToDeviceOp, UploadOp,
               ReadParametersOp, ReadStatesOp, WriteStatesOp>(op);
  };
  judgeMutants(host, isOffload);
  judgeMutants(host + "precision=bf16", isOffload);
  judgeMutants(files + "precision=bf16", isOffload);
  if (GetParam() == 3) {
    judgeMutants(host + "offload-param=cpu", isOffload);
    judgeMutants(host + "offload-param=cpu precision=bf16", isOffload);
    judgeMutants(files + "offload-param=nvme", isOffload);
    judgeMutants(files + "offload-param=nvme precision=bf16 upload-buffers=3",
                 isOffload);
  }
  EXPECT_GE(mutants, 100u);
}

TEST_P(MemoryMutantTest, SecondarySlicesAreJudgedByTheBytesTheyLose) {
  if (GetParam() != 3)
    return;
  std::string settings = "stage=3 ranks=4 hpz-partition-size=2 accumulation=2 ";
  auto isSecondary = [](Operation *op) {
    auto gather = dyn_cast<AllGatherOp>(op);
    return isa<SecondarySliceOp>(op) || (gather && gather.getOverAttr());
  };
  judgeMutants(settings, isSecondary);
  judgeMutants(settings + "precision=bf16 overlap=true", isSecondary);
  EXPECT_GE(mutants, 50u);
}

TEST_P(MemoryMutantTest, QuantizedGathersAreJudgedByTheBytesTheyLose) {
  if (GetParam() != 3)
    return;
  std::string settings = "stage=3 ranks=2 accumulation=2 quantized-weights=8 "
                         "quantization-block=2 ";
  auto isQuantized = [](Operation *op) {
    auto gather = dyn_cast<AllGatherOp>(op);
    return gather && gather.getQuantized();
  };
  judgeMutants(settings, isQuantized);
  settings += "quantized-frozen-weights=4 ";
  judgeMutants(settings, isQuantized);
  judgeMutants(settings + "overlap=true offload-optimizer=cpu "
                          "offload-param=cpu",
               [](Operation *op) {
                 auto partition = dyn_cast<PartitionOp>(op);
                 return isa<UploadOp>(op) ||
                        (partition && partition.getQuantized());
               });
  judgeMutants(settings + "precision=bf16 overlap=true gathers-in-flight=3",
               isQuantized);
  EXPECT_GE(mutants, 100u);
}

TEST_P(MemoryMutantTest, ExchangedGradientsAreJudgedByTheBytesTheyLose) {
  if (GetParam() != 3)
    return;
  std::string settings = "stage=3 ranks=4 accumulation=2 quantized-gradients=4 "
                         "quantization-block=2 ";
  auto exchanges = [](Operation *op) { return isa<ExchangeGradientsOp>(op); };
  judgeMutants(settings, exchanges);
  judgeMutants(settings +
                   "precision=bf16 overlap=true quantized-gradients-within=2",
               exchanges);
  EXPECT_GE(mutants, 100u);
}

/// The errors of what is packed have places of their own, in the partition.
TEST_P(MemoryMutantTest, ErrorsAreJudgedByTheBytesTheyLose) {
  if (GetParam() != 3)
    return;
  std::string settings = "stage=3 ranks=4 accumulation=2 quantized-gradients=4 "
                         "quantization-block=2 error-feedback=0.8 ";
  auto keeps = [](Operation *op) {
    return isa<ExchangeGradientsOp, PartitionOp>(op);
  };
  judgeMutants(settings, keeps);
  judgeMutants(settings +
                   "precision=bf16 overlap=true quantized-gradients-within=2",
               keeps);
  EXPECT_GE(mutants, 100u);
}

INSTANTIATE_TEST_SUITE_P(Stages, MemoryMutantTest,
                         ::testing::Values(0, 1, 2, 3));
