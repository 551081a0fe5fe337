// zero.quantize, zero.dequantize and zero.sum_quantized: the packed form, and
// what comes back.
#include "QuantizeTesting.h"

#include <cmath>

namespace zrt::test {
namespace {

/// Sizes around a block, a vector and a byte of two, and none.
const int64_t kSizes[] = {0, 1, 2, 15, 17, 64, 65, 1000, 4099};

KernelSpec quantizeSpec(const Array &from, Quantization how) {
  KernelSpec spec = makeSpec("zero.quantize", {from},
                             {{DataType::I8, {how.packedBytes(from.size())}}});
  spec.ints["bits"] = {how.bits};
  spec.ints["block"] = {how.block};
  return spec;
}

TEST(KernelQuantize, PacksIntegersAndScales) {
  for (DataType type : kFloats)
    for (int64_t size : kSizes)
      for (const Quantization how : {Quantization{8, 64}, Quantization{4, 64},
                                     Quantization{8, 10}, Quantization{4, 2}}) {
        const Array from = randomArray(type, {size}, 1, 3);
        checkKernel(
            quantizeSpec(from, how), {from},
            [&](const std::vector<Array> &in) {
              return std::vector<Values>{pack(in[0], how)};
            },
            /*tolerance=*/0);
      }
}

/// The last pieces may be there in part, or not at all.
TEST(KernelQuantize, PacksPiecesForEachRank) {
  for (DataType type : kFloats)
    for (const QuantizedPieces cut : kCuts)
      for (const int64_t missing : {int64_t(0), int64_t(1), cut.piece})
        for (const Quantization how :
             {Quantization{8, 32}, Quantization{4, 16}}) {
          const Array from =
              randomArray(type, {cut.all() * cut.piece - missing}, 1, 3);
          KernelSpec spec = makeSpec(
              "zero.quantize", {from},
              {{DataType::I8, {cut.all() * how.packedBytes(cut.piece)}}});
          spec.ints["bits"] = {how.bits};
          spec.ints["block"] = {how.block};
          setPieces(spec, cut);
          checkKernel(
              spec, {from},
              [&](const std::vector<Array> &in) {
                Values all;
                for (int64_t rank = 0; rank < cut.ranks; ++rank)
                  for (int64_t j = 0; j < cut.pieces; ++j)
                    for (const double byte :
                         pack(part(in[0], (j * cut.ranks + rank) * cut.piece,
                                   cut.piece),
                              how))
                      all.push_back(byte);
                return std::vector<Values>{all};
              },
              /*tolerance=*/0);
        }
}

/// f32 sums in the order of ranks, of what each rank's piece comes back as.
TEST(KernelQuantize, AddsUpWhatRanksHavePacked) {
  for (DataType type : kFloats)
    for (const QuantizedPieces cut : kCuts)
      for (const Quantization how :
           {Quantization{8, 32}, Quantization{4, 16}, Quantization{8, 1000}}) {
        Values packed, wanted(cut.pieces * cut.piece);
        std::vector<float> sums(wanted.size());
        for (int64_t rank = 0; rank < cut.ranks; ++rank)
          for (int64_t j = 0; j < cut.pieces; ++j) {
            const Values bytes = pack(
                randomArray(DataType::F32, {cut.piece}, 7 * rank + j, 2), how);
            std::vector<uint8_t> raw;
            for (const double byte : bytes)
              raw.push_back(uint8_t(int(byte)));
            for (int64_t i = 0; i < cut.piece; ++i) {
              float scale;
              std::memcpy(&scale,
                          &raw[how.scalesAt(cut.piece) + i / how.block * 4], 4);
              const int integer =
                  how.bits == 8 ? int8_t(raw[i])
                                : ((raw[i / 2] >> (i % 2 * 4) & 15) ^ 8) - 8;
              const float product = float(integer) * scale;
              sums[j * cut.piece + i] += product;
            }
            packed.insert(packed.end(), bytes.begin(), bytes.end());
          }
        for (size_t i = 0; i < sums.size(); ++i)
          wanted[i] = sums[i] * 0.25f;
        const Array all = makeArray(DataType::I8, packed);
        const Array roundedTo = makeArray(type, wanted);
        Values rounded;
        for (int64_t i = 0; i < roundedTo.size(); ++i)
          rounded.push_back(roundedTo[i]);
        KernelSpec spec = makeSpec("zero.sum_quantized", {all},
                                   {{type, {int64_t(wanted.size())}}});
        spec.ints["bits"] = {how.bits};
        spec.ints["block"] = {how.block};
        setPieces(spec, cut);
        spec.floats["factor"] = 0.25;
        checkKernel(
            spec, {all},
            [&](const std::vector<Array> &) {
              return std::vector<Values>{rounded};
            },
            /*tolerance=*/0);
      }
}

/// Three ranks quantize slices of two segments, and each has them back, at
/// most half a step off.
TEST(KernelQuantize, BringsBackEachBlockWithinHalfAStep) {
  const std::vector<int64_t> pieces = {37, 64};
  constexpr int64_t kRanks = 3, kSlice = 101;
  for (DataType type : kFloats)
    for (const Quantization how : {Quantization{8, 64}, Quantization{4, 16}}) {
      Values packed, wanted(kRanks * kSlice), steps(kRanks * kSlice);
      for (int64_t rank = 0; rank < kRanks; ++rank) {
        const Array slice = randomArray(type, {kSlice}, 5 + rank, 2);
        for (const double byte : pack(slice, how))
          packed.push_back(byte);
        for (int64_t i = 0; i < kSlice; ++i) {
          const int64_t at =
              i < 37 ? rank * 37 + i : 37 * kRanks + rank * 64 + i - 37;
          const int64_t block = i / how.block * how.block;
          wanted[at] = slice[i];
          steps[at] =
              largestOf(slice, block, std::min(block + how.block, kSlice)) /
              double(how.most());
        }
      }
      const Array all = makeArray(DataType::I8, packed);
      const auto found =
          runKernel(dequantizeSpec(all, type, how, kRanks, pieces), {all})[0];
      // Rounding to 16 bits comes on top.
      const double rounding = type == DataType::F32    ? 1e-6
                              : type == DataType::BF16 ? 1.0 / 256
                                                       : 1.0 / 2048;
      for (size_t i = 0; i < wanted.size(); ++i)
        EXPECT_LE(std::abs(found[i] - wanted[i]),
                  steps[i] * 0.50001 + std::abs(wanted[i]) * rounding)
            << i << " of " << nameOf(type);
    }
}

/// The largest numbers do not come back as infinite ones.
TEST(KernelQuantize, BringsBackWhatIsFiniteAsFinite) {
  for (DataType type : {DataType::F32, DataType::BF16})
    for (const Quantization how : {Quantization{8, 4}, Quantization{4, 4}}) {
      const double largest = type == DataType::F32
                                 ? std::numeric_limits<float>::max()
                                 : 0x1.fep127;
      const Array from =
          makeArray(type, {largest, 0, -largest / 2, 1, -largest, 2, 3, 4});
      const Array packed = runKernel(quantizeSpec(from, how), {from})[0];
      const Array back =
          runKernel(dequantizeSpec(packed, type, how, 1, {8}), {packed})[0];
      EXPECT_EQ(packed[0], how.bits == 8 ? 127 : 7);
      for (int64_t i = 0; i < 8; ++i)
        // Rounding to bf16 comes on top.
        EXPECT_LE(std::abs(back[i] - from[i]),
                  largest / how.most() * 0.51 + std::abs(from[i]) / 256)
            << i << " of " << nameOf(type);
      EXPECT_LT(std::abs(back[0] - largest), largest / 200);
    }
}

/// What is not finite comes back as NaN, so that an overflow is found.
TEST(KernelQuantize, KeepsWhatIsNotFiniteFromHiding) {
  const Quantization how{8, 4};
  for (const double odd : {INFINITY, -INFINITY, NAN}) {
    const Array from = makeArray(DataType::F32, {1, odd, 2, 3, 4, 5, 6, 7});
    const Array packed = runKernel(quantizeSpec(from, how), {from})[0];
    const Array back = runKernel(
        dequantizeSpec(packed, DataType::F32, how, 1, {8}), {packed})[0];
    for (int64_t i = 0; i < 4; ++i)
      EXPECT_TRUE(std::isnan(back[i]));
    EXPECT_NEAR(back[7], 7, 7.0 / 254);
  }
}

} // namespace
} // namespace zrt::test
