//===- Random.cpp - nn.dropout and what is drawn --------------------------===//

#include "Rules.h"

#include "zero/Dialect/NN/NN.h"

#include <algorithm>
#include <array>
#include <cmath>

using namespace mlir;
using namespace mlir::zero;

namespace {
using Counter = std::array<uint32_t, 4>;
using Key = std::array<uint32_t, 2>;
} // namespace

/// Philox4x32-10 of Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as
/// easy as 1, 2, 3" (2011).
static Counter philox(Counter counter, Key key) {
  for (int round = 0; round < 10; ++round) {
    uint64_t first = uint64_t(0xD2511F53) * counter[0];
    uint64_t second = uint64_t(0xCD9E8D57) * counter[2];
    counter = {static_cast<uint32_t>(second >> 32) ^ counter[1] ^ key[0],
               static_cast<uint32_t>(second),
               static_cast<uint32_t>(first >> 32) ^ counter[3] ^ key[1],
               static_cast<uint32_t>(first)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

/// The words for elements 4 `counter` to 4 `counter` + 3 of a global sample:
/// philox(counter = {counter, id, sample low, sample high}, key = seed).
static Counter wordsFor(uint64_t seed, uint64_t id, uint64_t sample,
                        uint64_t counter) {
  return philox(
      {static_cast<uint32_t>(counter), static_cast<uint32_t>(id),
       static_cast<uint32_t>(sample), static_cast<uint32_t>(sample >> 32)},
      {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
}

/// Element i of a sample is kept where word i mod 4 is at least p * 2^32.
double rules::dropoutFactor(const Evaluation &e, int64_t sample,
                            uint64_t element, double p, uint64_t id) {
  if (e.context.evaluating)
    return 1.0;
  Counter words =
      wordsFor(e.context.seed, id, e.context.firstSample + sample, element / 4);
  return words[element % 4] >= std::ldexp(p, 32) ? 1.0 / (1.0 - p) : 0.0;
}

/// `positionOf` says which element of it one of those here is.
template <typename OpT>
static void drop(OpT op, Evaluation &e,
                 llvm::function_ref<uint64_t(int64_t element)> positionOf) {
  const Array &x = *e.in[0];
  double p = op.getP().convertToDouble();
  int64_t elements = x.innerSize(1);
  for (int64_t i = 0; i < x.size(); ++i) {
    double factor = rules::dropoutFactor(
        e, i / elements, positionOf(i % elements), p, op.getId());
    e.out[0].reals[i] = factor == 0.0 ? 0.0 : x.reals[i] * factor;
  }
}

static LogicalResult dropout(nn::DropoutOp op, Evaluation &e) {
  drop(op, e, [](int64_t element) { return element; });
  return success();
}

static LogicalResult partialDropout(nn::PartialDropoutOp op, Evaluation &e) {
  const Array &x = *e.in[0];
  auto dim = static_cast<int64_t>(op.getDim());
  int64_t inner = x.innerSize(dim + 1), part = x.shape[dim];
  auto size = static_cast<int64_t>(op.getSize());
  int64_t first = e.in[1]->integers[0];
  drop(op, e, [&](int64_t element) {
    int64_t row = element / inner;
    return (row / part * size + first + row % part) * inner + element % inner;
  });
  return success();
}

/// Calls `set(element of y, words, word)`: element i of a sample has word i mod
/// 4 of the `words` of counter i / 4.
static void
forEachDraw(const Array &y, uint64_t id, Evaluation &e,
            llvm::function_ref<void(int64_t, const Counter &, uint64_t)> set) {
  int64_t elements = y.innerSize(1);
  for (int64_t i = 0; i < y.size(); ++i) {
    uint64_t sample = e.context.firstSample + i / elements;
    auto element = static_cast<uint64_t>(i % elements);
    set(i, wordsFor(e.context.seed, id, sample, element / 4), element % 4);
  }
}

/// Elements 2 j and 2 j + 1 of a sample are r cos t and r sin t of two words.
static LogicalResult randomNormal(nn::RandomNormalOp op, Evaluation &e) {
  Array &y = e.out[0];
  forEachDraw(
      y, op.getId(), e, [&](int64_t i, const Counter &words, uint64_t word) {
        uint32_t first = words[word / 2 * 2], second = words[word / 2 * 2 + 1];
        double radius = std::sqrt(-2 * std::log(std::ldexp(first + 1.0, -32)));
        double angle = 2 * std::acos(-1.0) * std::ldexp(double(second), -32);
        y.reals[i] = radius * (word % 2 ? std::sin(angle) : std::cos(angle));
      });
  return success();
}

/// As many bits of a word as the type has digits, and at most 24.
static LogicalResult randomUniform(nn::RandomUniformOp op, Evaluation &e) {
  auto type = cast<FloatType>(op.getType().getElementType());
  const int bits = std::min<int>(24, type.getFPMantissaWidth());
  Array &y = e.out[0];
  forEachDraw(
      y, op.getId(), e, [&](int64_t i, const Counter &words, uint64_t word) {
        y.reals[i] = std::floor(std::ldexp(double(words[word]), bits - 32)) *
                     std::ldexp(1.0, -bits);
      });
  return success();
}

static LogicalResult randomIntegers(nn::RandomIntegersOp op, Evaluation &e) {
  Array &y = e.out[0];
  forEachDraw(y, op.getId(), e,
              [&](int64_t i, const Counter &words, uint64_t word) {
                y.integers[i] =
                    static_cast<int64_t>((words[word] * op.getBelow()) >> 32);
              });
  return success();
}

void rules::addRandom(EvaluationRules &rules) {
  rules.add<nn::RandomNormalOp>(randomNormal);
  rules.add<nn::RandomUniformOp>(randomUniform);
  rules.add<nn::RandomIntegersOp>(randomIntegers);
  rules.add<nn::DropoutOp>(dropout);
  rules.add<nn::PartialDropoutOp>(partialDropout);
}
