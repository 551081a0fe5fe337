// Schedules against DeepSpeed's own classes.
#include "engine/LearningRate.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>

using namespace zrt;
using Json = nlohmann::json;

namespace {

LearningRateSchedule scheduleOf(const std::string &kind,
                                const Json &parameters) {
  LearningRateSchedule schedule;
  schedule.kind = kind == "WarmupLR"        ? ScheduleKind::WarmupLR
                  : kind == "WarmupDecayLR" ? ScheduleKind::WarmupDecayLR
                                            : ScheduleKind::WarmupCosineLR;
  schedule.warmupMin = parameters.value("warmup_min_lr", 0.0);
  schedule.warmupMax = parameters.value("warmup_max_lr", -1.0);
  schedule.warmupSteps = parameters.value("warmup_num_steps", 1000);
  schedule.totalSteps = parameters.value("total_num_steps", 0);
  schedule.logWarmup = parameters.value("warmup_type", "log") == "log";
  schedule.warmupMinRatio = parameters.value("warmup_min_ratio", 0.0);
  schedule.cosineMinRatio = parameters.value("cos_min_ratio", 1e-4);
  return schedule;
}

TEST(LearningRate, EqualsDeepSpeed) {
  std::ifstream file(ZERO_GOLDENS "/lr_schedules.json");
  ASSERT_TRUE(file);
  for (const Json &golden : Json::parse(file)) {
    const auto kind = golden["kind"].get<std::string>();
    const LearningRateSchedule schedule =
        scheduleOf(kind, golden["parameters"]);
    const auto own = golden["group_rates"].get<std::vector<double>>();
    for (size_t update = 0; update < golden["rates"].size(); ++update)
      for (size_t group = 0; group < own.size(); ++group) {
        const double wanted = golden["rates"][update][group];
        EXPECT_NEAR(learningRate(schedule, own[group], int64_t(update)), wanted,
                    1e-15)
            << kind << " " << golden["parameters"].dump() << " update "
            << update << " group " << group;
      }
  }
}

TEST(LearningRate, ConstantIsTheGroupsOwn) {
  EXPECT_EQ(learningRate({}, 0.003, 0), 0.003);
  EXPECT_EQ(learningRate({}, 0.003, 12345), 0.003);
}

} // namespace
