// Every figure below is in DeepSpeed's documentation of memory requirements,
// or follows from its present code; GB is 2^30 bytes, printed with 2 digits.
#include "zero-plan/Estimators.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <gtest/gtest.h>
#include <string>
#include <vector>

using namespace mlir::zero;

namespace {

/// t5-3b as the documentation's live model, and as its cold estimates.
constexpr double kLiveParameters = 2851598336, kColdParameters = 2851e6;
constexpr double kLiveLayer = 32899072, kColdLayer = 32e6;

EstimateSetup setup(double parameters, double layer, int64_t gpus,
                    int64_t nodes) {
  EstimateSetup result;
  result.parameters = parameters;
  result.largestLayer = layer;
  result.gpusPerNode = gpus;
  result.nodes = nodes;
  return result;
}

std::vector<std::string> print(llvm::ArrayRef<EstimateRow> rows) {
  std::vector<std::string> lines;
  for (const EstimateRow &row : rows) {
    std::string line;
    llvm::raw_string_ostream(line)
        << llvm::format("%.2f %.2f", row.cpuBytes / double(1 << 30),
                        row.gpuBytes / double(1 << 30))
        << (row.offloadParameters ? " cpu" : " none")
        << (row.offloadOptimizer ? " cpu" : " none")
        << (row.partitionedInit ? " 1" : " 0");
    lines.push_back(line);
  }
  return lines;
}

using Lines = std::vector<std::string>;

TEST(Estimators, Zero2AsDocumented) {
  EXPECT_EQ(print(estimateZero2(setup(kLiveParameters, 0, 8, 1),
                                EstimateVersion::Classic)),
            (Lines{"127.48 5.31 none cpu 0", "127.48 15.93 none none 0"}));
  EXPECT_EQ(print(estimateZero2(setup(kColdParameters, 0, 8, 1),
                                EstimateVersion::Classic)),
            (Lines{"127.45 5.31 none cpu 0", "127.45 15.93 none none 0"}));
}

TEST(Estimators, Zero2NowKeepsGradientsInTwoTypes) {
  // 2 P + 18 P / 8 = 11.28 GB; and 64 GPUs instead of one node's 8.
  EXPECT_EQ(print(estimateZero2(setup(kColdParameters, 0, 8, 1),
                                EstimateVersion::Current)),
            (Lines{"127.45 5.31 none cpu 0", "127.45 11.28 none none 0"}));
  EXPECT_EQ(print(estimateZero2(setup(kColdParameters, 0, 8, 8),
                                EstimateVersion::Current)),
            (Lines{"1019.60 5.31 none cpu 0", "127.45 6.06 none none 0"}));
  EXPECT_EQ(print(estimateZero2(setup(kColdParameters, 0, 8, 8),
                                EstimateVersion::Classic)),
            (Lines{"127.45 5.31 none cpu 0", "127.45 11.28 none none 0"}));
}

TEST(Estimators, Zero2OffloadNeedsSixteenBytesAtLeast) {
  EstimateSetup one = setup(1e9, 0, 2, 1);
  EXPECT_EQ(estimateZero2(one, EstimateVersion::Current).front().cpuBytes,
            24000000000);
  one.bufferFactor = 1;
  EXPECT_EQ(estimateZero2(one, EstimateVersion::Current).front().cpuBytes,
            16000000000);
}

TEST(Estimators, Zero3Live) {
  EXPECT_EQ(print(estimateZero3(setup(kLiveParameters, kLiveLayer, 8, 1))),
            (Lines{"71.71 0.12 cpu cpu 1", "127.48 0.12 cpu cpu 0",
                   "63.74 0.79 none cpu 1", "127.48 0.79 none cpu 0",
                   "1.47 6.10 none none 1", "127.48 6.10 none none 0"}));
}

TEST(Estimators, Zero3Cold) {
  EXPECT_EQ(print(estimateZero3(setup(kColdParameters, kColdLayer, 8, 1))),
            (Lines{"71.69 0.12 cpu cpu 1", "127.45 0.12 cpu cpu 0",
                   "63.72 0.78 none cpu 1", "127.45 0.78 none cpu 0",
                   "1.43 6.09 none none 1", "127.45 6.09 none none 0"}));
}

TEST(Estimators, Zero3NodesShareTheOptimizer) {
  EstimateSetup two = setup(1e9, 1e6, 1, 2);
  two.bufferFactor = 1;
  auto rows = estimateZero3(two);
  EXPECT_EQ(rows[0].cpuBytes, 9000000000);
  EXPECT_EQ(rows[2].cpuBytes, 8000000000);
  EXPECT_EQ(rows[4].gpuBytes, 9004000000);
}

TEST(Estimators, LargeT5Example) {
  Zero3Cases cases = estimateZero3Cases(setup(737668096, 32899072, 4, 1));
  EXPECT_EQ(cases.largestLayer >> 20, 125);
  EXPECT_EQ(cases.none >> 20, 3291);
  EXPECT_EQ(cases.all >> 20, 125);
  EXPECT_EQ(cases.optimizer >> 20, 477);
}

} // namespace
