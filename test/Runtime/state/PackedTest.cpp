// Slices of frozen parameters that are stored quantized.
#include "StateTesting.h"

#include "state/Elements.h"
#include "state/Initialize.h"
#include "state/PackedSlice.h"
#include "state/Weights.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace zrt::testing {
namespace {

/// Trained and frozen parameters; of the frozen ones one has more elements than
/// are in transit at once.
Program packedProgram(int ranks, DataType type, Quantization how) {
  ProgramBuilder builder(3, ranks, type);
  builder.quantized = how;
  builder.add(true, {parameter("w", {13, 7}, {InitKind::Normal, 0.5, 0.02})});
  builder.add(false, {parameter("a", {11, 3}, {InitKind::Normal, 0, 1}),
                      parameter("none", {0}, {InitKind::Zeros, 0, 0}),
                      parameter("b", {1}, {InitKind::Constant, -0.3, 0}),
                      parameter("c", {1201, 700}, {InitKind::Uniform, -2, 3})});
  return builder.program;
}

std::vector<float> startOf(const Parameter &parameter, uint64_t seed) {
  std::vector<float> values(size_t(parameter.elements()));
  initialValues(parameter, seed, 0, values.size(), values.data());
  return values;
}

/// What comes back of `values`, by plain loops over the slices of all ranks.
std::vector<float> quantize(std::vector<float> values, const Program &program,
                            const Parameter &parameter) {
  const Partition &partition = partitionOf(program, parameter);
  const size_t slice =
      roundUp(values.size(), 16 * uint64_t(program.training.ranks)) /
      size_t(program.training.ranks);
  const size_t block = size_t(partition.quantized.block);
  roundTo(partition.computeType, values.data(), values.size());
  for (size_t first = 0; first < values.size();) {
    const size_t end = std::min({first + block - first % slice % block,
                                 (first / slice + 1) * slice, values.size()});
    float largest = 0;
    for (size_t i = first; i < end; ++i)
      largest = std::max(largest, std::fabs(values[i]));
    const float scale = largest / float(partition.quantized.most());
    for (size_t i = first; i < end && largest > 0; ++i)
      values[i] = std::nearbyint(values[i] / scale) * scale;
    first = end;
  }
  roundTo(partition.computeType, values.data(), values.size());
  return values;
}

/// Every element that any rank has, once.
std::vector<float> collect(const Program &program, const Parameter &parameter,
                           const std::vector<std::unique_ptr<Arenas>> &arenas,
                           const StartingValues *start) {
  std::vector<float> found(size_t(parameter.elements()), NAN);
  const auto keep = [&](uint64_t element, uint64_t count, const float *values) {
    for (uint64_t i = 0; i < count; ++i) {
      EXPECT_TRUE(std::isnan(found[element + i])) << "read twice";
      found[element + i] = values[i];
    }
  };
  for (size_t rank = 0; rank < arenas.size(); ++rank)
    if (start)
      readModelValues(program, *arenas[rank], int(rank), parameter, *start,
                      keep);
    else
      readParameter(program, *arenas[rank], int(rank), parameter, keep);
  return found;
}

class PackedSlices
    : public ::testing::TestWithParam<std::tuple<int, DataType, Quantization>> {
};

TEST_P(PackedSlices, ComeBackAsTheyWerePacked) {
  const auto [ranks, type, how] = GetParam();
  const Program program = packedProgram(ranks, type, how);
  std::vector<std::unique_ptr<Arenas>> arenas;
  for (int rank = 0; rank < ranks; ++rank) {
    arenas.push_back(std::make_unique<Arenas>(program));
    initializeParameters(program, *arenas.back(), rank, /*seed=*/5, nullptr);
  }
  const StartingValues start = initialValuesOf(5), other = initialValuesOf(6);
  for (const Parameter &parameter : program.parameters) {
    if (!partitionOf(program, parameter).isQuantized())
      continue;
    const std::vector<float> exact = startOf(parameter, 5);
    EXPECT_EQ(collect(program, parameter, arenas, nullptr),
              quantize(exact, program, parameter))
        << parameter.name;
    EXPECT_EQ(collect(program, parameter, arenas, &start), exact)
        << parameter.name;
    EXPECT_TRUE(isRoundedStart(program, parameter));
  }
  try {
    collect(program, program.parameters.back(), arenas, &other);
    FAIL() << "other values are taken for those of the start";
  } catch (const std::runtime_error &error) {
    EXPECT_NE(std::string(error.what())
                  .find("the frozen parameter 'c' is not "
                        "what the run started from"),
              std::string::npos)
        << error.what();
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, PackedSlices,
    ::testing::Combine(
        ::testing::Values(1, 3),
        ::testing::Values(DataType::F32, DataType::BF16, DataType::F16),
        ::testing::Values(Quantization{8, 2}, Quantization{4, 10},
                          Quantization{8, 64}, Quantization{4, 1 << 20})));

/// A block with a value that is not finite comes back as none, others as they
/// are.
TEST(PackedSlice, WhatIsNotFiniteIsSeen) {
  const Program program = packedProgram(2, DataType::F32, {8, 4});
  Arenas arenas(program);
  const Parameter &parameter = program.parameters[1];
  setParameter(program, arenas, 0, parameter,
               [](uint64_t element, uint64_t count, float *out) {
                 for (uint64_t i = 0; i < count; ++i)
                   out[i] = element + i == 6 ? INFINITY : 1;
               });
  readParameter(program, arenas, 0, parameter,
                [](uint64_t element, uint64_t count, const float *values) {
                  for (uint64_t i = element; i < element + count; ++i)
                    if (i / 4 == 1)
                      EXPECT_TRUE(std::isnan(values[i - element])) << i;
                    else
                      EXPECT_EQ(values[i - element], 1) << i;
                });
}

} // namespace
} // namespace zrt::testing
