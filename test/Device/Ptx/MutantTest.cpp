// What nvcc made of the runtime's kernels, with each barrier, fence, wait for
// copies and atomic operation left out once: each must be missed.
//
// Not shuffles: of a sum over a warp nvcc makes one for each step and each half
// of a value, and many of them move zeros.
#include "../BrokenKernels.h"

#include "Modules.h"

#include <algorithm>

using namespace zrt;
using namespace zrt::test;

namespace {

/// An instruction that may be left out.
struct Site {
  const ptx::Entry *entry;
  ptx::Instruction *at;
};

std::string nameOf(const Site &site) {
  return site.entry->name + ", " + site.entry->file + ":" +
         std::to_string(site.at->line) + " (" + site.at->text + ")";
}

bool isToBeMissed(const ptx::Instruction &each) {
  return each.meeting != ptx::Meeting::None &&
         each.meeting != ptx::Meeting::Shuffle;
}

/// Those that ran since the last call.
std::vector<Site> takeReached() {
  std::vector<Site> reached;
  for (const auto &module : ptx::modules())
    for (ptx::Entry *entry : module->entriesRead()) {
      if (entry->name.find("_ZN3cub") == 0)
        continue; // CUDA's own
      for (ptx::Instruction &each : entry->code)
        if (std::exchange(each.wasRun, false) && isToBeMissed(each))
          reached.push_back({entry, &each});
    }
  return reached;
}

class LeftOut {
public:
  explicit LeftOut(ptx::Instruction &each) : each(each) {
    each.isLeftOut = true;
  }
  ~LeftOut() { each.isLeftOut = false; }
  LeftOut(const LeftOut &) = delete;
  LeftOut &operator=(const LeftOut &) = delete;

private:
  ptx::Instruction &each;
};

/// A barrier that a kernel does without: a part of the kernel's name, which of
/// its barriers it is, and why.
struct Exception {
  const char *kernel;
  bool isLast; ///< else the first
  const char *reason;
};
constexpr const char kOwnSum[] =
    "only the thread that wrote the sum of all reads it";
constexpr Exception kExceptions[] = {
    {"10termKernelIfLb0E", false,
     "the tables that are cleared before it are "
     "those of the kernel's other form"},
    {"10termKernelIf", true, kOwnSum},
    {"12finishKernelE", true, kOwnSum},
    {"10lossKernelIf", true, kOwnSum},
    {"14normGradKernelIfLb1ELb0E", true,
     "behind the last round of columns the kernel ends"},
};

/// Norms of more rows than blocks take at once, and of as many columns as a
/// row's threads hold: nvcc made a barrier of its own for each round.
std::vector<BrokenCase> manyRounds() {
  std::vector<BrokenCase> cases;
  for (const auto &[rows, width] : std::vector<std::pair<int64_t, int64_t>>{
           {5, 512}, {97, 2048}, {50, 4200}}) {
    const TensorType column = {DataType::F32, {rows}};
    const Array x = randomArray(DataType::F32, {rows, width}, 1),
                w = randomArray(DataType::F32, {width}, 2),
                statistic = randomArray(DataType::F32, {rows}, 3);
    KernelSpec norm =
        makeSpec("nn.layer_norm", {x, w, w}, {x.type, column, column});
    norm.floats["eps"] = 1e-5;
    if (rows > 5)
      cases.push_back({norm, {x, w, w}, 1e-4});
    const std::vector<Array> inputs = {x, x, w, statistic, statistic};
    cases.push_back(
        {makeSpec("nn.layer_norm_grad", inputs, {x.type, w.type, w.type}),
         inputs, 1e-3});
  }
  return cases;
}

/// Kernels that go along rows a block at a time, in the types that the other
/// cases are not of.
std::vector<BrokenCase> otherKernels() {
  std::vector<BrokenCase> cases;
  const Array sums = randomArray(DataType::F32, {53, 700}, 13);
  KernelSpec cumsum = makeSpec("nn.cumsum", {sums}, {sums.type});
  cumsum.ints["dim"] = {1};
  cumsum.ints["reverse"] = {0};
  cases.push_back({cumsum, {sums}, 1e-5});
  for (DataType type : {DataType::BF16, DataType::F16}) {
    const Array x = randomArray(type, {53, 600}, 14);
    cases.push_back({makeSpec("nn.softmax", {x}, {x.type}), {x}, 1e-2});
    cases.push_back(
        {makeSpec("nn.softmax_grad", {x, x}, {x.type}), {x, x}, 1e-2});
    const Array wide = randomArray(type, {3, 2000}, 15);
    KernelSpec reduce = makeSpec("nn.reduce", {wide}, {{type, {2000}}});
    reduce.ints["kind"] = {0};
    reduce.ints["dims"] = {0};
    cases.push_back({reduce, {wide}, 1e-2});
  }
  return cases;
}

/// Whether it is the first barrier of its kernel, or the last.
bool isAtEnd(const Site &site, bool last) {
  const std::vector<ptx::Instruction> &code = site.entry->code;
  const auto isBarrier = [](const ptx::Instruction &each) {
    return each.meeting == ptx::Meeting::Barrier;
  };
  return last ? &*std::find_if(code.rbegin(), code.rend(), isBarrier) == site.at
              : &*std::find_if(code.begin(), code.end(), isBarrier) == site.at;
}

bool isExcepted(const Site &site) {
  return std::any_of(std::begin(kExceptions), std::end(kExceptions),
                     [&](const Exception &each) {
                       return site.entry->name.find(each.kernel) !=
                                  std::string::npos &&
                              isAtEnd(site, each.isLast);
                     });
}

TEST_F(Broken, EveryMeetingOfThePtxIsNeeded) {
  std::set<const ptx::Instruction *> seen;
  std::map<const ptx::Instruction *, Site> all;
  std::vector<BrokenCase> cases = brokenCases();
  for (const auto &more : {manyRounds(), otherKernels()})
    cases.insert(cases.end(), more.begin(), more.end());
  takeReached();
  for (const BrokenCase &each : cases) {
    ASSERT_EQ(verdict(each), "") << each.spec.name;
    for (const Site &site : takeReached()) {
      all.emplace(site.at, site);
      if (seen.count(site.at))
        continue;
      const LeftOut leftOut(*site.at);
      if (!verdict(each).empty())
        seen.insert(site.at);
    }
    takeReached();
  }
  for (const auto &[at, site] : all)
    EXPECT_NE(seen.count(at) != 0, isExcepted(site))
        << (seen.count(at) ? "an exception that is seen: "
                           : "nothing changes without ")
        << nameOf(site);
  std::printf("left out once: %zu instructions\n", all.size());
  EXPECT_GE(all.size(), 150u);
}

} // namespace
