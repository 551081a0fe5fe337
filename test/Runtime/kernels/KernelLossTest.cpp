// Softmax, cross entropy and embeddings.
#include "KernelTest.h"

#include <cmath>
#include <stdexcept>

namespace zrt::test {
namespace {

using Values = std::vector<double>;

Values softmaxOf(const Array &x, int64_t rows, int64_t width, Values *lse) {
  Values y(rows * width);
  for (int64_t r = 0; r < rows; ++r) {
    double largest = -INFINITY, sum = 0;
    for (int64_t c = 0; c < width; ++c)
      largest = std::max(largest, x[r * width + c]);
    for (int64_t c = 0; c < width; ++c)
      sum += std::exp(x[r * width + c] - largest);
    for (int64_t c = 0; c < width; ++c)
      y[r * width + c] = std::exp(x[r * width + c] - largest) / sum;
    if (lse)
      lse->push_back(largest + std::log(sum));
  }
  return y;
}

TEST(KernelSoftmax, Forward) {
  for (DataType type : kFloats)
    for (int64_t width : {1, 13, 32, 333}) {
      std::vector<Array> inputs = {randomArray(type, {37, width}, 1, 20)};
      KernelSpec spec = makeSpec("nn.softmax", inputs, {{type, {37, width}}});
      checkKernel(
          spec, inputs,
          [&](const std::vector<Array> &in) {
            return std::vector<Values>{softmaxOf(in[0], 37, width, nullptr)};
          },
          toleranceOf(type));
    }
}

TEST(KernelSoftmax, Gradient) {
  for (DataType type : kFloats)
    for (int64_t width : {13, 32, 333}) {
      Array x = randomArray(type, {37, width}, 1, 5);
      Array y = x;
      Values p = softmaxOf(x, 37, width, nullptr);
      for (int64_t i = 0; i < y.size(); ++i)
        y.set(i, p[i]);
      std::vector<Array> inputs = {randomArray(type, {37, width}, 2), y};
      KernelSpec spec =
          makeSpec("nn.softmax_grad", inputs, {{type, {37, width}}});
      checkKernel(
          spec, inputs,
          [&](const std::vector<Array> &in) {
            Values dx(in[0].size());
            for (int64_t r = 0; r < 37; ++r) {
              double sum = 0;
              for (int64_t c = r * width; c < (r + 1) * width; ++c)
                sum += in[0][c] * in[1][c];
              for (int64_t c = r * width; c < (r + 1) * width; ++c)
                dx[c] = in[1][c] * (in[0][c] - sum);
            }
            return std::vector<Values>{dx};
          },
          toleranceOf(type));
    }
}

/// Logits, and targets of which every fifth is ignored when `ignore` >= 0.
std::vector<Array> lossInputs(DataType type, int64_t rows, int64_t width,
                              int64_t ignore) {
  std::vector<Array> inputs = {randomArray(type, {rows, width}, 1, 4),
                               randomIds({rows}, width, 2)};
  for (int64_t r = 0; r < rows; r += 5)
    inputs[1].set(r, static_cast<double>(ignore));
  return inputs;
}

/// `offset` is in all logits. The loss is a mean, or where `isSum` the sum.
void checkLoss(DataType type, int64_t rows, int64_t width, int64_t ignore,
               double offset = 0, bool isSum = false) {
  std::vector<Array> inputs = lossInputs(type, rows, width, ignore);
  for (int64_t i = 0; offset != 0 && i < rows * width; ++i)
    inputs[0].set(i, inputs[0][i] + offset);
  const Array logits = inputs[0], targets = inputs[1];
  Values lse;
  Values p = softmaxOf(logits, rows, width, &lse);
  double sum = 0, count = 0;
  for (int64_t r = 0; r < rows; ++r)
    if (targets[r] != ignore) {
      // Not from `lse`, which loses the logarithm beside a large offset.
      sum -= std::log(p[r * width + int64_t(targets[r])]);
      ++count;
    }
  if (isSum)
    count = 1;
  KernelSpec forward = makeSpec("nn.cross_entropy", inputs,
                                {{DataType::F32, {}}, {DataType::F32, {rows}}});
  forward.ints = {{"ignore_index", {ignore}}, {"sum", {isSum}}};
  std::vector<Array> results = checkKernel(
      forward, inputs,
      [&](const std::vector<Array> &) {
        return std::vector<Values>{{count ? sum / count : 0}, lse};
      },
      2e-5);

  Array seed(DataType::F32, {});
  seed.set(0, 0.75);
  std::vector<Array> all = {seed, logits, targets, results[1]};
  KernelSpec backward =
      makeSpec("nn.cross_entropy_grad", all, {{type, {rows, width}}});
  backward.ints = {{"ignore_index", {ignore}}, {"sum", {isSum}}};
  checkKernel(
      backward, all,
      [&](const std::vector<Array> &) {
        Values dx(rows * width);
        for (int64_t i = 0; i < rows * width; ++i) {
          int64_t r = i / width;
          if (targets[r] != ignore)
            dx[i] = 0.75 / count * (p[i] - (targets[r] == i % width));
        }
        return std::vector<Values>{dx};
      },
      toleranceOf(type));
}

TEST(KernelCrossEntropy, LossAndGradient) {
  for (DataType type : kFloats)
    for (int64_t width : {2, 13, 1000}) {
      checkLoss(type, 7, width, -100);
      checkLoss(type, 133, width, 0);
    }
}

TEST(KernelCrossEntropy, OfASum) {
  for (DataType type : kFloats)
    checkLoss(type, 13, 13, 0, /*offset=*/0, /*isSum=*/true);
}

// Where the logarithm of the sum is large, it has lost the digits that loss and
// gradient are made of.
TEST(KernelCrossEntropy, KeepsDigitsOfLargeLogits) {
  for (DataType type : kFloats)
    for (double offset : {-3e4, 100.0, 3e4})
      checkLoss(type, 37, 13, -100, offset);
  for (DataType type : {DataType::F32, DataType::BF16})
    for (double offset : {-3.3e38, -1e9, 1e6, 3.3e38})
      checkLoss(type, 37, 250, -100, offset);
}

TEST(KernelCrossEntropy, IsZeroWhenEveryRowIsIgnored) {
  checkLoss(DataType::F32, 1, 13, -100);
}

/// Of `width` columns the first `classes` count: the others, which are NaN, are
/// never read, and get a gradient of 0.
void checkPaddedLoss(DataType type, int64_t width, int64_t classes) {
  const int64_t rows = 37;
  std::vector<Array> inputs = lossInputs(type, rows, classes, 0);
  Array wide(type, {rows, width});
  for (int64_t i = 0; i < rows * width; ++i)
    wide.set(i, i % width < classes ? inputs[0][i / width * classes + i % width]
                                    : std::nan(""));
  const std::vector<TensorType> results = {{DataType::F32, {}},
                                           {DataType::F32, {rows}}};
  KernelSpec plain = makeSpec("nn.cross_entropy", inputs, results);
  plain.ints["ignore_index"] = {0};
  const std::vector<Array> wanted = runKernel(plain, inputs);
  std::vector<Array> padded = {wide, inputs[1]};
  KernelSpec spec = makeSpec("nn.cross_entropy", padded, results);
  spec.ints = {{"ignore_index", {0}}, {"classes", {classes}}};
  const std::vector<Array> found = runKernel(spec, padded);
  EXPECT_NEAR(found[0][0], wanted[0][0], 1e-5);

  Array seed(DataType::F32, {});
  seed.set(0, 0.75);
  inputs = {seed, inputs[0], inputs[1], wanted[1]};
  plain = makeSpec("nn.cross_entropy_grad", inputs, {{type, {rows, classes}}});
  plain.ints["ignore_index"] = {0};
  padded = {seed, wide, inputs[2], found[1]};
  spec = makeSpec("nn.cross_entropy_grad", padded, {{type, {rows, width}}});
  spec.ints = {{"ignore_index", {0}}, {"classes", {classes}}};
  const Array dense = runKernel(plain, inputs)[0];
  const Array gradient = runKernel(spec, padded)[0];
  for (int64_t i = 0; i < rows * width; ++i) {
    const int64_t r = i / width, c = i % width;
    if (c < classes)
      EXPECT_NEAR(gradient[i], dense[r * classes + c], toleranceOf(type));
    else
      EXPECT_EQ(gradient[i], 0) << "row " << r << ", column " << c;
  }
}

TEST(KernelCrossEntropy, LeavesPaddingOut) {
  for (DataType type : kFloats)
    for (int64_t classes : {1, 13, 250, 256})
      checkPaddedLoss(type, 256, classes);
  checkPaddedLoss(DataType::BF16, 1024, 1001);
  checkPaddedLoss(DataType::F32, 15, 13);
}

TEST(KernelCrossEntropy, RefusesATargetInThePadding) {
  std::vector<Array> inputs = lossInputs(DataType::F32, 7, 16, -100);
  inputs[1].set(3, 13);
  KernelSpec spec = makeSpec("nn.cross_entropy", inputs,
                             {{DataType::F32, {}}, {DataType::F32, {7}}});
  spec.ints["classes"] = {13};
  EXPECT_THROW(runKernel(spec, inputs), std::out_of_range);
}

TEST(KernelCrossEntropy, NamesATargetOutsideTheClasses) {
  std::vector<Array> inputs = lossInputs(DataType::F32, 7, 13, -100);
  inputs[1].set(3, 13);
  KernelSpec spec = makeSpec("nn.cross_entropy", inputs,
                             {{DataType::F32, {}}, {DataType::F32, {7}}});
  try {
    runKernel(spec, inputs);
    FAIL() << "accepted target 13 of 13 classes";
  } catch (const std::out_of_range &error) {
    EXPECT_NE(std::string(error.what()).find("target 13 at position 3"),
              std::string::npos)
        << error.what();
  }
}

TEST(KernelEmbedding, LooksRowsUp) {
  for (DataType type : kFloats) {
    std::vector<Array> inputs = {randomIds({5, 7}, 13, 1),
                                 randomArray(type, {13, 20}, 2)};
    KernelSpec spec = makeSpec("nn.embedding", inputs, {{type, {5, 7, 20}}});
    checkKernel(
        spec, inputs,
        [&](const std::vector<Array> &in) {
          Values y;
          for (int64_t i = 0; i < 5 * 7 * 20; ++i)
            y.push_back(in[1][int64_t(in[0][i / 20]) * 20 + i % 20]);
          return std::vector<Values>{y};
        },
        0);
  }
}

TEST(KernelEmbedding, NamesAnIdOutsideTheTable) {
  std::vector<Array> inputs = {randomIds({7}, 13, 1),
                               randomArray(DataType::F32, {13, 20}, 2)};
  for (double id : {-1.0, 13.0}) {
    inputs[0].set(2, id);
    KernelSpec spec =
        makeSpec("nn.embedding", inputs, {{DataType::F32, {7, 20}}});
    EXPECT_THROW(runKernel(spec, inputs), std::out_of_range);
  }
}

TEST(KernelEmbedding, RefusesAnIdOfPadding) {
  std::vector<Array> inputs = {randomIds({7}, 13, 1),
                               randomArray(DataType::F32, {16, 20}, 2)};
  KernelSpec spec =
      makeSpec("nn.embedding", inputs, {{DataType::F32, {7, 20}}});
  spec.ints["num_embeddings"] = {13};
  runKernel(spec, inputs);
  inputs[0].set(2, 13);
  EXPECT_THROW(runKernel(spec, inputs), std::out_of_range);
}

TEST(KernelEmbedding, GradientAddsRowsInTokenOrder) {
  for (DataType type : kFloats)
    for (bool init : {false, true})
      for (int64_t width : {20, 300}) {
        std::vector<Array> inputs = {randomArray(type, {133, width}, 1),
                                     randomIds({133}, 29, 2)};
        if (init)
          inputs.push_back(randomArray(type, {31, width}, 3));
        KernelSpec spec =
            makeSpec("nn.embedding_grad", inputs, {{type, {31, width}}});
        spec.ints["init"] = {init};
        std::vector<Array> found = checkKernel(
            spec, inputs,
            [&](const std::vector<Array> &in) {
              Values table(31 * width);
              for (int64_t i = 0; i < 31 * width && init; ++i)
                table[i] = in[2][i];
              for (int64_t i = 0; i < 133 * width; ++i)
                table[int64_t(in[1][i / width]) * width + i % width] +=
                    in[0][i];
              return std::vector<Values>{table};
            },
            toleranceOf(type));
        // In f32 the order of the sum is visible: it is exactly this one.
        if (type != DataType::F32)
          continue;
        for (int64_t c = 0; c < width; ++c) {
          float sum = init ? static_cast<float>(inputs[2][4 * width + c]) : 0;
          for (int64_t i = 0; i < 133; ++i)
            if (inputs[1][i] == 4)
              sum += static_cast<float>(inputs[0][i * width + c]);
          ASSERT_EQ(found[0][4 * width + c], sum);
        }
      }
}

TEST(KernelEmbedding, GradientOfSomeRowsHasTheBitsOfTheWhole) {
  for (DataType type : kFloats)
    for (bool init : {false, true}) {
      std::vector<Array> inputs = {randomArray(type, {133, 20}, 1),
                                   randomIds({133}, 31, 2)};
      if (init)
        inputs.push_back(randomArray(type, {31, 20}, 3));
      KernelSpec spec =
          makeSpec("nn.embedding_grad", inputs, {{type, {31, 20}}});
      spec.ints["init"] = {init};
      Array whole = runKernel(spec, inputs)[0];
      if (init) {
        Array rows(type, {11, 20});
        for (int64_t i = 0; i < rows.size(); ++i)
          rows.set(i, inputs[2][12 * 20 + i]);
        inputs[2] = rows;
      }
      spec = makeSpec("nn.embedding_grad", inputs, {{type, {11, 20}}});
      spec.ints["init"] = {init};
      spec.ints["rows"] = {12, 23};
      Array block = runKernel(spec, inputs)[0];
      for (int64_t i = 0; i < block.size(); ++i)
        ASSERT_EQ(block[i], whole[12 * 20 + i]);
    }
}

} // namespace
} // namespace zrt::test
