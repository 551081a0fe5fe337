// Which spans become a stage: the choice against all cuts that there are.
#include "zero/Analysis/PipelineCuts.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <vector>

using namespace mlir;
using namespace mlir::zero;

namespace {

/// Spans of random work and memory. Some values are kept by several of them,
/// and a parameter is used by the first and the last.
PipelineCosts makeCosts(std::minstd_rand &random, size_t count) {
  const auto upTo = [&](int most) { return int(random() % (most + 1)); };
  PipelineCosts costs;
  costs.intervals = {0, 16};
  costs.always = upTo(5);
  for (size_t i = 0; i < count; ++i) {
    SpanCost &span = costs.spans.emplace_back();
    span.work = 1 + upTo(20);
    span.isTrained = upTo(5) > 0;
    span.working = upTo(30);
    span.stashed = upTo(10);
    span.sentBack = i == 0 ? 0 : 3;
    costs.valueBytes.push_back(1 + upTo(6));
    costs.parameters.push_back({upTo(40), upTo(10), 1, unsigned(upTo(1))});
    span.parameters.push_back(i);
    if (i + 1 < count)
      span.sent.push_back(i);
    if (i > 0 && upTo(1))
      span.kept.push_back(i - 1);
  }
  costs.spans.back().parameters.push_back(0);
  ++costs.parameters[0].uses;
  return costs;
}

struct Judged {
  double work = 0;
  int64_t bytes = 0;
};

int64_t roundUp(int64_t bytes, int64_t interval) {
  return interval > 0 && bytes > interval
             ? (bytes + interval - 1) / interval * interval
             : bytes;
}

/// What a stage keeps, from the definition.
int64_t countKept(const PipelineCosts &costs, int64_t slots, size_t begin,
                  size_t end) {
  int64_t slot = costs.spans[begin].sentBack, states = 0;
  std::set<unsigned> values(costs.spans[end - 1].sent.begin(),
                            costs.spans[end - 1].sent.end());
  std::map<unsigned, int64_t> uses;
  for (size_t i = begin; i < end; ++i) {
    const SpanCost &span = costs.spans[i];
    slot += span.stashed;
    values.insert(span.kept.begin(), span.kept.end());
    for (unsigned parameter : span.parameters)
      ++uses[parameter];
  }
  for (unsigned value : values)
    slot += costs.valueBytes[value];
  std::vector<int64_t> groups(costs.intervals.size());
  for (const auto &[parameter, count] : uses) {
    const ParameterCost &cost = costs.parameters[parameter];
    if (count == cost.uses)
      groups[cost.group] += cost.bytes;
    else
      states +=
          cost.received + roundUp(cost.bytes, costs.intervals[cost.group]);
  }
  for (size_t group = 0; group < groups.size(); ++group)
    states += roundUp(groups[group], costs.intervals[group]);
  return states + slots * slot;
}

/// The largest work of a stage and bytes of a place; nothing where a stage is
/// not trained.
std::optional<Judged> judge(const PipelineCosts &costs,
                            const StageLimits &limits,
                            ArrayRef<size_t> begins) {
  Judged judged;
  std::vector<int64_t> bytes(limits.places, costs.always),
      working(limits.places, 0);
  for (int64_t stage = 0; stage < limits.stages(); ++stage) {
    const size_t begin = stage == 0 ? 0 : begins[stage - 1];
    const size_t end =
        stage + 1 == limits.stages() ? costs.spans.size() : begins[stage];
    double work = 0;
    bool isTrained = false;
    int64_t &most = working[stage % limits.places];
    for (size_t i = begin; i < end; ++i) {
      work += costs.spans[i].work;
      isTrained |= costs.spans[i].isTrained;
      most = std::max(most, costs.spans[i].working);
    }
    if (!isTrained)
      return std::nullopt;
    judged.work = std::max(judged.work, work);
    bytes[stage % limits.places] +=
        countKept(costs, limits.slots[stage], begin, end);
  }
  for (int64_t place = 0; place < limits.places; ++place)
    judged.bytes = std::max(judged.bytes, bytes[place] + working[place]);
  return judged;
}

/// Calls `visit` with each cut of `count` spans into `stages`.
void forEachCut(size_t count, int64_t stages,
                const std::function<void(ArrayRef<size_t>)> &visit) {
  SmallVector<size_t> begins;
  std::function<void(size_t)> add = [&](size_t from) {
    if (int64_t(begins.size()) + 1 == stages)
      return visit(begins);
    for (size_t begin = from; begin < count; ++begin) {
      begins.push_back(begin);
      add(begin + 1);
      begins.pop_back();
    }
  };
  add(1);
}

/// The best of all cuts: the least work of those that fit, or the least bytes.
struct Reference {
  std::optional<double> fitting;
  std::optional<int64_t> leastBytes;
};

Reference findBest(const PipelineCosts &costs, const StageLimits &limits) {
  Reference best;
  forEachCut(costs.spans.size(), limits.stages(), [&](ArrayRef<size_t> cut) {
    std::optional<Judged> judged = judge(costs, limits, cut);
    if (!judged)
      return;
    best.leastBytes =
        std::min(best.leastBytes.value_or(judged->bytes), judged->bytes);
    if (!limits.budget || judged->bytes <= *limits.budget)
      best.fitting =
          std::min(best.fitting.value_or(judged->work), judged->work);
  });
  return best;
}

} // namespace

TEST(PipelineCuts, AreTheFastestThatFit) {
  std::minstd_rand random(11);
  size_t fitting = 0, tooLarge = 0;
  for (int round = 0; round < 300; ++round) {
    const PipelineCosts costs = makeCosts(random, 5 + round % 5);
    StageLimits limits;
    limits.places = 2 + round % 3;
    for (int64_t place = limits.places; place > 0; --place)
      limits.slots.push_back(place);
    if (round % 4 > 0)
      limits.budget = 20 + random() % 200;
    const Reference best = findBest(costs, limits);
    const PipelineCut cut = chooseCut(costs, limits);
    ASSERT_EQ(cut.works.empty(), !best.leastBytes) << round;
    if (!best.leastBytes)
      continue;
    const std::optional<Judged> judged = judge(costs, limits, cut.begins);
    ASSERT_TRUE(judged) << round;
    EXPECT_EQ(cut.largestBytes(), judged->bytes) << round;
    EXPECT_EQ(*std::max_element(cut.works.begin(), cut.works.end()),
              judged->work);
    if (best.fitting) {
      EXPECT_EQ(judged->work, *best.fitting) << round;
      ++fitting;
    } else {
      EXPECT_EQ(judged->bytes, *best.leastBytes) << round;
      ++tooLarge;
    }
  }
  EXPECT_GT(fitting, 100u);
  EXPECT_GT(tooLarge, 30u);
}

/// With several stages a place the search is no proof: it finds what fits
/// nearly always, and never needs more than the fastest cut.
TEST(PipelineCuts, OfChunksFitWhereTheyCan) {
  std::minstd_rand random(5);
  size_t possible = 0, found = 0;
  for (int round = 0; round < 200; ++round) {
    const PipelineCosts costs = makeCosts(random, 8);
    StageLimits limits;
    limits.places = 2;
    limits.slots = {4, 3, 2, 1};
    const PipelineCut fastest = chooseCut(costs, limits);
    if (fastest.works.empty())
      continue;
    limits.budget = fastest.largestBytes() - 1;
    const PipelineCut cut = chooseCut(costs, limits);
    EXPECT_EQ(cut.largestBytes(), judge(costs, limits, cut.begins)->bytes);
    EXPECT_LE(cut.largestBytes(), fastest.largestBytes());
    if (!findBest(costs, limits).fitting)
      continue;
    ++possible;
    found += cut.largestBytes() <= *limits.budget;
  }
  EXPECT_GT(possible, 50u);
  EXPECT_GE(found * 10, possible * 9) << found << " of " << possible;
}

/// A front that is all memory and no work leaves its layers to the others, the
/// more of them the less memory there is.
TEST(PipelineCuts, GiveAwayLayersForAnEmbedding) {
  PipelineCosts costs;
  costs.intervals = {0};
  for (unsigned i = 0; i < 12; ++i) {
    SpanCost &span = costs.spans.emplace_back();
    span.work = i == 0 ? 0 : 1;
    span.isTrained = true;
    span.stashed = i == 0 ? 0 : 10;
    costs.parameters.push_back({i == 0 ? 500 : 10, 0, 1, 0});
    span.parameters.push_back(i);
  }
  StageLimits limits;
  limits.places = 3;
  limits.slots = {3, 2, 1};
  size_t before = chooseCut(costs, limits).begins.front();
  EXPECT_EQ(before, 5u); // of which the first is no work
  for (int64_t budget : {660, 620, 580, 540, 500}) {
    limits.budget = budget;
    const PipelineCut cut = chooseCut(costs, limits);
    EXPECT_LE(cut.begins.front(), before) << budget;
    EXPECT_EQ(cut.bytes[0] <= budget, budget >= 500);
    before = cut.begins.front();
  }
  EXPECT_EQ(before, 1u);
}
