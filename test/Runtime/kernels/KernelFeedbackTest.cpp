// zero.quantize_feedback: what it packs, and the errors that it keeps.
#include "QuantizeTesting.h"

#include "program/Control.h"

namespace zrt::test {
namespace {

/// A third of the error is new, and errors begin anew every three updates of
/// two micro-batches.
KernelSpec feedbackSpec(const Array &from, Quantization how,
                        const QuantizedPieces &cut, double beta = 2.0 / 3) {
  const TensorType errors{DataType::BF16, {from.size()}};
  KernelSpec spec =
      makeSpec("zero.quantize_feedback", {from},
               {{DataType::I8, {cut.all() * how.packedBytes(cut.piece)}}});
  spec.operands.push_back(errors);
  spec.results.push_back(errors);
  spec.ints["bits"] = {how.bits};
  spec.ints["block"] = {how.block};
  setPieces(spec, cut);
  spec.floats["beta"] = beta;
  spec.ints["reset"] = {3};
  spec.ints["accumulation"] = {2};
  return spec;
}

/// Of the second micro-batch of update 2, the third one.
Control midOfUpdate(float scale) {
  Control control{};
  control.microIndex = 1;
  control.batch = 5;
  control.finite = 1;
  control.scale = scale;
  return control;
}

/// The pieces of `x`, packed one after the other.
Values packPieces(const Array &x, Quantization how,
                  const QuantizedPieces &cut) {
  Values all;
  for (int64_t rank = 0; rank < cut.ranks; ++rank)
    for (int64_t j = 0; j < cut.pieces; ++j)
      for (const double byte :
           pack(part(x, (j * cut.ranks + rank) * cut.piece, cut.piece), how))
        all.push_back(byte);
  return all;
}

/// What comes back of the finite `x`, each of whose pieces has blocks of its
/// own.
Array quantized(const Array &x, Quantization how, const QuantizedPieces &cut) {
  Array back(DataType::F32, {x.size()});
  for (int64_t i = 0; i < x.size(); ++i) {
    const int64_t piece = i / cut.piece * cut.piece;
    const int64_t first = piece + (i - piece) / how.block * how.block;
    const int64_t last =
        std::min({first + how.block, piece + cut.piece, x.size()});
    const float scale =
        std::max(float(largestOf(x, first, last)) / float(how.most()),
                 std::numeric_limits<float>::min());
    const float integer = std::nearbyint(float(x[i]) / scale);
    back.set(i, integer * scale);
  }
  return back;
}

/// Errors are in units of a loss of scale 1.
TEST(KernelFeedback, AddsErrorsAndKeepsWhatIsLost) {
  Control control = midOfUpdate(1024);
  Setting setting;
  setting.control = &control;
  for (DataType type : kFloats)
    for (const QuantizedPieces cut : kCuts)
      for (const Quantization how :
           {Quantization{8, 32}, Quantization{4, 16}}) {
        const int64_t size = cut.all() * cut.piece - cut.piece / 2;
        const Array from = randomArray(type, {size}, 1, 3000);
        const Array errors = randomArray(DataType::BF16, {size}, 2, 0.2);
        Array x(DataType::F32, {size}), left(DataType::BF16, {size});
        for (int64_t i = 0; i < size; ++i) {
          const float error = float(errors[i]) * 1024.0f;
          x.set(i, float(from[i]) + error);
        }
        const Array back = quantized(x, how, cut);
        const float beta = float(2.0 / 3), rest = float(1 - 2.0 / 3);
        for (int64_t i = 0; i < size; ++i) {
          const float old = beta * (float(errors[i]) * 1024.0f);
          const float lost = rest * (float(x[i]) - float(back[i]));
          left.set(i, (old + lost) / 1024.0f);
        }
        Values kept;
        for (int64_t i = 0; i < size; ++i)
          kept.push_back(left[i]);
        const KernelSpec spec = feedbackSpec(from, how, cut);
        checkKernel(
            spec, {from, errors},
            [&](const std::vector<Array> &) {
              return std::vector<Values>{packPieces(x, how, cut), kept};
            },
            /*tolerance=*/0, setting);
        EXPECT_EQ(runKernelInPlace(spec, {from, errors}, 1, 1, setting)[1],
                  left);
      }
}

/// Errors begin anew where updates 0, 3, 6 begin, and after a skipped one.
TEST(KernelFeedback, BeginsAnewWithAnUpdate) {
  const Quantization how{4, 16};
  const QuantizedPieces cut{2, 1, 40};
  const Array from = randomArray(DataType::F32, {80}, 3, 2);
  const Array errors = randomArray(DataType::BF16, {80}, 4, 0.3);
  const Array none = randomArray(DataType::BF16, {80}, 4, 0);
  const KernelSpec spec = feedbackSpec(from, how, cut);
  struct Case {
    uint64_t batch;
    int32_t microIndex, finite;
    bool isFresh;
  };
  for (const auto [batch, microIndex, finite, isFresh] :
       {Case{0, 0, 0, true}, Case{6, 0, 1, true}, Case{12, 0, 1, true},
        Case{7, 1, 1, false}, Case{7, 1, 0, false}, Case{8, 0, 1, false},
        Case{8, 0, 0, true}, Case{10, 0, 1, false}}) {
    Control control = midOfUpdate(1);
    control.batch = batch;
    control.microIndex = microIndex;
    control.finite = finite;
    Setting setting;
    setting.control = &control;
    const auto found = runKernel(spec, {from, errors}, setting);
    control = midOfUpdate(1);
    const auto wanted =
        runKernel(spec, {from, isFresh ? none : errors}, setting);
    EXPECT_EQ(found[0], wanted[0]) << batch << " " << finite;
    EXPECT_EQ(found[1], wanted[1]) << batch << " " << finite;
  }
}

/// A loss scale that changes changes nothing of what is kept.
TEST(KernelFeedback, KeepsErrorsWithoutTheLossScale) {
  const Quantization how{8, 16};
  const QuantizedPieces cut{1, 1, 70};
  const Array from = randomArray(DataType::F32, {70}, 5, 2);
  const Array errors = randomArray(DataType::BF16, {70}, 6, 0.1);
  Array scaled = from;
  for (int64_t i = 0; i < 70; ++i)
    scaled.set(i, from[i] * 65536);
  Control one = midOfUpdate(1), other = midOfUpdate(65536);
  Setting setting;
  setting.control = &one;
  const auto wanted =
      runKernel(feedbackSpec(from, how, cut), {from, errors}, setting);
  setting.control = &other;
  const auto found =
      runKernel(feedbackSpec(from, how, cut), {scaled, errors}, setting);
  EXPECT_EQ(found[1], wanted[1]);
  for (int64_t i = 0; i < 70; ++i)
    EXPECT_EQ(found[0][i], wanted[0][i]);
}

/// What is not finite poisons no later call: its block loses its errors, and
/// others keep theirs. An error that bf16 has no number for is none.
TEST(KernelFeedback, KeepsOnlyWhatIsFinite) {
  const Quantization how{4, 4};
  const QuantizedPieces cut{1, 1, 12};
  Control control = midOfUpdate(1);
  Setting setting;
  setting.control = &control;
  for (const double odd : {INFINITY, -INFINITY, NAN}) {
    const Array from =
        makeArray(DataType::F32, {1, odd, 2, 3, 4, 5.3, 6, 7, 1, 2, 3, 4});
    Array errors(DataType::BF16, {12});
    for (int64_t i = 0; i < 12; ++i)
      errors.set(i, 0.25);
    const auto found =
        runKernel(feedbackSpec(from, how, cut), {from, errors}, setting);
    for (int64_t i = 0; i < 4; ++i)
      EXPECT_EQ(found[1][i], 0) << i;
    EXPECT_NE(found[1][5], 0);
    const Array back = runKernel(
        dequantizeSpec(found[0], DataType::F32, how, 1, {12}), {found[0]})[0];
    EXPECT_TRUE(std::isnan(back[1]) && std::isfinite(back[5]));
  }
  control.scale = 0x1p-126f;
  const Array from = makeArray(DataType::F32, {700, 34, 0, 0});
  Array errors(DataType::BF16, {4});
  const auto found =
      runKernel(feedbackSpec(from, how, {1, 1, 4}), {from, errors}, setting);
  EXPECT_EQ(found[1][1], 0);
}

/// Four bits of a gradient that stays as it is: on average, all of it comes
/// back, and without feedback the same part is missing each time.
TEST(KernelFeedback, LosesNothingOnAverage) {
  const Quantization how{4, 32};
  const QuantizedPieces cut{1, 1, 64};
  constexpr int kCalls = 400;
  const Array from = randomArray(DataType::F32, {64}, 7, 1);
  Array errors(DataType::BF16, {64});
  Control control = midOfUpdate(1);
  Setting setting;
  setting.control = &control;
  std::vector<double> sums(64);
  const KernelSpec spec = feedbackSpec(from, how, cut);
  for (int call = 0; call < kCalls; ++call) {
    const auto found = runKernel(spec, {from, errors}, setting);
    errors = found[1];
    const Array back = runKernel(
        dequantizeSpec(found[0], DataType::F32, how, 1, {64}), {found[0]})[0];
    for (int64_t i = 0; i < 64; ++i)
      sums[i] += back[i];
  }
  const Array plain = quantized(from, how, cut);
  double missing = 0, missingWithout = 0;
  for (int64_t i = 0; i < 64; ++i) {
    missing = std::max(missing, std::abs(sums[i] / kCalls - from[i]));
    missingWithout = std::max(missingWithout, std::abs(plain[i] - from[i]));
  }
  EXPECT_LT(missing, 0.02 * missingWithout);
}

} // namespace
} // namespace zrt::test
